"""What the package says about itself."""

from switchyard._core import get_version_string

package_name = "switchyard"
__version__ = get_version_string()
cuda_version = ""

"""What the package says about itself."""

package_name = "onnxruntime"
__version__ = "1.32.0"
cuda_version = ""

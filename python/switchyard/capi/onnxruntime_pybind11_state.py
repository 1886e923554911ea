"""The native names: classes, exceptions and functions."""

from switchyard._core import *  # noqa: F403
from switchyard._devices import *  # noqa: F403
from switchyard._module import *  # noqa: F403
from switchyard._session import OrtValueVector  # noqa: F401

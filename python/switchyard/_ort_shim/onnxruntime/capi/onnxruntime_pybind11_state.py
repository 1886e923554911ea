from switchyard.capi.onnxruntime_pybind11_state import *  # noqa: F403

from onnxruntime import get_version_string  # noqa: F401

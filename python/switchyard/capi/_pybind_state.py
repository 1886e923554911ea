"""The native names: classes, exceptions and functions."""

from switchyard.capi.onnxruntime_pybind11_state import *  # noqa: F403

"""ONNX's backend interface, answered by Switchyard. Needs the package onnx."""

from switchyard.backend.backend import (
    OnnxRuntimeBackend,
    is_compatible,
    prepare,
    run,
    run_model,
    supports_device,
)
from switchyard.backend.backend_rep import OnnxRuntimeBackendRep

__all__ = [
    "OnnxRuntimeBackend",
    "OnnxRuntimeBackendRep",
    "is_compatible",
    "prepare",
    "run",
    "run_model",
    "supports_device",
]

"""OnnxRuntimeBackend and the functions that call it."""

from __future__ import annotations

import os
from typing import Any

from onnx.backend.base import Backend

import onnx
from switchyard import _core
from switchyard._session import InferenceSession
from switchyard.backend import _allowed
from switchyard.backend.backend_rep import OnnxRuntimeBackendRep


def _excluded() -> set[str]:
    return set(filter(None, os.environ.get("ORT_ONNX_BACKEND_EXCLUDE_PROVIDERS", "").split(",")))


class OnnxRuntimeBackend(Backend):
    """Runs ONNX models; all functions may be called from several threads."""

    @classmethod
    def is_opset_supported(cls, model: onnx.ModelProto) -> tuple[bool, str]:
        """Whether the model's operator sets are released ones, and if not, why. Not looked at
        where the environment variable ALLOW_RELEASED_ONNX_OPSET_ONLY is "0"."""
        if os.environ.get("ALLOW_RELEASED_ONNX_OPSET_ONLY", "1") == "0":
            return True, ""
        for opset in model.opset_import:
            domain = opset.domain or "ai.onnx"
            key = (domain, opset.version)
            released = onnx.helper.OP_SET_ID_VERSION_MAP
            if domain in {known for known, _ in released} and key not in released:
                return False, f"opset {opset.version} of {domain} is not released"
        return True, ""

    @classmethod
    def is_compatible(cls, model: Any, device: str | None = None, **kwargs: Any) -> bool:
        """Whether the model can be loaded for the device."""
        try:
            cls.prepare(model, device, **kwargs)
        except Exception:
            return False
        return True

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether this build runs on the device: "CPU", "GPU", "CUDA", each with ":number"."""
        kind = device.partition(":")[0].upper()
        if kind == "CUDA":
            return "CUDAExecutionProvider" in _core.get_available_providers()
        return kind in ("CPU", _core.get_device())

    @classmethod
    def prepare(cls, model: Any, device: str | None = None, **kwargs: Any) -> Any:
        """A handle that runs the model. model: a path, bytes, a ModelProto, an InferenceSession,
        or such a handle. Keywords: those of SessionOptions that are permitted (RuntimeError for
        others). Errors of loading are those of InferenceSession."""
        if isinstance(model, OnnxRuntimeBackendRep):
            return model
        if isinstance(model, InferenceSession):
            return OnnxRuntimeBackendRep(model)
        if device is not None and not cls.supports_device(device):
            raise RuntimeError(
                f"Incompatible device expected '{device}', got '{_core.get_device()}'"
            )
        if isinstance(model, (str, bytes, os.PathLike)):
            options = _core.SessionOptions()
            _allowed.apply(options, kwargs)
            providers = [p for p in _core.get_available_providers() if p not in _excluded()]
            return OnnxRuntimeBackendRep(InferenceSession(model, options, providers))
        if not isinstance(model, onnx.ModelProto):
            raise TypeError(f"a model is a path, bytes or a ModelProto, got {type(model).__name__}")
        supported, reason = cls.is_opset_supported(model)
        if not supported:
            raise RuntimeError(reason)
        return cls.prepare(model.SerializeToString(), device, **kwargs)

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str | None = None, **kwargs: Any) -> Any:
        """prepare and run in one call; keywords are those of both."""
        session = {name: value for name, value in kwargs.items() if name not in _run_only()}
        rep = cls.prepare(model, device, **session)
        run = {name: value for name, value in kwargs.items() if name in _run_names()}
        return rep.run(inputs, **run)

    @classmethod
    def run_node(
        cls,
        node: Any,
        inputs: Any,
        device: str | None = None,
        outputs_info: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Always NotImplementedError: a node's types are known in a model only."""
        raise NotImplementedError("a node is run as a model of one node: use run_model")


def _attributes(options: Any) -> set[str]:
    return {
        name
        for name in dir(options)
        if not name.startswith("_") and not callable(getattr(options, name))
    }


def _run_names() -> set[str]:
    return _attributes(_core.RunOptions())


def _run_only() -> set[str]:
    return _run_names() - _attributes(_core.SessionOptions())


is_compatible = OnnxRuntimeBackend.is_compatible
prepare = OnnxRuntimeBackend.prepare
run = run_model = OnnxRuntimeBackend.run_model
supports_device = OnnxRuntimeBackend.supports_device

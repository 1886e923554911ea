"""What OnnxRuntimeBackend.prepare gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx.backend.base import BackendRep

from switchyard._core import RunOptions
from switchyard._session import InferenceSession
from switchyard.backend import _allowed


class OnnxRuntimeBackendRep(BackendRep):
    """A loaded model. Runs may go on at once."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session

    def run(self, inputs: Any, **kwargs: Any) -> Any:
        """All outputs in order. inputs: a list in the order of the model's inputs, one value for
        a model of one input, or a dict by name. Keywords: those of RunOptions that are permitted.
        RuntimeError for others and for inputs that do not fit."""
        options = RunOptions()
        _allowed.apply(options, kwargs)
        return self._session.run(None, self._feed(inputs), options)

    def _feed(self, inputs: Any) -> dict[str, Any]:
        names = [arg.name for arg in self._session.get_inputs()]
        if isinstance(inputs, Mapping) and set(inputs) <= set(names) and inputs:
            return dict(inputs)
        if isinstance(inputs, (list, tuple)) and len(inputs) == len(names):
            return dict(zip(names, inputs))
        if len(names) != 1:
            count = len(inputs) if isinstance(inputs, (list, tuple)) else 1
            raise RuntimeError(f"{count} values for the model's {len(names)} inputs {names}")
        if isinstance(inputs, (list, tuple)) and any(isinstance(i, np.ndarray) for i in inputs):
            raise RuntimeError(f"{len(inputs)} arrays for the one input '{names[0]}'")
        return {names[0]: inputs}

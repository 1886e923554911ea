"""ONNX Runtime's native session objects, as far as programs reach for them.

The same sessions as switchyard.InferenceSession with the argument orders of the native module.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from switchyard import _core
from switchyard._devices import OrtDevice
from switchyard._session import InferenceSession, IOBinding, OrtValueVector


class NativeInferenceSession:
    """A model that is loaded when initialize_session names the providers."""

    def __init__(
        self,
        sess_options: _core.SessionOptions,
        model: str | os.PathLike[Any] | bytes,
        is_path: bool = True,
        read_config_from_model: bool = False,
    ) -> None:
        self._arguments = (sess_options, model, is_path, read_config_from_model)
        self._made: InferenceSession | None = None

    @classmethod
    def _around(cls, session: InferenceSession) -> NativeInferenceSession:
        self = cls.__new__(cls)
        self._made = session
        return self

    def initialize_session(
        self,
        provider_types: Sequence[str] = (),
        provider_options: Sequence[Mapping[Any, Any]] = (),
        disabled_optimizers: Sequence[str] = (),
    ) -> None:
        """Loads the model. Errors are those of switchyard.InferenceSession."""
        options, model, _, read_config = self._arguments
        self._made = InferenceSession(
            model,
            options,
            list(provider_types) or None,
            [dict(entry) for entry in provider_options] or None,
            disabled_optimizers=list(disabled_optimizers),
            read_config_from_model=read_config,
        )

    @property
    def _session(self) -> InferenceSession:
        if self._made is None:
            raise RuntimeError("the session is not initialized: call initialize_session")
        return self._made

    def run(self, output_names: Any, input_feed: Any, run_options: Any = None) -> list[Any]:
        """Results of the named outputs, of all where there are no names."""
        return self._session.run(output_names, input_feed, run_options)

    def run_async(
        self, output_names: Any, input_feed: Any, callback: Any, user_data: Any, run_options: Any
    ) -> None:
        """See InferenceSession.run_async."""
        self._session.run_async(output_names, input_feed, callback, user_data, run_options)

    def run_with_ort_values(
        self, input_feed: Any, output_names: Any, run_options: Any = None
    ) -> OrtValueVector:
        """The feed comes first here."""
        return OrtValueVector(
            self._session.run_with_ort_values(output_names, input_feed, run_options)
        )

    def run_with_ortvaluevector(self, *arguments: Any) -> None:
        """See InferenceSession.run_with_ortvaluevector."""
        self._session.run_with_ortvaluevector(*arguments)

    def run_with_iobinding(self, io_binding: Any, run_options: Any = None) -> None:
        """Runs with what is bound."""
        self._session.run_with_iobinding(getattr(io_binding, "_binding", io_binding), run_options)

    def __getattr__(self, name: str) -> Any:
        properties = {
            "inputs_meta": "get_inputs",
            "outputs_meta": "get_outputs",
            "overridable_initializers": "get_overridable_initializers",
            "model_meta": "get_modelmeta",
            "session_options": "get_session_options",
            "get_profiling_start_time_ns": "get_profiling_start_time_ns",
        }
        if name in properties:
            made = getattr(self._session, properties[name])()
            return made
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._session, name)


class SessionIOBinding:
    """IOBinding with devices as OrtDevice. One thread at a time."""

    def __init__(self, session: NativeInferenceSession | InferenceSession) -> None:
        inner = session._session if isinstance(session, NativeInferenceSession) else session
        self._binding = IOBinding(inner)

    def bind_input(self, name: str, *arguments: Any) -> None:
        """(name, array), or (name, device, element_type, shape, address)."""
        if len(arguments) == 1:
            self._binding.bind_cpu_input(name, arguments[0])
            return
        device, element_type, shape, address = arguments
        self._binding.bind_input(name, device, _id_of(device), element_type, shape, address)

    def bind_ortvalue_input(self, name: str, value: _core.OrtValue) -> None:
        """Reads from this value."""
        self._binding.bind_ortvalue_input(name, value)

    def bind_output(
        self,
        name: str,
        device: OrtDevice,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        address: int | None = None,
    ) -> None:
        """Results are allocated on the device, or written to the address."""
        self._binding.bind_output(name, device, _id_of(device), element_type, shape, address)

    def bind_ortvalue_output(self, name: str, value: _core.OrtValue) -> None:
        """Writes results into this value."""
        self._binding.bind_ortvalue_output(name, value)

    def synchronize_inputs(self) -> None:
        """Waits for the devices of the inputs."""
        self._binding.synchronize_inputs()

    def synchronize_outputs(self) -> None:
        """Waits for the devices of the outputs."""
        self._binding.synchronize_outputs()

    def clear_binding_inputs(self) -> None:
        """Forgets the inputs."""
        self._binding.clear_binding_inputs()

    def clear_binding_outputs(self) -> None:
        """Forgets the outputs."""
        self._binding.clear_binding_outputs()

    def get_outputs(self) -> OrtValueVector:
        """Results of the last run."""
        return self._binding.get_outputs_as_ortvaluevector()

    def copy_outputs_to_cpu(self) -> list[Any]:
        """The same as arrays in host memory."""
        return self._binding.copy_outputs_to_cpu()


class SessionObjectInitializer:
    """What ONNX Runtime's native sessions are made from; carries nothing here."""


def get_session_initializer() -> SessionObjectInitializer:
    """An object that stands for the default options."""
    return SessionObjectInitializer()


def _id_of(device: OrtDevice) -> int:
    return device.device_id()

"""InferenceSession and what is made from one."""

from __future__ import annotations

import json
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from switchyard import _core
from switchyard._devices import OrtMemoryInfo
from switchyard._enums import OrtAllocatorType, OrtDeviceVendorId, OrtMemType
from switchyard._options import options_of_the_model, selected_providers
from switchyard._providers import Provider, normalize

# What sessions without sess_options are made with.
default_session_options = _core.SessionOptions()


class OrtValueVector:
    """A list of OrtValues under the name that ONNX Runtime's native module has for it.

    One thread at a time.
    """

    def __init__(self, values: Sequence[_core.OrtValue] = ()) -> None:
        self._values = list(values)

    def push_back(self, value: _core.OrtValue) -> None:
        """Appends a value."""
        self._values.append(value)

    append = push_back

    def extend(self, values: Sequence[_core.OrtValue]) -> None:
        """Appends values."""
        self._values.extend(values)

    def push_back_batch(
        self,
        arrays: Sequence[Any],
        data_ptrs: Sequence[int],
        element_types: Sequence[Any],
        shapes: Sequence[Sequence[int]],
        devices: Sequence[Any],
    ) -> None:
        """Appends tensors over memory at addresses; `arrays` are kept alive, the memory must be."""
        for array, address, element, shape, device in zip(
            arrays, data_ptrs, element_types, shapes, devices
        ):
            self._values.append(_core.OrtValue._window(array, address, element, shape, device))

    def reserve(self, count: int) -> None:
        """Lists grow by themselves."""

    def shrink_to_fit(self) -> None:
        """Lists shrink by themselves."""

    def bool_tensor_indices(self) -> list[int]:
        """Which of the values are tensors of bool."""
        return [i for i, v in enumerate(self._values) if v.is_tensor() and v.element_type() == 9]

    def dlpack_at(self, index: int) -> Any:
        """A DLPack capsule of the value at that index."""
        return self._values[index].to_dlpack()

    def element_type_at(self, index: int) -> int:
        """The code of the ONNX format of the value at that index."""
        return self._values[index].element_type()

    def to_dlpacks(self, to_tensor: Callable[[Any], Any] | None = None) -> list[Any]:
        """DLPack capsules of all values, or what to_tensor makes of each."""
        capsules = [value.to_dlpack() for value in self._values]
        return capsules if to_tensor is None else [to_tensor(capsule) for capsule in capsules]

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[_core.OrtValue]:
        return iter(self._values)

    def __getitem__(self, index: int) -> _core.OrtValue:
        return self._values[index]


class IOBinding(_core.IOBinding):
    """Inputs and outputs fixed to memory for repeated runs of one session. One thread at a time.

    A bound buffer must live until it is bound anew or cleared; arrays and OrtValues are kept alive.
    """

    def get_outputs_as_ortvaluevector(self) -> OrtValueVector:
        """get_outputs() as an OrtValueVector."""
        return OrtValueVector(self.get_outputs())

    @property
    def _iobinding(self) -> IOBinding:
        return self


class OrtEpAssignedNode:
    """A node as a provider runs it."""

    def __init__(self, name: str, domain: str, op_type: str) -> None:
        self.name, self.domain, self.op_type = name, domain, op_type


class OrtEpAssignedSubgraph:
    """What one provider runs in one piece."""

    def __init__(self, ep_name: str, nodes: Sequence[OrtEpAssignedNode]) -> None:
        self.ep_name = ep_name
        self._nodes = list(nodes)

    def get_nodes(self) -> list[OrtEpAssignedNode]:
        """The nodes in it."""
        return list(self._nodes)


class InferenceSession(_core.Session):
    """A model, loaded and split over its providers. Runs of one session may go on at once.

    path_or_bytes: a path, or the bytes of a model.
    providers: names, or pairs of a name and options, in order of priority; the CPU comes last
        whether named or not. A provider that can't be used here warns; an unknown name is an error.
    provider_options: a dict for each name in providers, instead of pairs.
    disabled_optimizers: names of graph passes to leave out.
    read_config_from_model: take session options from the entry "ort_config" of the model's
        metadata; by default as the environment variable ORT_LOAD_CONFIG_FROM_MODEL says ("1").
    Other keywords are ignored.

    Raises NoSuchFile, InvalidProtobuf, InvalidGraph, NotImplemented or Fail for a model that can't
    be loaded, ValueError and RuntimeError for arguments that do not fit.
    """

    def __init__(
        self,
        path_or_bytes: str | bytes | os.PathLike[Any],
        sess_options: _core.SessionOptions | None = None,
        providers: Sequence[Provider] | None = None,
        provider_options: Sequence[dict[Any, Any]] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if isinstance(path_or_bytes, (str, os.PathLike)):
            self._model: Any = os.fspath(path_or_bytes)
            self._is_path = True
        elif isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
            self._model = path_or_bytes
            self._is_path = False
        else:
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
        options = default_session_options if sess_options is None else sess_options
        if not isinstance(options, _core.SessionOptions):
            raise TypeError(f"sess_options is a SessionOptions, got {type(options).__name__}")
        if disabled := kwargs.get("disabled_optimizers"):
            options = _core.SessionOptions(options)
            for name in disabled:
                options.disable_pass(name)
        if providers and options.has_providers():
            warnings.warn(
                "providers of the constructor replace those of sess_options", stacklevel=2
            )
        from_model = os.environ.get("ORT_LOAD_CONFIG_FROM_MODEL") == "1"
        if kwargs.get("read_config_from_model", from_model):
            options = self._configured(options)
        self._load(options, providers, provider_options, stacklevel=3)

    def _configured(self, options: _core.SessionOptions) -> _core.SessionOptions:
        plain = _core.SessionOptions()
        plain.graph_optimization_level = _core.GraphOptimizationLevel.ORT_DISABLE_ALL
        plain.log_severity_level = 4
        self._open(self._model, self._is_path, plain, [])
        return options_of_the_model(options, self.get_modelmeta().custom_metadata_map)

    def _load(
        self,
        options: _core.SessionOptions,
        providers: Sequence[Provider] | None,
        provider_options: Sequence[dict[Any, Any]] | None,
        stacklevel: int,
    ) -> None:
        wanted = normalize(providers, provider_options)
        if not wanted and not options.has_providers():
            wanted = selected_providers(options)
        for text in self._open(self._model, self._is_path, options, wanted):
            warnings.warn(text, stacklevel=stacklevel)

    def set_providers(
        self,
        providers: Sequence[Provider] | None = None,
        provider_options: Sequence[dict[Any, Any]] | None = None,
    ) -> None:
        """Loads the model again for other providers; runs that go on keep the old ones.

        A failure leaves the session as it was.
        """
        self._load(self.get_session_options(), providers, provider_options, stacklevel=3)

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[Any], Any, str], None],
        user_data: Any,
        run_options: _core.RunOptions | None = None,
    ) -> None:
        """Runs on another thread, then calls callback(results, user_data, error), error "" if none.

        Session, feed and options stay alive until then. Any number of these runs may go on.
        """
        feed = dict(input_feed)

        def body() -> None:
            results: list[Any] = []
            error = ""
            try:
                results = self.run(output_names, feed, run_options)
            except Exception as raised:
                error = str(raised) or type(raised).__name__
            callback(results, user_data, error)

        threading.Thread(target=body, name="switchyard-run-async").start()

    def io_binding(self) -> IOBinding:
        """A new IOBinding of this session."""
        return IOBinding(self)

    def run_with_ortvaluevector(
        self,
        run_options: _core.RunOptions | None,
        feed_names: Sequence[str],
        feeds: Sequence[_core.OrtValue] | OrtValueVector,
        fetch_names: Sequence[str],
        fetches: list[_core.OrtValue] | OrtValueVector,
        fetch_devices: Sequence[Any],
    ) -> None:
        """Appends the results of fetch_names to fetches."""
        del fetch_devices  # results stay where they are made
        results = self.run_with_ort_values(fetch_names, dict(zip(feed_names, feeds)), run_options)
        fetches.extend(results)

    def create_ortvalue_from_shape_and_type(
        self,
        shape: Sequence[int],
        element_type: Any,
        device_type: str,
        device_id: int = 0,
        vendor_id: int | OrtDeviceVendorId = -1,
    ) -> _core.OrtValue:
        """A tensor in memory of one of this session's providers, contents undefined.

        RuntimeError where no provider of the session has memory on that device.
        """
        del vendor_id  # a session has one provider for a device
        return self._allocate(shape, element_type, device_type, device_id)

    def get_input_memory_infos(self) -> list[OrtMemoryInfo]:
        """The memory in which each input is wanted."""
        return [_host_memory() for _ in self.get_inputs()]

    def get_output_memory_infos(self) -> list[OrtMemoryInfo]:
        """The memory in which each output arrives."""
        return [_host_memory() for _ in self.get_outputs()]

    def get_input_epdevices(self) -> list[_core.OrtEpDevice | None]:
        """The device of the provider that comes first, for each input; None where it has none."""
        first = self.get_providers()[0]
        device = next((d for d in _core.get_ep_devices() if d.ep_name == first), None)
        return [device for _ in self.get_inputs()]

    def get_provider_graph_assignment_info(self) -> list[OrtEpAssignedSubgraph]:
        """What each provider runs. Fail unless the session was made with the configuration entry
        "session.record_ep_graph_assignment_info" set to "1"."""
        key = "session.record_ep_graph_assignment_info"
        try:
            recorded = self.get_session_options().get_session_config_entry(key)
        except RuntimeError:
            recorded = "0"
        if recorded != "1":
            raise _core.Fail(
                "[ONNXRuntimeError] : 1 : FAIL : Session configuration entry "
                f"'{key}' must be set to \"1\" to retrieve EP graph assignment information"
            )
        return [
            OrtEpAssignedSubgraph(
                row["provider"], [OrtEpAssignedNode(row["name"], row["domain"], row["op"])]
            )
            for row in json.loads(self.explain(json=True))["nodes"]
        ]

    def set_ep_dynamic_options(self, options: Mapping[str, str]) -> None:
        """Accepted: no provider has options that change after creation. Empty: RuntimeError."""
        if not options:
            raise RuntimeError("set_ep_dynamic_options: the options are empty")
        for key, value in options.items():
            if not isinstance(key, str) or not isinstance(value, str):
                raise TypeError(f"options are str by str, got {key!r}: {value!r}")

    def get_tuning_results(self) -> list[dict[str, Any]]:
        """Always empty: nothing is tuned at run time, so that results do not depend on it."""
        return []

    def set_tuning_results(
        self, results: Sequence[Mapping[str, Any]], *, error_on_invalid: bool = False
    ) -> None:
        """Accepts results and uses none. RuntimeError for one of a provider that this session does
        not have, where error_on_invalid is set."""
        unknown = [r.get("ep") for r in results if r.get("ep") not in self.get_providers()]
        if unknown and error_on_invalid:
            raise RuntimeError(f"Error in execution: Cannot find execution provider {unknown[0]}")

    def enable_fallback(self) -> None:
        """Accepted: a failed run raises and is never repeated on another provider."""

    def disable_fallback(self) -> None:
        """Accepted: a failed run raises and is never repeated on another provider."""

    @property
    def _sess(self) -> Any:
        from switchyard._native import NativeInferenceSession

        return NativeInferenceSession._around(self)


Session = InferenceSession


def copy_tensors(
    src: Sequence[_core.OrtValue], dst: Sequence[_core.OrtValue], stream: Any = None
) -> None:
    """Copies each tensor of src into the one of dst, between any memories of live sessions.

    Returns when all is copied. RuntimeError where types or sizes differ.
    """
    del stream  # the copies are done when this returns
    if len(src) != len(dst):
        raise RuntimeError(f"copy_tensors: {len(src)} tensors for {len(dst)}")
    for source, target in zip(src, dst):
        target.update_inplace(source)


def _host_memory() -> OrtMemoryInfo:
    return OrtMemoryInfo("Cpu", OrtAllocatorType.ORT_DEVICE_ALLOCATOR, 0, OrtMemType.DEFAULT)

"""InferenceSession and what is made from one."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from switchyard import _core
from switchyard._devices import OrtAllocatorType, OrtMemoryInfo, OrtMemType
from switchyard._providers import Provider, normalize

_NO_OPTIONS = _core.SessionOptions()


class OrtValueVector(list):
    """A list of OrtValues under the name that ONNX Runtime's native module has for it."""

    def push_back(self, value: _core.OrtValue) -> None:
        self.append(value)

    def reserve(self, _count: int) -> None:
        """Lists grow by themselves."""


class IOBinding(_core.IOBinding):
    """Inputs and outputs fixed to memory for repeated runs of one session."""

    def get_outputs_as_ortvaluevector(self) -> OrtValueVector:
        return OrtValueVector(self.get_outputs())


class _NativeSession:
    """The argument order of ONNX Runtime's native session object."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session

    def run(self, output_names: Any, input_feed: Any, run_options: Any = None) -> list[Any]:
        return self._session.run(output_names, input_feed, run_options)

    def run_with_ort_values(
        self, input_feed: Any, output_names: Any, run_options: Any = None
    ) -> OrtValueVector:
        return OrtValueVector(
            self._session.run_with_ort_values(output_names, input_feed, run_options)
        )


class InferenceSession(_core.Session):
    """A model, loaded and split over its providers. Runs of one session may go on at once.

    path_or_bytes: a path, or the bytes of a model.
    providers: names, or pairs of a name and options, in order of priority; the CPU comes last
        whether named or not. A provider that can't be used here warns; an unknown name is an error.
    provider_options: a dict for each name in providers, instead of pairs.
    disabled_optimizers: names of graph passes to leave out.
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
        options = _NO_OPTIONS if sess_options is None else sess_options
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
        self._load(options, providers, provider_options, stacklevel=3)

    def _load(
        self,
        options: _core.SessionOptions,
        providers: Sequence[Provider] | None,
        provider_options: Sequence[dict[Any, Any]] | None,
        stacklevel: int,
    ) -> None:
        wanted = normalize(providers, provider_options)
        for text in self._open(self._model, self._is_path, options, wanted):
            warnings.warn(text, stacklevel=stacklevel)

    def set_providers(
        self,
        providers: Sequence[Provider] | None = None,
        provider_options: Sequence[dict[Any, Any]] | None = None,
    ) -> None:
        """Loads the model again for other providers; runs that go on keep the old ones."""
        self._load(self.get_session_options(), providers, provider_options, stacklevel=3)

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[Any], Any, str], None],
        user_data: Any,
        run_options: _core.RunOptions | None = None,
    ) -> None:
        """Runs on another thread, then calls callback(results, user_data, error), error "" if none."""
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
        feeds: Sequence[_core.OrtValue],
        fetch_names: Sequence[str],
        fetches: list[_core.OrtValue],
        fetch_devices: Sequence[Any],
    ) -> None:
        """Appends the results of fetch_names to fetches."""
        del fetch_devices  # results stay where they are made
        results = self.run_with_ort_values(fetch_names, dict(zip(feed_names, feeds)), run_options)
        fetches.extend(results)

    def get_input_memory_infos(self) -> list[OrtMemoryInfo]:
        """The memory in which each input is wanted."""
        return [_host_memory() for _ in self.get_inputs()]

    def get_output_memory_infos(self) -> list[OrtMemoryInfo]:
        """The memory in which each output arrives."""
        return [_host_memory() for _ in self.get_outputs()]

    def get_input_epdevices(self) -> list[_core.OrtEpDevice | None]:
        """The device that reads each input where it is known."""
        return [None for _ in self.get_inputs()]

    def enable_fallback(self) -> None:
        """Accepted: a failed run raises and is never repeated on another provider."""

    def disable_fallback(self) -> None:
        """Accepted: a failed run raises and is never repeated on another provider."""

    @property
    def _sess(self) -> _NativeSession:
        return _NativeSession(self)


def _host_memory() -> OrtMemoryInfo:
    return OrtMemoryInfo("Cpu", OrtAllocatorType.ORT_DEVICE_ALLOCATOR, 0, OrtMemType.DEFAULT)

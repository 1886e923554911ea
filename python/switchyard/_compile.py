"""ModelCompiler: writes a model as its providers would run it."""

from __future__ import annotations

import os
import pathlib
import tempfile
from collections.abc import Callable
from typing import Any

from switchyard import _core
from switchyard._enums import OrtCompileApiFlags
from switchyard._session import InferenceSession

GetInitializerLocationFunc = Callable[
    [str, _core.OrtValue, "OrtExternalInitializerInfo | None"], "OrtExternalInitializerInfo | None"
]
GetInitializerLocationWrapperFunc = GetInitializerLocationFunc


class OrtExternalInitializerInfo:
    """Where the bytes of an initializer are: file, offset and size in bytes. Immutable."""

    def __init__(self, filepath: str | os.PathLike[str], file_offset: int, byte_size: int) -> None:
        self._fields = (os.fspath(filepath), int(file_offset), int(byte_size))

    @property
    def filepath(self) -> str:
        """Relative to the model's folder."""
        return self._fields[0]

    @property
    def file_offset(self) -> int:
        """In bytes."""
        return self._fields[1]

    @property
    def byte_size(self) -> int:
        """In bytes."""
        return self._fields[2]


def make_get_initializer_location_func_wrapper(
    get_initializer_location_func: GetInitializerLocationFunc,
) -> GetInitializerLocationWrapperFunc:
    """The function itself: values reach it in the form in which callers know them."""
    return get_initializer_location_func


def _fail(text: str) -> _core.Fail:
    return _core.Fail(f"[ONNXRuntimeError] : 1 : FAIL : {text}")


class ModelCompiler:
    """Loads a model for the providers of sess_options and writes what they make of it.

    A provider that compiles to binary contexts would have them in the written model; the CPU has
    none, so with it the optimised model is written (graph_optimization_level, by default as it is).
    One thread at a time.
    """

    def __init__(
        self,
        sess_options: _core.SessionOptions,
        input_model_path_or_bytes: str | os.PathLike[str] | bytes,
        embed_compiled_data_into_model: bool = False,
        external_initializers_file_path: str | os.PathLike[str] | None = None,
        external_initializers_size_threshold: int = 1024,
        flags: int = OrtCompileApiFlags.NONE,
        graph_optimization_level: _core.GraphOptimizationLevel = (
            _core.GraphOptimizationLevel.ORT_DISABLE_ALL
        ),
        get_initializer_location_func: GetInitializerLocationFunc | None = None,
    ) -> None:
        """ValueError for an empty path or bytes, or both forms of external initializers;
        TypeError for a model of another type."""
        if isinstance(input_model_path_or_bytes, (str, os.PathLike)):
            if not os.fspath(input_model_path_or_bytes):
                raise ValueError("Model path is empty")
            self._path: str | None = os.fspath(input_model_path_or_bytes)
        elif isinstance(input_model_path_or_bytes, bytes):
            if not input_model_path_or_bytes:
                raise ValueError("Model bytes are empty")
            self._path = None
        else:
            raise TypeError(f"Unable to load from type '{type(input_model_path_or_bytes)}'")
        if external_initializers_file_path and get_initializer_location_func:
            raise ValueError(
                "external_initializers_file_path and get_initializer_location_func exclude each other"
            )
        if get_initializer_location_func is not None:
            raise _core.NotImplemented(
                "[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : get_initializer_location_func: the "
                "places of initializers are given by external_initializers_file_path only"
            )
        self._model = input_model_path_or_bytes
        self._options = _core.SessionOptions(sess_options)
        self._options.graph_optimization_level = graph_optimization_level
        if external_initializers_file_path:
            entry = self._options.add_session_config_entry
            prefix = "session.optimized_model_external_initializers_"
            entry(prefix + "file_name", os.fspath(external_initializers_file_path))
            entry(prefix + "min_size_in_bytes", str(external_initializers_size_threshold))
        # Accepted: no provider of ours makes data that could lie beside the model.
        del embed_compiled_data_into_model
        self._has_external_file = bool(external_initializers_file_path)
        self._flags = OrtCompileApiFlags(int(flags))

    def compile_to_file(self, output_model_path: str | None = None) -> None:
        """Writes the file; by default the input's name with `_ctx.onnx` in place of `.onnx`.
        Fail where the flags refuse; ValueError for an empty path, or none for a model in memory."""
        if output_model_path is None:
            if self._path is None:
                raise ValueError("a model given as bytes has no default output path")
            output_model_path = f"{self._path.removesuffix('.onnx')}_ctx.onnx"
        if not output_model_path:
            raise ValueError("Output model path is empty")
        if self._flags & OrtCompileApiFlags.ERROR_IF_OUTPUT_FILE_EXISTS and os.path.exists(
            output_model_path
        ):
            raise _fail(f"Output file '{output_model_path}' exists already")
        self._write(output_model_path)

    def compile_to_bytes(self) -> bytes:
        """The written model. Fail with external initializers, which need a file to lie beside."""
        if self._has_external_file:
            raise _fail("external initializers need an output file: use compile_to_file")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "compiled.onnx"
            self._write(str(path))
            return path.read_bytes()

    def compile_to_stream(self, write_function: Callable[[bytes], Any]) -> None:
        """Hands the written model to write_function in one piece; what that raises comes as Fail."""
        content = self.compile_to_bytes()
        try:
            write_function(content)
        except Exception as error:
            raise _fail(f"the write function raised {type(error).__name__}: {error}") from error

    def _write(self, path: str) -> None:
        options = _core.SessionOptions(self._options)
        options.optimized_model_filepath = path
        if self._flags & OrtCompileApiFlags.ERROR_IF_NO_NODES_COMPILED:
            raise _fail(
                "Unable to compile any nodes: no provider of these options makes binary contexts"
            )
        InferenceSession(self._model, options)

"""LoRA adapters: named tensors in a FlatBuffer file that stand in for a model's optional inputs.

File: root table {format_version, adapter_version, model_version: int32, parameters: [Parameter]},
identifier "TORT"; Parameter {name: string, dims: [int64], data_type: int32 (of the ONNX format),
raw_data: [uint8]}. All numbers are little-endian.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from switchyard._core import OrtValue

_IDENTIFIER = b"TORT"
_FORMAT_VERSION = 1
# Bytes of an element by its code in the ONNX format. Text and types below a byte are not stored.
_WIDTHS = {1: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 12: 4, 13: 8, 14: 8}
_WIDTHS |= {15: 16, 16: 2, 17: 1, 18: 1, 19: 1, 20: 1, 24: 1}
_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
# Both tables have four fields of four bytes behind the offset of their vtable.
_VTABLE = struct.pack("<6H", 12, 20, 4, 8, 12, 16)


class _Writer:
    """Appends the parts of a FlatBuffer in reading order; offsets are filled in as targets come."""

    def __init__(self) -> None:
        self.data = bytearray(struct.pack("<I4s", 0, _IDENTIFIER) + _VTABLE)

    def align(self, to: int, behind: int = 0) -> None:
        self.data += bytes(-(len(self.data) + behind) % to)

    def point(self, field: int) -> None:
        struct.pack_into("<I", self.data, field, len(self.data) - field)

    def table(self, fields: tuple[int, int, int, int]) -> int:
        """Where the first field is."""
        self.align(4)
        start = len(self.data)
        self.data += struct.pack("<i4i", start - 8, *fields)
        return start + 4

    def vector(self, field: int, count: int, content: bytes, align: int) -> None:
        self.align(max(align, 4), behind=4)
        self.point(field)
        self.data += struct.pack("<I", count) + content


def _serialize(versions: tuple[int, int, int], parameters: Mapping[str, OrtValue]) -> bytes:
    out = _Writer()
    out.align(4)
    struct.pack_into("<I", out.data, 0, len(out.data))
    root = out.table((*versions, 0))
    out.align(4)
    out.point(root + 12)
    out.data += struct.pack("<I", len(parameters))
    slots = len(out.data)
    out.data += bytes(4 * len(parameters))
    for i, (name, value) in enumerate(parameters.items()):
        if not value.is_tensor() or value.element_type() not in _WIDTHS:
            raise RuntimeError(f"parameter '{name}': {value.data_type()} can't be in an adapter")
        code, dims = value.element_type(), value.shape()
        out.align(4)
        out.point(slots + 4 * i)
        field = out.table((0, 0, code, 0))
        text = name.encode()
        out.vector(field, len(text), text + b"\0", 1)
        out.vector(field + 4, len(dims), struct.pack(f"<{len(dims)}q", *dims), 8)
        content = _bytes_of(value)
        out.vector(field + 12, len(content), content, 8)
    return bytes(out.data)


def _bytes_of(value: OrtValue) -> bytes:
    source: Any = value.numpy()
    return bytes(np.ascontiguousarray(source).tobytes())


class _Reader:
    """Bounds-checked look at a FlatBuffer; RuntimeError for whatever does not fit."""

    def __init__(self, data: Any, path: str) -> None:
        self.data, self.path = data, path

    def fail(self) -> RuntimeError:
        return RuntimeError(
            f"{self.path}: The buffer does not appear to be a valid lora parameter format"
        )

    def unpack(self, form: str, at: int) -> tuple[int, ...]:
        try:
            if at < 0:
                raise self.fail()
            return struct.unpack_from("<" + form, self.data, at)
        except struct.error:
            raise self.fail() from None

    def number(self, at: int, form: str = "I") -> int:
        return self.unpack(form, at)[0]

    def follow(self, at: int) -> int:
        return at + self.number(at)

    def field(self, table: int, index: int) -> int | None:
        """Where a field is; None: it has its default."""
        vtable = table - self.number(table, "i")
        if 4 + 2 * index >= self.number(vtable, "H"):
            return None
        offset = self.number(vtable + 4 + 2 * index, "H")
        return table + offset if offset else None

    def integer(self, table: int, index: int) -> int:
        at = self.field(table, index)
        return 0 if at is None else self.number(at, "i")

    def vector(self, table: int, index: int, width: int) -> tuple[int, int]:
        """Where the elements are, and how many."""
        at = self.field(table, index)
        if at is None:
            return 0, 0
        start = self.follow(at)
        count = self.number(start)
        if start + 4 + count * width > len(self.data):
            raise self.fail()
        return start + 4, count

    def parameter(self, table: int) -> tuple[str, OrtValue]:
        start, count = self.vector(table, 0, 1)
        try:
            name = bytes(self.data[start : start + count]).decode()
        except UnicodeDecodeError:
            raise self.fail() from None
        start, count = self.vector(table, 1, 8)
        dims = self.unpack(f"{count}q", start) if count else ()
        code = self.integer(table, 2)
        start, size = self.vector(table, 3, 1)
        width = _WIDTHS.get(code)
        if width is None or any(dim < 0 for dim in dims):
            raise self.fail()
        elements = 1
        for dim in dims:
            elements *= dim
        if elements * width != size:
            raise self.fail()
        unit = min(width, 8)
        dtype: Any = np.complex128 if width == 16 else _UNSIGNED[unit]
        flat = np.frombuffer(self.data, dtype, elements, start)
        array = flat.reshape(dims)
        return name, OrtValue.ortvalue_from_numpy_with_onnx_type(array, code)


def _read(path: str | os.PathLike[str]) -> tuple[tuple[int, int, int], dict[str, OrtValue]]:
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            data: Any = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise RuntimeError(f"{name}: can't read the adapter: {error}") from error
    reader = _Reader(data, name)
    if len(data) < 8 or data[4:8] != _IDENTIFIER:
        raise reader.fail()
    root = reader.follow(0)
    versions = (reader.integer(root, 0), reader.integer(root, 1), reader.integer(root, 2))
    start, count = reader.vector(root, 3, 4)
    tables = (reader.follow(start + 4 * i) for i in range(count))
    return versions, dict(reader.parameter(table) for table in tables)


class AdapterFormat:
    """An adapter file in memory: to write one, or to look into one. One thread at a time."""

    def __init__(self, adapter: AdapterFormat | None = None) -> None:
        self._versions: list[int] = [_FORMAT_VERSION, 0, 0]
        self._parameters: dict[str, OrtValue] = {}
        if adapter is not None:
            self._versions = list(adapter._versions)
            self._parameters = dict(adapter._parameters)

    @staticmethod
    def read_adapter(file_path: str | os.PathLike[str]) -> AdapterFormat:
        """An adapter from a file; its tensors show the file's memory. RuntimeError: not one."""
        versions, parameters = _read(file_path)
        result = AdapterFormat()
        result._versions = list(versions)
        result._parameters = parameters
        return result

    def export_adapter(self, file_path: str | os.PathLike[str]) -> None:
        """Writes the file. RuntimeError for tensors of text, before anything is written."""
        versions = (_FORMAT_VERSION, self._versions[1], self._versions[2])
        content = _serialize(versions, self._parameters)
        with open(file_path, "wb") as file:
            file.write(content)

    def get_format_version(self) -> int:
        """Version of the file format."""
        return self._versions[0]

    def set_adapter_version(self, adapter_version: int) -> None:
        """A number of the user's own for the adapter."""
        self._versions[1] = int(adapter_version)

    def get_adapter_version(self) -> int:
        """A number of the user's own for the adapter."""
        return self._versions[1]

    def set_model_version(self, model_version: int) -> None:
        """A number of the user's own for the model that the adapter fits."""
        self._versions[2] = int(model_version)

    def get_model_version(self) -> int:
        """A number of the user's own for the model that the adapter fits."""
        return self._versions[2]

    def set_parameters(self, params: Mapping[str, OrtValue]) -> None:
        """Replaces the tensors; TypeError for values that are no OrtValue."""
        for name, value in params.items():
            if not isinstance(value, OrtValue):
                raise TypeError(f"parameter '{name}' is no OrtValue but {type(value).__name__}")
        self._parameters = dict(params)

    def get_parameters(self) -> dict[str, OrtValue]:
        """The tensors by name; they keep the file's memory alive."""
        return dict(self._parameters)


class LoraAdapter:
    """An adapter to run with; see RunOptions.add_active_adapter. Immutable once loaded."""

    def __init__(self) -> None:
        self._parameters: dict[str, OrtValue] = {}

    def Load(self, file_path: str | os.PathLike[str]) -> None:  # noqa: N802
        """Maps the file. RuntimeError where it is no adapter."""
        self._parameters = _read(file_path)[1]

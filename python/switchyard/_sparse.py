"""Sparse tensors of the caller: values with their places, held as NumPy arrays.

Sessions take and give dense tensors only; a sparse tensor can be made, looked at, and carried in an
OrtValue. Objects of this module are immutable, so threads may share them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from switchyard import _core
from switchyard._devices import OrtDevice
from switchyard._enums import OrtSparseFormat

Index = npt.NDArray[np.int64]


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _indices(array: Any, what: str) -> Index:
    result = np.ascontiguousarray(array, dtype=np.int64)
    if result.ndim > 2:
        raise RuntimeError(f"{what} are an array of one or two dims, got {result.ndim}")
    return result


class SparseCooView:
    """Places of the values of a COO tensor."""

    def __init__(self, indices: Index) -> None:
        self._indices = indices

    def indices(self) -> Index:
        """[n] positions in the flat tensor, or [n, 2] rows and columns; read-only."""
        return _read_only(self._indices)


class SparseCsrView:
    """Places of the values of a CSR tensor."""

    def __init__(self, inner: Index, outer: Index) -> None:
        self._inner, self._outer = inner, outer

    def inner(self) -> Index:
        """[n] the column of each value; read-only."""
        return _read_only(self._inner)

    def outer(self) -> Index:
        """[rows + 1] where each row starts among the values; read-only."""
        return _read_only(self._outer)


class SparseBlockSparseView:
    """Places of the blocks of a block-sparse tensor."""

    def __init__(self, indices: npt.NDArray[np.int32]) -> None:
        self._indices = indices

    def indices(self) -> npt.NDArray[np.int32]:
        """[2, n] rows and columns of the blocks; read-only."""
        return _read_only(self._indices)


class SparseTensor:
    """A tensor of which only some elements are kept. Made by the two static functions."""

    _format: OrtSparseFormat
    _shape: list[int]
    _values: npt.NDArray[Any]
    _view: SparseCooView | SparseCsrView
    _type: str

    def __init__(self, sparse_tensor: SparseTensor) -> None:
        """A second name for the same contents; ValueError for anything but a SparseTensor."""
        if not isinstance(sparse_tensor, SparseTensor):
            raise ValueError(
                f"`Provided object` needs to be a SparseTensor, got {type(sparse_tensor).__name__}"
            )
        self.__dict__.update(sparse_tensor.__dict__)

    @classmethod
    def _make(
        cls,
        form: OrtSparseFormat,
        dense_shape: Sequence[int],
        values: npt.NDArray[Any],
        ort_device: OrtDevice,
        view: SparseCooView | SparseCsrView,
    ) -> SparseTensor:
        if ort_device.device_type() != 0:
            raise RuntimeError(f"sparse tensors live on the cpu, got {ort_device!r}")
        self = cls.__new__(cls)
        self._format = form
        self._shape = [int(dim) for dim in dense_shape]
        self._values = values.astype(object) if values.dtype.kind in "US" else values
        self._view = view
        # The name of the element type is that of a tensor of it.
        name = _core.OrtValue.ortvalue_from_numpy(np.zeros(1, values.dtype)).data_type()
        self._type = f"sparse_{name}"
        return self

    @staticmethod
    def sparse_coo_from_numpy(
        dense_shape: Sequence[int] | Index,
        values: npt.NDArray[Any],
        coo_indices: Index,
        ort_device: OrtDevice,
    ) -> SparseTensor:
        """Values with their places: [n] positions in the flat tensor, or [n, 2] rows and columns.

        The values are not copied. RuntimeError where counts or places do not fit the shape.
        """
        shape = [int(dim) for dim in dense_shape]
        kept, places = _flat(values), _indices(coo_indices, "COO indices")
        if places.size not in (kept.size, 2 * kept.size):
            raise RuntimeError(
                f"Index size: {places.size} must be equal to or twice the values size: {kept.size}"
            )
        if places.ndim == 1 and places.size != kept.size:
            places = places.reshape(-1, 2)
        if places.ndim == 2 and (len(shape) != 2 or places.shape[1] != 2):
            raise RuntimeError(f"COO indices {places.shape} do not fit a tensor of {shape}")
        limit = np.array(shape if places.ndim == 2 else [int(np.prod(shape))])
        if places.size and (places.min() < 0 or (places >= limit).any()):
            raise RuntimeError(f"COO indices lie outside of the tensor {shape}")
        return SparseTensor._make(
            OrtSparseFormat.ORT_SPARSE_COO, shape, kept, ort_device, SparseCooView(places)
        )

    @staticmethod
    def sparse_csr_from_numpy(
        dense_shape: Sequence[int] | Index,
        values: npt.NDArray[Any],
        inner_indices: Index,
        outer_indices: Index,
        ort_device: OrtDevice,
    ) -> SparseTensor:
        """Values row by row: the column of each, and where each row starts ([rows + 1]).

        The values are not copied. RuntimeError where counts or places do not fit the shape.
        """
        shape = [int(dim) for dim in dense_shape]
        kept = _flat(values)
        inner = _indices(inner_indices, "inner indices").reshape(-1)
        outer = _indices(outer_indices, "outer indices").reshape(-1)
        if len(shape) != 2:
            raise RuntimeError(f"CSR tensors have two dims, got {shape}")
        if inner.size != kept.size:
            raise RuntimeError(f"{inner.size} inner indices for {kept.size} values")
        if outer.size != shape[0] + 1 and kept.size:
            raise RuntimeError(f"{outer.size} outer indices for {shape[0]} rows, expected one more")
        if inner.size and (inner.min() < 0 or inner.max() >= shape[1]):
            raise RuntimeError(f"inner indices lie outside of the {shape[1]} columns")
        if outer.size and (outer[0] != 0 or outer[-1] != kept.size or (np.diff(outer) < 0).any()):
            raise RuntimeError(f"outer indices must rise from 0 to {kept.size}")
        return SparseTensor._make(
            OrtSparseFormat.ORT_SPARSE_CSRC, shape, kept, ort_device, SparseCsrView(inner, outer)
        )

    def values(self) -> npt.NDArray[Any]:
        """[n] the kept elements as a read-only view; text as an array of str objects."""
        return _read_only(self._values)

    def as_coo_view(self) -> SparseCooView:
        """The places of a COO tensor; RuntimeError for another format."""
        if not isinstance(self._view, SparseCooView):
            raise RuntimeError("This sparse tensor does not contain COO format")
        return self._view

    def as_csrc_view(self) -> SparseCsrView:
        """The places of a CSR tensor; RuntimeError for another format."""
        if not isinstance(self._view, SparseCsrView):
            raise RuntimeError("This sparse tensor does not contain CSR(C) format")
        return self._view

    def as_blocksparse_view(self) -> SparseBlockSparseView:
        """Always a RuntimeError: no block-sparse tensors are made here."""
        raise RuntimeError("This sparse tensor does not contain BlockSparse format")

    def to_cuda(self, ort_device: OrtDevice) -> SparseTensor:
        """Always a RuntimeError: sparse tensors live on the cpu."""
        raise RuntimeError(f"sparse tensors live on the cpu; no copy to {ort_device!r}")

    def format(self) -> OrtSparseFormat:
        """COO or CSR."""
        return self._format

    def dense_shape(self) -> list[int]:
        """Dims of the tensor with all elements."""
        return list(self._shape)

    def data_type(self) -> str:
        """ "sparse_tensor(float)" ..."""
        return self._type

    def device_name(self) -> str:
        """Always "cpu"."""
        return "cpu"

    def _get_c_tensor(self) -> SparseTensor:
        return self


def _flat(values: Any) -> npt.NDArray[Any]:
    if not isinstance(values, np.ndarray):
        raise TypeError(f"values are a numpy array, got {type(values).__name__}")
    return np.ascontiguousarray(values).reshape(-1)

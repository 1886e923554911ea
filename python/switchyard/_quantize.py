"""Block-wise quantisation of matrices: the functions behind ONNX Runtime's quantisation tools.

All write into arrays that the caller made. A weight is a matrix [K, N]; each column is cut into
blocks of block_size rows with one scale and one zero point each. Asymmetric: zero to one over the
range of the block including 0. Symmetric: the element of largest magnitude becomes the least code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]
Bytes = npt.NDArray[np.uint8]
Block = npt.NDArray[np.float32]

# Values of the codes of bitsandbytes: FP4 (0) and NF4 (1).
_FP4_MAGNITUDES = (0.0, 0.00520833333, 0.66666667, 1.0, 0.33333333, 0.5, 0.16666667, 0.25)
_NF4 = (
    -1.0,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0.0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1.0,
)


def _half_away(x: Block) -> Block:
    return np.copysign(np.floor(np.abs(x) + np.float32(0.5)), x)


def _check(target: npt.NDArray[Any], size: int, what: str) -> npt.NDArray[Any]:
    if target.size < size or not target.flags.c_contiguous or not target.flags.writeable:
        raise RuntimeError(
            f"{what}: expected a writable contiguous array of {size} elements, got {target.size}"
        )
    return target.reshape(-1)[:size]


def _blocks(src: Floats, block_size: int, n: int, k: int) -> Block:
    """[blocks, block_size, N]; rows behind the last are zero."""
    if block_size < 16 or block_size & (block_size - 1):
        raise RuntimeError(f"block_size is a power of two from 16, got {block_size}")
    if src.size != n * k:
        raise RuntimeError(f"the weight has {src.size} elements, expected {k} x {n}")
    count = -(-k // block_size)
    padded = np.zeros((count * block_size, n), np.float32)
    padded[:k] = src.reshape(k, n)
    return padded.reshape(count, block_size, n)


def _quantize(
    blocks: Block, bits: int, symmetric: bool
) -> tuple[npt.NDArray[np.uint8], Block, npt.NDArray[np.uint8]]:
    """Codes [blocks, block_size, N], scales and zero points [blocks, N]."""
    top, middle = (1 << bits) - 1, 1 << (bits - 1)
    least, most = blocks.min(axis=1), blocks.max(axis=1)
    if symmetric:
        extreme = np.where(np.abs(most) > np.abs(least), most, least)
        scale = extreme / np.float32(-middle)
        zero = np.full(scale.shape, middle, np.float32)
    else:
        least, most = np.minimum(least, 0), np.maximum(most, 0)
        scale = (most - least) / np.float32(top)
        with np.errstate(divide="ignore", invalid="ignore"):
            zero = np.where(scale != 0, -least / scale, np.float32(0))
        zero = np.clip(_half_away(zero), 0, top)
    with np.errstate(divide="ignore"):
        reciprocal = np.where(scale != 0, np.float32(1) / scale, np.float32(0))
    codes = _half_away(blocks * reciprocal[:, None, :] + zero[:, None, :])
    return np.clip(codes, 0, top).astype(np.uint8), scale, zero.astype(np.uint8)


def _pack(codes: npt.NDArray[np.uint8], bits: int, filler: int = 0) -> Bytes:
    """The last dim packed from the low bits up; its end is filled up with `filler`."""
    per_byte = 8 // bits
    fill = -codes.shape[-1] % per_byte
    if fill:
        widths = [(0, 0)] * (codes.ndim - 1) + [(0, fill)]
        codes = np.pad(codes, widths, constant_values=filler)
    grouped = codes.reshape(*codes.shape[:-1], -1, per_byte)
    packed = np.zeros(grouped.shape[:-1], np.uint8)
    for i in range(per_byte):
        packed |= grouped[..., i] << np.uint8(bits * i)
    return packed


def _nbits(
    bits: int,
    dst: Bytes,
    src: Floats,
    scale: Floats,
    zero_points: Bytes,
    block_size: int,
    n: int,
    k: int,
    is_symmetric: bool,
) -> None:
    codes, scales, zeros = _quantize(_blocks(src, block_size, n, k), bits, is_symmetric)
    codes.reshape(-1, n)[k:] = 0
    packed = _pack(codes.transpose(2, 0, 1), bits).reshape(-1)
    _check(dst, packed.size, "quantized weight")[:] = packed
    _check(scale, scales.size, "scales")[:] = scales.T.reshape(-1)
    if not is_symmetric:
        packed_zeros = _pack(zeros.T, bits, 1 << (bits - 1)).reshape(-1)
        _check(zero_points, packed_zeros.size, "zero points")[:] = packed_zeros


def quantize_matmul_2bits(
    dst: Bytes,
    src: Floats,
    scale: Floats,
    zero_points: Bytes,
    block_size: int,
    n: int,
    k: int,
    is_symmetric: bool,
) -> None:
    """src [K, N] as MatMulNBits reads it: dst [N, blocks, block_size / 4], scale [N, blocks],
    zero_points [N, ceil(blocks / 4)] (untouched where symmetric)."""
    _nbits(2, dst, src, scale, zero_points, block_size, n, k, is_symmetric)


def quantize_matmul_4bits(
    dst: Bytes,
    src: Floats,
    scale: Floats,
    zero_points: Bytes,
    block_size: int,
    n: int,
    k: int,
    is_symmetric: bool,
) -> None:
    """src [K, N] as MatMulNBits reads it: dst [N, blocks, block_size / 2], scale [N, blocks],
    zero_points [N, ceil(blocks / 2)] (untouched where symmetric)."""
    _nbits(4, dst, src, scale, zero_points, block_size, n, k, is_symmetric)


def quantize_matmul_8bits(
    dst: Bytes,
    src: Floats,
    scale: Floats,
    zero_points: Bytes,
    block_size: int,
    n: int,
    k: int,
    is_symmetric: bool,
) -> None:
    """src [K, N] as MatMulNBits reads it: dst [N, blocks, block_size], scale [N, blocks],
    zero_points [N, blocks] (untouched where symmetric)."""
    _nbits(8, dst, src, scale, zero_points, block_size, n, k, is_symmetric)


def _qdq(
    bits: int,
    dst: Bytes,
    src: Floats,
    scale: Floats,
    zero_points: Bytes,
    block_size: int,
    n: int,
    k: int,
    is_symmetric: bool,
) -> bool:
    codes, scales, zeros = _quantize(_blocks(src, block_size, n, k), bits, is_symmetric)
    if is_symmetric:  # signed codes, whose zero point is 0
        codes = codes ^ np.uint8(1 << (bits - 1))
        zeros = zeros ^ np.uint8(1 << (bits - 1))
    flat = codes.reshape(-1, n)[:k].reshape(1, -1)
    packed = _pack(flat, bits).reshape(-1)
    _check(dst, packed.size, "quantized weight")[:] = packed
    _check(scale, scales.size, "scales")[:] = scales.reshape(-1)
    if not is_symmetric:
        packed_zeros = _pack(zeros.reshape(1, -1), bits).reshape(-1)
        _check(zero_points, packed_zeros.size, "zero points")[:] = packed_zeros
    return bool(is_symmetric)


def quantize_qdq_matmul_2bits(
    dst: Bytes,
    src: Floats,
    scale: Floats,
    zero_points: Bytes,
    block_size: int,
    n: int,
    k: int,
    is_symmetric: bool,
) -> bool:
    """src [K, N] as DequantizeLinear reads it: dst [K, N] packed, scale and zero_points
    [blocks, N]. True: the codes are signed (symmetric)."""
    return _qdq(2, dst, src, scale, zero_points, block_size, n, k, is_symmetric)


def quantize_qdq_matmul_4bits(
    dst: Bytes,
    src: Floats,
    scale: Floats,
    zero_points: Bytes,
    block_size: int,
    n: int,
    k: int,
    is_symmetric: bool,
) -> bool:
    """src [K, N] as DequantizeLinear reads it: dst [K, N] packed, scale and zero_points
    [blocks, N]. True: the codes are signed (symmetric)."""
    return _qdq(4, dst, src, scale, zero_points, block_size, n, k, is_symmetric)


def quantize_matmul_bnb4(
    dst: Bytes,
    src: Floats,
    absmax: Floats,
    block_size: int,
    quant_type: int,
    n: int,
    k: int,
) -> None:
    """src [N, K] in flat blocks as MatMulBnb4 reads it: two codes a byte, the first in the high
    bits; absmax: one magnitude a block. quant_type: 0 FP4, 1 NF4."""
    if quant_type not in (0, 1):
        raise RuntimeError(f"quant_type is 0 (FP4) or 1 (NF4), got {quant_type}")
    if src.size != n * k:
        raise RuntimeError(f"the weight has {src.size} elements, expected {n} x {k}")
    count = -(-src.size // block_size)
    padded = np.zeros(count * block_size, np.float32)
    padded[: src.size] = src.reshape(-1)
    blocks = padded.reshape(count, block_size)
    largest = np.abs(blocks).max(axis=1)
    with np.errstate(divide="ignore"):
        reciprocal = np.where(largest != 0, np.float32(1) / largest, np.float32(0))
    codes = _nearest((blocks * reciprocal[:, None]).reshape(-1)[: src.size], quant_type)
    if codes.size % 2:
        codes = np.append(codes, _nearest(np.zeros(1, np.float32), quant_type))
    packed = (codes[0::2] << np.uint8(4)) | codes[1::2]
    _check(dst, packed.size, "quantized weight")[:] = packed
    _check(absmax, count, "absmax")[:] = largest


def _nearest(values: Block, quant_type: int) -> npt.NDArray[np.uint8]:
    table = np.array(_NF4 if quant_type else _FP4_MAGNITUDES, np.float32)
    order = np.argsort(table)
    middles = (table[order][1:] + table[order][:-1]) / 2
    if quant_type:
        return order[np.searchsorted(middles, values, side="left")].astype(np.uint8)
    codes = order[np.searchsorted(middles, np.abs(values), side="left")].astype(np.uint8)
    return codes | np.where(values < 0, 8, 0).astype(np.uint8)

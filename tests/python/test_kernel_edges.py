"""Inputs at the edges of kernels: an Error or the right values, never a crash or another's memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import switchyard as sy
from conftest import CPU

from onnx import TensorProto, helper

MICROSOFT = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]


def run(op: str, inputs: list[np.ndarray | None], outputs: int, **attributes: Any) -> list[Any]:
    """One node of com.microsoft (of ONNX where it has the operator) on two threads."""
    domain = attributes.pop("domain", "com.microsoft")
    names = ["" if array is None else f"i{k}" for k, array in enumerate(inputs)]
    given = {name: array for name, array in zip(names, inputs, strict=True) if array is not None}
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for name, a in given.items()
    ]
    results = [f"o{k}" for k in range(outputs)]
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    out = [helper.make_empty_tensor_value_info(name) for name in results]
    graph = helper.make_graph([node], "edge", infos, out)
    model = helper.make_model(graph, opset_imports=MICROSOFT, ir_version=8)
    options = sy.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 4
    session = sy.InferenceSession(model.SerializeToString(), options, providers=CPU)
    return session.run(None, given)


def floats(*dims: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(dims).astype(np.float32)


@pytest.mark.parametrize("length", [160, 256, 292])
@pytest.mark.parametrize("room", [1, 8, 40])
def test_grouped_query_attention_with_unused_room_in_the_cache(length: int, room: int) -> None:
    heads, kv_heads, size = 4, 2, 64
    q = floats(1, length, heads * size, seed=1)
    k, v = (floats(1, length, kv_heads * size, seed=s) for s in (2, 3))
    counts = [np.array([length - 1], np.int32), np.array([length], np.int32)]
    attributes = {"num_heads": heads, "kv_num_heads": kv_heads}
    plain = run("GroupQueryAttention", [q, k, v, None, None, *counts], 3, **attributes)[0]
    past = [floats(1, kv_heads, room, size, seed=s) for s in (4, 5)]
    with_room = run("GroupQueryAttention", [q, k, v, *past, *counts], 3, **attributes)[0]
    np.testing.assert_allclose(with_room, plain, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("key", "val"),
    [
        (floats(2, 3, 8), None),
        (floats(2, 2, 3, 4), None),
        (floats(2, 3, 8), floats(1, 3, 8)),
        (floats(2, 2, 3, 4), floats(1, 2, 3, 4)),
    ],
)
def test_attention_needs_a_value_of_every_batch(key: np.ndarray, val: np.ndarray | None) -> None:
    with pytest.raises(Exception, match=r"do not fit|MultiHeadAttention"):
        run("MultiHeadAttention", [floats(2, 3, 8), key, val], 1, num_heads=2)


def test_empty_zero_points_are_refused() -> None:
    x = np.ones((1, 1, 4, 4), np.uint8)
    w = np.ones((1, 1, 2, 2), np.uint8)
    empty = np.zeros((0,), np.uint8)
    zero = np.array(0, np.uint8)
    with pytest.raises(Exception, match="ConvInteger"):
        run("ConvInteger", [x, w, zero, empty], 1, domain="")


@pytest.mark.parametrize("rows", [1, 9])
@pytest.mark.parametrize("level", [0, 4])
def test_four_bits_without_zero_points(rows: int, level: int) -> None:
    k, n, block = 64, 24, 32
    codes = np.random.default_rng(7).integers(0, 256, (n, k // block, block // 2), dtype=np.uint8)
    scales = np.abs(floats(n, k // block, seed=8)) * 0.1 + 0.01
    a = floats(rows, k, seed=9)
    attributes = {"K": k, "N": n, "bits": 4, "block_size": block, "accuracy_level": level}
    given = run("MatMulNBits", [a, codes, scales.ravel()], 1, **attributes)[0]
    zeros = np.full(n * (k // block) // 2, 0x88, np.uint8)
    named = run("MatMulNBits", [a, codes, scales.ravel(), zeros], 1, **attributes)[0]
    np.testing.assert_array_equal(given, named)
    wide = np.stack([codes & 15, codes >> 4], axis=-1).reshape(n, k // block, block)
    weight = ((wide.astype(np.float32) - 8) * scales[..., None]).reshape(n, k)
    tolerance = 0.05 if level == 4 else 1e-4
    np.testing.assert_allclose(given, a @ weight.T, atol=tolerance * np.abs(a @ weight.T).max())


def test_a_team_that_no_machine_has_is_refused_at_once() -> None:
    options = sy.SessionOptions()
    options.intra_op_num_threads = 1_000_000_000
    node = helper.make_node("Relu", ["x"], ["y"])
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy"]
    graph = helper.make_graph([node], "g", info[:1], info[1:])
    model = helper.make_model(graph, opset_imports=MICROSOFT, ir_version=8)
    with pytest.raises(Exception, match="at most 1024"):
        sy.InferenceSession(model.SerializeToString(), options, providers=CPU)

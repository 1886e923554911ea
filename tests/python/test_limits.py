"""What holds while a model is loaded or run: options, the signature, time, memory, denormals, rank."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
import switchyard as sy
from conftest import CPU, model, unary, value

import onnx
from onnx import TensorProto, helper

F, INT = TensorProto.FLOAT, TensorProto.INT64


def session(data: bytes, entries: dict[str, str] | None = None, **kwargs: Any):
    options = sy.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 4
    for key, entry in (entries or {}).items():
        options.add_session_config_entry(key, entry)
    return sy.InferenceSession(data, options, providers=CPU, **kwargs)


@pytest.mark.parametrize("size", [0, -1, -(2**63)])
def test_a_dim_is_fixed_to_one_or_more(size):
    options = sy.SessionOptions()
    options.add_free_dimension_override_by_name("a", size)
    with pytest.raises(sy.InvalidArgument, match=f"'a'.*{size}"):
        sy.InferenceSession(unary("Abs"), options, providers=CPU)


def test_passes_are_disabled_by_names_that_exist():
    with pytest.raises(sy.InvalidArgument, match=r"'bogus'.*constant_folding"):
        session(unary("Abs"), disabled_optimizers=["bogus"])
    key = "optimization.disable_specified_optimizers"
    with pytest.raises(sy.InvalidArgument, match=r"'bogus'.*constant_folding"):
        session(unary("Abs"), {key: "constant_folding; bogus"})
    session(unary("Abs"), {key: "constant_folding;ConstantFolding"})
    session(unary("Abs"), disabled_optimizers=["gelu", "AttentionFusion"])


@pytest.mark.parametrize(
    "key",
    [
        "switchyard.strict_providers",
        "switchyard.verify_each_pass",
        "session.disable_cpu_ep_fallback",
        "session.set_denormal_as_zero",
        "session.intra_op.allow_spinning",
        "session.strict_shape_type_inference",
    ],
)
def test_switches_are_on_or_off(key):
    with pytest.raises(sy.InvalidArgument, match=f"{key}.*'perhaps'"):
        session(unary("Abs"), {key: "perhaps"})
    session(unary("Abs"), {key: "0"})


def abs_of(shape: Any, declared: Any) -> bytes:
    node = helper.make_node("Abs", ["x"], ["y"], name="abs")
    return model([node], [value("x", F, shape)], [value("y", F, declared)])


LENIENT = {"session.strict_shape_type_inference": "0"}


@pytest.mark.parametrize(
    ("shape", "declared"), [([2, 4], [3, 3]), ([2, 4], [8]), (["N", 4], ["N", 4, 1])]
)
def test_outputs_are_what_the_model_declares(shape, declared):
    with pytest.raises(sy.InvalidGraph, match=r"'y'.*abs"):
        session(abs_of(shape, declared))
    x = np.ones((2, 4), np.float32)
    assert session(abs_of(shape, declared), LENIENT).run(None, {"x": x})[0].shape == (2, 4)


def test_exporters_that_do_not_know_write_no_dims():
    x = np.ones((2, 4), np.float32)
    assert session(abs_of([2, 4], [])).run(None, {"x": x})[0].shape == (2, 4)


def test_dims_of_one_name_are_of_one_size():
    nodes = [helper.make_node("Abs", ["x"], ["y"]), helper.make_node("Abs", ["z"], ["w"])]
    data = model(
        nodes,
        [value("x", F, ["N", 4]), value("z", F, ["M", "N"])],
        [value("y", F, None), value("w", F, None)],
    )
    right = {"x": np.ones((2, 4), np.float32), "z": np.ones((3, 2), np.float32)}
    wrong = {**right, "z": np.ones((3, 5), np.float32)}
    strict = session(data)
    with pytest.raises(sy.InvalidArgument, match=r"'z': dim 1 is 5, expected 2.*'N'.*dim 0.*'x'"):
        strict.run(None, wrong)
    assert strict.run(None, right)[1].shape == (3, 2)
    assert session(data, LENIENT).run(None, wrong)[1].shape == (3, 5)


def test_one_name_twice_in_one_input():
    data = abs_of(["N", "N"], ["N", "N"])
    with pytest.raises(sy.InvalidArgument, match="'x': dim 1 is 4, expected 2"):
        session(data).run(None, {"x": np.ones((2, 4), np.float32)})


def deep_loops(depth: int) -> bytes:
    """Loops in one another; the innermost adds."""
    nodes = [helper.make_node("Add", ["a", "a"], ["d"])]
    for level in range(depth):
        inputs = [("i", INT, []), ("c", TensorProto.BOOL, []), ("a", F, None)]
        outputs = [("c", TensorProto.BOOL, []), ("d", F, None)]
        body = helper.make_graph(
            nodes, f"b{level}", [value(*v) for v in inputs], [value(*v) for v in outputs]
        )
        nodes = [helper.make_node("Loop", ["m", "", "a"], ["d"], body=body)]
    nodes = [helper.make_node("Identity", ["x"], ["a"]), *nodes]
    return model(nodes, [value("x", F, ["N"])], [value("d", F, None)], {"m": np.array(2, np.int64)})


def test_loading_ends_in_time():
    big = np.ones((256, 256), np.float32)
    constants = {f"w{i}": big + i for i in range(400)}
    nodes = [helper.make_node("MatMul", ["w0", "w1"], ["h1"])]
    for i in range(2, 400):
        nodes.append(helper.make_node("MatMul", [f"h{i - 1}", f"w{i}"], [f"h{i}"]))
    nodes.append(helper.make_node("Add", ["x", "h399"], ["y"]))
    data = model(nodes, [value("x", F, None)], [value("y", F, None)], constants)
    start = time.monotonic()
    with pytest.raises(sy.Fail, match=r"longer than the 20 ms of switchyard.load_time_limit_ms"):
        session(data, {"switchyard.load_time_limit_ms": "20"})
    assert time.monotonic() - start < 10
    session(unary("Abs"), {"switchyard.load_time_limit_ms": "60000"})
    for wrong in ["-1", "soon"]:
        with pytest.raises(sy.InvalidArgument, match="load_time_limit_ms"):
            session(unary("Abs"), {"switchyard.load_time_limit_ms": wrong})


def test_loops_in_loops_load_in_time():
    start = time.monotonic()
    try:
        session(deep_loops(20), {"switchyard.load_time_limit_ms": "5000"})
    except sy.Fail as error:
        assert "load_time_limit_ms" in str(error)
    assert time.monotonic() - start < 30
    x = np.ones(3, np.float32)
    np.testing.assert_array_equal(session(deep_loops(4)).run(None, {"x": x})[0], x * 2**16)


TINY = np.full(70000, 1e-39, np.float32)  # long enough for several threads


def test_denormals_are_zeros_unless_told_otherwise():
    node = helper.make_node("Mul", ["x", "s"], ["y"])
    data = model(
        [node], [value("x", F, ["n"])], [value("y", F, ["n"])], {"s": np.array(2, np.float32)}
    )
    for entries, kept in [
        ({}, False),
        ({"switchyard.accuracy": "exact"}, True),
        ({"session.set_denormal_as_zero": "0"}, True),
        ({"session.set_denormal_as_zero": "1"}, False),
        ({"session.set_denormal_as_zero": "1", "switchyard.accuracy": "exact"}, False),
    ]:
        y = session(data, entries).run(None, {"x": TINY})[0]
        assert (y == (TINY * 2 if kept else 0)).all(), entries
        # The caller's own arithmetic is as it was.
        assert np.float32(1e-39) * np.float32(2) != 0


def batched_scan(lengths: bool, reverse: int) -> bytes:
    """s' = s + x; o = 2 s' for each sequence of a batch."""
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "e"], ["t"]), helper.make_node("Add", ["t", "t"], ["o"])],
        "body",
        [value("s", F, [2]), value("e", F, [2])],
        [value("t", F, [2]), value("o", F, [2])],
    )
    node = helper.make_node(
        "Scan",
        ["l" if lengths else "", "x", "z"],
        ["y", "w"],
        body=body,
        num_scan_inputs=1,
        directions=[reverse],
    )
    inputs = [value("x", F, ["B", 2]), value("z", F, ["B", "T", 2])]
    if lengths:
        inputs.append(value("l", INT, ["B"]))
    return model([node], inputs, [value("y", F, None), value("w", F, None)], opset=8)


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("lengths", [None, [4, 0, 2]])
def test_scan_of_a_batch(reverse, lengths):
    generator = np.random.default_rng(5)
    x = generator.standard_normal((3, 2), np.float32)
    z = generator.standard_normal((3, 4, 2), np.float32)
    feeds = {"x": x, "z": z}
    if lengths:
        feeds["l"] = np.array(lengths, np.int64)
    state, out = x.copy(), np.zeros((3, 4, 2), np.float32)
    for b, length in enumerate(lengths or [4] * 3):
        for t in range(length):
            state[b] = state[b] + z[b, length - 1 - t if reverse else t]
            out[b, t] = 2 * state[b]
    made = session(batched_scan(bool(lengths), reverse))
    for _ in range(2):
        y, w = made.run(None, feeds)
        np.testing.assert_allclose(y, state, rtol=1e-6)
        np.testing.assert_allclose(w, out, rtol=1e-6)


def test_scan_of_a_batch_that_can_not_be():
    made = session(batched_scan(True, 0))
    x, z = np.ones((3, 2), np.float32), np.ones((3, 4, 2), np.float32)
    for lengths in ([5, 0, 0], [-1, 0, 0]):
        with pytest.raises(sy.InvalidArgument, match=r"Scan.*sequence_lens"):
            made.run(None, {"x": x, "z": z, "l": np.array(lengths, np.int64)})
    y, w = made.run(None, {"x": x[:0], "z": z[:0], "l": np.zeros(0, np.int64)})
    assert y.shape == (0, 2) and w.shape == (0, 4, 2)


DOUBLING = """
import resource, sys
import numpy as np
import switchyard as sy
model, room = open(sys.argv[1], "rb").read(), int(sys.argv[2])
options = sy.SessionOptions()
options.intra_op_num_threads = 2
made = sy.InferenceSession(model, options, providers=["CPUExecutionProvider"])
x = np.ones(4, np.float32)
made.run(None, {"x": x, "m": np.array(3)})
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
resource.setrlimit(resource.RLIMIT_AS, (used + (room << 20), hard))
try:
    made.run(None, {"x": x, "m": np.array(60)})
except sy.RuntimeException as error:
    print(error)
assert made.run(None, {"x": x, "m": np.array(3)})[0].shape == (32,)
"""


@pytest.mark.parametrize("op", ["Concat", "Expand"])
def test_a_state_that_doubles_meets_the_limit_of_memory(tmp_path, op):
    if op == "Concat":
        nodes = [helper.make_node("Concat", ["a", "a"], ["d"], axis=0, name="double")]
    else:
        nodes = [
            helper.make_node("Shape", ["a"], ["n"]),
            helper.make_node("Add", ["n", "n"], ["t"]),
            helper.make_node("ConstantOfShape", ["t"], ["d"], name="double"),
        ]
    inputs = [("i", INT, []), ("c", TensorProto.BOOL, []), ("a", F, None)]
    outputs = [("c", TensorProto.BOOL, []), ("d", F, None)]
    body = helper.make_graph(nodes, "b", [value(*v) for v in inputs], [value(*v) for v in outputs])
    data = model(
        [helper.make_node("Loop", ["m", "", "x"], ["y"], body=body, name="again")],
        [value("x", F, None), value("m", INT, [])],
        [value("y", F, None)],
    )
    (tmp_path / "m.onnx").write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", DOUBLING, str(tmp_path / "m.onnx"), "300"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert "out of memory" in done.stdout and "again" in done.stdout, done.stdout


def gelu(opset: int = 20) -> bytes:
    """x/2 * (1 + erf(x/sqrt(2)))"""
    nodes = [
        helper.make_node("Div", ["x", "r"], ["a"]),
        helper.make_node("Erf", ["a"], ["b"]),
        helper.make_node("Add", ["b", "one"], ["c"]),
        helper.make_node("Mul", ["x", "c"], ["d"]),
        helper.make_node("Mul", ["d", "half"], ["e"]),
        helper.make_node("Relu", ["e"], ["y"]),
    ]
    constants = {
        "r": np.array(np.sqrt(2), np.float32),
        "one": np.array(1, np.float32),
        "half": np.array(0.5, np.float32),
    }
    return model(nodes, [value("x", F, ["N", 8])], [value("y", F, ["N", 8])], constants, opset)


@pytest.mark.parametrize(
    ("level", "opset", "fused"),
    [
        (sy.GraphOptimizationLevel.ORT_ENABLE_BASIC, 20, False),
        (sy.GraphOptimizationLevel.ORT_ENABLE_EXTENDED, 20, True),
        (sy.GraphOptimizationLevel.ORT_ENABLE_ALL, 20, True),
        (sy.GraphOptimizationLevel.ORT_ENABLE_ALL, 19, False),  # without the operator
    ],
)
def test_a_saved_model_holds_the_fusions_of_its_level(tmp_path, level, opset, fused):
    options = sy.SessionOptions()
    options.graph_optimization_level = level
    options.optimized_model_filepath = str(tmp_path / "saved.onnx")
    x = np.linspace(-3, 3, 16, dtype=np.float32).reshape(2, 8)
    expected = sy.InferenceSession(gelu(opset), options, providers=CPU).run(None, {"x": x})[0]
    saved = onnx.load(tmp_path / "saved.onnx")
    onnx.checker.check_model(saved)
    kinds = {node.op_type for node in saved.graph.node}
    assert ("Gelu" in kinds) == fused and ("Erf" in kinds) != fused, kinds
    assert not any(node.domain.startswith("sy") for node in saved.graph.node)
    again = sy.InferenceSession(str(tmp_path / "saved.onnx"), providers=CPU)
    np.testing.assert_allclose(again.run(None, {"x": x})[0], expected, rtol=1e-6, atol=1e-6)

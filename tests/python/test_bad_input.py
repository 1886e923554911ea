"""Hostile and odd input: each is an error with code, place and reason; the session stays usable."""

from __future__ import annotations

import os
import pathlib
import random
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
import switchyard as sy
from conftest import CPU, built, model, two_outputs, unary, value

import onnx
from onnx import TensorProto, helper, numpy_helper

F, INT, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
A = np.arange(8, dtype=np.float32).reshape(2, 4)
X4 = np.ones((1, 3, 8, 8), np.float32)
TOOL = built("bin", "switchyard")
ERRORS = tuple(
    getattr(sy, name)
    for name in [
        "Fail",
        "InvalidArgument",
        "NoSuchFile",
        "NoModel",
        "EngineError",
        "RuntimeException",
        "InvalidProtobuf",
        "ModelLoaded",
        "NotImplemented",
        "InvalidGraph",
        "EPFail",
    ]
)


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def session(data: Any, **entries: str) -> sy.InferenceSession:
    options = sy.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 4
    for key, entry in entries.items():
        options.add_session_config_entry(key, entry)
    return sy.InferenceSession(data, options, providers=CPU)


def graph_of(*nodes, inputs=(), outputs=(("y", F, None),), constants=None, opset=17) -> bytes:
    values = [[value(*item) for item in items] for items in (inputs, outputs)]
    return model(list(nodes), values[0], values[1], constants, opset)


def op(name: str, feeds: dict[str, np.ndarray], result: int = F, opset: int = 17, **attributes):
    """y = name(feeds...), ranks and dims of all values open."""
    node = helper.make_node(name, list(feeds), ["y"], **attributes)
    inputs = [(k, helper.np_dtype_to_tensor_dtype(v.dtype), None) for k, v in feeds.items()]
    return graph_of(node, inputs=inputs, outputs=[("y", result, None)], opset=opset), feeds


def node(name: str, inputs: str, outputs: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(name, inputs.split(), outputs.split(), **attributes)


X = ("x", F, ("a", "b"))
GRAPHS = {
    "cycle": (graph_of(node("Add", "x b", "y"), node("Relu", "y", "b"), inputs=[X]), "cycle"),
    "own result": (graph_of(node("Add", "x y", "y"), inputs=[X]), "cycle"),
    "made twice": (graph_of(node("Abs", "x", "y"), node("Relu", "x", "y"), inputs=[X]), "'y'.*twice"),
    "an input made": (graph_of(node("Abs", "x", "x"), inputs=[X], outputs=[X]), "'x'.*twice"),
    "nothing makes an input": (graph_of(node("Add", "x q", "y"), inputs=[X]), "'q'"),
    "nothing makes an output": (graph_of(node("Abs", "x", "q"), inputs=[X]), "'y'"),
    "unknown operator": (graph_of(node("Foo", "x", "y"), inputs=[X]), "Foo.*no provider"),
    "unknown domain": (graph_of(node("Foo", "x", "y", domain="a.b"), inputs=[X]), r"a\.b"),
    "opset of the future": (graph_of(node("Abs", "x", "y"), inputs=[X], opset=999), "999"),
    "opset 0": (graph_of(node("Abs", "x", "y"), inputs=[X], opset=0), "opset version 0"),
    "type": (graph_of(node("Abs", "x", "y"), inputs=[("x", TensorProto.STRING, None)]), "Abs.*string"),
    "types differ": (graph_of(node("Add", "x z", "y"), inputs=[X, ("z", INT, None)]), "Add.*int64"),
    "declared type": (graph_of(node("Abs", "x", "y"), inputs=[X], outputs=[("y", INT, None)]), "int64"),
    "too many inputs": (graph_of(node("Abs", "x x", "y"), inputs=[X]), "Abs.*2 inputs"),
    "too few inputs": (graph_of(node("Add", "x", "y"), inputs=[X]), "Add.*1 input"),
    "too many outputs": (graph_of(node("Abs", "x", "y z"), inputs=[X]), "Abs.*2 outputs"),
    "attribute's type": (graph_of(node("Softmax", "x", "y", axis=1.5), inputs=[X]), "Softmax.*'axis'"),
    "attribute's kind": (graph_of(node("Transpose", "x", "y", perm="ab"), inputs=[X]), "'perm'"),
    "unknown attribute": (graph_of(node("Abs", "x", "y", bogus=3), inputs=[X]), "'bogus'"),
    "missing attribute": (graph_of(node("Cast", "x", "y"), inputs=[X]), "Cast.*'to'"),
    "no such element type": (graph_of(node("Cast", "x", "y", to=99), inputs=[X]), "Cast.*99"),
    "axis": (graph_of(node("Softmax", "x", "y", axis=-(2**63)), inputs=[X]), "Softmax.*axis"),
    "axes twice": (graph_of(node("Transpose", "x", "y", perm=[0, 0]), inputs=[X]), "Transpose.*twice"),
    "older than the operator": (graph_of(node("Asinh", "", "y"), inputs=[X], opset=6), "Asinh.*opset 9.*imports 6"),
    "fill without element": (graph_of(node("ConstantOfShape", "s", "y", value=helper.make_tensor("v", F, [0], [])), inputs=[("s", INT, [1])]), "ConstantOfShape.*0 elements"),
    "square of a block": (graph_of(node("DepthToSpace", "x", "y", blocksize=2**40), inputs=[("x", F, (1, 8, 2, 3))]), "DepthToSpace.*blocksize"),
    "types behind types": (graph_of(node("Shape", "x", "s"), node("Sqrt", "s", "r"), node("Relu", "r", "y"), inputs=[X], outputs=[("y", INT, None)]), "Sqrt.*int64"),
    "no model": (onnx.ModelProto(ir_version=8).SerializeToString(), "graph"),
    "nothing": (b"", "graph"),
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_that_can_not_be(name):
    data, words = GRAPHS[name]
    with pytest.raises(ERRORS, match=f"(?s)\\[ONNXRuntimeError\\].*{words}"):
        session(data)


RUNS = {
    "reshape": (op("Reshape", {"x": A, "s": ints(3, 3)}), "Reshape"),
    "reshape to -1, -1": (op("Reshape", {"x": A, "s": ints(-1, -1)}), "Reshape"),
    "reshape overflows": (op("Reshape", {"x": A, "s": ints(2**40, 2**40)}), "Reshape"),
    "expand overflows": (op("Expand", {"x": A[:1, :1], "s": ints(2**31, 2**31)}), "Expand"),
    "expand, negative": (op("Expand", {"x": A[:1, :1], "s": ints(-3, 2)}), "Expand"),
    "expand, no memory": (op("Expand", {"x": A[:1, :1], "s": ints(2**22, 2**22)}), "Expand"),
    "tile overflows": (op("Tile", {"x": A, "s": ints(2**61, 2**61)}), "Tile"),
    "fill, no memory": (op("ConstantOfShape", {"s": ints(2**30, 2**30)}), "ConstantOfShape"),
    "fill, negative": (op("ConstantOfShape", {"s": ints(-1)}), "ConstantOfShape"),
    "range overflows": (op("Range", {"a": np.array(-(2**63)), "b": np.array(2**63 - 1), "c": np.array(1)}, INT), "Range"),
    "range of nan": (op("Range", {k: np.array(np.nan, np.float32) for k in "abc"}), "Range"),
    "range without step": (op("Range", {"a": np.array(0), "b": np.array(5), "c": np.array(0)}, INT), "Range"),
    "gather": (op("Gather", {"x": A, "i": ints(5)}), "Gather.*index 5"),
    "gather, least": (op("Gather", {"x": A, "i": ints(-(2**63))}), "Gather.*index"),
    "gather elements": (op("GatherElements", {"x": A, "i": np.array([[0, 9]])}), "GatherElements"),
    "gather n-d": (op("GatherND", {"x": A, "i": np.array([[0, 9]])}), "GatherND"),
    "scatter elements": (op("ScatterElements", {"x": A, "i": np.array([[9]]), "u": A[:1, :1]}), "ScatterElements"),
    "scatter, shapes": (op("ScatterElements", {"x": A, "i": np.zeros((2, 9), np.int64), "u": A[:1, :1]}), "ScatterElements"),
    "scatter n-d": (op("ScatterND", {"x": A, "i": np.array([[9, 9]]), "u": A[0, :1]}), "ScatterND"),
    "one-hot, no memory": (op("OneHot", {"x": ints(1), "d": np.array(2**61), "v": np.array([0, 1], np.float32)}), "OneHot"),
    "slice without step": (op("Slice", {"x": A, "a": ints(0), "b": ints(5), "c": ints(0), "d": ints(0)}), "Slice.*step 0"),
    "slice, lengths": (op("Slice", {"x": A, "a": ints(0, 0, 0), "b": ints(1)}), "Slice"),
    "pad overflows": (op("Pad", {"x": A, "p": ints(2**62, 0, 2**62, 0)}), "Pad"),
    "pad below nothing": (op("Pad", {"x": A, "p": ints(-9, 0, 0, 0)}), "Pad"),
    "pad, mode": (op("Pad", {"x": A, "p": ints(0, 0, 0, 0)}, mode="bogus"), "Pad.*bogus"),
    "unsqueeze": (op("Unsqueeze", {"x": A, "a": ints(2**40)}), "Unsqueeze"),
    "matmul": (op("MatMul", {"x": A, "z": A}), "MatMul"),
    "matmul of a scalar": (op("MatMul", {"x": np.array(1, np.float32), "z": A}), "MatMul"),
    "broadcast": (op("Add", {"x": A, "z": np.zeros((3, 3), np.float32)}), "Add"),
    "concat": (op("Concat", {"x": A, "z": A[:, :2]}, axis=0), "Concat"),
    "channels": (op("Conv", {"x": X4, "w": np.zeros((4, 5, 3, 3), np.float32)}), "Conv.*5"),
    "groups": (op("Conv", {"x": X4, "w": np.zeros((4, 3, 3, 3), np.float32)}, group=0), "Conv.*group"),
    "strides": (op("Conv", {"x": X4, "w": np.zeros((4, 3, 3, 3), np.float32)}, strides=[0, 1]), "Conv.*strides"),
    "pads": (op("Conv", {"x": X4, "w": np.zeros((4, 3, 3, 3), np.float32)}, pads=[2**62] * 4), "Conv.*pad"),
    "pads, no memory": (op("Conv", {"x": X4, "w": np.zeros((4, 3, 3, 3), np.float32)}, pads=[2**30] * 4), "Conv"),
    "rank": (op("Conv", {"x": A, "w": A}), "Conv.*rank"),
    "empty kernel": (op("Conv", {"x": X4, "w": np.zeros((4, 3, 0, 3), np.float32)}), "Conv"),
    "window of nothing": (op("MaxPool", {"x": X4}, kernel_shape=[0, 0]), "MaxPool"),
    "window": (op("MaxPool", {"x": X4}, kernel_shape=[2**62, 2]), "MaxPool"),
    "unpool": (op("MaxUnpool", {"x": X4, "i": np.full(X4.shape, 2**40)}, kernel_shape=[2, 2]), "MaxUnpool"),
    "arg of nothing": (op("ArgMax", {"x": A[:0]}, INT, axis=0), "ArgMax"),
    "axes": (op("ReduceSum", {"x": A, "a": ints(7)}), "ReduceSum"),
    "divide": (op("Div", {"x": ints(1, 2), "z": ints(0, 1)}, INT), "Div.*zero"),
    "remainder": (op("Mod", {"x": ints(1, 2), "z": ints(0, 1)}, INT), "Mod.*zero"),
    "equation": (op("Einsum", {"x": A}, equation="ij->kk"), "Einsum"),
    "no equation": (op("Einsum", {"x": A}, equation="(((("), "Einsum"),
    "scales": (op("Resize", {"x": X4, "r": np.zeros(0, np.float32), "s": np.full(4, np.nan, np.float32)}), "Resize"),
    "large scales": (op("Resize", {"x": X4, "r": np.zeros(0, np.float32), "s": np.full(4, 1e30, np.float32)}), "Resize"),
    "region": (op("RoiAlign", {"x": X4, "r": np.zeros((1, 4), np.float32), "b": ints(5)}), "RoiAlign"),
    "blocks": (op("DepthToSpace", {"x": X4}, blocksize=0), "DepthToSpace"),
    "size": (op("LRN", {"x": X4}, size=0), "LRN"),
    "choice": (op("Compress", {"x": A, "c": np.ones(9, bool)}, axis=0), "Compress"),
    "lengths": (op("ReverseSequence", {"x": A, "s": ints(99, 99)}, batch_axis=0, time_axis=1), "ReverseSequence"),
    "scale's axis": (op("DequantizeLinear", {"x": A.astype(np.uint8), "s": np.ones(3, np.float32)}, axis=1), "DequantizeLinear"),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_values_that_can_not_be(name):
    (data, feeds), words = RUNS[name]
    with pytest.raises(ERRORS, match=f"(?s)\\[ONNXRuntimeError\\].*{words}"):
        session(data).run(None, feeds)


EDGES = {
    "least divided": (op("Div", {"x": ints(-(2**63)), "z": ints(-1)}, INT), ints(-(2**63))),
    "least, remainder": (op("Mod", {"x": ints(-(2**63)), "z": ints(-1)}, INT), ints(0)),
    "least, absolute": (op("Abs", {"x": ints(-(2**63))}, INT), ints(-(2**63))),
    "least step": (op("Slice", {"x": A, "a": ints(2**63 - 1), "b": ints(-(2**63)), "c": ints(0), "d": ints(-(2**63))}), A[1:]),
    "no rows": (op("MatMul", {"x": A[:0], "z": A.T}), np.zeros((0, 2), np.float32)),
    "no depth": (op("MatMul", {"x": A[:, :0], "z": A.T[:0]}), np.zeros((2, 2), np.float32)),
    "no batch": (op("Conv", {"x": X4[:0], "w": np.ones((4, 3, 3, 3), np.float32)}), np.zeros((0, 4, 6, 6), np.float32)),
    "no channels": (op("Conv", {"x": X4[:, :0], "w": np.ones((4, 0, 3, 3), np.float32)}), np.zeros((1, 4, 6, 6), np.float32)),
    "no filters": (op("Conv", {"x": X4, "w": np.ones((0, 3, 3, 3), np.float32)}), np.zeros((1, 0, 6, 6), np.float32)),
    "pool of nothing": (op("MaxPool", {"x": X4[:0]}, kernel_shape=[2, 2]), np.zeros((0, 3, 7, 7), np.float32)),
    "empty sum": (op("ReduceSum", {"x": A[:0], "a": ints(0)}), np.zeros((1, 4), np.float32)),
    "empty softmax": (op("Softmax", {"x": A[:, :0]}), A[:, :0]),
    "empty join": (op("Concat", {"x": A[:0], "z": A}, axis=0), A),
    "empty turn": (op("Transpose", {"x": X4[:, :0]}), np.zeros((8, 8, 0, 1), np.float32)),
    "rank 64": (op("Relu", {"x": np.ones((1,) * 64, np.float32)}), np.ones((1,) * 64, np.float32)),
    "rank 8": (op("Add", {"x": np.ones((1,) * 8, np.float32), "z": A}), np.broadcast_to(A + 1, (1,) * 6 + A.shape)),
}  # fmt: skip


@pytest.mark.parametrize("name", EDGES)
def test_odd_values_that_can_be(name):
    (data, feeds), expected = EDGES[name]
    np.testing.assert_array_equal(session(data).run(None, feeds)[0], expected)


def body(nodes, inputs, outputs):
    return helper.make_graph(
        nodes, "body", [value(*i) for i in inputs], [value(*o) for o in outputs]
    )


def loop(nodes, outputs, states="a", trip=3, result="y"):
    inputs = [("i", INT, []), ("c", B, []), *((name, F, None) for name in states)]
    made = node("Loop", "m go x", result, body=body(nodes, inputs, outputs))
    return graph_of(
        made,
        inputs=[("x", F, None)],
        outputs=[(name, F, None) for name in result.split()],
        constants={"m": np.array(trip), "go": np.array(True)},
    )


def branches(then, other):
    made = node("If", "c", "y", then_branch=then, else_branch=other)
    return graph_of(made, inputs=[("x", F, None), ("c", B, None)])


def scan(**attributes):
    step = body(
        [node("Add", "s e", "t"), node("Identity", "t", "o")],
        [("s", F, None), ("e", F, None)],
        [("t", F, None), ("o", F, None)],
    )
    made = node("Scan", "x z", "y w", **{"body": step, "num_scan_inputs": 1, **attributes})
    values = [[(name, F, None) for name in names] for names in ("xz", "yw")]
    return graph_of(made, inputs=values[0], outputs=values[1])


GO = node("Identity", "c", "go_on")
GOES = ("go_on", B, [])
DOUBLED = node("Add", "a a", "d")
RELU = body([node("Relu", "x", "t")], [], [("t", F, None)])
YES, NO = {"x": A, "c": np.array(True)}, {"x": A, "c": np.array(False)}
SCAN = {"x": A[0], "z": A}
BODIES = {
    "loop without outputs": (loop([GO, DOUBLED], []), {"x": A}, "Loop.*0 outputs"),
    "loop without state": (loop([GO], [GOES], states=""), {"x": A}, "Loop.*2 inputs"),
    "loop's condition": (loop([node("Greater", "a a", "go_on"), DOUBLED], [("go_on", B, None), ("d", F, None)]), {"x": A}, "Loop.*one element"),
    "loop's types": (loop([GO, node("Shape", "a", "d")], [GOES, ("d", INT, None)]), {"x": A}, "Loop.*int64"),
    "nothing makes it": (loop([GO, node("Add", "a q", "d")], [GOES, ("d", F, None)]), {"x": A}, "Loop.*'q'"),
    "loop's body fails": (loop([GO, node("MatMul", "a a", "d")], [GOES, ("d", F, None)]), {"x": A}, "MatMul"),
    "scan output grows": (loop([GO, node("Concat", "a a", "d", axis=0), node("Identity", "a", "o")], [GOES, ("d", F, None), ("o", F, None)], result="y w"), {"x": A}, "Loop.*'o'"),
    "loop without body": (graph_of(node("Loop", "m go x", "y"), inputs=[X], constants={"m": np.array(3), "go": np.array(True)}), {"x": A}, "Loop.*'body'"),
    "branches of two types": (branches(RELU, body([node("Shape", "x", "t")], [], [("t", INT, None)])), NO, "If.*int64"),
    "branch without output": (branches(RELU, body([], [], [])), NO, "If.*0 outputs"),
    "branch with input": (branches(body([node("Relu", "q", "t")], [("q", F, None)], [("t", F, None)]), RELU), YES, "If.*1 inputs"),
    "condition of two": (branches(RELU, RELU), {"x": A, "c": np.array([True, False])}, "If.*one element"),
    "condition of none": (branches(RELU, RELU), {"x": A, "c": np.zeros(0, bool)}, "If.*one element"),
    "branch needs result": (branches(body([node("Relu", "y", "t")], [], [("t", F, None)]), RELU), YES, "If.*cycle"),
    "no scan inputs": (scan(num_scan_inputs=0), SCAN, "Scan.*num_scan_inputs"),
    "too many scan inputs": (scan(num_scan_inputs=9), SCAN, "Scan.*num_scan_inputs"),
    "scan axis": (scan(scan_input_axes=[7]), SCAN, "Scan.*axis"),
    "scan axes": (scan(scan_input_axes=[0, 0, 0]), SCAN, "Scan.*scan_input_axes"),
    "scan direction": (scan(scan_input_directions=[5]), SCAN, "Scan.*scan_input_directions"),
    "scan of a scalar": (scan(), {"x": A[0], "z": np.array(1, np.float32)}, "Scan.*axis"),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_bodies_that_can_not_be(name):
    data, feeds, words = BODIES[name]
    with pytest.raises(ERRORS, match=f"(?s)\\[ONNXRuntimeError\\].*{words}"):
        session(data).run(None, feeds)


def with_functions(functions: dict[str, list[onnx.NodeProto]], used: str) -> bytes:
    proto = onnx.load_from_string(graph_of(node(used, "x", "y", domain="own"), inputs=[X]))
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    proto.opset_import.append(imports[1])
    for name, nodes in functions.items():
        proto.functions.append(helper.make_function("own", name, ["a"], ["b"], nodes, imports))
    return proto.SerializeToString()


def test_functions_that_call_themselves_or_never_end():
    again = [node("F", "a", "b", domain="own")]
    with pytest.raises(ERRORS, match=r"own\.F.*calls itself"):
        session(with_functions({"F": again}, "F"))
    twice = {"F0": [node("Relu", "a", "b")]}
    for i in range(1, 40):
        words = (f"F{i - 1}", "a", "c"), (f"F{i - 1}", "c", "b")
        twice[f"F{i}"] = [node(*word, domain="own") for word in words]
    with pytest.raises(ERRORS, match="nodes"):
        session(with_functions(twice, "F39"))


def external(tmp_path: pathlib.Path, **entries: Any) -> pathlib.Path:
    proto = onnx.load_from_string(
        graph_of(node("Add", "x w", "y"), inputs=[("x", F, (2, 4))], constants={"w": A})
    )
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, entry in entries.items():
        tensor.external_data.add(key=key, value=str(entry))
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "m.onnx").write_bytes(proto.SerializeToString())
    (folder / "w.bin").write_bytes(A.tobytes())
    (tmp_path / "outside.bin").write_bytes(A.tobytes())
    (folder / "link.bin").symlink_to(tmp_path / "outside.bin")
    (folder / "up").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    return folder / "m.onnx"


@pytest.mark.parametrize(
    "entries",
    [
        {"location": "absent.bin"},
        {"location": "../outside.bin"},
        {"location": "/etc/passwd"},
        {"location": "link.bin"},
        {"location": "up/outside.bin"},
        {"location": "pipe"},
        {"location": "."},
        {"location": ""},
        {},
        {"location": "w.bin", "offset": 4},
        {"location": "w.bin", "offset": -4, "length": 32},
        {"location": "w.bin", "offset": 2**64 - 16, "length": 32},
        {"location": "w.bin", "length": 8},
        {"location": "w.bin", "length": "many"},
    ],
    ids=str,
)
def test_external_data(tmp_path, entries):
    with pytest.raises(ERRORS, match="'w'"):
        session(external(tmp_path, **entries))


def test_external_data_that_is_there(tmp_path):
    path = external(tmp_path, location="w.bin")
    np.testing.assert_array_equal(session(path).run(None, {"x": A})[0], A + A)
    with pytest.raises(ERRORS, match="'w'"):
        session(path.read_bytes())


def spoilt(tensor: onnx.TensorProto, name: str) -> None:
    if name == "dims overflow":
        tensor.dims[:] = [2**62, 2**62]
    elif name == "negative dim":
        tensor.dims[0] = -2
    elif name == "too large":
        tensor.dims[:] = [2**40]
    elif name == "element type":
        tensor.data_type = 99
    elif name == "no element type":
        tensor.data_type = 0
    elif name == "too short":
        tensor.raw_data = b"12"
    elif name == "two fields":
        tensor.float_data.append(1)
    elif name == "raw strings":
        tensor.data_type = TensorProto.STRING


@pytest.mark.parametrize(
    "name",
    [
        "dims overflow",
        "negative dim",
        "too large",
        "element type",
        "no element type",
        "too short",
        "two fields",
        "raw strings",
    ],
)
def test_tensors_that_can_not_be(name):
    data = graph_of(node("Add", "x w", "y"), inputs=[("x", F, None)], constants={"w": A})
    proto = onnx.load_from_string(data)
    spoilt(proto.graph.initializer[0], name)
    with pytest.raises(ERRORS, match="tensor"):
        session(proto.SerializeToString())


def nested(*fields: int) -> bytes:
    """Messages in one another, by their field numbers from the outside in."""
    parts, size = [], 0
    for field in reversed(fields):
        head = bytes([field << 3 | 2])
        rest = size
        while rest > 127:
            head += bytes([rest & 127 | 128])
            rest >>= 7
        head += bytes([rest])
        parts.append(head)
        size += len(head)
    return b"".join(reversed(parts))


@pytest.mark.parametrize(
    "fields",
    [
        [7, *[1, 5, 6] * 30_000],  # graph, node, attribute, graph ...
        [7, 11, 2, *[4, 1] * 30_000],  # graph, input, type, sequence, type ...
        [7, 11, 2, *[9, 1] * 30_000],  # ... optional
        [25, *[7, 5, 6, 1] * 30_000],  # function, node, attribute, graph ...
        [7] * 90_000,
    ],
    ids=["graphs", "sequences", "optionals", "functions", "unknown"],
)
def test_messages_too_deep(fields):
    with pytest.raises(ERRORS):
        session(b"\x08\x08" + nested(*fields))


def mutants(data: bytes, count: int, seed: int) -> list[bytes]:
    generator = random.Random(seed)
    made = []
    for _ in range(count):
        new = bytearray(data)
        for _ in range(generator.choice([1, 1, 2, 4])):
            new[generator.randrange(len(new))] ^= 1 << generator.randrange(8)
        made.append(bytes(new))
    return made


FUZZ = """
import pathlib, sys
import switchyard as sy
options = sy.SessionOptions()
options.intra_op_num_threads = 1
options.log_severity_level = 4
refused = 0
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    print(path.name, flush=True)
    try:
        sy.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        assert type(error).__module__.startswith("switchyard"), repr(error)
        refused += 1
print("refused", refused)
"""


@pytest.mark.parametrize("kind", ["cut", "flipped"])
def test_broken_files_never_end_the_process(tmp_path, kind):
    sources = {
        "two": two_outputs(),
        "loop": loop([GO, DOUBLED], [GOES, ("d", F, None)]),
        "conv": RUNS["groups"][0][0],
        "scan": scan(),
        "functions": with_functions({"F": [node("Relu", "a", "b")]}, "F"),
    }
    for name, data in sources.items():
        cut = [data[:end] for end in range(0, len(data), max(1, len(data) // 60))]
        for i, new in enumerate(cut if kind == "cut" else mutants(data, 80, seed=i_of(name))):
            (tmp_path / f"{name}{i}").write_bytes(new)
    done = subprocess.run(
        [sys.executable, "-c", FUZZ, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-200:] + done.stderr[-2000:]


def i_of(name: str) -> int:
    return sum(name.encode())


MEMORY = """
import resource, sys
import numpy as np
import switchyard as sy
model, small, large = open(sys.argv[1], "rb").read(), int(sys.argv[2]), int(sys.argv[3])
x = {n: np.ones((n, n), np.float32) for n in (small, large)}
options = sy.SessionOptions()
options.intra_op_num_threads = 2
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
def make():
    return sy.InferenceSession(model, options, providers=["CPUExecutionProvider"])
def used():
    return int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
def limit(mebibytes):
    resource.setrlimit(resource.RLIMIT_AS, (used() + (mebibytes << 20), hard))
kept = make()
kept.run(None, {"x": x[small]})
refused = 0
for room in (1, 4, 8, 16, 20, 24, 32, 40, 50, 64, 80, 100):
    for task in ("load", "run"):
        limit(room)
        try:
            (make() if task == "load" else kept).run(None, {"x": x[large]})
        except (sy.RuntimeException, MemoryError) as error:
            assert "memory" in str(error) or "thread" in str(error), error
            refused += 1
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        y = kept.run(None, {"x": x[small]})[0]
        assert y.shape == (small, small)
expected = make().run(None, {"x": x[large]})[0]
np.testing.assert_array_equal(kept.run(None, {"x": x[large]})[0], expected)
print("refused", refused)
"""


def test_memory_runs_out(tmp_path):
    nodes = [node("MatMul", "x x", "h"), node("Softmax", "h", "s"), node("Add", "s h", "y")]
    (tmp_path / "m.onnx").write_bytes(graph_of(*nodes, inputs=[("x", F, ("N", "N"))]))
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(tmp_path / "m.onnx"), "4", "2000"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert int(done.stdout.split()[-1]) >= 4


def test_arrays_in_any_layout():
    loaded = session(unary("Relu"))
    base = np.arange(64, dtype=np.float32).reshape(8, 8) - 30
    fixed = base.copy()
    fixed.flags.writeable = False
    unaligned = np.frombuffer(b"\1" * 33, np.uint8)[1:].view(np.float32).reshape(2, 4)
    overlapping = np.lib.stride_tricks.as_strided(base, (3, 3), (4, 4))
    for x in (
        base[::2, ::3],
        base.T,
        base[::-1, ::-1],
        base.astype(">f4"),
        np.broadcast_to(base[0], (5, 8)),
        base[:, :0],
        fixed,
        unaligned,
        overlapping,
    ):
        np.testing.assert_array_equal(loaded.run(None, {"x": x})[0], np.maximum(x, 0))


@pytest.mark.parametrize(
    "x",
    [
        A[0],
        A.reshape(2, 2, 2),
        A.astype(np.float64),
        A.astype(np.int32),
        np.array([["a"]]),
        np.array([[object()]]),
        np.zeros((2, 2), [("a", "f4")]),
        np.zeros((2, 2), "M8[s]"),
        np.zeros((2, 2), np.complex64),
        np.zeros((2, 2), np.longdouble),
        None,
        {"a": 1},
        [A, A],
    ],
    ids=lambda x: getattr(getattr(x, "dtype", None), "name", type(x).__name__),
)
def test_feeds_that_do_not_fit(x):
    loaded = session(unary("Relu"))
    with pytest.raises((*ERRORS, ValueError, TypeError, RuntimeError), match="x"):
        loaded.run(None, {"x": x})
    np.testing.assert_array_equal(loaded.run(None, {"x": A})[0], A)


@pytest.mark.parametrize(
    ("set_up", "words"),
    [
        (lambda o: setattr(o, "intra_op_num_threads", -1), "-1"),
        (lambda o: setattr(o, "intra_op_num_threads", 100_000), "100000.*1024"),
        (lambda o: setattr(o, "optimized_model_filepath", "/nonexistent/m.onnx"), "nonexistent"),
        (lambda o: o.add_session_config_entry("session.disable_cpu_ep_fallback", "perhaps"), "perhaps"),
        (lambda o: o.add_session_config_entry("switchyard.cpu.isa", "mmx"), "mmx.*avx2"),
        (lambda o: o.add_session_config_entry("switchyard.accuracy", "some"), "accuracy.*some"),
        (lambda o: o.add_initializer("absent", sy.OrtValue.ortvalue_from_numpy(A)), "absent"),
    ],
)  # fmt: skip
def test_options_that_can_not_be(set_up, words):
    options = sy.SessionOptions()
    with pytest.raises((*ERRORS, ValueError), match=words):
        set_up(options)
        sy.InferenceSession(unary("Relu"), options, providers=CPU)


def test_providers_that_can_not_be():
    with pytest.raises(Exception, match=r"Nope.*CPUExecutionProvider"):
        sy.InferenceSession(unary("Relu"), providers=["Nope"])
    with pytest.raises(ValueError, match="3"):
        sy.InferenceSession(unary("Relu"), providers=[3])
    with pytest.raises(ERRORS, match=r"CPUExecutionProvider.*arena_extend_strategy.*bogus"):
        options = {"arena_extend_strategy": "bogus"}
        sy.InferenceSession(unary("Relu"), providers=[("CPUExecutionProvider", options)])
    with pytest.raises(ValueError, match="length"):
        sy.InferenceSession(unary("Relu"), providers=CPU, provider_options=[{}, {}])


def run_all(task, count=8):
    errors: list[BaseException] = []

    def guarded(index: int) -> None:
        try:
            task(index)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors[:2]


def test_one_session_from_eight_threads():
    weights = np.ones((16, 16), np.float32)
    nodes = [node("MatMul", "x w", "h"), node("Softmax", "h", "s"), node("Add", "s h", "y")]
    loaded = session(graph_of(*nodes, inputs=[("x", F, ("N", 16))], constants={"w": weights}))

    def task(index: int) -> None:
        for i in range(60):
            x = np.full(((index * 7 + i) % 33, 16), i / 60, np.float32)
            expected = x @ weights + np.float32(1 / 16)
            np.testing.assert_allclose(loaded.run(None, {"x": x})[0], expected, rtol=1e-5)
            if i % 10 == 0:
                with pytest.raises(sy.InvalidArgument):
                    loaded.run(None, {"x": x[:, :3]})

    run_all(task)


def test_sessions_come_and_go_in_threads():
    def task(index: int) -> None:
        for _ in range(12):
            options = sy.SessionOptions()
            options.intra_op_num_threads = 1 + index % 3
            loaded = sy.InferenceSession(unary("Relu"), options, providers=CPU)
            np.testing.assert_array_equal(loaded.run(None, {"x": A})[0], A)
            with pytest.raises(ERRORS):
                sy.InferenceSession(b"junk", options, providers=CPU)

    run_all(task)


def test_endless_loop_is_terminated_from_another_thread():
    loaded = session(loop([GO, node("Neg", "a", "d")], [GOES, ("d", F, None)], trip=2**63 - 1))
    options = sy.RunOptions()
    stopper = threading.Timer(0.3, lambda: setattr(options, "terminate", True))
    stopper.start()
    start = time.monotonic()
    with pytest.raises(sy.Fail, match="terminate"):
        loaded.run(None, {"x": A}, options)
    assert time.monotonic() - start < 30
    stopper.join()
    with pytest.raises(sy.Fail, match="terminate"):
        loaded.run(None, {"x": A}, options)


@pytest.mark.parametrize("command", ["run", "inspect", "explain"])
def test_tool_reports_and_ends_with_an_error_code(tmp_path, command):
    (tmp_path / "cut.onnx").write_bytes(two_outputs()[:-40])
    (tmp_path / "cycle.onnx").write_bytes(GRAPHS["cycle"][0])
    for name in ("cut.onnx", "cycle.onnx", "absent.onnx", "."):
        done = subprocess.run(
            [str(TOOL), command, str(tmp_path / name)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode > 0, name
        assert done.stderr.strip(), name


@pytest.mark.parametrize(
    "words",
    [
        ["-i", "Q={a}"],
        ["-i", "A={cut}"],
        ["-i", "A={wrong}"],
        ["-i", "A={absent}"],
        ["-p", "Nope"],
        ["-t", "100000"],
        ["-l", "bogus"],
        ["-d", "N=-5"],
        ["-d", "N=99999999999999"],
        ["--output", "absent"],
    ],
    ids=str,
)
def test_tool_refuses(tmp_path, words):
    (tmp_path / "m.onnx").write_bytes(two_outputs())
    np.save(tmp_path / "a.npy", A)
    np.save(tmp_path / "wrong.npy", A.astype(np.int64))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:-7])
    places = {name: tmp_path / f"{name}.npy" for name in ("a", "cut", "wrong", "absent")}
    done = subprocess.run(
        [str(TOOL), "run", str(tmp_path / "m.onnx"), *(word.format(**places) for word in words)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode > 0, done.stdout
    assert done.stderr.strip()


def test_sparse_tensors_are_bounded():
    data = graph_of(node("Add", "x w", "y"), inputs=[("x", F, None)], constants={"w": A})
    for dims, index in (((2, 4), 99), ((2**31, 2**31), 9), ((2**20, 2**20), 9)):
        proto = onnx.load_from_string(data)
        del proto.graph.initializer[:]
        sparse = proto.graph.sparse_initializer.add(dims=dims)
        sparse.values.CopyFrom(numpy_helper.from_array(np.ones(2, np.float32), "w"))
        sparse.indices.CopyFrom(numpy_helper.from_array(ints(0, index), ""))
        with pytest.raises(ERRORS, match="'w'"):
            session(proto.SerializeToString())

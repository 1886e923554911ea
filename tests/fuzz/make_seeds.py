"""Writes the seed corpus of the load fuzzers: small models of the onnx package, one file each.

    make_seeds.py FOLDER

One backend case per operator (the smallest), the package's "simple" models and a few built here for what no case has:
local functions, sparse initialisers, sub-graphs in sub-graphs, external data, old-style initialisers.
"""

from __future__ import annotations

import pathlib
import sys
import warnings

import onnx
from onnx import TensorProto, helper

LARGEST = 4096


def float_info(name: str, *dims: int | str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


def backend_models() -> dict[str, bytes]:
    from onnx.backend.test.loader import load_model_tests

    smallest: dict[str, bytes] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = load_model_tests(kind="node") + load_model_tests(kind="simple")
    for case in cases:
        if case.model is not None:
            data = case.model.SerializeToString()
            name = "+".join(sorted({node.op_type for node in case.model.graph.node}))
        else:
            path = pathlib.Path(case.model_dir) / "model.onnx"
            if not path.is_file():
                continue
            data, name = path.read_bytes(), case.name
        if len(data) <= LARGEST and (name not in smallest or len(data) < len(smallest[name])):
            smallest[name] = data
    return smallest


def built_models() -> dict[str, bytes]:
    def model(nodes, inputs, outputs, **rest) -> bytes:
        functions = rest.pop("functions", [])
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("local", 1)]
        graph = helper.make_graph(nodes, "g", inputs, outputs, **rest)
        made = helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=10)
        return made.SerializeToString()

    x, y = float_info("x", "N", 4), float_info("y", "N", 4)
    function = helper.make_function(
        "local",
        "Twice",
        ["a"],
        ["b"],
        [helper.make_node("Add", ["a", "a"], ["b"])],
        [helper.make_opsetid("", 21)],
    )
    values = helper.make_tensor("values", TensorProto.FLOAT, [2], [1.0, 2.0])
    indices = helper.make_tensor("indices", TensorProto.INT64, [2], [0, 3])
    sparse = helper.make_sparse_tensor(values, indices, [4])
    sparse.values.name = "s"
    inner = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["t"])], "inner", [], [float_info("t", "N", 4)]
    )
    other = helper.make_graph(
        [
            helper.make_node("Constant", [], ["c2"], value=helper.make_tensor("v", 9, [], [1])),
            helper.make_node("If", ["c2"], ["u"], then_branch=inner, else_branch=inner),
        ],
        "outer",
        [],
        [float_info("u", "N", 4)],
    )
    condition = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
    external = helper.make_tensor("w", TensorProto.FLOAT, [4], b"\0" * 16, raw=True)
    external.ClearField("raw_data")
    external.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "w.bin"), ("offset", "0"), ("length", "16")):
        external.external_data.add(key=key, value=value)
    weight = helper.make_tensor("w", TensorProto.FLOAT, [4], [1, 2, 3, 4])
    add = helper.make_node("Add", ["x", "w"], ["y"])
    twice = helper.make_node("Twice", ["x"], ["y"], domain="local")
    branch = helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=other)
    return {
        "function": model([twice], [x], [y], functions=[function]),
        "sparse": model(
            [helper.make_node("Add", ["x", "s"], ["y"])], [x], [y], sparse_initializer=[sparse]
        ),
        "nested": model([branch], [condition, x], [y]),
        "external": model([add], [x], [y], initializer=[external]),
        "old_style": model([add], [x, float_info("w", 4)], [y], initializer=[weight]),
    }


def main() -> int:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    models = {**backend_models(), **built_models()}
    for name, data in models.items():
        (folder / f"{name[:100]}.onnx").write_bytes(data)
    print(f"{len(models)} seeds in {folder.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Writes the models of switchyard.datasets: make_example_models.py [FOLDER].

logreg_iris is a linear discriminant of the three iris species made from their published means and
variances; the other two are as their names say.
"""

from __future__ import annotations

import pathlib
import sys

import numpy as np

import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "python" / "switchyard" / "datasets"
# Sepal length and width, petal length and width in cm: means of setosa, versicolor, virginica.
MEANS = np.array(
    [[5.006, 3.428, 1.462, 0.246], [5.936, 2.77, 4.26, 1.326], [6.588, 2.974, 5.552, 2.026]]
)
VARIANCES = np.array([0.265, 0.115, 0.185, 0.042])


def tensor(name: str, shape: list[int], element: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, element, shape)


def model(graph: onnx.GraphProto, **opsets: int) -> onnx.ModelProto:
    imports = [
        helper.make_opsetid("" if d == "ai_onnx" else d.replace("_", "."), v)
        for d, v in opsets.items()
    ]
    return helper.make_model(graph, opset_imports=imports, ir_version=8, producer_name="switchyard")


def logreg_iris() -> onnx.ModelProto:
    weights = MEANS / VARIANCES
    bias = -0.5 * (MEANS**2 / VARIANCES).sum(axis=1)
    nodes = [
        helper.make_node(
            "LinearClassifier",
            ["float_input"],
            ["label", "scores"],
            domain="ai.onnx.ml",
            classlabels_ints=[0, 1, 2],
            coefficients=weights.astype(np.float32).ravel().tolist(),
            intercepts=bias.astype(np.float32).tolist(),
            post_transform="SOFTMAX",
        ),
        helper.make_node(
            "ZipMap",
            ["scores"],
            ["probabilities"],
            domain="ai.onnx.ml",
            classlabels_int64s=[0, 1, 2],
        ),
    ]
    row = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(1, []))
    rows = helper.make_value_info("probabilities", helper.make_sequence_type_proto(row))
    outputs = [tensor("label", [3], TensorProto.INT64), rows]
    graph = helper.make_graph(nodes, "logreg_iris", [tensor("float_input", [3, 4])], outputs)
    return model(graph, ai_onnx_ml=1)


def mul_1() -> onnx.ModelProto:
    weight = numpy_helper.from_array(np.arange(1, 7, dtype=np.float32).reshape(3, 2), "W")
    node = helper.make_node("Mul", ["X", "W"], ["Y"], "mul_1")
    shape = [3, 2]
    graph = helper.make_graph([node], "mul_1", [tensor("X", shape)], [tensor("Y", shape)], [weight])
    return model(graph, ai_onnx=13)


def sigmoid() -> onnx.ModelProto:
    node = helper.make_node("Sigmoid", ["x"], ["y"])
    shape = [3, 4, 5]
    graph = helper.make_graph([node], "sigmoid", [tensor("x", shape)], [tensor("y", shape)])
    return model(graph, ai_onnx=13)


def main() -> None:
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    for make in (logreg_iris, mul_1, sigmoid):
        proto = make()
        onnx.checker.check_model(proto)
        (folder / f"{make.__name__}.onnx").write_bytes(proto.SerializeToString())


if __name__ == "__main__":
    main()

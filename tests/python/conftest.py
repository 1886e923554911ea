"""Small models for the tests of the Python package."""

from __future__ import annotations

import importlib
import pathlib
import types
from typing import Any

import numpy as np
import pytest
from switchyard import _core

import onnx
from onnx import TensorProto, helper, numpy_helper

CPU = ["CPUExecutionProvider"]


def built(*parts: str) -> pathlib.Path:
    """A file of the build folder that the package under test comes from; it must be there."""
    path = pathlib.Path(_core.__file__).parents[2].joinpath(*parts)
    assert path.is_file(), f"{path} is not built"
    return path


def value(name: str, element: int, shape: Any) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, element, shape)


def model(
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
    constants: dict[str, np.ndarray] | None = None,
    opset: int = 17,
) -> bytes:
    initializers = [
        numpy_helper.from_array(array, name) for name, array in (constants or {}).items()
    ]
    graph = helper.make_graph(nodes, "test", inputs, outputs, initializers)
    proto = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8, producer_name="tests"
    )
    return proto.SerializeToString()


def unary(op: str, element: int = TensorProto.FLOAT, shape: Any = ("a", "b")) -> bytes:
    """y = op(x)"""
    node = helper.make_node(op, ["x"], ["y"])
    return model([node], [value("x", element, shape)], [value("y", element, shape)])


def two_outputs() -> bytes:
    """S = A + B, D = A - B, both [N, 4]"""
    nodes = [helper.make_node("Add", ["A", "B"], ["S"]), helper.make_node("Sub", ["A", "B"], ["D"])]
    of = [value(name, TensorProto.FLOAT, ["N", 4]) for name in "ABSD"]
    return model(nodes, of[:2], of[2:])


@pytest.fixture
def model_file(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "two.onnx"
    path.write_bytes(two_outputs())
    return path


def quiet(name: str) -> types.ModuleType:
    module = importlib.import_module(name)
    module.set_default_logger_severity(4)
    return module


@pytest.fixture(params=["switchyard", "onnxruntime"])
def ort(request: pytest.FixtureRequest) -> types.ModuleType:
    if request.param == "onnxruntime":
        pytest.importorskip("onnxruntime")
    return quiet(request.param)


@pytest.fixture
def native(ort: types.ModuleType) -> types.ModuleType:
    return importlib.import_module(f"{ort.__name__}.capi._pybind_state")


@pytest.fixture
def sy() -> types.ModuleType:
    return quiet("switchyard")

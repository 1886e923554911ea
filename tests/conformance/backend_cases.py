"""The backend cases of the installed onnx package: models, inputs and expected outputs.

Everything comes out of the package; nothing is downloaded. Must not import the runtime: the worker
processes are forked from the process that has collected the cases.
"""

from __future__ import annotations

import dataclasses
import pathlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx.backend.test.loader import load_model_tests

import onnx
from onnx import numpy_helper

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "real")
RANDOM_OPERATORS = {
    "Bernoulli",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
}


@dataclasses.dataclass
class Case:
    """One model with its data sets. atol and rtol are the package's own for this case."""

    name: str  # kind/name of the package
    model: bytes
    inputs: list[str]
    outputs: list[str]
    data: list[tuple[list[Any], list[Any]]]  # pairs of inputs and expected outputs
    rtol: float
    atol: float
    random: bool  # the expected values depend on a random generator


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                yield from _nodes(body)


def _value(item: Any) -> Any:
    """An array, a list or None for what the package holds as a proto, array, list or number."""
    if isinstance(item, onnx.TensorProto):
        return numpy_helper.to_array(item)
    if isinstance(item, onnx.SequenceProto):
        return numpy_helper.to_list(item)
    if isinstance(item, onnx.OptionalProto):
        return numpy_helper.to_optional(item)
    if isinstance(item, list):
        return [_value(element) for element in item]
    return item if item is None else np.asarray(item)


def _read(path: pathlib.Path, of: onnx.TypeProto) -> Any:
    protos = {"sequence_type": onnx.SequenceProto, "optional_type": onnx.OptionalProto}
    proto = protos.get(of.WhichOneof("value"), onnx.TensorProto)()
    proto.ParseFromString(path.read_bytes())
    return _value(proto)


def _inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    constants = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in constants]


def _folder_data(folder: pathlib.Path, model: onnx.ModelProto) -> list[tuple[list, list]]:
    sets = []
    for data in sorted(folder.glob("test_data_set*")):
        values = []
        for word, declared in (("input", model.graph.input), ("output", model.graph.output)):
            count = len(list(data.glob(f"{word}_*.pb")))
            files = [data / f"{word}_{index}.pb" for index in range(count)]
            values.append([_read(file, value.type) for file, value in zip(files, declared)])
        sets.append((values[0], values[1]))
    return sets


def _light_data(path: pathlib.Path, model: onnx.ModelProto) -> list[tuple[list, list]]:
    """The light models come with outputs only; their input is a ramp from 0 to 1."""
    inputs = []
    for value in _inputs(model):
        shape = [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]
        size = int(np.prod(shape))
        inputs.append((np.arange(size).reshape(shape) / size).astype(np.float32))
    files = [path.with_name(f"{path.stem}_output_{i}.pb") for i in range(len(model.graph.output))]
    return [(inputs, [_read(f, v.type) for f, v in zip(files, model.graph.output)])]


def collect() -> dict[str, Case]:
    cases = {}
    package = pathlib.Path(onnx.__file__).parent
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in KINDS:
            for test in load_model_tests(kind=kind):
                if test.model is not None:
                    model = test.model
                    data = [(_value(list(i)), _value(list(o))) for i, o in test.data_sets]
                elif test.url:
                    path = package.parent / test.url
                    if not path.is_file():
                        path = package / test.url
                    model = onnx.load(path)
                    data = _light_data(path, model)
                else:
                    folder = pathlib.Path(test.model_dir)
                    model = onnx.load(folder / "model.onnx")
                    data = _folder_data(folder, model)
                cases[f"{kind}/{test.name}"] = Case(
                    f"{kind}/{test.name}",
                    model.SerializeToString(),
                    [value.name for value in _inputs(model)],
                    [value.name for value in model.graph.output],
                    data,
                    test.rtol,
                    test.atol,
                    any(node.op_type in RANDOM_OPERATORS for node in _nodes(model.graph)),
                )
    return cases

"""hostile_models.py FIRST COUNT: loads and runs COUNT models, the first of number FIRST.

A number gives a model and what is changed in it. Prints each number before its model is loaded.
"""

from __future__ import annotations

import contextlib
import random
import resource
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import switchyard as sy
from onnx.backend.test.case.node import collect_testcases

import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

SECONDS = 30  # for one model, however busy the machine
SIZES = [0, 1, -1, 2, 3, 7, 255, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63)]
REALS = [0.0, -1.0, 1e-40, float("nan"), float("inf"), -float("inf"), 1e38, 0.5]
TEXTS = [b"", b"SAME_UPPER", b"linear", b"\xff\xfe", b"a" * 1000, b"ij,jk->ik"]
SYMBOLS = ["N", "", "2*N+1", "N-5", "-N", "a b", "99999999999999999999"]
ELEMENTS = [*range(28), 99]


def graphs_in(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from graphs_in(attribute.g)


def tensor_type(of: onnx.TypeProto) -> Any:
    while (kind := of.WhichOneof("value")) in ("sequence_type", "optional_type"):
        of = getattr(of, kind).elem_type
    return of.tensor_type if kind == "tensor_type" else None


class Change:
    """Changes to one graph, drawn from `draw`; methods that find nothing to change do nothing."""

    def __init__(self, graph: onnx.GraphProto, draw: random.Random, operators: list[str]) -> None:
        self.graph, self.draw, self.operators = graph, draw, operators

    def one(self) -> None:
        names = [name for name in dir(self) if name.startswith("change_")]
        with contextlib.suppress(IndexError):  # drawn from an empty list
            getattr(self, self.draw.choice(names))()

    def a_value(self) -> onnx.ValueInfoProto:
        graph = self.graph
        return self.draw.choice([*graph.input, *graph.output, *graph.value_info])

    def a_node(self) -> onnx.NodeProto:
        return self.draw.choice(self.graph.node)

    def an_attribute(self) -> tuple[onnx.NodeProto, onnx.AttributeProto]:
        node = self.draw.choice([node for node in self.graph.node if node.attribute])
        return node, self.draw.choice(node.attribute)

    def change_element(self) -> None:
        if (of := tensor_type(self.a_value().type)) is not None:
            of.elem_type = self.draw.choice(ELEMENTS)

    def change_kind(self) -> None:
        value, old = self.a_value(), onnx.TypeProto()
        old.CopyFrom(value.type)
        value.type.Clear()
        kind = self.draw.choice(["sequence_type", "optional_type"])
        getattr(value.type, kind).elem_type.CopyFrom(old)

    def change_dims(self) -> None:
        of, choice = tensor_type(self.a_value().type), self.draw.randrange(5)
        if of is None:
            return
        if choice == 0:
            self.draw.choice(of.shape.dim).dim_value = self.draw.choice(SIZES)
        elif choice == 1:
            of.shape.dim.add().dim_value = self.draw.choice(SIZES)
        elif choice == 2:
            del of.shape.dim[self.draw.randrange(len(of.shape.dim) or 1) :]
        elif choice == 3:
            of.ClearField("shape")
        else:
            self.draw.choice(of.shape.dim).dim_param = self.draw.choice(SYMBOLS)

    def change_constant(self) -> None:
        held = [
            a.t for n in self.graph.node for a in n.attribute if a.type == AttributeProto.TENSOR
        ]
        tensor, choice = self.draw.choice([*self.graph.initializer, *held]), self.draw.randrange(4)
        if choice == 0:
            tensor.data_type = self.draw.choice(ELEMENTS)
        elif choice == 1:
            tensor.dims.append(self.draw.choice(SIZES))
        elif choice == 2:
            tensor.raw_data = tensor.raw_data[: self.draw.randrange(len(tensor.raw_data) + 1)]
        elif tensor.data_type in (TensorProto.INT64, TensorProto.FLOAT):
            array = numpy_helper.to_array(tensor).copy()
            pool = SIZES if array.dtype.kind == "i" else REALS
            if array.size:
                array.reshape(-1)[self.draw.randrange(array.size)] = self.draw.choice(pool)
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))

    def change_members(self) -> None:
        graph = self.graph
        members = self.draw.choice([graph.initializer, graph.node, graph.input, graph.output])
        if self.draw.random() < 0.5:
            members.add().CopyFrom(self.draw.choice(members[:-1]))
        else:
            del members[self.draw.randrange(len(members) or 1)]

    def change_wires(self) -> None:
        graph, node = self.graph, self.a_node()
        names = [v.name for v in graph.input] + [name for n in graph.node for name in n.output]
        wires = node.input if self.draw.random() < 0.7 else node.output
        choice = self.draw.randrange(4)
        if choice == 0:
            wires.append(self.draw.choice(names))
        elif choice == 1:
            del wires[-1]
        else:
            at = self.draw.randrange(len(wires) or 1)
            wires[at] = self.draw.choice(names) if choice == 2 else ""

    def change_operator(self) -> None:
        self.a_node().op_type = self.draw.choice(self.operators)

    def change_attribute(self) -> None:
        node, attribute = self.an_attribute()
        if attribute.type == AttributeProto.INT:
            attribute.i = self.draw.choice(SIZES)
        elif attribute.type == AttributeProto.FLOAT:
            attribute.f = self.draw.choice(REALS)
        elif attribute.type == AttributeProto.STRING:
            attribute.s = self.draw.choice(TEXTS)
        elif attribute.ints:
            attribute.ints[self.draw.randrange(len(attribute.ints))] = self.draw.choice(SIZES)
        else:
            node.attribute.remove(attribute)

    def change_attributes_type(self) -> None:
        _, attribute = self.an_attribute()
        other = self.draw.choice([1, 1.5, "s", [1, 2], [1.5], ["a"]])
        attribute.CopyFrom(helper.make_attribute(attribute.name, other))

    def change_number_of_attributes(self) -> None:
        node, attribute = self.an_attribute()
        if self.draw.random() < 0.5:
            node.attribute.remove(attribute)
        else:
            node.attribute.add().CopyFrom(attribute)

    def change_by_a_new_attribute(self) -> None:
        node = self.a_node()
        if not onnx.defs.has(node.op_type, domain=node.domain):
            return
        known = onnx.defs.get_schema(node.op_type, domain=node.domain).attributes
        name = self.draw.choice(sorted(known))
        numbers = [self.draw.choice(SIZES) for _ in range(self.draw.randrange(1, 5))]
        for attribute in [a for a in node.attribute if a.name == name]:
            node.attribute.remove(attribute)
        values = {"INT": numbers[0], "INTS": numbers, "FLOAT": self.draw.choice(REALS)}
        other = values.get(known[name].type.name)
        if other is not None:
            node.attribute.append(helper.make_attribute(name, other))


NUMPY = {f"tensor({name})": np.dtype(name) for name in ["int32", "int64", "uint8", "int8", "bool"]}
NUMPY |= {"tensor(float)": np.dtype(np.float32), "tensor(double)": np.dtype(np.float64)}


def feeds(session: sy.InferenceSession, draw: random.Random) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for argument in session.get_inputs():
        dims = [d if isinstance(d, int) and 0 <= d < 64 else 2 for d in argument.shape or []]
        if draw.random() < 0.2:
            dims = [draw.choice([0, 1, 2, 5]) for _ in range(draw.randrange(5))]
        of = NUMPY.get(argument.type, np.dtype(np.float32))
        array = np.random.default_rng(draw.randrange(9)).integers(-3, 6, dims).astype(of)
        made[argument.name] = [array, array] if argument.type.startswith("seq") else array
    return made


def attempt(data: bytes, draw: random.Random, options: sy.SessionOptions) -> bool:
    """Whether it ran. Anything but an error of the package's own ends the process."""
    try:
        session = sy.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        session.run(None, feeds(session, draw))
    except Exception as error:
        ours = type(error).__module__.startswith("switchyard")
        assert ours or type(error) in (RuntimeError, MemoryError), repr(error)
        assert not isinstance(error, sy.EngineError), repr(error)
        return False
    return True


def main(first: int, count: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    models = [case.model for case in collect_testcases(None) if case.model is not None]
    operators = sorted({schema.name for schema in onnx.defs.get_all_schemas()})
    ran = 0
    for number in range(first, first + count):
        print(number, flush=True)
        draw = random.Random(number)
        model = onnx.ModelProto()
        model.CopyFrom(draw.choice(models))
        for _ in range(draw.choice([1, 1, 1, 2, 3])):
            Change(draw.choice(list(graphs_in(model.graph))), draw, operators).one()
        options = sy.SessionOptions()
        options.intra_op_num_threads = 1 + number % 2
        options.log_severity_level = 4
        if number % 3 == 0:
            options.graph_optimization_level = sy.GraphOptimizationLevel.ORT_DISABLE_ALL
        start = time.monotonic()
        ran += attempt(model.SerializeToString(), draw, options)
        assert time.monotonic() - start < SECONDS, f"{number} takes too long"
    print("refused and run:", count - ran, ran)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))

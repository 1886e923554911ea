#!/usr/bin/env python3
"""Write src/ir/ops/schemas.inc: the facts of every operator and version, as constant tables.

ai.onnx, ai.onnx.ml and the preview domains come from the registry of the installed onnx package,
the operators outside the standard from src/ir/ops/contrib_schemas.tsv. `--check` fails when the
committed file differs from what would be written.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import onnx
from onnx import defs

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "src/ir/ops/schemas.inc"
CONTRIB = ROOT / "src/ir/ops/contrib_schemas.tsv"

ELEM = {name.lower(): code for name, code in onnx.TensorProto.DataType.items()}
KINDS = ("tensor", "sparse_tensor", "seq", "optional", "optional_seq", "map", "seq_map")
ATTR = {
    code: "k" + "".join(p.capitalize() for p in name.split("_"))
    for name, code in onnx.AttributeProto.AttributeType.items()
}
MAP_VALUE = {"string": 0, "int64": 1, "float": 2, "double": 3}
UNBOUNDED = 2**31 - 1


@dataclass(frozen=True)
class Param:
    name: str
    type: str
    option: str  # Single, Optional, Variadic
    homogeneous: bool = True


@dataclass(frozen=True)
class Attr:
    name: str
    type: int
    required: bool
    default: Any = None  # bytes for strings


@dataclass
class Schema:
    domain: str
    name: str
    since: int
    inputs: list[Param]
    outputs: list[Param]
    constraints: list[tuple[str, tuple[str, ...]]]
    attrs: list[Attr]
    arity: tuple[int, int, int, int]
    determinism: str
    deprecated: bool = False
    context_function: bool = False
    bodies: list[tuple[int, onnx.FunctionProto]] = field(default_factory=list)


def normal_type(text: str) -> str:
    """Drop spaces and write map values as plain element types."""
    text = text.replace(" ", "")
    return re.sub(r"map\((\w+),tensor\((\w+)\)\)", r"map(\1,\2)", text)


def type_bits(types: tuple[str, ...]) -> tuple[int, ...]:
    """One bit mask per kind, in the order of ValueTypeSet's members."""
    bits = dict.fromkeys(KINDS, 0)
    patterns = (
        (r"tensor\((\w+)\)", "tensor"),
        (r"sparse_tensor\((\w+)\)", "sparse_tensor"),
        (r"seq\(tensor\((\w+)\)\)", "seq"),
        (r"optional\(tensor\((\w+)\)\)", "optional"),
        (r"optional\(seq\(tensor\((\w+)\)\)\)", "optional_seq"),
    )
    for text in types:
        for pattern, kind in patterns:
            if m := re.fullmatch(pattern, text):
                bits[kind] |= 1 << ELEM[m.group(1)]
                break
        else:
            m = re.fullmatch(r"(seq\()?map\((int64|string),(\w+)\)\)?", text)
            if not m:
                raise ValueError(f"unknown type {text}")
            bit = (4 if m.group(2) == "string" else 0) + MAP_VALUE[m.group(3)]
            bits["seq_map" if m.group(1) else "map"] |= 1 << bit
    return tuple(bits[k] for k in KINDS)


def attr_default(proto: onnx.AttributeProto) -> Any:
    if proto.type == onnx.AttributeProto.UNDEFINED:
        return None
    value = onnx.helper.get_attribute_value(proto)
    return list(value) if isinstance(value, list | tuple) or hasattr(value, "append") else value


def from_onnx(s: defs.OpSchema) -> Schema:
    def params(formal: Any) -> list[Param]:
        return [
            Param(p.name, normal_type(p.type_str), p.option.name, p.is_homogeneous) for p in formal
        ]

    attrs = [
        Attr(n, a.type.value, a.required, attr_default(a.default_value))
        for n, a in sorted(s.attributes.items())
    ]
    bodies = []
    if s.has_function:
        for version in sorted(s.function_opset_versions):
            body = onnx.FunctionProto()
            body.ParseFromString(s.get_function_with_opset_version(version))
            bodies.append((version, body))
    return Schema(
        "" if s.domain == "ai.onnx" else s.domain,
        s.name,
        s.since_version,
        params(s.inputs),
        params(s.outputs),
        [
            (c.type_param_str, tuple(sorted(map(normal_type, c.allowed_type_strs))))
            for c in s.type_constraints
        ],
        attrs,
        (s.min_input, s.max_input, s.min_output, s.max_output),
        {
            "Deterministic": "kDeterministic",
            "NonDeterministic": "kNonDeterministic",
            "Unknown": "kUnknown",
        }[s.node_determinism.name],
        s.deprecated,
        s.has_context_dependent_function,
        bodies,
    )


def split_list(text: str) -> list[str]:
    return [] if text == "-" else text.split("; ")


def contrib_param(text: str) -> Param:
    name, type_str = text.split(":", 1)
    homogeneous = not type_str.endswith("~")
    type_str = type_str.rstrip("~")
    option = {"?": "Optional", "*": "Variadic"}.get(type_str[-1], "Single")
    return Param(name, type_str.rstrip("?*"), option, homogeneous)


def contrib_attr(text: str) -> Attr:
    name, rest = text.split(":", 1)
    kind, _, default = rest.partition("=")
    code = onnx.AttributeProto.AttributeType.Value(kind.rstrip("!"))
    value: Any = None
    if "=" in rest:
        value = {1: float, 2: int, 3: str.encode}[code](default)
    return Attr(name, code, kind.endswith("!"), value)


def from_contrib(line: str) -> Schema:
    (
        domain,
        name,
        since,
        status,
        determinism,
        min_in,
        min_out,
        inputs,
        outputs,
        attrs,
        constraints,
    ) = line.rstrip("\n").split("\t")
    ins = [contrib_param(t) for t in split_list(inputs)]
    outs = [contrib_param(t) for t in split_list(outputs)]

    def most(params: list[Param]) -> int:
        return UNBOUNDED if params and params[-1].option == "Variadic" else len(params)

    return Schema(
        "" if domain == "ai.onnx" else domain,
        name,
        int(since),
        ins,
        outs,
        [(t.split("=")[0], tuple(t.split("=")[1].split("|"))) for t in split_list(constraints)],
        [contrib_attr(t) for t in split_list(attrs)],
        (int(min_in), most(ins), int(min_out), most(outs)),
        {
            "deterministic": "kDeterministic",
            "nondeterministic": "kNonDeterministic",
            "unknown": "kUnknown",
        }[determinism],
        status == "deprecated",
    )


def cstr(text: str | bytes) -> str:
    data = text if isinstance(text, bytes) else text.encode()
    body = "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\' else f"\\{b:03o}" for b in data)
    return f'"{body}"'


def cfloat(value: float) -> str:
    text = str(np.float32(value))
    if text == "inf":
        return "std::numeric_limits<float>::infinity()"
    return text + ("F" if "." in text or "e" in text else ".0F")


def cint(value: int) -> str:
    if value == -(2**63):
        return "INT64_MIN"
    return str(value) if abs(value) < 2**31 else f"{value}LL"


class Pool:
    """Rows of one table; equal runs of rows are stored once."""

    def __init__(self, name: str, ctype: str) -> None:
        self.name, self.ctype = name, ctype
        self.rows: list[str] = []
        self.seen: dict[tuple[str, ...], int] = {}

    def run(self, rows: list[str]) -> str:
        if not rows:
            return "{}"
        key = tuple(rows)
        if key not in self.seen:
            self.seen[key] = len(self.rows)
            self.rows.extend(rows)
        return f"{{{self.name} + {self.seen[key]}, {len(rows)}}}"

    def text(self) -> str:
        return f"constexpr {self.ctype} {self.name}[] = {{\n" + ",\n".join(self.rows) + "};\n"


class Writer:
    def __init__(self) -> None:
        self.types = Pool("kTypes", "ValueTypeSet")
        self.names = Pool("kNames", "std::string_view")
        self.ints = Pool("kInts", "std::int64_t")
        self.params = Pool("kParams", "FormalParameter")
        self.constraints = Pool("kConstraints", "TypeConstraint")
        self.attrs = Pool("kAttrs", "AttributeDef")
        self.bodies = Pool("kBodies", "FunctionTemplate")
        self.graphs: list[str] = []  # definitions in an order in which each is declared before use
        self.graph_ids: dict[bytes, int] = {}

    def type_set(self, types: tuple[str, ...]) -> str:
        bits = type_bits(types)
        while bits and bits[-1] == 0:
            bits = bits[:-1]
        row = "{" + ", ".join(hex(b) if b else "0" for b in bits) + "}"
        return re.sub(r"\{(.*), \d+\}", r"\1", self.types.run([row]))

    def param(self, p: Param, constraints: list[tuple[str, tuple[str, ...]]]) -> str:
        index = next((i for i, c in enumerate(constraints) if c[0] == p.type), -1)
        types = self.type_set(constraints[index][1] if index >= 0 else (p.type,))
        row = [cstr(p.name), cstr(p.type), types]
        tail = [str(index), "Opt::k" + p.option, str(p.homogeneous).lower()]
        defaults = ["-1", "Opt::kSingle", "true"]
        while tail and tail[-1] == defaults[len(tail) - 1]:
            tail.pop()
        return "{" + ", ".join(row + tail) + "}"

    def attr(self, a: Attr) -> str:
        head = f"{cstr(a.name)}, AttributeType::{ATTR[a.type]}"
        if a.default is None:
            return f"{{{head}, true}}" if a.required else f"{{{head}}}"
        head += f", {str(a.required).lower()}, true"
        kinds = onnx.AttributeProto
        if a.type == kinds.FLOAT:
            return f"{{{head}, {cfloat(a.default)}}}"
        if a.type == kinds.INT:
            return f"{{{head}, 0, {cint(a.default)}}}"
        if a.type == kinds.STRING:
            return f"{{{head}, 0, 0, {cstr(a.default)}}}"
        if a.type == kinds.INTS:
            return f"{{{head}, 0, 0, {{}}, {self.ints.run([cint(v) for v in a.default])}}}"
        if a.type == kinds.STRINGS:
            run = self.names.run([cstr(v) for v in a.default])
            return f"{{{head}, 0, 0, {{}}, {{}}, {{}}, {run}}}"
        raise ValueError(f"default of {a}")

    def body_attr(self, a: onnx.AttributeProto) -> str:
        head = f"{cstr(a.name)}, AttributeType::{ATTR[a.type]}"
        if a.ref_attr_name:
            return f"{{{head}, {cstr(a.ref_attr_name)}}}"
        kinds = onnx.AttributeProto
        if a.type == kinds.INT:
            return f"{{{head}, {{}}, {cint(a.i)}}}"
        if a.type == kinds.FLOAT:
            return f"{{{head}, {{}}, 0, {cfloat(a.f)}}}"
        if a.type == kinds.INTS:
            run = self.ints.run([cint(v) for v in a.ints])
            return f"{{{head}, {{}}, 0, 0, 0, {run}}}"
        if a.type == kinds.TENSOR:
            value = onnx.numpy_helper.to_array(a.t)
            if value.shape != () or a.t.data_type != onnx.TensorProto.FLOAT:
                raise ValueError(f"body constant {a}")
            return f"{{{head}, {{}}, 0, {cfloat(value)}, {a.t.data_type}}}"
        if a.type == kinds.GRAPH:
            g = self.graph(
                list(a.g.node), [i.name for i in a.g.input], [o.name for o in a.g.output]
            )
            return f"{{{head}, {{}}, 0, 0, 0, {{}}, &kGraph{g}}}"
        raise ValueError(f"body attribute {a}")

    def graph(self, nodes: list[onnx.NodeProto], ins: list[str], outs: list[str]) -> int:
        key = onnx.FunctionProto(node=nodes, input=ins, output=outs).SerializeToString()
        if key in self.graph_ids:
            return self.graph_ids[key]
        attrs: list[str] = []
        rows = []
        for n in nodes:
            if n.domain not in ("", "ai.onnx"):
                raise ValueError(f"body node of domain {n.domain}")
            own = [self.body_attr(a) for a in n.attribute]
            span = f"{{kGraphAttrs@ + {len(attrs)}, {len(own)}}}" if own else "{}"
            attrs += own
            rows.append(
                f"{{{cstr(n.op_type)}, {self.names.run([cstr(x) for x in n.input])}, "
                f"{self.names.run([cstr(x) for x in n.output])}, {span}}}"
            )
        ident = len(self.graphs)
        text = ""
        if attrs:
            text += f"constexpr TemplateAttribute kGraphAttrs{ident}[] = {{\n"
            text += ",\n".join(attrs) + "};\n"
        text += f"constexpr TemplateNode kGraphNodes{ident}[] = {{\n" + ",\n".join(rows) + "};\n"
        text += (
            f"constexpr TemplateGraph kGraph{ident} = "
            f"{{{self.names.run([cstr(x) for x in ins])}, "
            f"{self.names.run([cstr(x) for x in outs])}, kGraphNodes{ident}}};\n"
        )
        self.graphs.append(text.replace("kGraphAttrs@", f"kGraphAttrs{ident}"))
        self.graph_ids[key] = ident
        return ident

    def schema(self, s: Schema) -> str:
        bodies = []
        for version, body in s.bodies:
            imports = [(o.domain, o.version) for o in body.opset_import]
            if imports != [("", version)]:
                raise ValueError(f"{s.name}: body imports {imports}")
            if list(body.input) != [p.name for p in s.inputs]:
                raise ValueError(f"{s.name}: body inputs {body.input}")
            g = self.graph(list(body.node), list(body.input), list(body.output))
            bodies.append(f"{{{version}, kGraph{g}}}")
        arity = ", ".join("INT_MAX" if v == UNBOUNDED else str(v) for v in s.arity)
        row = [
            cstr(s.domain),
            cstr(s.name),
            str(s.since),
            self.params.run([self.param(p, s.constraints) for p in s.inputs]),
            self.params.run([self.param(p, s.constraints) for p in s.outputs]),
            self.constraints.run([f"{{{cstr(n)}, {self.type_set(t)}}}" for n, t in s.constraints]),
            self.attrs.run([self.attr(a) for a in s.attrs]),
            arity,
        ]
        tail = [
            "Det::" + s.determinism,
            str(s.deprecated).lower(),
            str(s.context_function).lower(),
            self.bodies.run(bodies),
        ]
        defaults = ["Det::kDeterministic", "false", "false", "{}"]
        while tail and tail[-1] == defaults[len(tail) - 1]:
            tail.pop()
        return "{" + ", ".join(row + tail) + "}"


def generate() -> str:
    schemas = [from_onnx(s) for s in defs.get_all_schemas_with_history()]
    schemas += [from_contrib(line) for line in CONTRIB.read_text().splitlines()[1:]]
    schemas.sort(key=lambda s: (s.domain.encode(), s.name.encode(), -s.since))
    keys = [(s.domain, s.name, s.since) for s in schemas]
    if len(set(keys)) != len(keys):
        raise ValueError("an operator version is defined twice")
    newest: dict[str, int] = {"": defs.onnx_opset_version()}
    for s in schemas:
        newest[s.domain] = max(newest.get(s.domain, 0), s.since)
    w = Writer()
    rows = [w.schema(s) for s in schemas]
    text = f"""\
// Generated by tools/gen_schemas.py from onnx {onnx.__version__} and contrib_schemas.tsv. Do not edit.
// {len(schemas)} operator versions. Included by src/ir/schema.cc inside its namespace.
// clang-format off
using Opt = FormalParameter::Option;
using Det = Determinism;
"""
    for pool in (w.types, w.names, w.ints):
        text += pool.text()
    text += "".join(w.graphs)
    for pool in (w.bodies, w.params, w.constraints, w.attrs):
        text += pool.text()
    text += "constexpr OpSchema kSchemas[] = {\n" + ",\n".join(rows) + "};\n"
    text += "struct DomainVersion {\n  std::string_view domain;\n  int version;\n};\n"
    text += "constexpr DomainVersion kNewestOpset[] = {\n"
    text += ",\n".join(f"{{{cstr(d)}, {v}}}" for d, v in sorted(newest.items())) + "};\n"
    return text + "// clang-format on\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    args = parser.parse_args()
    text = generate()
    if args.check:
        if not OUTPUT.exists() or OUTPUT.read_text() != text:
            print(f"{OUTPUT.name} is stale: run tools/gen_schemas.py", file=sys.stderr)
            return 1
        return 0
    OUTPUT.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

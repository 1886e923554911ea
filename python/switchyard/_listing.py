"""Which operators and kernels there are."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

from switchyard import _core


class FormalParameterOption(enum.IntEnum):
    """How many arguments a parameter takes."""

    Single = 0
    Optional = 1
    Variadic = 2


@dataclasses.dataclass(frozen=True)
class FormalParameter:
    """An input or output of an operator."""

    name: str
    typeStr: str  # noqa: N815
    types: frozenset[str]
    option: FormalParameterOption
    isHomogeneous: bool  # noqa: N815
    description: str = ""


@dataclasses.dataclass(frozen=True)
class TypeConstraintParam:
    """A type variable of an operator and what it may stand for."""

    type_param_str: str
    allowed_type_strs: list[str]
    description: str = ""


@dataclasses.dataclass(frozen=True)
class Attribute:
    """An attribute of an operator; `type` is the code of the ONNX format."""

    name: str
    type: int
    required: bool
    description: str = ""


@dataclasses.dataclass(frozen=True)
class OpSchema:
    """An operator as it is from since_version on."""

    domain: str
    name: str
    since_version: int
    deprecated: bool
    inputs: list[FormalParameter]
    outputs: list[FormalParameter]
    type_constraints: list[TypeConstraintParam]
    attributes: dict[str, Attribute]
    min_input: int
    max_input: int
    min_output: int
    max_output: int
    doc: str = ""
    file: str = ""
    line: int = 0

    @staticmethod
    def is_infinite(count: int) -> bool:
        """Whether a most of arguments is no most."""
        return count == 2**31 - 1


@dataclasses.dataclass(frozen=True)
class KernelDef:
    """A kernel of a provider for versions from the first to the last of version_range."""

    provider: str
    domain: str
    op_name: str
    version_range: tuple[int, int]
    type_constraints: dict[str, list[str]]


def _split(types: str) -> list[str]:
    return types.split(", ") if types else []


def _parameters(rows: list[tuple[Any, ...]]) -> list[FormalParameter]:
    return [
        FormalParameter(name, kind, frozenset(_split(types)), FormalParameterOption(option), same)
        for name, kind, types, option, same in rows
    ]


def get_all_operator_schema() -> list[OpSchema]:
    """Every operator in every version."""
    return [
        OpSchema(
            domain,
            name,
            since,
            deprecated,
            _parameters(inputs),
            _parameters(outputs),
            [TypeConstraintParam(n, _split(types)) for n, types in constraints],
            {n: Attribute(n, kind, required) for n, kind, required in attributes},
            *counts,
        )
        for domain, name, since, deprecated, inputs, outputs, constraints, attributes, counts in (
            _core._operator_schemas()
        )
    ]


def get_all_opkernel_def() -> list[KernelDef]:
    """Every kernel of the providers that can be used here."""
    return [
        KernelDef(
            provider,
            domain,
            name,
            (first, last),
            {argument: [f"tensor({t})" for t in types] for argument, types in of.items()},
        )
        for provider, domain, name, first, last, of in _core._kernels()
    ]


def get_registered_ep_kernel_defs(ep_name: str) -> list[KernelDef]:
    """The kernels of one provider; RuntimeError for one that can't be used here."""
    if ep_name not in _core.get_available_providers():
        raise RuntimeError(f"No devices found for EP '{ep_name}'")
    return [kernel for kernel in get_all_opkernel_def() if kernel.provider == ep_name]

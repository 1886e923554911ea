"""The package's types: what it is written with, what its stub says, what a program sees."""

from __future__ import annotations

import ast
import enum
import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest
import switchyard

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """
import numpy as np
import onnxruntime as ort
from onnxruntime.capi.onnxruntime_inference_collection import OrtValue

options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
session = ort.InferenceSession("model.onnx", options, providers=["CPUExecutionProvider"])
names: list[str] = [arg.name for arg in session.get_inputs()]
results = session.run(None, {names[0]: np.zeros(3, np.float32)})
binding = session.io_binding()
binding.bind_output(session.get_outputs()[0].name, "cpu")
value: ort.OrtValue = OrtValue.ortvalue_from_numpy(np.zeros(3))
session.no_such_method()
"""


needs_mypy = pytest.mark.skipif(
    importlib.util.find_spec("mypy") is None, reason="mypy is not installed"
)


def run(*words: object, path: str = "") -> tuple[int, str]:
    environment = {**os.environ, "MYPYPATH": path}
    result = subprocess.run(
        [sys.executable, "-m", *(str(word) for word in words)],
        cwd=ROOT,
        env=environment,
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return result.returncode, result.stdout


@needs_mypy
def test_the_package_is_typed(tmp_path):
    code, text = run("mypy", "--cache-dir", tmp_path / "cache")
    assert code == 0, text


def names_of(body: list[ast.stmt]) -> set[str]:
    names = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names.add(node.targets[0].id)
    return names


def visible(owner: object) -> set[str]:
    hidden = {"__dict__", "__weakref__", "__module__", "__doc__", "__new__", "__init__"}
    own = set(vars(owner)) - hidden
    return {name for name in own if not name.startswith("__") or name in ("__array__",)}


def test_the_stub_is_the_module():
    core = switchyard._core
    tree = ast.parse((ROOT / "python" / "switchyard" / "_core.pyi").read_text())
    stub, members = names_of(tree.body) - {"_Array"}, visible(core)
    assert stub <= members
    assert {n for n in members - stub if not n.startswith("_")} == set()
    for node in tree.body:
        if not isinstance(node, ast.ClassDef) or issubclass(getattr(core, node.name), Exception):
            continue
        stub = {n for n in names_of(node.body) if not n.startswith("__") or n == "__array__"}
        members = visible(getattr(core, node.name))
        if isinstance(getattr(core, node.name), enum.EnumMeta):
            members = {name for name in members if not name.startswith("_")}
        assert stub <= members, node.name
        assert {n for n in members - stub if not n.startswith("_")} == set(), node.name


@needs_mypy
def test_a_program_for_the_alias(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    places = f"{ROOT / 'python'}:{ROOT / 'python' / 'switchyard' / '_ort_shim'}"
    code, text = run(
        "mypy",
        "--cache-dir",
        tmp_path / "cache",
        "--config-file=",
        "--strict",
        "--follow-imports=silent",
        program,
        path=places,
    )
    errors = [line for line in text.splitlines() if ": error:" in line]
    assert code == 1 and len(errors) == 1 and "no_such_method" in errors[0], text


def documented(owner: object, prefix: str) -> list[str]:
    missing = []
    for name in dir(owner):
        member = getattr(owner, name)
        if name.startswith("_") or isinstance(owner, enum.EnumMeta):
            continue
        plain = isinstance(member, (str, int, float, dict, list))
        if not plain and not getattr(member, "__doc__", None):
            missing.append(f"{prefix}.{name}")
    return missing


def test_everything_public_has_a_text():
    missing = []
    for name in switchyard.__all__:
        member = getattr(switchyard, name)
        if not member.__doc__:
            missing.append(name)
        if isinstance(member, type) and not issubclass(member, Exception):
            missing += documented(member, name)
    assert not missing

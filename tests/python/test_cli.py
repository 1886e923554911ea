"""The command-line tool."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest
from conftest import built, two_outputs, unary

from onnx import TensorProto

TOOL = built("bin", "switchyard")


def tool(*words: object, status: int = 0) -> subprocess.CompletedProcess[str]:
    command = [str(TOOL), *(str(word) for word in words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == status, done.stderr
    return done


def test_run_with_files(model_file, tmp_path):
    a = np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4))
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", np.full((3, 4), 2, ">f4"))
    done = tool(
        "run", model_file, "-i", f"A={tmp_path}/a.npy", "-i", f"B={tmp_path}/b.npy",
        "-o", tmp_path / "out", "-t", 1, "-l", "basic", "-p", "CPUExecutionProvider",
    )  # fmt: skip
    assert "float[3,4]" in done.stdout
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "S.npy"), a + 2)
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "D.npy"), a - 2)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int64", "float16", "float64", "<U5", "S4"]
)
def test_files_of_other_types(tmp_path, dtype):
    codes = {"bool": 9, "int8": 3, "uint16": 4, "int64": 7, "float16": 10, "float64": 11}
    array = np.array([["a", "zü"], ["", "三"]] if dtype == "<U5" else [[1, 0], [1, 1]]).astype(
        dtype
    )
    (tmp_path / "m.onnx").write_bytes(unary("Identity", codes.get(dtype, TensorProto.STRING)))
    np.save(tmp_path / "x.npy", array)
    tool("run", tmp_path / "m.onnx", "-i", f"x={tmp_path}/x.npy", "-o", tmp_path)
    result = np.load(tmp_path / "y.npy")
    np.testing.assert_array_equal(result, array.astype(str) if dtype == "S4" else array)


def test_run_with_random_inputs(model_file):
    done = tool("run", model_file, "-d", "N=5", "-n", 3, "--output", "S")
    assert "input  A float[5,4] random" in done.stdout
    assert "output S float[5,4]" in done.stdout
    assert "of 3" in done.stdout


def test_inspect(model_file):
    text = tool("inspect", model_file).stdout
    for word in ("A ", "float[N,4]", "Add", "Sub", "ai.onnx 17", "tests"):
        assert word in text
    report = json.loads(tool("inspect", model_file, "--json").stdout)
    assert report["schema_version"] == 1
    assert report["operators"] == {"Add": 1, "Sub": 1}
    assert report["inputs"][0] == {"name": "A", "type": "tensor(float)", "shape": ["N", 4]}


def test_explain(model_file):
    assert "CPUExecutionProvider" in tool("explain", model_file).stdout
    assert json.loads(tool("explain", model_file, "--json").stdout)["schema_version"] >= 1


def test_lists():
    assert "CPUExecutionProvider" in tool("providers").stdout
    providers = json.loads(tool("providers", "--json").stdout)["providers"]
    assert any(row["name"] == "CPUExecutionProvider" and row["available"] for row in providers)
    assert json.loads(tool("passes", "--json").stdout)["schema_version"] == 1
    assert "level" in tool("passes").stdout


def test_fallback_warns(model_file):
    done = tool("run", model_file, "-p", "CUDAExecutionProvider:device_id=0")
    assert "CUDAExecutionProvider" in done.stderr
    assert "takes over" in done.stderr


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (["run", "absent.onnx"], 1, "NoSuchFile"),
        (["run", "MODEL", "-i", "A=absent.npy"], 1, "absent.npy"),
        (["run", "MODEL", "-i", "A"], 1, "name=value"),
        (["run", "MODEL", "-i", "A=MODEL"], 1, "no .npy file"),
        (["run", "MODEL", "-p", "Toaster"], 1, "Toaster"),
        (["run", "MODEL", "--output", "nope"], 1, "nope"),
        (["run", "MODEL", "-l", "much"], 2, "much"),
        (["run"], 2, "model"),
        (["toast"], 2, ""),
        ([], 2, ""),
    ],
)
def test_errors_are_one_message(model_file, words, status, text):
    done = tool(*(word.replace("MODEL", str(model_file)) for word in words), status=status)
    assert text in done.stderr
    assert "terminate called" not in done.stderr


def test_a_broken_model_is_an_error(tmp_path):
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(two_outputs()[:40])
    for command in ("run", "inspect", "explain"):
        assert tool(command, broken, status=1).stderr.startswith("switchyard: ")


def test_help_has_examples():
    for command in ("run", "inspect", "explain", "providers", "passes"):
        assert "Examples:" in tool(command, "--help").stdout
    assert tool("--version").stdout.strip()

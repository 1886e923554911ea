"""explain, verify, optimize, bench, completion: what they print, write and end with."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import time

import numpy as np
import pytest
from conftest import built, model, value
from test_cli import TOOL, tool

import onnx
from onnx import TensorProto, helper

WRONG = built("tests", "libswitchyard_provider_wrong.so")
WITH_WRONG = ("--provider-library", WRONG, "-p")


def convolution() -> bytes:
    """y = Relu(BatchNorm(Conv(x))), with an Identity for the basic passes."""
    random = np.random.default_rng(1)
    constants = {
        "w": random.standard_normal((8, 3, 3, 3)).astype(np.float32),
        **{name: random.random(8).astype(np.float32) + 0.5 for name in ("s", "b", "m", "v")},
    }
    nodes = [
        helper.make_node("Identity", ["x"], ["i"]),
        helper.make_node("Conv", ["i", "w"], ["c"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"], "norm"),
        helper.make_node("Relu", ["n"], ["y"], "relu"),
    ]
    x = value("x", TensorProto.FLOAT, ["N", 3, 16, 16])
    y = value("y", TensorProto.FLOAT, ["N", 8, 16, 16])
    return model(nodes, [x], [y], constants)


def chain() -> bytes:
    """z = Exp((x - y) * (x - y) - y), y = 0.5 * |x|; the wrong provider takes all but Exp."""
    nodes = [
        helper.make_node("Abs", ["x"], ["a"], "abs"),
        helper.make_node("Neg", ["a"], ["b"], "neg"),
        helper.make_node("Sub", ["x", "b"], ["c"], "sub"),
        helper.make_node("Mul", ["c", "c"], ["d"], "mul"),
        helper.make_node("Exp", ["d"], ["z"], "exp"),
    ]
    of = [value(name, TensorProto.FLOAT, [2, 3]) for name in "xz"]
    return model(nodes, of[:1], of[1:])


@pytest.fixture
def conv_file(tmp_path):
    path = tmp_path / "conv.onnx"
    path.write_bytes(convolution())
    return path


@pytest.fixture
def chain_file(tmp_path):
    path = tmp_path / "chain.onnx"
    path.write_bytes(chain())
    return path


def test_explain_in_three_forms(conv_file, tmp_path):
    text = tool("explain", conv_file, "-d", "N=2").stdout
    for word in ("partitions: 1", "passes (", "memory of the last run", "arena on", "conv"):
        assert word in text
    report = json.loads(tool("explain", conv_file, "--json").stdout)
    assert report["memory"][0]["bytes"] > 0
    assert report["nodes"][0]["outputs"][0]["name"]
    assert not json.loads(tool("explain", conv_file, "--json", "--no-run").stdout)["memory"]
    assert tool("explain", conv_file, "--html", "-o", tmp_path / "page.html").stdout == ""
    assert "<canvas" in (tmp_path / "page.html").read_text()
    assert "excludes" in tool("explain", conv_file, "--html", "--json", status=2).stderr


def test_explain_goes_on_where_made_up_inputs_fail(tmp_path):
    node = helper.make_node("Reshape", ["x", "s"], ["y"], allowzero=1)
    of = [
        value("x", TensorProto.FLOAT, [5]),
        value("s", TensorProto.INT64, [2]),
        value("y", TensorProto.FLOAT, None),
    ]
    (tmp_path / "m.onnx").write_bytes(model([node], of[:2], of[2:]))
    done = tool("explain", tmp_path / "m.onnx")
    assert "no plan of memory" in done.stderr
    assert "Reshape" in done.stdout


def test_verify_compares_levels_and_threads(conv_file):
    report = json.loads(tool("verify", conv_file, "-d", "N=2", "--json").stdout)
    assert report["ok"]
    assert len(report["candidates"]) == 8
    for row in report["candidates"]:
        assert row["outputs"][0]["type"] == "float[2,8,16,16]"
        assert row["outputs"][0]["relative"] <= 1e-5
    text = tool("verify", conv_file, "-l", "disabled,all", "-t", "1").stdout
    assert text.count("ok ") == 2
    assert "the same bits" in text


def test_verify_takes_given_inputs(conv_file, tmp_path):
    np.save(tmp_path / "x.npy", np.full((3, 3, 16, 16), 2, np.float32))
    report = json.loads(
        tool("verify", conv_file, "-i", f"x={tmp_path}/x.npy", "-l", "all", "--json").stdout
    )
    assert report["candidates"][0]["outputs"][0]["type"] == "float[3,8,16,16]"


def test_bisect_names_the_wrong_pass(chain_file):
    wrong = (*WITH_WRONG, "WrongExecutionProvider:pass=1")
    done = tool("verify", chain_file, *wrong, "--bisect", "--json", status=3)
    report = json.loads(done.stdout)
    assert not report["ok"]
    found = report["bisection"]
    assert (found["culprit"], found["pass"]) == ("pass", "sub_to_add")
    assert "Sub 'sub'" in found["node"]
    assert 1 <= found["patch"] <= found["patches"]
    text = tool("verify", chain_file, *wrong, "--bisect", status=3).stdout
    assert "of the pass sub_to_add" in text
    assert "WRONG" in text


def test_bisect_names_the_wrong_kernel(chain_file):
    wrong = (*WITH_WRONG, "WrongExecutionProvider:kernel=Mul")
    found = json.loads(tool("verify", chain_file, *wrong, "--bisect", "--json", status=3).stdout)[
        "bisection"
    ]
    assert found["culprit"] == "kernel"
    assert "Mul 'mul'" in found["node"]
    assert found["provider"] == "WrongExecutionProvider"
    assert found["variant"] == "wrong on purpose"
    assert found["error"]["name"] == "d"


def test_a_right_provider_passes(chain_file):
    report = json.loads(
        tool("verify", chain_file, *WITH_WRONG, "WrongExecutionProvider", "--json").stdout
    )
    assert report["ok"]
    assert len(report["candidates"]) == 16


@pytest.mark.parametrize("level", ["basic", "extended"])
def test_optimize_writes_a_model(conv_file, tmp_path, level):
    import switchyard

    out = tmp_path / "out.onnx"
    report = json.loads(tool("optimize", conv_file, "-o", out, "-l", level, "--json").stdout)
    written = onnx.load(str(out))
    onnx.checker.check_model(written)
    operators = [node.op_type for node in written.graph.node]
    assert operators == (["Conv", "Relu"] if level == "basic" else ["FusedConv"])
    assert report["nodes_before"] == 4
    assert report["nodes_after"] == len(operators)
    feeds = {"x": np.random.default_rng(2).random((2, 3, 16, 16), np.float32)}
    got = switchyard.InferenceSession(str(out)).run(None, feeds)[0]
    np.testing.assert_allclose(
        got, switchyard.InferenceSession(str(conv_file)).run(None, feeds)[0], rtol=1e-5, atol=1e-5
    )
    assert "nodes" in tool("optimize", conv_file, "-o", out, "-l", level).stdout


def test_optimize_does_not_write_over_its_input(conv_file):
    before = conv_file.read_bytes()
    assert "name another file" in tool("optimize", conv_file, "-o", conv_file, status=1).stderr
    assert conv_file.read_bytes() == before


def test_bench_measures(conv_file, tmp_path):
    words = ("bench", conv_file, "-n", 5, "-t", 1, "-j", 2, "--profile")
    result = json.loads(tool(*words, "--json", "-o", tmp_path / "a.json").stdout)
    assert json.loads((tmp_path / "a.json").read_text()) == result
    latency = result["latency_ms"]
    assert latency["runs"] == 10
    order = [latency[key] for key in ("min", "p50", "p90", "p95", "p99", "max")]
    assert order == sorted(order)
    assert result["throughput_per_second"] > 0
    assert result["memory"]["peak_bytes"] > 1e6
    assert result["nodes"]
    assert sum(node["share"] for node in result["nodes"]) == pytest.approx(1)
    text = tool(*words).stdout
    for word in ("throughput", "p99", "peak", "nodes by time"):
        assert word in text


def test_bench_compares_two_results(conv_file, tmp_path):
    tool("bench", conv_file, "-n", 5, "--profile", "-o", tmp_path / "a.json")
    slower = json.loads((tmp_path / "a.json").read_text())
    slower["latency_ms"]["p50"] *= 3
    (tmp_path / "b.json").write_text(json.dumps(slower))
    done = tool("bench", "--compare", tmp_path / "a.json", tmp_path / "b.json", "--json", status=3)
    comparison = json.loads(done.stdout)
    row = next(row for row in comparison["figures"] if row["figure"] == "latency_ms.p50")
    assert row["ratio"] == pytest.approx(1 / 3)
    assert row["worse"]
    same = tool("bench", "--compare", tmp_path / "a.json", tmp_path / "a.json")
    assert "worse" not in same.stdout
    assert "Conv" in same.stdout
    (tmp_path / "c.json").write_text("{}")
    bad = tool("bench", "--compare", tmp_path / "a.json", tmp_path / "c.json", status=1)
    assert "c.json" in bad.stderr
    assert "name a model" in tool("bench", status=1).stderr


def test_run_as_json(conv_file):
    result = json.loads(tool("run", conv_file, "-n", 2, "--json").stdout)
    assert result["runs"] == 2
    assert result["outputs"][0]["value"] == "float[1,8,16,16]"
    assert result["outputs"][0]["min"] >= 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command(shell):
    script = tool("completion", shell).stdout
    for word in ("verify", "bench", "provider-library", "completion", "bisect"):
        assert word in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_bash_completes():
    script = tool("completion", "bash").stdout
    ask = 'COMP_WORDS=(switchyard {}); COMP_CWORD={}; _switchyard; echo "${{COMPREPLY[*]}}"'

    def answer(words: str, at: int) -> list[str]:
        done = subprocess.run(
            [
                "bash",
                "-c",
                script.replace("complete -o", "true complete -o") + ask.format(words, at),
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()

    assert answer("ver", 1) == ["verify"]
    assert answer("verify --bis", 2) == ["--bisect"]
    assert set(answer("completion ''", 2)) == {"bash", "zsh", "fish"}


def test_help_of_the_new_commands_has_examples():
    for command in ("bench", "verify", "optimize", "completion"):
        assert "Examples:" in tool(command, "--help").stdout


def test_progress_is_for_terminals_only(conv_file):
    quiet = tool("bench", conv_file, "-s", "2.6")
    assert quiet.stderr == ""
    terminal, side = pty.openpty()
    with subprocess.Popen(
        [str(TOOL), "bench", str(conv_file), "-s", "2.6"], stdout=subprocess.PIPE, stderr=side
    ) as process:
        process.communicate(timeout=60)
    os.close(side)
    time.sleep(0.1)
    shown = os.read(terminal, 65536).decode()
    os.close(terminal)
    assert "running" in shown
    assert "#" in shown
    assert shown.endswith("\r\x1b[K")

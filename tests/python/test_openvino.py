"""OpenVINOExecutionProvider through Python: options, reasons, models against the CPU."""

from __future__ import annotations

import concurrent.futures
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest
import switchyard as sy
from conftest import CPU, model, two_outputs, unary, value

import onnx
from onnx import TensorProto, helper

NAME = "OpenVINOExecutionProvider"
ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "models"
LIGHT = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"

# requirements.txt holds the package, so that nothing is skipped where it was installed.
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("openvino") is None, reason="no package openvino in this environment"
)


def session(model, **options):
    return sy.InferenceSession(model, providers=[(NAME, options), *CPU])


def providers_of(made):
    return [node["provider"] for node in json.loads(made.explain(True))["nodes"]]


def test_is_known_and_available():
    assert NAME in sy.get_all_providers()
    assert NAME in sy.get_available_providers()
    assert sy.get_available_providers()[-1] == CPU[0]


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("device_typ", "CPU", "known: device_type, precision, num_of_threads"),
        ("device_type", "TPU", "CPU_FP32"),
        ("device_type", "AUTO:TPU", "AUTO:GPU,CPU"),
        ("device_type", "NPU.7", "it finds: CPU"),
        ("precision", "FP8", "FP32, FP16, BF16, ACCURACY"),
        ("num_of_threads", "0", "from 1 to 1024"),
        ("num_of_threads", "two", "from 1 to 1024"),
        ("num_streams", "-1", "from 1 to 1024"),
        ("model_priority", "high", "DEFAULT, LOW, MEDIUM, HIGH"),
        ("enable_dynamic_shapes", "maybe", "0, 1, false, true"),
        ("claim_all", "2", "0, 1, false, true"),
        ("load_config", "no_such_file.json", "a JSON object"),
        ("load_config", "{", "a JSON object"),
        ("load_config", '{"CPU": {"NO_SUCH_PROPERTY": "1"}}', "INFERENCE_NUM_THREADS"),
        ("cache_dir", "/proc/no/such", "cache_dir"),
    ],
)
def test_option_errors_name_what_is_allowed(key, value, told):
    with pytest.raises(Exception, match=told) as caught:
        session(unary("Relu"), **{key: value})
    assert key in str(caught.value)


def test_precision_given_twice():
    with pytest.raises(Exception, match="says so"):
        session(unary("Relu"), device_type="CPU_FP32", precision="BF16")


@pytest.mark.parametrize(
    "options",
    [
        {"device_type": "CPU"},
        {"device_type": "CPU_FP32"},
        {"device_type": "AUTO:CPU"},
        {"device_type": "HETERO:CPU"},
        {"num_of_threads": "1", "num_streams": "1", "precision": "FP32"},
        {"precision": "ACCURACY"},
        {"model_priority": "HIGH"},
        {"load_config": json.dumps({"CPU": {"ENABLE_HYPER_THREADING": False}})},
    ],
)
def test_options_are_taken_and_told(options):
    made = session(two_outputs(), claim_all="1", **options)
    told = made.get_provider_options()[NAME]
    again = sy.InferenceSession(two_outputs(), providers=[(NAME, told), *CPU])
    assert again.get_provider_options()[NAME] == told
    feeds = {name: np.arange(8, dtype=np.float32).reshape(2, 4) for name in "AB"}
    for runner in (made, again):
        total, gap = runner.run(None, feeds)
        assert np.array_equal(total, 2 * feeds["A"])
        assert not gap.any()


def test_load_config_from_a_file(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"CPU": {"INFERENCE_NUM_THREADS": 1}}))
    session(unary("Relu"), claim_all="1", load_config=str(path))


def test_dynamic_shapes_can_be_refused():
    made = session(unary("Exp"), claim_all="1", enable_dynamic_shapes="0")
    report = json.loads(made.explain(True))
    (node,) = report["nodes"]
    assert node["provider"] == CPU[0]
    assert "enable_dynamic_shapes=0" in json.dumps(node)


def floats(*dims):
    return np.random.default_rng(1).random(dims, np.float32)


def ids(*dims, below=100):
    return np.random.default_rng(2).integers(0, below, dims)


# Ten models: path below models/ or the onnx package's light ones, and inputs.
TEN = {
    "fastestdet/FastestDet.onnx": {"input.1": floats(1, 3, 352, 352)},
    "ppocr/ch_PP-OCRv4_rec_infer.onnx": {"x": floats(1, 3, 48, 160)},
    "ppocr/ch_PP-OCRv4_det_infer.onnx": {"x": floats(1, 3, 96, 160)},
    "ppocr/ch_ppocr_mobile_v2.0_cls_infer.onnx": {"x": floats(1, 3, 48, 192)},
    "bert_mlm/dummy_transformer_mlm.onnx": {
        "input_ids": ids(1, 12, below=30000),
        "attention_mask": np.ones((1, 12), np.int64),
        "token_type_ids": np.zeros((1, 12), np.int64),
    },
    "silero_vad/silero_vad.onnx": {
        "input": floats(1, 512),
        "state": floats(2, 1, 128),
        "sr": np.asarray(16000, np.int64),
    },
    "ml/mlp_classifier.onnx": {"X": floats(5, 6)},
    "light_squeezenet.onnx": {"data_0": floats(1, 3, 224, 224)},
    "light_shufflenet.onnx": {"gpu_0/data_0": floats(1, 3, 224, 224)},
    "light_resnet50.onnx": {"gpu_0/data_0": floats(1, 3, 224, 224)},
}
WHOLE = ("FastestDet.onnx", "light_squeezenet.onnx", "light_resnet50.onnx")


@pytest.mark.parametrize("path", sorted(TEN))
def test_ten_models_give_what_the_cpu_gives(path):
    file = (MODELS if "/" in path else LIGHT) / path
    cpu = sy.InferenceSession(file, providers=CPU)
    mixed = session(file)
    feeds = TEN[path]
    for _ in range(2):
        for one, other in zip(mixed.run(None, feeds), cpu.run(None, feeds)):
            one, other = np.asarray(one), np.asarray(other)
            assert one.dtype == other.dtype
            if other.dtype.kind != "f":
                assert np.array_equal(one, other)
            else:
                np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
    if path.endswith(WHOLE):
        report = json.loads(mixed.explain(True))
        assert [node["provider"] for node in report["nodes"]] == [NAME]
        assert report["copies"] == []


SCRIPT = """
import numpy as np, sys, warnings, switchyard as sy
options = sy.SessionOptions()
if len(sys.argv) > 2:
    options.add_session_config_entry("switchyard.strict_providers", "1")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        made = sy.InferenceSession(
            sys.argv[1], options, providers=["OpenVINOExecutionProvider", "CPUExecutionProvider"])
        made.run(None, {n: np.ones((1, 4), np.float32) for n in "AB"})
        print("ran on", made.get_providers())
    except Exception as error:
        print("error", error)
    print("warned", *[w.message for w in caught])
print("available", sy.get_available_providers())
"""


def without_openvino(tmp_path: pathlib.Path) -> dict[str, str]:
    """An environment in which the module is there and OpenVINO's own libraries are not."""
    built = (
        pathlib.Path(sy._core.__file__).parents[2] / "src" / "libswitchyard_provider_openvino.so"
    )
    content = built.read_bytes()
    folder = str(pathlib.Path(importlib.util.find_spec("openvino").origin).parent / "libs").encode()
    assert folder in content
    # The folder stands in the file as its run path: another one of the same length.
    (tmp_path / built.name).write_bytes(content.replace(folder, b"/" + b"x" * (len(folder) - 1)))
    return {**os.environ, "SWITCHYARD_PROVIDER_PATH": str(tmp_path)}


@pytest.mark.parametrize("strict", [False, True])
def test_a_machine_without_openvino(tmp_path, model_file, strict):
    words = [sys.executable, "-c", SCRIPT, str(model_file), *(["strict"] if strict else [])]
    done = subprocess.run(
        words, env=without_openvino(tmp_path), text=True, capture_output=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    assert "libopenvino.so" in said, said
    available = done.stdout[done.stdout.index("available") :]
    assert "CPUExecutionProvider" in available and "OpenVINO" not in available
    if strict:
        assert "error" in done.stdout and "strict_providers" in done.stdout
    else:
        assert "ran on ['CPUExecutionProvider']" in done.stdout
        assert "CPUExecutionProvider takes over" in said


def test_the_tool_tells_the_state_of_a_module(tmp_path):
    tool = pathlib.Path(sy._core.__file__).parents[2] / "bin" / "switchyard"
    for environment, loadable in ((dict(os.environ), True), (without_openvino(tmp_path), False)):
        text = subprocess.run(
            [tool, "providers", "--json"],
            env=environment,
            text=True,
            capture_output=True,
            check=True,
        ).stdout
        rows = {row["name"]: row for row in json.loads(text)["providers"]}
        row = rows[NAME]
        assert row["built"] is True
        assert row["loadable"] is row["available"] is loadable
        assert bool(row["reason"]) is not loadable
        assert any("CPU" in device for device in row["devices"]) is loadable
        assert rows["CUDAExecutionProvider"]["built"] is False


def test_a_cached_group_is_not_converted_again(tmp_path):
    file = MODELS / "ppocr" / "ch_ppocr_mobile_v2.0_cls_infer.onnx"
    first = session(file, cache_dir=str(tmp_path))
    kept = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert kept
    second = session(file, cache_dir=str(tmp_path))
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == kept
    assert providers_of(second) == providers_of(first) == [NAME]
    feeds = {"x": floats(1, 3, 48, 192)}
    for one, other in zip(first.run(None, feeds), second.run(None, feeds)):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    # Other options are another group.
    session(file, cache_dir=str(tmp_path), num_of_threads="1", num_streams="2")
    assert len(list(tmp_path.iterdir())) > len(kept)


def several_outputs() -> bytes:
    """y = sigmoid(x), z = its transpose, w = flat, k = where y > 0.5"""
    nodes = [
        helper.make_node("Sigmoid", ["x"], ["y"]),
        helper.make_node("Transpose", ["y"], ["z"], perm=[1, 0]),
        helper.make_node("Reshape", ["y", "flat"], ["w"]),
        helper.make_node("Greater", ["y", "half"], ["above"]),
        helper.make_node("NonZero", ["above"], ["k"]),
    ]
    shapes = {"y": ["N", "M"], "z": ["M", "N"], "w": ["K"]}
    outputs = [value(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    outputs.append(value("k", TensorProto.INT64, [2, None]))
    constants = {"flat": np.asarray([-1]), "half": np.asarray(0.5, np.float32)}
    return model(nodes, [value("x", TensorProto.FLOAT, ["N", "M"])], outputs, constants)


def test_shapes_change_from_run_to_run():
    cpu = sy.InferenceSession(several_outputs(), providers=CPU)
    made = session(several_outputs(), claim_all="1")
    report = json.loads(made.explain(True))
    assert [node["provider"] for node in report["nodes"]] == [NAME]
    random = np.random.default_rng(3)
    shapes = [(2, 3), (5, 1), (2, 3), (64, 33), (0, 4), (1, 1), (2, 3), (0, 4), (7, 7)]
    for shape in shapes * 2:
        feeds = {"x": random.standard_normal(shape, np.float32)}
        for one, other in zip(made.run(None, feeds), cpu.run(None, feeds)):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(), (3, 0), (1,)])
def test_scalars_and_empty_tensors(shape):
    proto = unary("Exp", shape=shape)
    made = session(proto, claim_all="1")
    assert json.loads(made.explain(True))["nodes"][0]["provider"] == NAME
    x = np.full(shape, 0.5, np.float32)
    for _ in range(2):
        (y,) = made.run(None, {"x": x})
        assert y.shape == shape
        np.testing.assert_allclose(y, np.exp(x), rtol=1e-6)


def test_bound_buffers_are_written_in_place():
    made = session(unary("Exp"), claim_all="1")
    for rows in (3, 3, 5, 3):
        x = np.full((rows, 4), rows, np.float32)
        y = np.zeros((rows, 4), np.float32)
        binding = made.io_binding()
        binding.bind_input("x", "cpu", 0, np.float32, x.shape, x.ctypes.data)
        binding.bind_output("y", "cpu", 0, np.float32, y.shape, y.ctypes.data)
        for _ in range(2):
            y[:] = 0
            made.run_with_iobinding(binding)
            np.testing.assert_allclose(y, np.exp(x), rtol=1e-6)


def test_reasons_are_kept():
    nodes = [
        helper.make_node("Det", ["x"], ["a"]),
        helper.make_node("Add", ["i", "i"], ["c"]),
        helper.make_node("Exp", ["d"], ["e"]),
        helper.make_node("Identity", ["s"], ["t"]),
        helper.make_node("Relu", ["x"], ["f"]),
    ]
    of = {
        "x": TensorProto.FLOAT,
        "i": TensorProto.INT64,
        "d": TensorProto.DOUBLE,
        "s": TensorProto.STRING,
    }
    inputs = [value(name, element, [2, 2]) for name, element in of.items()]
    outputs = [value("a", TensorProto.FLOAT, []), value("c", TensorProto.INT64, [2, 2])]
    outputs += [value("e", TensorProto.DOUBLE, [2, 2]), value("t", TensorProto.STRING, [2, 2])]
    outputs += [value("f", TensorProto.FLOAT, [2, 2])]
    proto = model(nodes, inputs, outputs)
    told = {
        "Det": "front end does not know",
        "Add": "cuts to 32 bits",
        "Exp": "double in single precision",
        "Identity": "string",
        "Relu": "an island of 1 node",
    }
    report = json.loads(session(proto).explain(True))
    for node in report["nodes"]:
        assert node["provider"] == CPU[0]
        assert told[node["op"]] in json.dumps(node)
    taken = json.loads(session(proto, claim_all="1").explain(True))["nodes"]
    assert [n["provider"] for n in taken].count(NAME) == 1


def test_runs_from_four_threads():
    file = MODELS / "ppocr" / "ch_PP-OCRv4_rec_infer.onnx"
    made = session(file)
    cpu = sy.InferenceSession(file, providers=CPU)
    feeds = [{"x": floats(1, 3, 48, 48 + 32 * i)} for i in range(4)]
    expected = [cpu.run(None, feed) for feed in feeds]

    def runs(index: int) -> None:
        for _ in range(3):
            for one, other in zip(made.run(None, feeds[index]), expected[index]):
                np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(runs, index) for index in range(4)]:
            done.result()


def long_running() -> bytes:
    """Forty products of 768 by 768."""
    nodes = [helper.make_node("MatMul", ["x", "x"], ["h0"])]
    nodes += [helper.make_node("MatMul", [f"h{i}", "x"], [f"h{i + 1}"]) for i in range(39)]
    of = [value(name, TensorProto.FLOAT, [768, 768]) for name in ("x", "h39")]
    return model(nodes, of[:1], of[1:])


def test_a_long_run_is_cancelled_while_it_runs():
    made = session(long_running())
    feeds = {"x": np.full((768, 768), 1 / 768, np.float32)}
    expected = made.run(None, feeds)  # long, and now known to be
    options = sy.RunOptions()

    def stop() -> None:
        options.terminate = True

    timer = threading.Timer(0.01, stop)
    timer.start()
    with pytest.raises(Exception, match="terminated"):
        made.run(None, feeds, options)
    timer.join()
    np.testing.assert_allclose(made.run(None, feeds)[0], expected[0], rtol=1e-5)


def resident_kilobytes() -> int:
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def test_two_hundred_sessions_without_growth():
    x = np.ones((2, 4), np.float32)
    some = 0
    for i in range(200):
        made = session(unary("Sigmoid"), claim_all="1")
        made.run(None, {"x": x})
        del made
        if i == 99:
            some = resident_kilobytes()
    assert resident_kilobytes() < some + 4096


def test_outputs_of_equal_value():
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Identity", ["y"], ["z"])]
    of = [value(name, TensorProto.FLOAT, [2, 3]) for name in "xyz"]
    options = sy.SessionOptions()
    options.graph_optimization_level = sy.GraphOptimizationLevel.ORT_DISABLE_ALL
    providers = [(NAME, {"claim_all": "1"}), *CPU]
    made = sy.InferenceSession(model(nodes, of[:1], of[1:]), options, providers=providers)
    for sign in (1, -1):
        x = np.full((2, 3), sign, np.float32)
        for result in made.run(None, {"x": x}):
            assert np.array_equal(result, np.maximum(x, 0))

"""The modules beside the session: backend, datasets, adapters, compiler, quantisation, alias."""

from __future__ import annotations

import importlib
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from conftest import CPU, model, value
from test_surface import MUL, X

import onnx
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2]


def part(ort, name):
    return importlib.import_module(f"{ort.__name__}.{name}")


# ---- backend and datasets


def test_examples(ort):
    datasets = part(ort, "datasets")
    for name in ("logreg_iris.onnx", "mul_1.onnx", "sigmoid.onnx"):
        made = ort.InferenceSession(datasets.get_example(name), providers=CPU)
        arg = made.get_inputs()[0]
        assert made.run(None, {arg.name: np.ones(arg.shape, np.float32)})
    with pytest.raises(FileNotFoundError):
        datasets.get_example("absent.onnx")


def test_examples_are_as_their_script_makes_them(tmp_path):
    script = ROOT / "scripts" / "make_example_models.py"
    subprocess.run([sys.executable, script, tmp_path], check=True)
    for path in tmp_path.glob("*.onnx"):
        kept = ROOT / "python" / "switchyard" / "datasets" / path.name
        assert onnx.load(path) == onnx.load(kept), path.name


def test_backend(ort):
    backend, path = part(ort, "backend"), part(ort, "datasets").get_example("mul_1.onnx")
    expected = X * np.arange(1, 7, dtype=np.float32).reshape(3, 2)
    rep = backend.prepare(path, "CPU")
    assert np.array_equal(rep.run(X)[0], expected)
    assert np.array_equal(rep.run([X])[0], expected)
    assert np.array_equal(backend.run(rep, [X])[0], expected)
    assert np.array_equal(backend.run(path, [X], intra_op_num_threads=1, unknown=3)[0], expected)
    assert np.array_equal(rep.run([X], logid="run", unknown=3)[0], expected)
    assert np.array_equal(backend.prepare(MUL).run([X])[0], X * X)
    assert np.array_equal(backend.run(onnx.ModelProto.FromString(MUL), [X])[0], X * X)
    made = ort.InferenceSession(MUL, providers=CPU)
    assert np.array_equal(backend.prepare(made).run([X])[0], X * X)
    assert backend.supports_device("CPU") and not backend.supports_device("TPU")
    assert backend.is_compatible(onnx.ModelProto.FromString(MUL))


@pytest.mark.parametrize(
    "name", ["optimized_model_filepath", "profile_file_prefix", "enable_profiling"]
)
def test_backend_refuses_options_of_sessions(ort, name):
    backend = part(ort, "backend")
    for call in (backend.prepare, lambda m, **words: backend.run(m, [X], **words)):
        with pytest.raises(RuntimeError, match=f"'{name}' is not permitted"):
            call(MUL, **{name: "x"})


def test_backend_refuses(ort):
    backend = part(ort, "backend")
    with pytest.raises(RuntimeError, match="'terminate' is not permitted"):
        backend.prepare(MUL).run([X], terminate=True)
    with pytest.raises(RuntimeError, match="Incompatible device"):
        backend.prepare(MUL, "TPU")


def test_backend_counts_its_inputs(sy):
    """ONNX Runtime stacks the arrays."""
    with pytest.raises(RuntimeError, match="2 arrays for the one input 'X'"):
        part(sy, "backend").prepare(MUL).run([X, X])


# ---- adapters


LORA = model(
    [helper.make_node("Add", ["x", "b"], ["y"])],
    [value("x", TensorProto.FLOAT, [2, 3]), value("b", TensorProto.FLOAT, [2, 3])],
    [value("y", TensorProto.FLOAT, [2, 3])],
    {"b": np.zeros((2, 3), np.float32)},
)
TENSORS = {
    "b": np.arange(6, dtype=np.float32).reshape(2, 3),
    "long": np.arange(3, dtype=np.int64),
    "half": np.ones((1, 5), np.float16),
    "none": np.zeros((0, 4), np.uint8),
    "double": np.array([2.5]),
}


def adapter_file(ort, path, names=tuple(TENSORS)):
    adapter = ort.AdapterFormat()
    adapter.set_adapter_version(3)
    adapter.set_model_version(5)
    adapter.set_parameters({n: ort.OrtValue.ortvalue_from_numpy(TENSORS[n]) for n in names})
    adapter.export_adapter(str(path))
    return path


def check_adapter(ort, path):
    read = ort.AdapterFormat.read_adapter(str(path))
    versions = (read.get_format_version(), read.get_adapter_version(), read.get_model_version())
    assert versions == (1, 3, 5)
    parameters = read.get_parameters()
    del read
    assert set(parameters) == set(TENSORS)
    for name, array in TENSORS.items():
        got = parameters[name].numpy()
        assert got.dtype == array.dtype and got.shape == array.shape, name
        assert np.array_equal(got, array), name


def test_adapter_round_trip(ort, tmp_path):
    check_adapter(ort, adapter_file(ort, tmp_path / "a.onnx_adapter"))


def test_adapters_are_those_of_onnxruntime(tmp_path):
    import switchyard

    other = pytest.importorskip("onnxruntime")
    check_adapter(other, adapter_file(switchyard, tmp_path / "ours"))
    check_adapter(switchyard, adapter_file(other, tmp_path / "theirs"))


def test_runs_with_an_adapter(ort, tmp_path):
    adapter = ort.LoraAdapter()
    adapter.Load(str(adapter_file(ort, tmp_path / "a", ["b"])))
    options = ort.RunOptions()
    options.add_active_adapter(adapter)
    made, x = ort.InferenceSession(LORA, providers=CPU), np.ones((2, 3), np.float32)
    assert np.array_equal(made.run(None, {"x": x})[0], x)
    assert np.array_equal(made.run(None, {"x": x}, options)[0], x + TENSORS["b"])
    feed = {"x": ort.OrtValue.ortvalue_from_numpy(x)}
    assert np.array_equal(
        made.run_with_ort_values(None, feed, options)[0].numpy(), x + TENSORS["b"]
    )
    assert np.array_equal(made.run(None, {"x": x})[0], x)


def test_files_that_are_no_adapters(ort, tmp_path):
    good = adapter_file(ort, tmp_path / "good").read_bytes()
    bad = tmp_path / "bad"
    for content in (b"x", b"hello world, hello world", good[:60], good[:-40]):
        bad.write_bytes(content)
        with pytest.raises(RuntimeError):
            ort.AdapterFormat.read_adapter(str(bad))
        with pytest.raises(RuntimeError):
            ort.LoraAdapter().Load(str(bad))
    with pytest.raises(RuntimeError):
        ort.AdapterFormat.read_adapter(str(tmp_path / "absent"))


def test_any_damage_of_an_adapter_is_an_error_or_harmless(sy, tmp_path):
    good = adapter_file(sy, tmp_path / "good").read_bytes()
    bad = tmp_path / "bad"
    for at in range(0, len(good), 3):
        for byte in (0x00, 0x7F, 0xFF):
            bad.write_bytes(good[:at] + bytes([byte]) + good[at + 1 :])
            try:
                sy.AdapterFormat.read_adapter(bad)
            except RuntimeError as error:
                assert "lora parameter format" in str(error)


def test_archives_become_adapters(sy, tmp_path):
    np.savez(tmp_path / "a.npz", b=TENSORS["b"], long=TENSORS["long"])
    words = ["--npz_file_path", tmp_path / "a.npz", "--output_file_path", tmp_path / "out"]
    tool = "switchyard.capi.convert_npz_to_onnx_adapter"
    subprocess.run([sys.executable, "-m", tool, *map(str, words)], check=True)
    assert set(sy.AdapterFormat.read_adapter(tmp_path / "out").get_parameters()) == {"b", "long"}


# ---- compiler


def test_compiler(ort, tmp_path):
    source = tmp_path / "m.onnx"
    source.write_bytes(MUL)
    options = ort.SessionOptions()
    target = tmp_path / "m_ctx.onnx"
    ort.ModelCompiler(options, str(source)).compile_to_file(str(target))
    assert np.array_equal(ort.InferenceSession(str(target)).run(None, {"X": X})[0], X * X)
    data = ort.ModelCompiler(options, MUL).compile_to_bytes()
    assert np.array_equal(ort.InferenceSession(data).run(None, {"X": X})[0], X * X)
    pieces = []
    ort.ModelCompiler(options, str(source)).compile_to_stream(pieces.append)
    assert onnx.ModelProto.FromString(b"".join(bytes(p) for p in pieces)).graph.node


def test_default_name_of_a_compiled_model(sy, tmp_path):
    """ONNX Runtime 1.32 says so too, but takes no missing path."""
    source = tmp_path / "m.onnx"
    source.write_bytes(MUL)
    sy.ModelCompiler(sy.SessionOptions(), source).compile_to_file()
    assert (tmp_path / "m_ctx.onnx").exists()


def test_what_the_compiler_refuses(ort, native, tmp_path):
    options, flags = ort.SessionOptions(), ort.OrtCompileApiFlags
    for wrong in ("", b""):
        with pytest.raises(ValueError):
            ort.ModelCompiler(options, wrong)
    with pytest.raises(TypeError):
        ort.ModelCompiler(options, 5)
    there = tmp_path / "there.onnx"
    there.write_bytes(b"")
    compiler = ort.ModelCompiler(options, MUL, flags=flags.ERROR_IF_OUTPUT_FILE_EXISTS)
    with pytest.raises(native.Fail, match="exists already"):
        compiler.compile_to_file(str(there))
    compiler = ort.ModelCompiler(options, MUL, flags=flags.ERROR_IF_NO_NODES_COMPILED)
    with pytest.raises(native.Fail, match="Unable to compile any nodes"):
        compiler.compile_to_file(str(tmp_path / "none.onnx"))

    def refuse(_):
        raise ValueError("the disk is full")

    with pytest.raises(native.Fail, match="the disk is full"):
        ort.ModelCompiler(options, MUL).compile_to_stream(refuse)
    info = ort.OrtExternalInitializerInfo("w.bin", 8, 16)
    assert (info.filepath, info.file_offset, info.byte_size) == ("w.bin", 8, 16)


# ---- quantisation


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("k, n, block", [(64, 16, 16), (70, 6, 32)])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_blocks_of_a_matrix(ort, native, bits, k, n, block, symmetric):
    weight = np.random.default_rng(1).standard_normal((k, n)).astype(np.float32)
    weight[:block, 0] = 0
    blocks = -(-k // block)
    codes = np.zeros((n, blocks, block * bits // 8), np.uint8)
    scales = np.zeros(n * blocks, np.float32)
    zeros = np.zeros((n, -(-blocks * bits // 8)), np.uint8)
    quantize = getattr(native, f"quantize_matmul_{bits}bits")
    quantize(codes, weight, scales, zeros.reshape(-1), block, n, k, symmetric)

    def unpacked(packed):
        shifts = np.arange(0, 8, bits, dtype=np.uint8)
        return ((packed[..., None] >> shifts) & ((1 << bits) - 1)).reshape(n, -1).astype(np.float32)

    zero = np.full((n, blocks), 1 << (bits - 1)) if symmetric else unpacked(zeros)[:, :blocks]
    step = scales.reshape(n, blocks, 1)
    back = (unpacked(codes).reshape(n, blocks, block) - zero[:, :, None]) * step
    error = np.abs(back.reshape(n, -1)[:, :k].T - weight)
    # The end of the range that the extreme element does not take is one step shorter.
    limit = np.abs(np.repeat(step[:, :, 0], block, axis=1)[:, :k].T) * (
        1.001 if symmetric else 0.501
    )
    assert (error <= limit + 1e-6).mean() > (0.95 if bits == 2 else 0.999)


@pytest.mark.parametrize("kind", [0, 1])
def test_codes_of_bitsandbytes(ort, native, kind):
    weight = np.random.default_rng(2).standard_normal((8, 32)).astype(np.float32)
    codes, largest = np.zeros(128, np.uint8), np.zeros(16, np.float32)
    native.quantize_matmul_bnb4(codes, weight, largest, 16, kind, 8, 32)
    assert np.allclose(largest, np.abs(weight.reshape(16, 16)).max(axis=1))
    assert len(set((codes >> 4).tolist())) > 8


# ---- the name onnxruntime

THROUGH_THE_ALIAS = """
import sys
import numpy as np, onnx
import onnxruntime as ort
random = np.random.default_rng(0)
assert ort.InferenceSession.__module__.startswith("switchyard"), ort.InferenceSession
assert ort.__version__ == ort.get_version_string() == "1.32.0"
from onnxruntime.quantization import quantize_dynamic, quantize_static, CalibrationDataReader
class Reader(CalibrationDataReader):
    def __init__(self): self.left = [{"x": random.random((4, 16), np.float32)} for _ in range(3)]
    def get_next(self): return self.left.pop() if self.left else None
source, dynamic, static = sys.argv[1:]
quantize_dynamic(source, dynamic)
quantize_static(source, static, Reader())
x = random.random((4, 16), np.float32)
want = ort.InferenceSession(source).run(None, {"x": x})[0]
for path in (dynamic, static):
    got = ort.InferenceSession(path).run(None, {"x": x})[0]
    assert np.abs(got - want).max() < 0.1 * np.abs(want).max(), path
native = [getattr(m, "__file__", None) or "" for n, m in sys.modules.items() if n.startswith("onnxruntime")]
assert not any(name.endswith(".so") for name in native), native
"""


def test_tools_of_an_installed_onnxruntime_run_on_switchyard(tmp_path):
    pytest.importorskip("onnxruntime")
    weight = np.random.default_rng(3).standard_normal((16, 8)).astype(np.float32)
    source = tmp_path / "m.onnx"
    source.write_bytes(
        model(
            [helper.make_node("MatMul", ["x", "w"], ["y"])],
            [value("x", TensorProto.FLOAT, ["n", 16])],
            [value("y", TensorProto.FLOAT, ["n", 8])],
            {"w": weight},
        )
    )
    shim = pathlib.Path(importlib.import_module("switchyard").__file__).parent / "_ort_shim"
    paths = [str(shim), os.environ.get("PYTHONPATH", "")]
    result = subprocess.run(
        [sys.executable, "-c", THROUGH_THE_ALIAS, source, tmp_path / "d.onnx", tmp_path / "s.onnx"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert result.returncode == 0, result.stdout


def test_the_finder_answers_to_one_name(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "python" / "shim"))
    finder = importlib.import_module("_switchyard_shim").ShimFinder()
    spec = finder.find_spec("onnxruntime")
    assert spec is not None and "_ort_shim" in spec.origin
    assert finder.find_spec("onnx") is None and finder.find_spec("onnxruntime.capi") is None
    found = list(finder.find_distributions())
    assert [(d.metadata["Name"], d.version) for d in found] == [("onnxruntime", "1.32.0")]

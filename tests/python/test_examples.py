"""The C++ examples of the build tree, each against the same steps in Python."""

from __future__ import annotations

import pathlib
import re
import subprocess
import wave

import numpy as np
import pytest
import switchyard
from conftest import built, model, value

from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "models"


def example(name: str, *words: object) -> str:
    program = built("examples", name, name)
    done = subprocess.run(
        [program, *map(str, words)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_quick_start_tells_inputs_and_outputs() -> None:
    text = example("quick_start", MODELS / "fastestdet" / "FastestDet.onnx")
    assert "input   input.1  tensor(float)  [1,3,352,352]" in text
    assert "float[1,85,22,22]" in text


def test_io_binding_plans_once() -> None:
    text = example("io_binding", MODELS / "fastestdet" / "FastestDet.onnx", 3)
    assert text.startswith("3 runs")
    assert "memory plans made: 1, copies between memories: 0" in text


@pytest.mark.parametrize("rate", [16000, 8000])
def test_streaming_audio_carries_the_state(tmp_path: pathlib.Path, rate: int) -> None:
    # A buzz with vowel-like bands between two pauses.
    time = np.arange(2 * rate) / rate
    buzz = sum(np.sin(2 * np.pi * 120 * k * time) / k for k in range(1, 20))
    samples = (0.2 * buzz * ((time > 0.5) & (time < 1.5)) * 32767).astype("<i2")
    path = tmp_path / "buzz.wav"
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, rate, len(samples), "NONE", ""))
        file.writeframes(samples.tobytes())
    network = MODELS / "silero_vad" / "silero_vad.onnx"
    text = example("streaming_audio", network, path)

    session = switchyard.InferenceSession(network, providers=["CPUExecutionProvider"])
    window, context = (512, 64) if rate == 16000 else (256, 32)
    heard = samples.astype(np.float32) / 32768
    padded = np.pad(heard, (context, -len(heard) % window))
    state, highest = np.zeros((2, 1, 128), np.float32), 0.0
    for at in range(0, len(padded) - context, window):
        feeds = {
            "input": padded[None, at : at + window + context],
            "state": state,
            "sr": np.array(rate, np.int64),
        }
        probability, state = session.run(None, feeds)
        highest = max(highest, float(probability[0, 0]))
    told = re.search(r"2 s heard, highest probability (\S+)", text)
    assert told and float(told[1]) == pytest.approx(highest, rel=1e-4)


def test_detection_finds_the_best_boxes_and_draws(tmp_path: pathlib.Path) -> None:
    from PIL import Image

    random = np.random.default_rng(3)
    blocks = random.integers(0, 256, (11, 11, 3), dtype=np.uint8)
    picture = np.kron(blocks, np.ones((32, 32, 1), np.uint8))
    Image.fromarray(picture).save(tmp_path / "in.png")
    network = MODELS / "fastestdet" / "FastestDet.onnx"

    session = switchyard.InferenceSession(network, providers=["CPUExecutionProvider"])
    planes = picture[..., ::-1].transpose(2, 0, 1)[None].astype(np.float32) / 255
    found = session.run(None, {"input.1": planes})[0][0]
    scores = found[0] * found[5:].max(axis=0)
    least = float(np.sort(scores.ravel())[-4]) * 0.999
    text = example("detection", network, tmp_path / "in.png", tmp_path / "out.png", least)

    row, column = np.unravel_index(scores.argmax(), scores.shape)
    first = re.match(r"category (\d+)  score (\S+)  from (\S+),(\S+) to (\S+),(\S+)\n", text)
    assert first
    assert int(first[1]) == found[5:, row, column].argmax()
    assert float(first[2]) == pytest.approx(scores.max(), rel=1e-4)
    centre = np.add(np.tanh(found[1:3, row, column]), [column, row]) / 22 * 352
    corners = [float(first[i]) for i in range(3, 7)]
    assert (corners[0] + corners[2]) / 2 == pytest.approx(centre[0], rel=1e-3)
    assert (corners[1] + corners[3]) / 2 == pytest.approx(centre[1], rel=1e-3)
    drawn = np.asarray(Image.open(tmp_path / "out.png").convert("RGB"))
    assert drawn.shape == picture.shape
    assert (drawn != picture).any()


def test_text_embedding_takes_means_over_the_tokens(tmp_path: pathlib.Path) -> None:
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "rail", "##way", "runs", "."]
    (tmp_path / "vocab.txt").write_text("\n".join(pieces) + "\n")
    table = np.random.default_rng(4).standard_normal((len(pieces), 8)).astype(np.float32)
    inputs = [value(n, TensorProto.INT64, ["b", "t"]) for n in ("input_ids", "attention_mask")]
    node = helper.make_node("Gather", ["table", "input_ids"], ["hidden"])
    # The mask is an input that the example must feed; the network itself looks only at the ids.
    output = value("hidden", TensorProto.FLOAT, ["b", "t", 8])
    (tmp_path / "m.onnx").write_bytes(model([node], inputs, [output], {"table": table}))
    words = ["The railway runs.", "the", "rail train"]
    text = example("text_embedding", tmp_path / "m.onnx", tmp_path / "vocab.txt", *words)

    means = np.stack([table[i].sum(0) for i in ([2, 4, 5, 6, 7, 8, 3], [2, 4, 3], [2, 5, 1, 3])])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    told = np.array([[float(x) for x in line.split()] for line in text.splitlines()])
    np.testing.assert_allclose(told, means @ means.T, atol=1e-4)


def test_tabular_feeds_columns_by_name(tmp_path: pathlib.Path) -> None:
    known = np.load(MODELS / "ml" / "columns_mixed_forest.npz", allow_pickle=True)
    columns = ("age", "fare", "sex", "port")
    lines = [",".join(columns)]
    lines += [",".join(str(known[f"in:{c}"][i, 0]) for c in columns) for i in range(24)]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    text = example("tabular", MODELS / "ml" / "columns_mixed_forest.onnx", tmp_path / "rows.csv")
    told = dict(line.split(": ") for line in text.splitlines())
    np.testing.assert_array_equal([int(x) for x in told["label"].split()], known["out:label"])
    np.testing.assert_allclose(
        [float(x) for x in told["probabilities"].split()],
        known["out:probabilities"].ravel(),
        atol=1e-4,
    )

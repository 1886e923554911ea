"""bench/models: pairing, medians, tables, the chart; one small measurement in processes of their own."""

from __future__ import annotations

import csv
import json
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from conftest import two_outputs
from switchyard import _core

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "bench" / "models"
sys.path.insert(0, str(FOLDER))
bench_models = pytest.importorskip("bench_models")
import catalogue  # noqa: E402
import chart  # noqa: E402


def entry(median: float, load: float = 10) -> dict[str, float]:
    names = ("first_ms", "min_ms", "peak_mb", "added_mb")
    return {"median_ms": median, "load_ms": load, **dict.fromkeys(names, 1.0)}


RESULTS = {
    "switchyard": [entry(2), entry(20), entry(2)],  # the machine was slow in the second round
    "onnxruntime": [entry(4), entry(40), entry(3)],
    "openvino": [{"error": "no such operator | here"}],
}


def test_a_ratio_is_that_of_its_round():
    row = bench_models.summarise("m", 1, RESULTS)
    assert row["ratio"] == 2
    assert row["runtimes"]["switchyard"]["median_ms"] == 2
    assert "no such operator" in row["runtimes"]["openvino"]["error"]
    assert row["ratios"]["onnxruntime"]["load_ms"] == 1
    alone = bench_models.summarise("m", 1, {"switchyard": RESULTS["switchyard"]})
    assert alone["ratio"] is None


def test_tables_and_chart(tmp_path):
    rows = [
        bench_models.summarise(f"<m{i}>", threads, RESULTS) for i in (1, 2) for threads in (1, 2)
    ]
    rows.append(bench_models.summarise("none", 1, {"switchyard": [{"error": "lost"}]}))
    bench_models.write(tmp_path, rows, list(RESULTS))
    table = (tmp_path / "table.md").read_text()
    assert "geometric mean 2.00, worst 2.00, ahead on 2 of 2" in table
    assert "none, 1 threads, switchyard: lost" in table
    with (tmp_path / "table.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert lines[0]["onnxruntime_median_ms"] == "4"
    assert lines[0]["openvino_median_ms"] == ""
    assert json.loads((tmp_path / "results.json").read_text())["schema_version"] == 1
    picture = ElementTree.parse(tmp_path / "chart.svg").getroot()
    texts = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("2.00") == 4
    assert "<m1>" in texts
    assert "none" not in texts


def test_the_chart_of_nothing_is_a_picture():
    ElementTree.fromstring(chart.svg([]))


def test_models_of_the_repository_are_there():
    models = catalogue.catalogue(pathlib.Path("nowhere"))
    assert len(models) >= 10
    for model in models:
        assert model.path.is_file(), model.name
        feeds = catalogue.feeds(model.inputs)
        assert set(feeds) == set(model.inputs)
        assert all(array.size for array in feeds.values())


def test_two_runtimes_side_by_side(tmp_path):
    (tmp_path / "two.onnx").write_bytes(two_outputs())
    command = [sys.executable, FOLDER / "bench_models.py", tmp_path / "two.onnx", "--rounds", "2"]
    command += ["--seconds", "0.02", "--threads", "1", "--output", tmp_path / "out"]
    command += ["--runtimes", "switchyard,onnxruntime"]
    path = str(pathlib.Path(_core.__file__).parents[1])
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    row = json.loads((tmp_path / "out" / "results.json").read_text())["rows"][0]
    for runtime in ("switchyard", "onnxruntime"):
        assert "error" not in row["runtimes"][runtime]
        assert row["runtimes"][runtime]["peak_mb"] > 1
    assert row["ratio"] > 0

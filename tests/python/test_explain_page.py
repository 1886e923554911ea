"""The page of `explain`: laid out by a JavaScript engine and used in a browser, where there is one.

apt install nodejs chromium-headless-shell brings both; scripts/setup does not.
"""

from __future__ import annotations

import html
import json
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest
import switchyard
from conftest import model, value

from onnx import TensorProto, helper

SCRIPTS = pathlib.Path(__file__).parent / "page"
NODE = shutil.which("node")
BROWSER = next(
    filter(
        None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome", "chrome"))
    ),
    None,
)
needs_node = pytest.mark.skipif(NODE is None, reason="no node here")
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium here")


def large(nodes: int) -> bytes:
    """Exp, Add, Mul with skips of all lengths; nothing that a pass would take away."""
    random = np.random.default_rng(5)
    values, made = ["x"], []
    for i in range(nodes):
        a = values[-1]
        b = values[int(random.integers(max(0, len(values) - 12), len(values)))]
        if i % 50 == 49:
            b = values[int(random.integers(len(values)))]
        op = ("Exp", "Add", "Mul", "Sub", "Tanh")[i % 5]
        made.append(helper.make_node(op, [a] if i % 5 in (0, 4) else [a, b], [f"v{i}"], f"n{i}"))
        values.append(f"v{i}")
    of = [value(name, TensorProto.FLOAT, [1, 4]) for name in ("x", values[-1])]
    return model(made, of[:1], of[1:])


def page_of(
    model_bytes: bytes, path: pathlib.Path, level: str = "ORT_ENABLE_BASIC"
) -> pathlib.Path:
    options = switchyard.SessionOptions()
    options.graph_optimization_level = getattr(switchyard.GraphOptimizationLevel, level)
    session = switchyard.InferenceSession(model_bytes, options)
    session.run(None, {"x": np.zeros((1, 4), np.float32)})
    path.write_text(session.explain(format="html"))
    return path


@needs_node
@pytest.mark.parametrize("nodes", [3, 2000])
def test_the_layout_is_sound(tmp_path, nodes):
    page = page_of(large(nodes), tmp_path / "page.html")
    done = subprocess.run(
        [NODE, SCRIPTS / "layout.js", page], capture_output=True, text=True, timeout=120, check=True
    )
    result = json.loads(done.stdout)
    assert result["boxes"] == nodes + 2
    assert result["edges"] >= nodes
    for fault in ("upward", "unplaced", "alone", "overlaps"):
        assert result[fault] == 0, fault


@needs_browser
@pytest.mark.parametrize("nodes", [40, 2000])
def test_a_reader_can_use_it(tmp_path, nodes):
    page = page_of(large(nodes), tmp_path / "page.html")
    text = page.read_text()
    script = "<script>" + (SCRIPTS / "use.js").read_text() + "</script></body>"
    page.write_text(text.replace("</body>", script))
    command = [
        *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,800"),
        *("--virtual-time-budget=20000", "--dump-dom", page.as_uri()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r'<pre id="result">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    result = json.loads(html.unescape(found.group(1)))
    assert f"{nodes}" in result["summary"]
    assert "CPUExecutionProvider" in result["clicked"]
    assert "Exp" in result["clicked"]
    assert result["hash"] == "#n0"
    assert result["panned"] == [40, 30]
    assert result["zoomed"] > 1.2
    assert result["found"] == f"{nodes // 5} found"
    assert result["first"].startswith("Exp")
    assert result["painted"]
    assert result["frame"] < 500
    assert all(length > 0 for name, length in result["tabs"].items() if name != "graph")


def test_it_asks_for_nothing_outside(tmp_path):
    text = page_of(large(3), tmp_path / "page.html").read_text()
    assert text.count("<script") == 3
    for word in ("http://", "https://", " src=", "url(", "@import", "<link", "<iframe"):
        assert word not in text

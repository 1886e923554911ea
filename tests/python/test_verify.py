"""switchyard.verify, explain's forms and times per node."""

from __future__ import annotations

import json

import numpy as np
import pytest
import switchyard
from conftest import built, two_outputs

WRONG = built("tests", "libswitchyard_provider_wrong.so")


def test_verify_states_the_error_per_output(model_file):
    feed = {name: np.arange(8, dtype=np.float32).reshape(2, 4) for name in "AB"}
    report = switchyard.verify(model_file, feed, levels=["disabled", "all"], threads=[1, 2])
    assert report["ok"]
    assert [row["candidate"] for row in report["candidates"]][:2] == [
        "CPU, disabled, 1 thread",
        "CPU, disabled, 2 threads",
    ]
    for row in report["candidates"]:
        assert [output["name"] for output in row["outputs"]] == ["S", "D"]
        assert row["outputs"][0] == row["outputs"][0] | {
            "type": "float[2,4]",
            "error": 0.0,
            "largest": 14.0,
            "elements": 8,
            "differing": 0,
            "within": True,
        }


def test_verify_makes_inputs_up():
    report = switchyard.verify(two_outputs(), dims={"N": 3}, levels=["all"], threads=[1])
    assert report["candidates"][0]["outputs"][0]["type"] == "float[3,4]"
    with pytest.raises(ValueError, match="levels"):
        switchyard.verify(two_outputs(), levels=["most"])


def test_bisect_finds_what_is_wrong():
    switchyard.register_provider_library(str(WRONG))
    for options, culprit in (({"kernel": "Sub"}, "kernel"), ({"pass": "1"}, "pass")):
        report = switchyard.verify(
            two_outputs(),
            dims={"N": 2},
            levels=["all"],
            threads=[1],
            providers=[[("WrongExecutionProvider", options)]],
            bisect=True,
        )
        assert [row["ok"] for row in report["candidates"]] == [True, False]
        assert report["bisection"]["culprit"] == culprit
        assert "Sub" in report["bisection"]["node"]


def test_explain_has_three_forms(model_file):
    session = switchyard.InferenceSession(model_file)
    assert session.explain().startswith("model ")
    assert json.loads(session.explain(format="json")) == json.loads(session.explain(json=True))
    assert session.explain(format="html").startswith("<!doctype html>")
    with pytest.raises(switchyard.InvalidArgument, match="'pdf'"):
        session.explain(format="pdf")


def test_node_times_where_asked_for(model_file):
    assert switchyard.InferenceSession(model_file).get_node_times() == []
    options = switchyard.SessionOptions()
    options.add_session_config_entry("switchyard.node_times", "1")
    session = switchyard.InferenceSession(model_file, options)
    feed = {name: np.ones((2, 4), np.float32) for name in "AB"}
    for _ in range(3):
        session.run(None, feed)
    assert {row["op"]: row["runs"] for row in session.get_node_times()} == {"Add": 3, "Sub": 3}

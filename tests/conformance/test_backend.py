"""ONNX's backend cases on a provider (the CPU unless --provider names another), against its gaps."""

from __future__ import annotations

import pytest


def test_backend(case_name, outcomes, gaps, gaps_elsewhere):
    outcome = outcomes[case_name]
    reason = gaps.get(case_name)
    if reason is None:
        assert outcome.status == "pass", f"{outcome.status}: {outcome.reason}"
    elif reason.startswith("random:"):
        values_only = outcome.reason.lstrip().startswith("Not equal to tolerance")
        assert outcome.status == "pass" or values_only, f"{outcome.status}: {outcome.reason}"
        pytest.skip(reason)
    elif not (outcome.status == "pass" and case_name in gaps_elsewhere):
        assert outcome.status != "pass", "passes: take it out of gaps.txt (--update-gaps)"
        expected = {reason.partition(":")[0]} | ({"pass"} if case_name in gaps_elsewhere else set())
        assert outcome.status in expected, f"{outcome.status}: {outcome.reason}"
        pytest.xfail(reason)


def test_gaps_name_cases_of_the_package(gaps, known_cases):
    assert not set(gaps) - known_cases

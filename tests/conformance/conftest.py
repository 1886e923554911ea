"""`pytest tests/conformance [-k NAME]`; `--update-gaps` writes gaps.txt anew from what fails.

`--provider openvino` runs the cases on that provider and then the CPU; what fails there and not on
the CPU stands in gaps_openvino.txt.
"""

from __future__ import annotations

import pathlib
import re

import pytest
from backend_cases import Case, collect
from worker_pool import Outcome, run_all

GAPS = pathlib.Path(__file__).with_name("gaps.txt")
CPU = "CPUExecutionProvider"
# Options with which a provider takes single small nodes.
PROVIDERS = {"cpu": [CPU], "openvino": [("OpenVINOExecutionProvider", {"claim_all": "1"}), CPU]}
RANDOM = "random: the expected values depend on a random generator"
HEADER = """\
# Backend cases of the onnx package that fail, one a line: name | reason.
# An unlisted failure fails the run, and so does a listed case that passes: the list shrinks.
# `random:` cases must load and run; their values are not compared.
# Written by `pytest tests/conformance --update-gaps`.
"""

_cases: dict[str, Case] = {}


def _read(path: pathlib.Path) -> dict[str, str]:
    gaps = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition("|")
            gaps[name.strip()] = reason.strip()
    return gaps


def gaps_of(provider: str) -> pathlib.Path:
    return GAPS if provider == "cpu" else GAPS.with_name(f"gaps_{provider}.txt")


def read_gaps(provider: str) -> dict[str, str]:
    return {**_read(GAPS), **_read(gaps_of(provider))}


def _one_line(outcome: Outcome) -> str:
    """The reason in a line, without values that change from run to run."""
    text = " ".join(outcome.reason.split())
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : (\w+) : ", r"\1 ", text)
    text = re.sub(r"expected \w+, one of tensor\(.*", "a type that is not allowed", text)
    if outcome.status == "mismatch" and text.startswith("Not equal to tolerance"):
        found = re.search(r"Mismatched elements: [^)]*\)", text)
        text = found.group(0) if found else "values differ"
    return f"{outcome.status}: {text[:160]}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-gaps", action="store_true", help="write gaps.txt anew")
    parser.addoption("--provider", default="cpu", choices=sorted(PROVIDERS), help="where to run")
    parser.addoption("--workers", type=int, default=2, help="worker processes")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case_name" in metafunc.fixturenames:
        if not _cases:
            _cases.update(collect())
        metafunc.parametrize("case_name", sorted(_cases), ids=str)


@pytest.fixture(scope="session")
def outcomes(request: pytest.FixtureRequest) -> dict[str, Outcome]:
    """All selected cases, run at once before the first test looks at its own."""
    wanted = [
        item.callspec.params["case_name"]
        for item in request.session.items
        if "case_name" in getattr(getattr(item, "callspec", None), "params", {})
    ]
    provider = request.config.getoption("--provider")
    workers = request.config.getoption("--workers")
    done = run_all(_cases, wanted, workers, PROVIDERS[provider])
    if request.config.getoption("--update-gaps"):
        others = {} if provider == "cpu" else _read(GAPS)
        gaps = {n: why for n, why in _read(gaps_of(provider)).items() if n not in done}
        for name, outcome in done.items():
            if name in others:
                continue
            if _cases[name].random and outcome.status in ("pass", "mismatch"):
                gaps[name] = RANDOM
            elif outcome.status != "pass":
                gaps[name] = _one_line(outcome)
        lines = [f"{name} | {gaps[name]}\n" for name in sorted(gaps) if name in _cases]
        gaps_of(provider).write_text(HEADER + "".join(lines))
    return done


@pytest.fixture(scope="session")
def gaps(request: pytest.FixtureRequest, outcomes: dict[str, Outcome]) -> dict[str, str]:
    return read_gaps(request.config.getoption("--provider"))


@pytest.fixture(scope="session")
def gaps_elsewhere(request: pytest.FixtureRequest) -> set[str]:
    """Cases that fail on the CPU; another provider may pass them."""
    return set() if request.config.getoption("--provider") == "cpu" else set(_read(GAPS))


@pytest.fixture(scope="session")
def known_cases() -> set[str]:
    return set(_cases)

"""Runs cases in forked worker processes: a crash or a hang is the result of one case."""

from __future__ import annotations

import dataclasses
import multiprocessing
import multiprocessing.connection
import os
import time
import warnings
from typing import Any

import numpy as np
from backend_cases import Case

TIMEOUT = 60.0  # seconds for one case; generous, for machines with much else to do
NUMBERS_OF_FEW_BITS = "uint2 int2 uint4 int4"


@dataclasses.dataclass
class Outcome:
    status: str  # pass, load, run, mismatch, crash, timeout
    reason: str = ""


def check_same(expected: Any, got: Any, rtol: float, atol: float) -> None:
    """Equal structure, shapes, types; values within the case's tolerance."""
    if expected is None or got is None:
        assert expected is None and got is None, f"expected {expected!r}, got {got!r}"
    elif isinstance(expected, (list, tuple)):
        assert isinstance(got, (list, tuple)), f"expected a sequence, got {type(got).__name__}"
        assert len(expected) == len(got), f"expected {len(expected)} values, got {len(got)}"
        for one, other in zip(expected, got):
            check_same(one, other, rtol, atol)
    else:
        expected, got = np.asarray(expected), np.asarray(got)
        assert expected.shape == got.shape, f"expected shape {expected.shape}, got {got.shape}"
        if expected.dtype.kind in "OUST" or got.dtype == object:
            same = [str(value) for value in expected.ravel()] == [str(v) for v in got.ravel()]
            assert same, f"expected {expected.ravel()[:4]}, got {got.ravel()[:4]}"
            return
        assert expected.dtype == got.dtype, f"expected type {expected.dtype}, got {got.dtype}"
        if expected.dtype.kind == "V" or expected.dtype.name == "bfloat16":
            if expected.dtype.name == "bfloat16":
                rtol = max(rtol, 2.0**-6)  # as onnx.backend.test.runner
            wide = np.int32 if expected.dtype.name in NUMBERS_OF_FEW_BITS else np.float32
            expected, got = expected.astype(wide), got.astype(wide)
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol)


def run_case(runtime: Any, case: Case, providers: list[Any]) -> Outcome:
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = runtime.InferenceSession(case.model, options, providers=providers)
    except Exception as error:
        return Outcome("load", str(error))
    for inputs, expected in case.data:
        try:
            got = session.run(case.outputs, dict(zip(case.inputs, inputs)))
        except Exception as error:
            return Outcome("run", str(error))
        try:
            check_same(expected, got, case.rtol, case.atol)
        except AssertionError as error:
            return Outcome("mismatch", str(error))
    return Outcome("pass")


def _serve(
    pipe: multiprocessing.connection.Connection, cases: dict[str, Case], providers: list[Any]
) -> None:
    import switchyard

    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    while name := pipe.recv():
        pipe.send(run_case(switchyard, cases[name], providers))


class _Worker:
    def __init__(self, cases: dict[str, Case], providers: list[Any]) -> None:
        self._cases = cases
        self._providers = providers
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("fork")
        self.pipe, other = context.Pipe()
        self.process = context.Process(
            target=_serve, args=(other, self._cases, self._providers), daemon=True
        )
        self.process.start()
        other.close()
        self.name = ""
        self.deadline = float("inf")

    def give(self, name: str) -> None:
        self.name = name
        self.deadline = time.monotonic() + TIMEOUT
        self.pipe.send(name)

    def take(self) -> Outcome | None:
        """The running case's outcome, if it has one by now; a dead worker is replaced."""
        try:
            if self.pipe.poll():
                self.deadline = float("inf")
                return self.pipe.recv()
            if time.monotonic() < self.deadline:
                return None
            outcome = Outcome("timeout", f"no answer within {TIMEOUT:g} s")
        except (EOFError, ConnectionResetError):
            self.process.join()
            outcome = Outcome("crash", f"process ended with {self.process.exitcode}")
        self.stop()
        self._start()
        return outcome

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def run_all(
    cases: dict[str, Case], names: list[str], count: int, providers: list[Any]
) -> dict[str, Outcome]:
    waiting, outcomes = list(reversed(names)), {}
    workers = [_Worker(cases, providers) for _ in range(count)]
    busy = []
    for worker in workers:
        if waiting:
            worker.give(waiting.pop())
            busy.append(worker)
    while busy:
        multiprocessing.connection.wait([worker.pipe for worker in busy], timeout=1.0)
        for worker in list(busy):
            name = worker.name
            outcome = worker.take()
            if outcome is None:
                continue
            outcomes[name] = outcome
            if waiting:
                worker.give(waiting.pop())
            else:
                busy.remove(worker)
    for worker in workers:
        worker.stop()
    return outcomes

"""Models changed at random, field by field: each loads and runs, or is an error; nothing else."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

# Runs in a process of its own, so that a crash is seen as one.
PROGRAM = pathlib.Path(__file__).parent / "hostile_models.py"


@pytest.mark.parametrize("first", [0, 400])
def test_changed_models_load_or_are_errors(first):
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(first), "400"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-300:] + done.stderr[-3000:]
    refused, ran = (int(word) for word in done.stdout.split()[-2:])
    assert refused > 100 and ran > 20, done.stdout[-300:]

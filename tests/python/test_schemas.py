"""The committed operator facts are those of the installed onnx package."""

from __future__ import annotations

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_generated_facts_are_current() -> None:
    command = [sys.executable, str(ROOT / "tools/gen_schemas.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr

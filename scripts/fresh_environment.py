"""Installs a wheel into an environment made for it, with NumPy only, and runs a program there.

    fresh_environment.py WHEEL ALIAS_WHEEL

The program of tests/wheel runs as `import switchyard`, then as `import onnxruntime` in each way in
which Switchyard answers to that name, then with ml_dtypes beside it.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "tests" / "wheel" / "program.py"


def pinned(name: str) -> str:
    found = re.search(rf"^{name}==\S+$", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    if found is None:
        raise LookupError(f"requirements.txt does not pin {name}")
    return found.group()


class Environment:
    def __init__(self, folder: pathlib.Path) -> None:
        venv.create(folder / "env", with_pip=False)
        self.python = folder / "env" / "bin" / "python"
        self.work = folder / "work"
        self.work.mkdir()
        self.problems: list[str] = []

    def install(self, *what: object) -> None:
        words = [sys.executable, "-m", "pip", "--python", self.python, "install", "--quiet"]
        words += ["--disable-pip-version-check", "--no-deps", *what]
        subprocess.run([str(word) for word in words], check=True)

    def run(self, title: str, *words: object, succeeds: bool = True, **variables: str) -> None:
        environment = {"PATH": os.defpath, "HOME": str(self.work), **variables}
        result = subprocess.run(
            [str(self.python), *(str(word) for word in words)],
            env=environment,
            cwd=self.work,
            check=False,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        if (result.returncode == 0) != succeeds:
            self.problems.append(f"{title}: exit {result.returncode}\n{result.stdout}")
        else:
            print(f"{title}: {result.stdout.strip().splitlines()[-1]}", flush=True)


def problems(wheel: pathlib.Path, alias: pathlib.Path) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        fresh = Environment(pathlib.Path(folder))
        fresh.install(pinned("numpy"), wheel)
        fresh.run("import switchyard", PROGRAM, "switchyard")
        name = "onnxruntime"
        fresh.run("no alias unless asked for", "-c", f"import {name}", succeeds=False)
        fresh.run("off by 0", "-c", f"import {name}", succeeds=False, SWITCHYARD_SHIM="0")
        fresh.run("SWITCHYARD_SHIM=1", PROGRAM, name, SWITCHYARD_SHIM="1")
        place = subprocess.run(
            [fresh.python, "-m", "_switchyard_shim"], check=True, text=True, stdout=subprocess.PIPE
        ).stdout.strip()
        fresh.run("PYTHONPATH", PROGRAM, name, PYTHONPATH=place)
        fresh.install(alias)
        fresh.run("its own distribution", PROGRAM, name)
        fresh.install(pinned("ml_dtypes"))
        fresh.run("with ml_dtypes", PROGRAM, "switchyard", "with_ml_dtypes")
        return fresh.problems


def main() -> int:
    found = problems(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
    print("\n".join(found) or "fresh environment: ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""All static checks of the tree: `lint.py`, `lint.py --only layers,format`, `lint.py --fix`.

Prints one line per check and ends with `N passed, N failed`. The self-test plants a violation for
each check in a scratch tree and expects it to be found, so that none rots into always passing.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Callable

import budgets
import layers
import selftest
import source

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _clang_format() -> str:
    for name in ("clang-format-14", "clang-format"):
        if shutil.which(name):
            return name
    raise FileNotFoundError("clang-format is missing; run scripts/setup")


def _formatted(root: pathlib.Path) -> list[str]:
    return [
        str(root / name)
        for name in source.cpp_files(root)
        if not source.is_generated(source.read(root / name))
    ]


def _chunks(items: list[str], size: int) -> list[list[str]]:
    return [items[i : i + size] for i in range(0, len(items), size)]


def format_check(root: pathlib.Path) -> list[str]:
    tool = _clang_format()

    def one(files: list[str]) -> list[str]:
        result = subprocess.run(
            [tool, "--style=file:" + str(ROOT / ".clang-format"), "--dry-run", *files],
            check=False,
            text=True,
            stderr=subprocess.PIPE,
        )
        bad = {
            line.split(":")[0]
            for line in result.stderr.splitlines()
            if "-Wclang-format-violations" in line
        }
        if result.returncode and not bad:
            return [result.stderr.strip()]
        return [
            f"{pathlib.Path(name).relative_to(root)}: not clang-formatted" for name in sorted(bad)
        ]

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return [p for part in pool.map(one, _chunks(_formatted(root), 16)) for p in part]


def ruff_check(root: pathlib.Path) -> list[str]:
    names = [str(root / name) for name in source.tracked_files(root) if name.endswith(".py")]
    flags = ["--quiet", "--no-cache", "--output-format=concise"]
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "ruff",
            "check",
            *flags,
            "--config",
            str(ROOT / "pyproject.toml"),
            *names,
        ],
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if result.returncode == 0:
        return []
    return result.stdout.strip().splitlines() or ["ruff failed"]


CHECKS: dict[str, Callable[[pathlib.Path], list[str]]] = {
    "layers": layers.check,
    "provider-names": budgets.provider_names,
    "file-sizes": budgets.file_sizes,
    "conditionals": budgets.conditionals,
    "seam-virtuals": budgets.seam_virtuals,
    "machine-paths": budgets.machine_paths,
    "names": budgets.names_and_comments,
    "format": format_check,
    "ruff": ruff_check,
}


def fix(root: pathlib.Path) -> int:
    for files in _chunks(_formatted(root), 16):
        style = "--style=file:" + str(ROOT / ".clang-format")
        subprocess.run([_clang_format(), style, "-i", *files], check=True)
    names = [str(root / name) for name in source.tracked_files(root) if name.endswith(".py")]
    for words in (["check", "--fix"], ["format"]):
        subprocess.run(
            [sys.executable, "-m", "ruff", words[0], "--silent", *words[1:], *names], check=False
        )
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="comma-separated names of checks")
    parser.add_argument(
        "--build",
        type=pathlib.Path,
        help="check the ISA objects of this build folder, nothing else",
    )
    parser.add_argument("--fix", action="store_true", help="format what can be formatted")
    parser.add_argument("--brief", action="store_true", help="problems only, no self-test")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="another tree to check")
    args = parser.parse_args()
    root = args.root.resolve()
    if args.fix:
        return fix(root)
    if args.build:
        problems = budgets.isa_symbols(root, args.build)
        print("\n".join(problems) or "isa-symbols: ok")
        return 1 if problems else 0

    checks = dict(CHECKS)
    if args.only:
        checks = {name: CHECKS[name] for name in args.only.split(",")}
    passed = failed = 0
    for name, check in checks.items():
        problems = check(root)
        if problems or not args.brief:
            print(f"{'FAIL' if problems else 'ok  '} {name}")
        for problem in problems:
            print(f"     {problem}")
        passed, failed = passed + (not problems), failed + bool(problems)
    if not args.only and not args.brief:
        for name, caught in selftest.run(CHECKS).items():
            print(f"{'ok  ' if caught else 'FAIL'} self-test {name}")
            passed, failed = passed + caught, failed + (not caught)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

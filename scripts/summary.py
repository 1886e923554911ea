"""Adds up the result files that scripts/checks.py leaves and prints `N passed, N failed`.

Each file holds lines `passed failed name`. With --status 1 and no failure counted (a build that
broke before its tests ran), one failure is added, so that the line never hides a failed target.
"""

import argparse
import pathlib
import sys


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--status", type=int, default=0)
    args = parser.parse_args()
    passed = failed = 0
    for path in sorted(args.folder.glob("*.count")):
        for line in path.read_text().splitlines():
            good, bad, name = line.split(maxsplit=2)
            print(f"{name}: {good} passed, {bad} failed")
            passed += int(good)
            failed += int(bad)
    if args.status and not failed:
        failed = 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())

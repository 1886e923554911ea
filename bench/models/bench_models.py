"""Times switchyard, onnxruntime and OpenVINO (f32) on whole models, side by side.

Every measurement is a process of its own with one runtime in it. A round measures each runtime once, in turning order;
the figures are medians over the rounds, and a ratio is the median of the rounds' own ratios, so that a machine that is
slower for a while slows both sides. Writes results.json, table.md, table.csv and chart.svg.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import catalogue
import chart

HERE = pathlib.Path(__file__).resolve().parent
OURS = "switchyard"
RUNTIMES = (OURS, "onnxruntime", "openvino")
FIGURES = ("load_ms", "first_ms", "median_ms", "min_ms", "peak_mb", "added_mb")


def measure(task: dict[str, Any], limit: float) -> dict[str, Any]:
    command = [sys.executable, str(HERE / "runner.py"), json.dumps(task)]
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=limit, check=False
        )
        return json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return {"error": f"took longer than {limit:.0f} s"}
    except (IndexError, json.JSONDecodeError):
        return {"error": f"ended with status {done.returncode} and no result"}


def rounds_of(
    model: catalogue.Model, path: pathlib.Path, threads: int, arguments: argparse.Namespace
) -> dict[str, list[dict[str, Any]]]:
    """Per runtime its measurements; one that fails is not asked again."""
    results: dict[str, list[dict[str, Any]]] = {runtime: [] for runtime in arguments.runtimes}
    for number in range(arguments.rounds):
        shift = number % len(arguments.runtimes)
        for runtime in arguments.runtimes[shift:] + arguments.runtimes[:shift]:
            before = results[runtime]
            if before and "error" in before[-1]:
                continue
            task = {
                "runtime": runtime,
                "path": str(path),
                "inputs": model.inputs,
                "threads": threads,
                "seconds": arguments.seconds,
            }
            before.append(measure(task, arguments.limit))
    return results


def _good(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if "error" not in row]


def ratio_of(results: dict[str, list[dict[str, Any]]], figure: str, other: str) -> float | None:
    """Median over the rounds of other / ours: above 1 ours is faster or smaller."""
    pairs = zip(_good(results.get(OURS, [])), _good(results.get(other, [])), strict=False)
    ratios = [b[figure] / a[figure] for a, b in pairs if a[figure] > 0]
    return statistics.median(ratios) if ratios else None


def summarise(name: str, threads: int, results: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    row: dict[str, Any] = {"model": name, "threads": threads, "runtimes": {}, "ratios": {}}
    for runtime, rows in results.items():
        good = _good(rows)
        if good:
            row["runtimes"][runtime] = {
                figure: statistics.median(entry[figure] for entry in good) for figure in FIGURES
            }
        if len(good) < len(rows):
            row["runtimes"].setdefault(runtime, {})["error"] = rows[-1]["error"]
    for other in results:
        if other == OURS:
            continue
        for figure in ("median_ms", "load_ms", "peak_mb"):
            ratio = ratio_of(results, figure, other)
            if ratio is not None:
                row["ratios"].setdefault(other, {})[figure] = ratio
    speeds = [ratios["median_ms"] for ratios in row["ratios"].values() if "median_ms" in ratios]
    row["ratio"] = min(speeds) if speeds else None
    return row


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def _cell(row: dict[str, Any], figure: str, runtimes: list[str], digits: int) -> str:
    figures = [row["runtimes"].get(runtime, {}).get(figure) for runtime in runtimes]
    return " / ".join("-" if value is None else f"{value:.{digits}f}" for value in figures)


def markdown(rows: list[dict[str, Any]], runtimes: list[str]) -> str:
    order = " / ".join(runtimes)
    lines = [
        f"Times in ms, memory in MB, each as {order}. Ratio: the better of the others / ours.",
        "",
        "| model | threads | run (median) | ratio | load | first run | peak memory |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.2f}"
        lines.append(
            f"| {row['model']} | {row['threads']} | {_cell(row, 'median_ms', runtimes, 3)} | {ratio} "
            f"| {_cell(row, 'load_ms', runtimes, 0)} | {_cell(row, 'first_ms', runtimes, 1)} "
            f"| {_cell(row, 'peak_mb', runtimes, 0)} |"
        )
    for threads in sorted({row["threads"] for row in rows}):
        ratios = [row["ratio"] for row in rows if row["threads"] == threads and row["ratio"]]
        if ratios:
            ahead = sum(ratio >= 1 for ratio in ratios)
            lines += [
                "",
                f"{threads} thread{'s'[: threads > 1]}: geometric mean {geometric_mean(ratios):.2f}, "
                f"worst {min(ratios):.2f}, ahead on {ahead} of {len(ratios)}.",
            ]
    failures = [
        f"- {row['model']}, {row['threads']} threads, {runtime}: {figures['error']}"
        for row in rows
        for runtime, figures in row["runtimes"].items()
        if "error" in figures
    ]
    if failures:
        lines += ["", "Failed:", *failures]
    return "\n".join(lines) + "\n"


def write_csv(path: pathlib.Path, rows: list[dict[str, Any]], runtimes: list[str]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        heads = [f"{runtime}_{figure}" for runtime in runtimes for figure in FIGURES]
        writer.writerow(["model", "threads", "ratio", *heads])
        for row in rows:
            cells = [
                row["runtimes"].get(runtime, {}).get(figure, "")
                for runtime in runtimes
                for figure in FIGURES
            ]
            writer.writerow([row["model"], row["threads"], row["ratio"] or "", *cells])


def write(output: pathlib.Path, rows: list[dict[str, Any]], runtimes: list[str]) -> None:
    output.mkdir(parents=True, exist_ok=True)
    document = {"schema_version": 1, "runtimes": runtimes, "rows": rows}
    (output / "results.json").write_text(json.dumps(document, indent=1) + "\n")
    (output / "table.md").write_text(markdown(rows, runtimes))
    write_csv(output / "table.csv", rows, runtimes)
    (output / "chart.svg").write_text(chart.svg(rows))


def filled(
    models: list[catalogue.Model], shared: pathlib.Path
) -> Iterator[tuple[catalogue.Model, pathlib.Path]]:
    """Models with the file to load; one without weights is filled into a file that goes again."""
    for model in models:
        if not model.needs_weights:
            yield model, model.path
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.onnx"
            catalogue.weight_filler(shared).fill(str(model.path), str(path))
            yield model, path


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", type=pathlib.Path, help="files instead of the set")
    parser.add_argument("--only", default="", help="regular expression on names")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="per measurement")
    parser.add_argument("--limit", type=float, default=180, help="seconds until one counts as lost")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--runtimes", default=",".join(RUNTIMES))
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("build/bench-models"))
    arguments = parser.parse_args()
    arguments.runtimes = arguments.runtimes.split(",")
    unknown = set(arguments.runtimes) - set(RUNTIMES)
    if unknown or OURS not in arguments.runtimes:
        parser.error(f"--runtimes takes {', '.join(RUNTIMES)}, {OURS} among them")
    return arguments


def main() -> int:
    arguments = parse()
    beside = catalogue.ROOT.parent / "shared"
    shared = pathlib.Path(os.environ.get("SWITCHYARD_SHARED", beside)).resolve()
    models = [catalogue.of_file(path) for path in arguments.models] or catalogue.catalogue(shared)
    models = [model for model in models if re.search(arguments.only, model.name)]
    rows: list[dict[str, Any]] = []
    for model, path in filled(models, shared):
        for threads in map(int, arguments.threads.split(",")):
            row = summarise(model.name, threads, rounds_of(model, path, threads, arguments))
            rows.append(row)
            ratio = "-" if row["ratio"] is None else f"{row['ratio']:.2f}"
            times = _cell(row, "median_ms", arguments.runtimes, 3)
            print(f"{model.name:30} {threads} {times:>32} ms  ratio {ratio}", flush=True)
            write(arguments.output, rows, arguments.runtimes)
    print(f"written to {arguments.output}")
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())

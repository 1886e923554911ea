"""One measurement: one model on one runtime in this process, which then ends. Prints one JSON line.

runner.py '{"runtime": "switchyard", "path": ..., "inputs": ..., "threads": 1, "seconds": 0.5}'
"""

from __future__ import annotations

import json
import os
import pathlib
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import catalogue

Feeds = dict[str, np.ndarray]
MOST_RUNS = 5000


def _like_onnxruntime(module: Any, path: str, threads: int) -> Callable[[Feeds], Any]:
    module.set_default_logger_severity(3)
    options = module.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = module.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda feeds: session.run(None, feeds)


def open_switchyard(path: str, threads: int) -> Callable[[Feeds], Any]:
    import switchyard

    return _like_onnxruntime(switchyard, path, threads)


def open_onnxruntime(path: str, threads: int) -> Callable[[Feeds], Any]:
    import onnxruntime

    if "switchyard" in (onnxruntime.__file__ or ""):
        raise RuntimeError("the name onnxruntime is taken by switchyard's alias here")
    return _like_onnxruntime(onnxruntime, path, threads)


def open_openvino(path: str, threads: int) -> Callable[[Feeds], Any]:
    import openvino

    core = openvino.Core()
    settings = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",
    }
    compiled = core.compile_model(core.read_model(path), "CPU", settings)
    known = {name for port in compiled.inputs for name in port.names}
    request = compiled.create_infer_request()

    def run(feeds: Feeds) -> Any:
        used = {name: array for name, array in feeds.items() if name in known}
        return request.infer(used, share_inputs=True, share_outputs=True)

    return run


OPENERS = {
    "switchyard": open_switchyard,
    "onnxruntime": open_onnxruntime,
    "openvino": open_openvino,
}


def _status_mb(key: str) -> float:
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) / 1024
    return 0.0


def measure(task: dict[str, Any]) -> dict[str, Any]:
    feeds = catalogue.feeds(task["inputs"])
    opener = OPENERS[task["runtime"]]
    if task["runtime"] == "openvino":
        import openvino  # noqa: F401  the import is no part of loading a model
    else:
        __import__(task["runtime"])
    before = _status_mb("VmRSS")
    start = time.perf_counter()
    run = opener(task["path"], task["threads"])
    load = time.perf_counter() - start
    start = time.perf_counter()
    run(feeds)
    first = time.perf_counter() - start
    times: list[float] = []
    run(feeds)
    end = time.perf_counter() + task["seconds"]
    while len(times) < 3 or (time.perf_counter() < end and len(times) < MOST_RUNS):
        start = time.perf_counter()
        run(feeds)
        times.append((time.perf_counter() - start) * 1e3)
    times.sort()
    return {
        "load_ms": load * 1e3,
        "first_ms": first * 1e3,
        "median_ms": times[len(times) // 2],
        "min_ms": times[0],
        "runs": len(times),
        "peak_mb": _status_mb("VmHWM"),
        "added_mb": _status_mb("VmHWM") - before,
    }


def main() -> None:
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a runtime prints is no answer
    try:
        result = measure(json.loads(sys.argv[1]))
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"[:400]}
    print(json.dumps(result), file=answer, flush=True)
    os._exit(0)  # some runtimes crash while they are taken down


if __name__ == "__main__":
    main()

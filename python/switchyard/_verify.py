"""The same results at every level, thread count and provider, or what makes them differ."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from typing import Any

from switchyard import _core
from switchyard._providers import Provider, normalize
from switchyard._session import InferenceSession

_LEVELS = {
    "disabled": _core.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": _core.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": _core.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "layout": _core.GraphOptimizationLevel.ORT_ENABLE_LAYOUT,
    "all": _core.GraphOptimizationLevel.ORT_ENABLE_ALL,
}


def _name(provider: Provider) -> str:
    return provider if isinstance(provider, str) else str(provider[0])


def verify(
    path_or_bytes: str | bytes | os.PathLike[Any],
    input_feed: Mapping[str, Any] | None = None,
    *,
    levels: Sequence[str] = ("basic", "extended", "layout", "all"),
    threads: Sequence[int] = (1, 2),
    providers: Sequence[Sequence[Provider]] = (),
    sess_options: _core.SessionOptions | None = None,
    dims: Mapping[str, int] | None = None,
    seed: int = 1,
    tolerance: float = 1e-3,
    bisect: bool = False,
) -> dict[str, Any]:
    """Compares the model with its unoptimised self on the CPU, on one thread.

    input_feed: as for InferenceSession.run; made up from `seed` and `dims` (sizes of symbolic
        dimensions, 1 where not given) where it is None.
    providers: lists of providers to compare beside the CPU alone.
    tolerance: the largest error allowed, as part of an output's largest value.
    bisect: where something differs, look for the first pass or kernel that makes it differ.

    The answer has "ok", "candidates" (one entry for each level, thread count and list of providers,
    with the error of each output), and "bisection" where it was asked for and something differs.
    """
    base = _core.SessionOptions(sess_options) if sess_options else _core.SessionOptions()
    base.graph_optimization_level = _LEVELS["disabled"]
    base.intra_op_num_threads = 1
    plain = InferenceSession(path_or_bytes, base, providers=["CPUExecutionProvider"])
    names, options, lists = [], [], []
    for chosen, level, count in itertools.product([(), *providers], levels, threads):
        if level not in _LEVELS:
            raise ValueError(f"levels are {', '.join(_LEVELS)}, got {level!r}")
        group = f"{'+'.join(map(_name, chosen)) or 'CPU'}, {level}"
        candidate = _core.SessionOptions(base)
        candidate.graph_optimization_level = _LEVELS[level]
        candidate.intra_op_num_threads = count
        names.append((f"{group}, {count} thread{'s'[: count != 1]}", group))
        options.append(candidate)
        lists.append(normalize(list(chosen), None))
    path, model = "", b""
    if isinstance(path_or_bytes, (str, os.PathLike)):
        path = str(os.fspath(path_or_bytes))
    else:
        model = bytes(path_or_bytes)
    return _core._verify(
        plain,
        path,
        model,
        input_feed,
        dict(dims or {}),
        seed,
        tolerance,
        bisect,
        names,
        options,
        lists,
    )

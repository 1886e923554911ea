"""Which options may be given as keywords: none that writes files or ends runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from switchyard._core import RunOptions, SessionOptions

SESSION = frozenset(
    {
        "enable_cpu_mem_arena",
        "enable_mem_pattern",
        "enable_mem_reuse",
        "execution_mode",
        "execution_order",
        "graph_optimization_level",
        "inter_op_num_threads",
        "intra_op_num_threads",
        "log_severity_level",
        "log_verbosity_level",
        "logid",
        "use_deterministic_compute",
        "use_per_session_threads",
    }
)
RUN = frozenset(
    {"log_severity_level", "log_verbosity_level", "logid", "only_execute_path_to_fetches"}
)


def apply(options: SessionOptions | RunOptions, given: Mapping[str, Any]) -> None:
    """Sets what is allowed, ignores what there is not; RuntimeError for what is not permitted."""
    allowed = SESSION if isinstance(options, SessionOptions) else RUN
    for name, value in given.items():
        if name in allowed:
            setattr(options, name, value)
        elif hasattr(options, name):
            raise RuntimeError(
                f"{type(options).__name__} attribute '{name}' is not permitted via the backend "
                f"API. Allowed attributes: {', '.join(sorted(allowed))}"
            )

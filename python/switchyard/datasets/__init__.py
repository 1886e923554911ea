"""Small models to try things with.

logreg_iris.onnx: logistic regression over 4 measures of a flower (input float_input [3, 4]);
mul_1.onnx: X * [[1, 2], [3, 4], [5, 6]] ([3, 2]); sigmoid.onnx: sigmoid of x ([3, 4, 5]).
"""

from __future__ import annotations

import pathlib

__all__ = ["get_example"]

_FOLDER = pathlib.Path(__file__).resolve().parent


def get_example(name: str) -> str:
    """The path of one of them; FileNotFoundError for another name."""
    known = sorted(path.name for path in _FOLDER.glob("*.onnx"))
    if name not in known:
        raise FileNotFoundError(f"Unable to find example '{name}', there are {', '.join(known)}")
    return str(_FOLDER / name)

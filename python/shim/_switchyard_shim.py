"""Answers `import onnxruntime` with Switchyard where the environment says SWITCHYARD_SHIM=1.

    SWITCHYARD_SHIM=1 python program.py
    PYTHONPATH=$(python -m _switchyard_shim) python program.py      # the same without this module

Read at the start of the interpreter through switchyard_shim.pth, so it imports little and must
never fail. An installed ONNX Runtime stays where it is; without the variable it is found as ever.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import pathlib
import sys
from collections.abc import Iterable, Sequence
from types import ModuleType

_NAME = "onnxruntime"


def shim_folder() -> pathlib.Path | None:
    """The folder that holds the package `onnxruntime` of Switchyard; None: not installed."""
    spec = importlib.util.find_spec("switchyard")
    for place in (spec.submodule_search_locations or []) if spec else []:
        folder = pathlib.Path(place) / "_ort_shim"
        if (folder / _NAME / "__init__.py").is_file():
            return folder
    return None


class ShimFinder(importlib.abc.MetaPathFinder):
    """Finds the top-level package and its distribution; sub-modules follow from its path."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _NAME:
            return None
        folder = shim_folder()
        return importlib.machinery.PathFinder.find_spec(_NAME, [str(folder)]) if folder else None

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context | None = None
    ) -> Iterable[importlib.metadata.Distribution]:
        if context is not None and context.name not in (None, _NAME):
            return []
        folder = shim_folder()
        infos = folder.glob(f"{_NAME}-*.egg-info") if folder else []
        return [importlib.metadata.PathDistribution(info) for info in infos]


def install() -> None:
    """Puts the finder first, once."""
    if not any(isinstance(finder, ShimFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, ShimFinder())


if __name__ == "__main__":
    print(shim_folder() or "switchyard is not installed")

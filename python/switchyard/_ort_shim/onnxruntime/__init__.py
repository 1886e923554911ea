"""The name `onnxruntime`, answered by Switchyard.

Programs written for ONNX Runtime import this and get the classes of the package `switchyard`. The
version is the one whose interface is followed. The pure Python tools of an installed ONNX Runtime
(`onnxruntime.quantization`, `.transformers`, `.tools`) stay importable and run on Switchyard;
its native modules are never loaded.
"""

import os as _os
import sys as _sys

import switchyard as _switchyard
from switchyard import *  # noqa: F403
from switchyard.capi import onnxruntime_validation  # noqa: F401

from onnxruntime.capi.build_and_package_info import __version__, cuda_version, package_name

__author__ = "Switchyard"
__all__ = [  # noqa: PLE0604
    *_switchyard.__all__,
    "__author__",
    "__version__",
    "cuda_version",
    "get_version_string",
    "package_name",
    "version",
]
version = __version__


def get_version_string() -> str:
    """The version of ONNX Runtime whose interface this is."""
    return __version__


def __getattr__(name: str) -> object:
    return getattr(_switchyard, name)


# Sub-packages that are not here are looked for in an installed ONNX Runtime.
_path: list[str] = __path__  # noqa: F405
for _folder in _sys.path:
    _other = _os.path.join(_folder or _os.curdir, "onnxruntime")
    if _os.path.isdir(_other) and not any(
        _os.path.exists(_own) and _os.path.samefile(_own, _other) for _own in _path
    ):
        _path.append(_other)

"""Exception classes that the native module has no use for."""

from __future__ import annotations


class DeviceReset(Exception):  # noqa: N818
    """A device was reset; no provider tells that apart from EPFail."""

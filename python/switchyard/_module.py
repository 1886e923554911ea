"""Functions of the module that stand on their own."""

from __future__ import annotations

import platform

from switchyard import _core

_verbosity = 0


def get_build_info() -> str:
    """Version, interpreter and machine of this build."""
    version = _core.get_version_string()
    return (
        f"Switchyard Build Info: version={version}, python={platform.python_version()}, "
        f"machine={platform.machine()}"
    )


def set_default_logger_verbosity(verbosity: int) -> None:
    """Detail of verbose lines of the default logger; any number is taken."""
    if not isinstance(verbosity, int):
        raise TypeError(f"verbosity is an int, got {type(verbosity).__name__}")
    global _verbosity
    _verbosity = verbosity


def set_seed(seed: int) -> None:
    """Random operators without a seed of their own draw from the system; a seed is checked only."""
    if not isinstance(seed, int):
        raise TypeError(f"seed is an int, got {type(seed).__name__}")


def enable_telemetry_events() -> None:
    """Switchyard sends nothing anywhere; there is nothing to switch on."""


def disable_telemetry_events() -> None:
    """Switchyard sends nothing anywhere; there is nothing to switch off."""


def has_collective_ops() -> bool:
    """No operator of this build talks to other processes."""
    return False


def register_execution_provider_library(registration_name: str, library_path: str) -> None:
    """Loads a provider module; sessions find its provider by the provider's own name."""
    name = _core.register_provider_library(str(library_path))
    if name != registration_name:
        import warnings

        warnings.warn(
            f"{library_path} holds the provider '{name}', not '{registration_name}'", stacklevel=2
        )

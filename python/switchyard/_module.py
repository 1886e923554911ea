"""Functions of the module that stand on their own."""

from __future__ import annotations

import os
import platform
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from switchyard import _core
from switchyard._devices import OrtArenaCfg, OrtMemoryInfo
from switchyard._enums import OrtCompiledModelCompatibility
from switchyard._session import default_session_options

_verbosity = 0
_libraries: dict[str, str] = {}  # registered name: the provider's own


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


def get_default_session_options() -> _core.SessionOptions:
    """The options of sessions that are made without any; changes reach later sessions."""
    return default_session_options


def register_execution_provider_library(
    registration_name: str, library_path: str | os.PathLike[str]
) -> None:
    """Loads a provider module; sessions find its provider by the provider's own name.

    NoSuchFile for a missing library, Fail for one that is no provider module of this version.
    """
    name = _core.register_provider_library(os.fspath(library_path))
    _libraries[registration_name] = name
    if name != registration_name:
        warnings.warn(
            f"{os.fspath(library_path)} holds the provider '{name}', not '{registration_name}'",
            stacklevel=2,
        )


def unregister_execution_provider_library(registration_name: str) -> None:
    """Forgets a registration; its provider stays known to sessions, which may run it.

    Fail for a name that was not registered.
    """
    if _libraries.pop(registration_name, None) is None:
        raise _core.Fail(
            "[ONNXRuntimeError] : 1 : FAIL : Execution provider library: "
            f"{registration_name} was not registered."
        )


def create_and_register_allocator(
    mem_info: OrtMemoryInfo, arena_cfg: OrtArenaCfg | None = None
) -> None:
    """Checked and accepted: sessions share the process's host memory in any case.

    `max_mem` of the arena is not a limit; switchyard.memory_limit of the session options is.
    """
    if not isinstance(mem_info, OrtMemoryInfo):
        raise TypeError(f"mem_info is an OrtMemoryInfo, got {type(mem_info).__name__}")
    if arena_cfg is not None and not isinstance(arena_cfg, OrtArenaCfg):
        raise TypeError(f"arena_cfg is an OrtArenaCfg, got {type(arena_cfg).__name__}")


def create_and_register_allocator_v2(
    provider_type: str,
    mem_info: OrtMemoryInfo,
    options: Mapping[str, str],
    arena_cfg: OrtArenaCfg | None = None,
) -> None:
    """As create_and_register_allocator, for memory of a provider."""
    if provider_type not in _core.get_available_providers():
        raise RuntimeError(f"Unknown Provider Type: {provider_type}")
    dict(options)
    create_and_register_allocator(mem_info, arena_cfg)


def get_hardware_devices() -> list[_core.OrtHardwareDevice]:
    """The hardware that some provider can drive, each device once."""
    unique: dict[tuple[Any, ...], _core.OrtHardwareDevice] = {}
    for device in _core.get_ep_devices():
        hardware = device.device
        unique.setdefault((int(hardware.type), hardware.vendor_id, hardware.device_id), hardware)
    return list(unique.values())


def get_hardware_device_ep_incompatibility_details(
    ep_name: str, hardware_device: _core.OrtHardwareDevice
) -> dict[str, Any]:
    """Why a provider can't drive a device: reasons_bitmask (0: it can), notes, error_code.

    InvalidArgument for a provider that is not there.
    """
    if ep_name not in _core.get_available_providers():
        raise _core.InvalidArgument(
            "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : No valid factory found for execution "
            f"provider '{ep_name}'."
        )
    known = [d.device for d in _core.get_ep_devices() if d.ep_name == ep_name]
    if any(d.type == hardware_device.type for d in known):
        return {"reasons_bitmask": 0, "notes": None, "error_code": 0}
    return {"reasons_bitmask": 2, "notes": f"{ep_name} drives no such device", "error_code": 0}


def get_model_compatibility_for_ep_devices(
    ep_devices: Sequence[_core.OrtEpDevice], compatibility_info: str
) -> OrtCompiledModelCompatibility:
    """How a compiled model suits devices of one provider: no provider here makes compiled models,
    so EP_NOT_APPLICABLE. RuntimeError for no devices."""
    if isinstance(ep_devices, (str, bytes)) or not isinstance(ep_devices, Sequence):
        raise TypeError(f"ep_devices is a list of OrtEpDevice, got {type(ep_devices).__name__}")
    if not ep_devices:
        raise RuntimeError("Invalid argument provided to GetModelCompatibilityForEpDevices.")
    return OrtCompiledModelCompatibility.EP_NOT_APPLICABLE


def _compatibility(load: Callable[[], _core.ModelMetadata], ep_type: str, what: str) -> str | None:
    if not ep_type:
        raise RuntimeError(f"Invalid argument provided to {what}.")
    try:
        metadata = load().custom_metadata_map
    except Exception as error:
        raise RuntimeError(str(error)) from error
    return metadata.get(f"ep_compatibility_info.{ep_type}")


def get_compatibility_info_from_model(model_path: str, ep_type: str) -> str | None:
    """What a compiled model says about the provider it was compiled for; None: nothing.

    RuntimeError for a model that can't be read.
    """
    return _compatibility(
        lambda: _core._read_metadata(os.fspath(model_path), True),
        ep_type if model_path else "",
        "GetCompatibilityInfoFromModel",
    )


def get_compatibility_info_from_model_bytes(model_data: bytes, ep_type: str) -> str | None:
    """get_compatibility_info_from_model for a model in memory."""
    return _compatibility(
        lambda: _core._read_metadata(model_data, False),
        ep_type if model_data else "",
        "GetCompatibilityInfoFromModelBytes",
    )


def preload_dlls(
    cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: str | None = None
) -> None:
    """Does nothing: a provider module loads the libraries of its device when it is first used."""


def print_debug_info() -> None:
    """Prints versions, providers and what of the environment matters, for a report of a fault."""
    print("switchyard", _core.get_version_string())
    print("python", sys.version.split()[0], platform.platform())
    print("providers", ", ".join(_core.get_available_providers()))
    for device in _core.get_ep_devices():
        print("device", device.ep_name, device.device.vendor)
    for name in ("SWITCHYARD_SHIM", "ORT_LOAD_CONFIG_FROM_MODEL", "LD_LIBRARY_PATH"):
        if name in os.environ:
            print(name, os.environ[name])

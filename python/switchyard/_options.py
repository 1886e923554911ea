"""Session options that come from elsewhere: from the model, or from a choice of devices."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from switchyard import _core
from switchyard._enums import OrtExecutionProviderDevicePolicy, OrtHardwareDeviceType

_KEY = "ort_config"
_CPU = "CPUExecutionProvider"


def options_of_the_model(
    options: _core.SessionOptions, metadata: Mapping[str, str]
) -> _core.SessionOptions:
    """A copy with what the metadata entry "ort_config" says: JSON with a "session_options" object.

    RuntimeError for JSON that is none, or an option that there is not.
    """
    result = _core.SessionOptions(options)
    if _KEY not in metadata:
        return result
    try:
        wanted = json.loads(metadata[_KEY]).get("session_options", {})
    except (ValueError, AttributeError) as error:
        raise RuntimeError(f"the model's metadata entry '{_KEY}' is no JSON object") from error
    if not isinstance(wanted, dict):
        raise RuntimeError(f"session_options of the model's metadata entry '{_KEY}' is no object")
    for name, value in wanted.items():
        if name == "config_entries" and isinstance(value, dict):
            for key, entry in value.items():
                result.add_session_config_entry(key, str(entry))
            continue
        current = getattr(result, name, None)
        if current is None or callable(current):
            raise RuntimeError(f"the model's metadata entry '{_KEY}' has no option '{name}'")
        if isinstance(current, bool) and value not in (True, False):
            raise RuntimeError(f"option '{name}' of the metadata entry '{_KEY}': {value!r}")
        try:
            setattr(result, name, type(current)(value))
        except (TypeError, ValueError) as error:
            raise RuntimeError(
                f"option '{name}' of the metadata entry '{_KEY}': {value!r}"
            ) from error
    return result


def _by_kind(
    devices: Sequence[_core.OrtEpDevice], kinds: Sequence[OrtHardwareDeviceType]
) -> list[_core.OrtEpDevice]:
    for kind in kinds:
        found = [device for device in devices if device.device.type == kind]
        if found:
            return found[:1]
    return []


_ORDER = {
    OrtExecutionProviderDevicePolicy.DEFAULT: (OrtHardwareDeviceType.CPU,),
    OrtExecutionProviderDevicePolicy.PREFER_CPU: (OrtHardwareDeviceType.CPU,),
    OrtExecutionProviderDevicePolicy.PREFER_NPU: (OrtHardwareDeviceType.NPU,),
    OrtExecutionProviderDevicePolicy.PREFER_GPU: (OrtHardwareDeviceType.GPU,),
    OrtExecutionProviderDevicePolicy.MAX_PERFORMANCE: (
        OrtHardwareDeviceType.GPU,
        OrtHardwareDeviceType.NPU,
    ),
    OrtExecutionProviderDevicePolicy.MAX_EFFICIENCY: (
        OrtHardwareDeviceType.NPU,
        OrtHardwareDeviceType.GPU,
    ),
    OrtExecutionProviderDevicePolicy.MIN_OVERALL_POWER: (
        OrtHardwareDeviceType.NPU,
        OrtHardwareDeviceType.CPU,
    ),
}


def selected_providers(options: _core.SessionOptions) -> list[tuple[str, dict[str, str]]]:
    """What a selection policy or delegate of the options chooses; empty where there is none."""
    selection: Any = options._selection
    if selection is None:
        return []
    devices = _core.get_ep_devices()
    if callable(selection):
        try:
            chosen = list(selection(devices, {}, {}, max(8, len(devices))))
        except Exception as error:
            raise _core.Fail(
                "[ONNXRuntimeError] : 1 : FAIL : the provider selection delegate raised "
                f"{type(error).__name__}: {error}"
            ) from error
    else:
        chosen = _by_kind(devices, _ORDER[OrtExecutionProviderDevicePolicy(int(selection))])
    unique: dict[str, dict[str, str]] = {}
    for device in chosen:
        unique.setdefault(device.ep_name, dict(device.ep_options))
    return list(unique.items())

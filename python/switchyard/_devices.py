"""Words for devices and memory, as ONNX Runtime's interface has them."""

from __future__ import annotations

import enum
from typing import Any, ClassVar

from switchyard import _core


class OrtAllocatorType(enum.IntEnum):
    """How an allocator keeps memory."""

    INVALID = -1
    ORT_DEVICE_ALLOCATOR = 0
    ORT_ARENA_ALLOCATOR = 1


class OrtMemType(enum.IntEnum):
    """What a device's memory is for."""

    CPU_INPUT = -2
    CPU_OUTPUT = -1
    CPU = -1
    DEFAULT = 0


class OrtMemoryInfoDeviceType(enum.IntEnum):
    """Kinds of devices."""

    CPU = 0
    GPU = 1
    FPGA = 2
    NPU = 3


class OrtDeviceMemoryType(enum.IntEnum):
    """Memory types of a device."""

    DEFAULT = 0
    HOST_ACCESSIBLE = 5


class OrtHardwareDeviceType(enum.IntEnum):
    """Kinds of hardware."""

    CPU = 0
    GPU = 1
    NPU = 2


class OrtSparseFormat(enum.IntEnum):
    """Forms of sparse tensors."""

    ORT_SPARSE_UNDEFINED = 0
    ORT_SPARSE_COO = 1
    ORT_SPARSE_CSRC = 2
    ORT_SPARSE_BLOCK_SPARSE = 4


class OrtDeviceVendorId(enum.IntEnum):
    """PCI vendor numbers."""

    NONE = 0
    AMD = 0x1002
    NVIDIA = 0x10DE
    ARM = 0x13B5
    MICROSOFT = 0x1414
    HUAWEI = 0x19E5
    QUALCOMM = 0x5143
    INTEL = 0x8086


# Name: device type and the vendor that it implies.
_DEVICES = {
    "cpu": (0, 0),
    "cuda": (1, OrtDeviceVendorId.NVIDIA),
    "gpu": (1, 0),
    "webgpu": (1, 0),
    "npu": (3, 0),
    "cann": (3, OrtDeviceVendorId.HUAWEI),
    "dml": (4, OrtDeviceVendorId.MICROSOFT),
}


class OrtDevice:
    """A device as it is named in calls."""

    def __init__(self, device_type: int, mem_type: int, vendor_id: int, device_id: int) -> None:
        self._fields = (device_type, mem_type, vendor_id, device_id)

    @staticmethod
    def make(ort_device_name: str, device_id: int, vendor_id: int = -1) -> OrtDevice:
        """A device by name: cpu, cuda, gpu, npu, dml, cann, webgpu."""
        if ort_device_name not in _DEVICES:
            raise ValueError(
                f"Unsupported device type: {ort_device_name}, known are {', '.join(_DEVICES)}"
            )
        device_type, implied = _DEVICES[ort_device_name]
        return OrtDevice(device_type, 0, int(implied) if vendor_id < 0 else vendor_id, device_id)

    def device_type(self) -> int:
        return self._fields[0]

    def device_mem_type(self) -> int:
        return self._fields[1]

    def device_vendor_id(self) -> int:
        return self._fields[2]

    def device_id(self) -> int:
        return self._fields[3]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OrtDevice) and self._fields == other._fields

    def __hash__(self) -> int:
        return hash(self._fields)

    def __repr__(self) -> str:
        return "OrtDevice(type={}, mem_type={}, vendor_id={}, device_id={})".format(*self._fields)


class OrtMemoryInfo:
    """Names one memory of one device."""

    def __init__(
        self, name: str, allocator_type: OrtAllocatorType, device_id: int, mem_type: OrtMemType
    ) -> None:
        self.name = name
        self.allocator_type = OrtAllocatorType(allocator_type)
        self.device_id = device_id
        self.mem_type = OrtMemType(mem_type)
        self.device_type = OrtMemoryInfoDeviceType.CPU
        self.device_mem_type = OrtDeviceMemoryType.DEFAULT
        self.device_vendor_id = 0
        self.alignment = 0

    @staticmethod
    def create_v2(
        name: str,
        device_type: OrtMemoryInfoDeviceType,
        vendor_id: int,
        device_id: int,
        device_mem_type: OrtDeviceMemoryType,
        alignment: int,
        allocator_type: OrtAllocatorType,
    ) -> OrtMemoryInfo:
        info = OrtMemoryInfo(name, allocator_type, device_id, OrtMemType.DEFAULT)
        info.device_type = OrtMemoryInfoDeviceType(device_type)
        info.device_vendor_id = vendor_id
        info.device_mem_type = OrtDeviceMemoryType(device_mem_type)
        info.alignment = alignment
        return info

    def __repr__(self) -> str:
        return f"OrtMemoryInfo(name={self.name!r}, device_id={self.device_id})"


class OrtArenaCfg:
    """How an arena grows: four numbers, or a dict of options; -1 and 0 leave the choice open."""

    _DEFAULTS: ClassVar[dict[str, int]] = {
        "max_mem": 0,
        "arena_extend_strategy": -1,
        "initial_chunk_size_bytes": -1,
        "max_dead_bytes_per_chunk": -1,
        "initial_growth_chunk_size_bytes": -1,
        "max_power_of_two_extend_bytes": -1,
    }

    max_mem: int
    arena_extend_strategy: int
    initial_chunk_size_bytes: int
    max_dead_bytes_per_chunk: int
    initial_growth_chunk_size_bytes: int
    max_power_of_two_extend_bytes: int

    def __init__(self, *values: Any) -> None:
        if len(values) == 1 and isinstance(values[0], dict):
            given = values[0]
        elif len(values) == 4:
            given = dict(zip(self._DEFAULTS, values))
        else:
            raise TypeError("OrtArenaCfg takes a dict of options or four numbers")
        for key in given:
            if key not in self._DEFAULTS:
                raise RuntimeError(f"Invalid OrtArenaCfg option: {key}")
        for key, default in self._DEFAULTS.items():
            setattr(self, key, int(given.get(key, default)))


def _no_sparse() -> _core.NotImplemented:
    return _core.NotImplemented(
        "[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : sparse tensors of the caller are not supported; "
        "models may hold sparse initializers"
    )


class SparseTensor:
    """Not supported: every way to make one raises NotImplemented."""

    def __init__(self, *_: Any) -> None:
        raise _no_sparse()

    @staticmethod
    def sparse_coo_from_numpy(*_: Any) -> SparseTensor:
        raise _no_sparse()

    @staticmethod
    def sparse_csr_from_numpy(*_: Any) -> SparseTensor:
        raise _no_sparse()

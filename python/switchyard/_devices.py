"""Words for devices and memory, as ONNX Runtime's interface has them."""

from __future__ import annotations

from typing import Any, ClassVar

from switchyard._enums import (
    OrtAllocatorType,
    OrtDeviceMemoryType,
    OrtDeviceVendorId,
    OrtMemoryInfoDeviceType,
    OrtMemType,
)

# Name: device type and the vendor that it implies.
_DEVICES = {
    "cpu": (0, 0),
    "cuda": (1, OrtDeviceVendorId.NVIDIA),
    "gpu": (1, 0),
    "webgpu": (1, 0),
    "npu": (3, 0),
    "cann": (3, OrtDeviceVendorId.HUAWEI),
    "dml": (1, OrtDeviceVendorId.MICROSOFT),
}


def get_ort_device_type(device_type: str) -> int:
    """The number of a device's kind by its name: cpu, cuda, gpu, npu, dml, cann, webgpu."""
    if device_type not in _DEVICES:
        raise ValueError(f"Unsupported device type: {device_type}, known are {', '.join(_DEVICES)}")
    return _DEVICES[device_type][0]


def get_vendor_id_for_device_type(device_type: str) -> int:
    """The vendor that a device's name implies; 0 where it implies none."""
    get_ort_device_type(device_type)
    return int(_DEVICES[device_type][1])


class OrtDevice:
    """A device as it is named in calls. A value: compared and hashed by its four numbers.

    OrtDevice(type, memory, id), OrtDevice(type, memory, vendor, id), or OrtDevice(other).
    """

    def __init__(self, *numbers: Any) -> None:
        if len(numbers) == 1 and isinstance(numbers[0], OrtDevice):
            self._fields: tuple[int, int, int, int] = numbers[0]._fields
        elif len(numbers) == 3:
            self._fields = (int(numbers[0]), int(numbers[1]), 0, int(numbers[2]))
        elif len(numbers) == 4:
            self._fields = (int(numbers[0]), int(numbers[1]), int(numbers[2]), int(numbers[3]))
        else:
            raise TypeError(
                "OrtDevice takes an OrtDevice, or type, memory, id, or type, memory, vendor, id"
            )

    @staticmethod
    def make(
        ort_device_name: str, device_id: int, vendor_id: int | OrtDeviceVendorId = -1
    ) -> OrtDevice:
        """A device by name: cpu, cuda, gpu, npu, dml, cann, webgpu."""
        kind = get_ort_device_type(ort_device_name)
        vendor = get_vendor_id_for_device_type(ort_device_name) if vendor_id < 0 else vendor_id
        return OrtDevice(kind, 0, vendor, device_id)

    @staticmethod
    def cpu() -> int:
        """The number of this kind of device."""
        return 0

    @staticmethod
    def gpu() -> int:
        """The number of this kind of device."""
        return 1

    cuda = webgpu = gpu

    @staticmethod
    def fpga() -> int:
        """The number of this kind of device."""
        return 2

    @staticmethod
    def npu() -> int:
        """The number of this kind of device."""
        return 3

    cann = npu

    @staticmethod
    def dml() -> int:
        """The number of this kind of device."""
        return 4

    @staticmethod
    def default_memory() -> int:
        """The number of a device's usual memory."""
        return 0

    def device_type(self) -> int:
        """0 cpu, 1 gpu, 2 fpga, 3 npu, 4 dml."""
        return self._fields[0]

    def device_mem_type(self) -> int:
        """0 the device's usual memory, 5 memory that the host reaches too."""
        return self._fields[1]

    def device_vendor_id(self) -> int:
        """PCI vendor number, 0 where none is named."""
        return self._fields[2]

    def device_id(self) -> int:
        """Which of the devices of that kind, from 0."""
        return self._fields[3]

    def _get_c_device(self) -> OrtDevice:
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OrtDevice) and self._fields == other._fields

    def __hash__(self) -> int:
        return hash(self._fields)

    def __repr__(self) -> str:
        return "OrtDevice(type={}, mem_type={}, vendor_id={}, device_id={})".format(*self._fields)


class OrtMemoryInfo:
    """Names one memory of one device. Immutable."""

    # Names of device memory from which the kind of the device follows.
    _KINDS: ClassVar[dict[str, int]] = {"Cuda": 1, "Hip": 1, "DML": 1, "WebGPU_Buffer": 1, "Npu": 3}

    def __init__(
        self, name: str, allocator_type: OrtAllocatorType, device_id: int, mem_type: OrtMemType
    ) -> None:
        kind = self._KINDS.get(name, 0)
        self._fields = (
            str(name),
            OrtAllocatorType(allocator_type),
            int(device_id),
            OrtMemType(mem_type),
            OrtMemoryInfoDeviceType(kind),
            OrtDeviceMemoryType.DEFAULT,
            0,
            0,
        )

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
        """The full form: kind and vendor of the device, kind and alignment (bytes) of the memory."""
        info = OrtMemoryInfo.__new__(OrtMemoryInfo)
        memory = OrtDeviceMemoryType(device_mem_type)
        reached = memory == OrtDeviceMemoryType.HOST_ACCESSIBLE
        info._fields = (
            str(name),
            OrtAllocatorType(allocator_type),
            int(device_id),
            OrtMemType.CPU_OUTPUT if reached else OrtMemType.DEFAULT,
            OrtMemoryInfoDeviceType(device_type),
            memory,
            int(vendor_id),
            int(alignment),
        )
        return info

    @property
    def name(self) -> str:
        """ "Cpu", "Cuda" ..."""
        return self._fields[0]

    @property
    def allocator_type(self) -> OrtAllocatorType:
        """Whether freed memory is kept."""
        return self._fields[1]

    @property
    def device_id(self) -> int:
        """Which of the devices of that kind, from 0."""
        return self._fields[2]

    @property
    def mem_type(self) -> OrtMemType:
        """The device's own memory, or the host's for its inputs or outputs."""
        return self._fields[3]

    @property
    def device_type(self) -> OrtMemoryInfoDeviceType:
        """The kind of the device."""
        return self._fields[4]

    @property
    def device_mem_type(self) -> OrtDeviceMemoryType:
        """Whether the host reaches the memory."""
        return self._fields[5]

    @property
    def device_vendor_id(self) -> int:
        """PCI vendor number, 0 where none is named."""
        return self._fields[6]

    def __repr__(self) -> str:
        return (
            f"OrtMemoryInfo(name={self.name!r}, device_type={self.device_type.name}, "
            f"device_id={self.device_id}, mem_type={self.mem_type.name}, "
            f"device_mem_type={self.device_mem_type.name}, vendor_id={self.device_vendor_id})"
        )


class OrtArenaCfg:
    """How an arena grows: four numbers, or a dict of options; -1 and 0 leave the choice open.

    The four: max_mem (bytes), arena_extend_strategy, initial_chunk_size_bytes,
    max_dead_bytes_per_chunk. A dict takes the names of all six attributes; RuntimeError for others.
    """

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

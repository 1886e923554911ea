"""The enumerations of ONNX Runtime's interface."""

from __future__ import annotations

import enum


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


class OrtExecutionProviderDevicePolicy(enum.IntEnum):
    """By which devices SessionOptions.set_provider_selection_policy chooses providers."""

    DEFAULT = 0
    PREFER_CPU = 1
    PREFER_NPU = 2
    PREFER_GPU = 3
    MAX_PERFORMANCE = 4
    MAX_EFFICIENCY = 5
    MIN_OVERALL_POWER = 6


class OrtCompileApiFlags(enum.IntFlag):
    """What ModelCompiler refuses."""

    NONE = 0
    ERROR_IF_NO_NODES_COMPILED = 1
    ERROR_IF_OUTPUT_FILE_EXISTS = 2


class OrtCompiledModelCompatibility(enum.IntEnum):
    """How a compiled model suits a device."""

    EP_NOT_APPLICABLE = 0
    EP_SUPPORTED_OPTIMAL = 1
    EP_SUPPORTED_PREFER_RECOMPILATION = 2
    EP_UNSUPPORTED = 3


class OrtDeviceEpIncompatibilityReason(enum.IntFlag):
    """Why a provider can't drive a device."""

    NONE = 0
    DRIVER_INCOMPATIBLE = 1
    DEVICE_INCOMPATIBLE = 2
    MISSING_DEPENDENCY = 4
    UNKNOWN = 0x80000000


class ArenaExtendStrategy(enum.IntEnum):
    """How an arena asks for more memory."""

    kNextPowerOfTwo = 0  # noqa: N815
    kSameAsRequested = 1  # noqa: N815


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


kNextPowerOfTwo = ArenaExtendStrategy.kNextPowerOfTwo  # noqa: N816
kSameAsRequested = ArenaExtendStrategy.kSameAsRequested  # noqa: N816

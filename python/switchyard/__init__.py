"""Switchyard: an ONNX runtime built around execution providers.

    import numpy as np
    import switchyard as sy

    session = sy.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    outputs = session.run(None, {"input": np.zeros((1, 3, 224, 224), np.float32)})

Names, arguments and exceptions are those of ONNX Runtime's Python package.
"""

from __future__ import annotations

from switchyard import capi, datasets
from switchyard._adapters import AdapterFormat, LoraAdapter
from switchyard._compile import ModelCompiler, OrtExternalInitializerInfo
from switchyard._core import (
    EngineError,
    EPFail,
    ExecutionMode,
    ExecutionOrder,
    Fail,
    GraphOptimizationLevel,
    InvalidArgument,
    InvalidGraph,
    InvalidProtobuf,
    ModelLoadCanceled,
    ModelLoaded,
    ModelMetadata,
    ModelRequiresCompilation,
    NodeArg,
    NoModel,
    NoSuchFile,
    NotFound,
    NotImplemented,  # noqa: A004
    OrtEpDevice,
    OrtHardwareDevice,
    OrtValue,
    RunOptions,
    RuntimeException,
    SessionOptions,
    get_all_providers,
    get_available_providers,
    get_device,
    get_ep_devices,
    get_version_string,
    register_provider_library,
    set_default_logger_severity,
    set_global_thread_pool_sizes,
)
from switchyard._devices import OrtArenaCfg, OrtDevice, OrtMemoryInfo
from switchyard._enums import (
    OrtAllocatorType,
    OrtCompileApiFlags,
    OrtCompiledModelCompatibility,
    OrtDeviceEpIncompatibilityReason,
    OrtDeviceMemoryType,
    OrtDeviceVendorId,
    OrtExecutionProviderDevicePolicy,
    OrtHardwareDeviceType,
    OrtMemoryInfoDeviceType,
    OrtMemType,
    OrtSparseFormat,
)
from switchyard._errors import DeviceReset
from switchyard._module import (
    create_and_register_allocator,
    create_and_register_allocator_v2,
    disable_telemetry_events,
    enable_telemetry_events,
    get_build_info,
    get_compatibility_info_from_model,
    get_compatibility_info_from_model_bytes,
    get_hardware_device_ep_incompatibility_details,
    get_hardware_devices,
    get_model_compatibility_for_ep_devices,
    has_collective_ops,
    preload_dlls,
    print_debug_info,
    register_execution_provider_library,
    set_default_logger_verbosity,
    set_seed,
    unregister_execution_provider_library,
)
from switchyard._native import SessionIOBinding
from switchyard._providers import check_and_normalize_provider_args
from switchyard._session import (
    InferenceSession,
    IOBinding,
    OrtEpAssignedNode,
    OrtEpAssignedSubgraph,
    OrtValueVector,
    copy_tensors,
)
from switchyard._sparse import SparseTensor
from switchyard._verify import verify

__version__ = get_version_string()

__all__ = [
    "AdapterFormat",
    "DeviceReset",
    "EPFail",
    "EngineError",
    "ExecutionMode",
    "ExecutionOrder",
    "Fail",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "InvalidArgument",
    "InvalidGraph",
    "InvalidProtobuf",
    "LoraAdapter",
    "ModelCompiler",
    "ModelLoadCanceled",
    "ModelLoaded",
    "ModelMetadata",
    "ModelRequiresCompilation",
    "NoModel",
    "NoSuchFile",
    "NodeArg",
    "NotFound",
    "NotImplemented",
    "OrtAllocatorType",
    "OrtArenaCfg",
    "OrtCompileApiFlags",
    "OrtCompiledModelCompatibility",
    "OrtDevice",
    "OrtDeviceEpIncompatibilityReason",
    "OrtDeviceMemoryType",
    "OrtDeviceVendorId",
    "OrtEpAssignedNode",
    "OrtEpAssignedSubgraph",
    "OrtEpDevice",
    "OrtExecutionProviderDevicePolicy",
    "OrtExternalInitializerInfo",
    "OrtHardwareDevice",
    "OrtHardwareDeviceType",
    "OrtMemType",
    "OrtMemoryInfo",
    "OrtMemoryInfoDeviceType",
    "OrtSparseFormat",
    "OrtValue",
    "OrtValueVector",
    "RunOptions",
    "RuntimeException",
    "SessionIOBinding",
    "SessionOptions",
    "SparseTensor",
    "capi",
    "check_and_normalize_provider_args",
    "copy_tensors",
    "create_and_register_allocator",
    "create_and_register_allocator_v2",
    "datasets",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_all_providers",
    "get_available_providers",
    "get_build_info",
    "get_compatibility_info_from_model",
    "get_compatibility_info_from_model_bytes",
    "get_device",
    "get_ep_devices",
    "get_hardware_device_ep_incompatibility_details",
    "get_hardware_devices",
    "get_model_compatibility_for_ep_devices",
    "get_version_string",
    "has_collective_ops",
    "preload_dlls",
    "print_debug_info",
    "register_execution_provider_library",
    "register_provider_library",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_global_thread_pool_sizes",
    "set_seed",
    "unregister_execution_provider_library",
    "verify",
]

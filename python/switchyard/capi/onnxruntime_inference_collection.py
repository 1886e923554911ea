"""The classes of a session."""

from switchyard._adapters import AdapterFormat
from switchyard._compile import (
    GetInitializerLocationFunc,
    GetInitializerLocationWrapperFunc,
    ModelCompiler,
    make_get_initializer_location_func_wrapper,
)
from switchyard._core import OrtValue
from switchyard._devices import OrtDevice, get_ort_device_type, get_vendor_id_for_device_type
from switchyard._enums import OrtDeviceVendorId
from switchyard._providers import check_and_normalize_provider_args
from switchyard._session import InferenceSession, IOBinding, Session, copy_tensors
from switchyard._sparse import SparseTensor

__all__ = [
    "AdapterFormat",
    "GetInitializerLocationFunc",
    "GetInitializerLocationWrapperFunc",
    "IOBinding",
    "InferenceSession",
    "ModelCompiler",
    "OrtDevice",
    "OrtDeviceVendorId",
    "OrtValue",
    "Session",
    "SparseTensor",
    "check_and_normalize_provider_args",
    "copy_tensors",
    "get_ort_device_type",
    "get_vendor_id_for_device_type",
    "make_get_initializer_location_func_wrapper",
]

"""The classes of a session."""

from switchyard._core import OrtValue  # noqa: F401
from switchyard._devices import OrtDevice, OrtDeviceVendorId, SparseTensor  # noqa: F401
from switchyard._providers import check_and_normalize_provider_args  # noqa: F401
from switchyard._session import InferenceSession, IOBinding  # noqa: F401

Session = InferenceSession

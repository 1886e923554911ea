from switchyard.capi.convert_npz_to_onnx_adapter import *  # noqa: F403

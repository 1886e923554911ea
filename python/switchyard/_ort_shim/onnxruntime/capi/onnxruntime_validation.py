from switchyard.capi.onnxruntime_validation import *  # noqa: F403

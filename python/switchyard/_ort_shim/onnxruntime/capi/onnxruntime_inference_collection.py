from switchyard.capi.onnxruntime_inference_collection import *  # noqa: F403

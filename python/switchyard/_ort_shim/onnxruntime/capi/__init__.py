"""Module paths from which programs for ONNX Runtime import."""

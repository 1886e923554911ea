"""What a program does with the package, with NumPy alone: program.py MODULE [with_ml_dtypes].

MODULE is switchyard or onnxruntime. Ends with status 0 when all of it worked.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import pathlib
import sys

import numpy as np

NAME = sys.argv[1]
ort = importlib.import_module(NAME)
native = importlib.import_module(f"{NAME}.capi.onnxruntime_pybind11_state")
datasets = importlib.import_module(f"{NAME}.datasets")
X = np.arange(6, dtype=np.float32).reshape(3, 2)
EXPECTED = X * np.arange(1, 7, dtype=np.float32).reshape(3, 2)


def raises(kind: type[Exception], body) -> str:
    try:
        body()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def the_name() -> None:
    if NAME == "onnxruntime":
        assert ort.__version__ == "1.32.0" == ort.get_version_string(), ort.__version__
        assert importlib.metadata.version("onnxruntime").startswith("1.32.0")
        assert "switchyard" in sys.modules and ort.InferenceSession.__module__.startswith("switch")
        assert importlib.util.find_spec("onnxruntime").origin == ort.__file__
    else:
        assert ort.__version__ == importlib.metadata.version("switchyard")
    assert (pathlib.Path(ort.__file__).parent / "py.typed").exists()


def inference() -> None:
    session = ort.InferenceSession(
        datasets.get_example("mul_1.onnx"), providers=ort.get_available_providers()
    )
    assert np.array_equal(session.run(["Y"], {"X": X})[0], EXPECTED)
    assert [arg.name for arg in session.get_inputs()] == ["X"]
    binding = session.io_binding()
    binding.bind_cpu_input("X", X)
    binding.bind_output("Y")
    session.run_with_iobinding(binding)
    assert np.array_equal(binding.copy_outputs_to_cpu()[0], EXPECTED)
    value = ort.OrtValue.ortvalue_from_numpy(X)
    assert np.array_equal(session.run_with_ort_values(None, {"X": value})[0].numpy(), EXPECTED)
    iris = ort.InferenceSession(datasets.get_example("logreg_iris.onnx"))
    flowers = np.array([[5, 3.4, 1.5, 0.2], [6, 2.8, 4.3, 1.3], [6.6, 3, 5.6, 2]], np.float32)
    labels, odds = iris.run(None, {"float_input": flowers})
    assert labels.tolist() == [0, 1, 2] and odds[0][0] > 0.9


def errors() -> None:
    assert "absent.onnx" in raises(native.NoSuchFile, lambda: ort.InferenceSession("absent.onnx"))
    raises(native.InvalidProtobuf, lambda: ort.InferenceSession(b"no model"))
    session = ort.InferenceSession(datasets.get_example("mul_1.onnx"))
    raises(native.InvalidArgument, lambda: session.run(None, {"X": X[0]}))
    raises(ValueError, lambda: session.run(None, {}))
    raises(FileNotFoundError, lambda: datasets.get_example("absent"))


def narrow_types() -> None:
    raw = np.array([0x3F80, 0x4000], np.uint16)
    value = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(raw, 16)
    if "with_ml_dtypes" in sys.argv:
        assert value.numpy().astype(np.float32).tolist() == [1, 2]
    else:
        assert importlib.util.find_spec("ml_dtypes") is None
        assert "ml_dtypes" in raises(RuntimeError, value.numpy)


def main() -> None:
    for check in (the_name, inference, errors, narrow_types):
        check()
    print(f"{NAME} {ort.__version__} from {ort.__file__}: ok")


main()

"""The documented surface, continued: options, values, bindings. See test_surface.py."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import model, value
from test_surface import X, session

from onnx import TensorProto, helper

# ---- options


def test_defaults_of_session_options(ort):
    options = ort.SessionOptions()
    expected = {
        "enable_cpu_mem_arena": True,
        "enable_mem_pattern": True,
        "enable_mem_reuse": True,
        "enable_profiling": False,
        "profile_file_prefix": "onnxruntime_profile_",
        "optimized_model_filepath": "",
        "logid": "",
        "log_severity_level": -1,
        "log_verbosity_level": 0,
        "use_per_session_threads": True,
        "intra_op_num_threads": 0,
        "inter_op_num_threads": 0,
        "use_deterministic_compute": False,
    }
    assert {name: getattr(options, name) for name in expected} == expected
    assert options.execution_mode == ort.ExecutionMode.ORT_SEQUENTIAL
    assert options.execution_order == ort.ExecutionOrder.DEFAULT
    assert options.graph_optimization_level == ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    changed = {
        name: (not old if isinstance(old, bool) else 2 if isinstance(old, int) else "text")
        for name, old in expected.items()
    }
    for name, new in changed.items():
        setattr(options, name, new)
    assert {name: getattr(options, name) for name in expected} == changed
    options.execution_mode = ort.ExecutionMode.ORT_PARALLEL
    options.execution_order = ort.ExecutionOrder.PRIORITY_BASED
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_LAYOUT
    assert int(options.graph_optimization_level) == 3 and int(options.execution_mode) == 1


def test_defaults_of_run_options(ort):
    options = ort.RunOptions()
    expected = {
        "log_severity_level": -1,
        "log_verbosity_level": 0,
        "logid": "",
        "terminate": False,
        "only_execute_path_to_fetches": False,
    }
    assert {name: getattr(options, name) for name in expected} == expected
    options.only_execute_path_to_fetches = True
    options.logid = "this run"
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    assert options.get_run_config_entry("memory.enable_memory_arena_shrinkage") == "cpu:0"
    assert session(ort).run(None, {"X": X}, options)[0][0, 1] == 1


def test_configuration_entries(ort):
    for options, add, get, whose in (
        (ort.SessionOptions(), "add_session_config_entry", "get_session_config_entry", "Session"),
        (ort.RunOptions(), "add_run_config_entry", "get_run_config_entry", "Run"),
    ):
        getattr(options, add)("session.disable_prepacking", "0")
        getattr(options, add)("session.disable_prepacking", "1")
        assert getattr(options, get)("session.disable_prepacking") == "1"
        text = f"{whose}Options does not have configuration with key: k"
        with pytest.raises(RuntimeError, match=text):
            getattr(options, get)("k")
        for key, entry in (("", "v"), ("k" * 1025, "v"), ("k", "v" * 8193)):
            with pytest.raises(RuntimeError, match=r"(?i)longer than maximum length"):
                getattr(options, add)(key, entry)


def test_cancelled_loading(ort, native):
    options = ort.SessionOptions()
    options.set_load_cancellation_flag(True)
    with pytest.raises(native.ModelLoadCanceled):
        session(ort, sess_options=options)
    options.set_load_cancellation_flag(False)
    session(ort, sess_options=options)


# ---- values


def test_an_ort_value_of_an_array(ort):
    made = ort.OrtValue.ortvalue_from_numpy(X)
    assert made.has_value() and made.is_tensor()
    assert not made.is_sparse_tensor() and not made.is_tensor_sequence()
    assert (made.data_type(), made.element_type()) == ("tensor(float)", 1)
    assert (made.shape(), made.tensor_size_in_bytes()) == ([3, 2], 24)
    assert made.device_name() == "cpu" and made.data_ptr() == X.ctypes.data
    assert ort.OrtValue(made._get_c_value()).data_ptr() == X.ctypes.data
    with pytest.raises(ValueError):
        ort.OrtValue(3)
    with pytest.raises(RuntimeError):
        ort.OrtValue.ortvalue_from_numpy([1.0])
    with pytest.raises(RuntimeError):
        ort.OrtValue.ortvalue_from_numpy(X, "cuda", 0)
    empty = ort.OrtValue.ortvalue_from_numpy(np.zeros((0, 2), np.float32))
    assert empty.data_ptr() == 0 and empty.numpy().shape == (0, 2)


def test_an_ort_value_of_a_shape(ort):
    make = ort.OrtValue.ortvalue_from_shape_and_type
    assert make([2, 3], np.float32).shape() == [2, 3]
    assert make([2, 3], 16, "cpu", 0).data_type() == "tensor(bfloat16)"
    info = ort.OrtMemoryInfo(
        "Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT
    )
    assert make([2, 3], np.int8, memory_info=info).data_type() == "tensor(int8)"
    for text in (np.str_, 8):
        with pytest.raises(RuntimeError, match="non-string numpy arrays"):
            make([2], text)
    with pytest.raises((RuntimeError, TypeError)):
        make([2], 99)


def test_bytes_under_another_type(ort):
    raw = np.array([0x3F80, 0x4000], np.uint16)
    made = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(raw, TensorProto.BFLOAT16)
    assert made.data_type() == "tensor(bfloat16)" and made.data_ptr() == raw.ctypes.data
    with pytest.raises(RuntimeError):
        ort.OrtValue.ortvalue_from_numpy_with_onnx_type(X, TensorProto.BFLOAT16)


def test_updates_in_place(ort):
    made = ort.OrtValue.ortvalue_from_numpy(np.zeros((3, 2), np.float32))
    at = made.data_ptr()
    made.update_inplace(X)
    made.update_inplace(ort.OrtValue.ortvalue_from_numpy(X + 1))
    assert made.numpy()[0, 0] == 1 and made.data_ptr() == at
    with pytest.raises(TypeError):
        made.update_inplace([1])
    with pytest.raises(RuntimeError):
        made.update_inplace(X[:1])
    with pytest.raises(RuntimeError):
        made.update_inplace(ort.OrtValue.ortvalue_from_numpy(X.astype(np.float64)))


def test_array_protocol(ort):
    made = ort.OrtValue.ortvalue_from_numpy(X.copy())
    assert np.asarray(made).ctypes.data == made.data_ptr()
    assert np.asarray(made, dtype=np.float64).dtype == np.float64
    assert np.array(made, copy=True).ctypes.data != made.data_ptr()
    with pytest.raises(ValueError):
        np.array(made, dtype=np.float64, copy=False)


def test_dlpack_both_ways(ort, native):
    made = ort.OrtValue.ortvalue_from_numpy(X.copy())
    assert made.__dlpack_device__() == (1, 0)
    assert np.from_dlpack(made).ctypes.data == made.data_ptr()
    assert ort.OrtValue.from_dlpack(made).data_ptr() == made.data_ptr()
    assert ort.OrtValue.from_dlpack(X.__dlpack__()).shape() == [3, 2]
    assert ort.OrtValue.from_dlpack(np.array([True, False])).data_type() == "tensor(bool)"
    assert ort.OrtValue.from_dlpack(np.zeros((0, 3), np.int8)).shape() == [0, 3]
    assert type(made._ortvalue.to_dlpack()).__name__ == "PyCapsule"


def test_values_that_are_no_tensors(ort):
    sequence = model(
        [helper.make_node("SequenceConstruct", ["x", "x"], ["s"])],
        [value("x", TensorProto.FLOAT, [2])],
        [helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)],
    )
    made = session(ort, sequence)
    assert made.get_outputs()[0].type == "seq(tensor(float))"
    x = ort.OrtValue.ortvalue_from_numpy(np.ones(2, np.float32))
    result = made.run_with_ort_values(None, {"x": x})[0]
    assert result.is_tensor_sequence() and not result.is_tensor()
    assert result.data_type() == "seq(tensor(float))"
    for read in (result.shape, result.data_ptr, result.tensor_size_in_bytes):
        with pytest.raises(RuntimeError):
            read()


def test_copies_of_tensors(sy):
    """ONNX Runtime copies through a provider's library only; here the host's memory counts too."""
    source = [sy.OrtValue.ortvalue_from_numpy(X)]
    target = [sy.OrtValue.ortvalue_from_shape_and_type([3, 2], np.float32)]
    sy.copy_tensors(source, target)
    assert target[0].numpy()[2, 1] == 5
    with pytest.raises(RuntimeError):
        sy.copy_tensors(source, [])


def test_sparse_coo(ort):
    cpu = ort.OrtDevice.make("cpu", 0)
    values = np.array([1, 2, 3], np.float32)
    make = ort.SparseTensor.sparse_coo_from_numpy
    made = make([3, 3], values, np.array([0, 4, 8]), cpu)
    assert made.format() == ort.OrtSparseFormat.ORT_SPARSE_COO
    assert list(made.dense_shape()) == [3, 3] and made.data_type() == "sparse_tensor(float)"
    assert made.device_name() == "cpu"
    assert made.values().tolist() == [1, 2, 3] and not made.values().flags.writeable
    places = made.as_coo_view().indices()
    assert places.tolist() == [0, 4, 8] and not places.flags.writeable
    for wrong in (made.as_csrc_view, made.as_blocksparse_view, lambda: made.to_cuda(cpu)):
        with pytest.raises(RuntimeError):
            wrong()
    pairs = make([3, 3], values, np.array([[0, 0], [1, 1], [2, 2]]), cpu)
    assert pairs.as_coo_view().indices().shape == (3, 2)
    with pytest.raises(RuntimeError):
        make([3, 3], values, np.array([0, 4]), cpu)
    text = make([3, 3], np.array(["a", "b", "c"]), np.array([0, 4, 8]), cpu)
    assert text.data_type() == "sparse_tensor(string)" and text.values().tolist() == ["a", "b", "c"]


def test_sparse_csr(ort):
    cpu = ort.OrtDevice.make("cpu", 0)
    values = np.array([1, 2, 3], np.float32)
    make = ort.SparseTensor.sparse_csr_from_numpy
    made = make([3, 3], values, np.array([0, 1, 2]), np.array([0, 1, 2, 3]), cpu)
    assert made.format() == ort.OrtSparseFormat.ORT_SPARSE_CSRC
    assert made.as_csrc_view().inner().tolist() == [0, 1, 2]
    assert made.as_csrc_view().outer().tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError):
        made.as_coo_view()
    with pytest.raises(RuntimeError):
        make([3, 3], values, np.array([0, 1]), np.array([0, 1, 2, 3]), cpu)
    with pytest.raises(RuntimeError):
        make([3, 3], values, np.array([0, 1, 2]), np.array([0, 1, 2]), cpu)


def test_sparse_values(ort):
    cpu = ort.OrtDevice.make("cpu", 0)
    sparse = ort.SparseTensor.sparse_coo_from_numpy(
        [3, 3], np.array([1, 2], np.float32), np.array([0, 4]), cpu
    )
    made = ort.OrtValue.ort_value_from_sparse_tensor(sparse)
    assert made.is_sparse_tensor() and not made.is_tensor() and made.has_value()
    assert made.data_type() == "sparse_tensor(float)" and made.shape() == [3, 3]
    assert made.element_type() == 1 and made.device_name() == "cpu"
    assert made.as_sparse_tensor().values().tolist() == [1, 2]
    for wrong in (made.numpy, made.data_ptr, ort.OrtValue.ortvalue_from_numpy(X).as_sparse_tensor):
        with pytest.raises(RuntimeError):
            wrong()
    with pytest.raises(ValueError):
        ort.SparseTensor(3)


# ---- binding


def test_bindings_in_every_form(ort):
    made = session(ort)
    binding = made.io_binding()
    binding.bind_cpu_input("X", X)
    binding.bind_output("Y")
    made.run_with_iobinding(binding, ort.RunOptions())
    assert binding.copy_outputs_to_cpu()[0][2, 1] == 25
    assert binding.get_outputs()[0].numpy()[2, 1] == 25
    assert binding.get_outputs_as_ortvaluevector()[0].numpy()[2, 1] == 25
    binding.clear_binding_outputs()
    target = np.zeros((3, 2), np.float32)
    binding.bind_output("Y", "cpu", 0, np.float32, (3, 2), target.ctypes.data)
    made.run_with_iobinding(binding)
    assert target[2, 1] == 25
    binding.clear_binding_inputs()
    doubled = X * 2
    binding.bind_input("X", "cpu", 0, np.float32, [3, 2], doubled.ctypes.data)
    out = ort.OrtValue.ortvalue_from_shape_and_type([3, 2], np.float32)
    binding.bind_ortvalue_output("Y", out)
    binding.synchronize_inputs()
    made.run_with_iobinding(binding)
    binding.synchronize_outputs()
    assert out.numpy()[2, 1] == 100
    binding.bind_input("X", "cpu", 0, TensorProto.FLOAT, [3, 2], X.ctypes.data)
    binding.bind_ortvalue_input("X", ort.OrtValue.ortvalue_from_numpy(X))
    made.run_with_iobinding(binding)
    assert out.numpy()[2, 1] == 25


def test_an_array_as_third_argument(sy):
    """Not in ONNX Runtime."""
    made, target = session(sy), np.zeros((3, 2), np.float32)
    binding = made.io_binding()
    binding.bind_cpu_input("X", X)
    binding.bind_output("Y", "cpu", target)
    made.run_with_iobinding(binding)
    assert target[2, 1] == 25


def test_wrong_bindings(ort):
    made = session(ort)
    binding = made.io_binding()
    with pytest.raises(RuntimeError):
        binding.bind_cpu_input("Q", X)
    with pytest.raises(ValueError, match="`element_type` and `shape`"):
        binding.bind_output("Y", "cpu", 0, None, None, 5)
    with pytest.raises(RuntimeError, match="Only binding non-string Tensors"):
        binding.bind_input("X", "cpu", 0, np.str_, [3, 2], X.ctypes.data)
    with pytest.raises(Exception, match="Unsupported device type: bogus"):
        binding.bind_output("Y", "bogus")
    with pytest.raises(RuntimeError, match="Error in execution"):
        made.run_with_iobinding(binding)


BOUND = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]


@pytest.mark.parametrize("dtype", BOUND)
def test_bound_types(ort, dtype):
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    made = session(
        ort,
        model(
            [helper.make_node("Identity", ["x"], ["y"])],
            [value("x", element, [2, 2])],
            [value("y", element, [2, 2])],
        ),
    )
    source = np.array([[1, 0], [0, 1]]).astype(dtype)
    for code in (np.dtype(dtype).type, element):
        binding = made.io_binding()
        binding.bind_input("x", "cpu", 0, code, source.shape, source.ctypes.data)
        binding.bind_output("y")
        made.run_with_iobinding(binding)
        assert binding.copy_outputs_to_cpu()[0].tolist() == source.tolist()

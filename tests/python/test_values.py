"""NumPy arrays, lists, text, sequences and maps as values; OrtValue."""

from __future__ import annotations

import gc

import ml_dtypes
import numpy as np
import pytest
import switchyard as sy
from conftest import CPU, model, unary

from onnx import TensorProto, helper

BASE = np.arange(6, dtype=np.float32).reshape(2, 3)


def identity(element=TensorProto.FLOAT, shape=("a", "b")):
    return sy.InferenceSession(unary("Identity", element, shape), providers=CPU)


def layouts():
    big = np.arange(60, dtype=np.float32).reshape(6, 10)
    unaligned = np.frombuffer(b"\0" + BASE.tobytes(), np.uint8)[1:].view("f4").reshape(2, 3)
    fixed = BASE.copy()
    fixed.flags.writeable = False
    return {
        "plain": BASE,
        "transposed": BASE.T,
        "columns": BASE[:, ::2],
        "flipped": BASE[::-1, ::-1],
        "block": big[1:5:2, 2:9:3],
        "fortran": np.asfortranarray(BASE),
        "broadcast": np.broadcast_to(BASE[0], (4, 3)),
        "read only": fixed,
        "unaligned": unaligned,
        "empty": big[3:3],
        "swapped": BASE.astype(">f4"),
    }


@pytest.mark.parametrize("name", layouts())
def test_every_layout_gives_the_right_values(name):
    array = layouts()[name]
    session = identity()
    np.testing.assert_array_equal(session.run(None, {"x": array})[0], array)
    held = sy.OrtValue.ortvalue_from_numpy(array)
    np.testing.assert_array_equal(held.numpy(), array)
    np.testing.assert_array_equal(session.run_with_ort_values(None, {"x": held})[0].numpy(), array)
    binding = session.io_binding()
    binding.bind_cpu_input("x", array)
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], array)


DTYPES = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
]
CODES = dict(zip(DTYPES, [9, 3, 2, 5, 4, 6, 12, 7, 13, 10, 1, 11]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_plain_types(dtype):
    array = np.array([[0, 1], [1, 3]]).astype(dtype)
    result = identity(CODES[dtype]).run(None, {"x": array})[0]
    assert result.dtype == array.dtype
    np.testing.assert_array_equal(result, array)


NARROW = {"bfloat16": 16, "float8_e4m3fn": 17, "float8_e5m2": 19, "int4": 22, "uint4": 21}


@pytest.mark.parametrize("name", NARROW)
def test_narrow_types_of_ml_dtypes(name):
    array = np.array([[0, 1, 2], [3, 1, -1 if name != "uint4" else 7]]).astype(
        getattr(ml_dtypes, name)
    )
    held = sy.OrtValue.ortvalue_from_numpy(array)
    assert held.element_type() == NARROW[name]
    back = held.numpy()
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back.astype(np.float32), array.astype(np.float32))


def test_scalars_and_lists():
    session = identity(shape=[])
    for scalar in (np.array(3, np.float32), np.float32(3), 3.0, 3):
        result = session.run(None, {"x": scalar})[0]
        assert result.shape == ()
        assert result == 3
    session = identity()
    np.testing.assert_array_equal(session.run(None, {"x": BASE.tolist()})[0], BASE)
    np.testing.assert_array_equal(session.run(None, {"x": [[1, 2]]})[0], [[1, 2]])


def test_a_fraction_is_never_cut_to_an_integer():
    session = identity(TensorProto.INT64)
    np.testing.assert_array_equal(session.run(None, {"x": [[1, 2]]})[0], [[1, 2]])
    with pytest.raises(sy.InvalidArgument):
        session.run(None, {"x": [[1.5, 2]]})


@pytest.mark.parametrize(
    "array",
    [
        np.array([["a", "zwölf"], ["三", ""]]),
        np.array([["a", "zwölf"], ["三", ""]], object),
        [["a", "zwölf"], ["三", ""]],
        np.array([["a", "zwölf"], ["三", ""]])[:, ::-1][:, ::-1],
    ],
)
def test_text(array):
    result = identity(TensorProto.STRING).run(None, {"x": array})[0]
    assert result.dtype == object
    assert result.tolist() == [["a", "zwölf"], ["三", ""]]


def test_bytes_are_text():
    wide = np.array([[b"this", b"is"]], "S9")
    assert identity(TensorProto.STRING).run(None, {"x": wide})[0].tolist() == [["this", "is"]]
    void = np.array([[b"must", b"have"]], np.void)
    assert identity(TensorProto.STRING).run(None, {"x": void})[0].tolist() == [["must", "have"]]


def test_types_without_a_tensor_are_refused_by_name():
    with pytest.raises(RuntimeError, match=r"'x'.*datetime64"):
        identity().run(None, {"x": np.array([["2020-01-01"]], "datetime64[D]")})


def test_sequences_and_optionals():
    element = helper.make_tensor_type_proto(TensorProto.INT64, None)
    sequence = helper.make_sequence_type_proto(element)
    node = helper.make_node("Identity", ["s"], ["o"])
    for kind in (sequence, helper.make_optional_type_proto(sequence)):
        ends = [helper.make_value_info(name, kind) for name in "so"]
        session = sy.InferenceSession(model([node], ends[:1], ends[1:]), providers=CPU)
        given = [np.array([1]), np.array([2, 3])]
        result = session.run(None, {"s": given})[0]
        assert [item.tolist() for item in result] == [[1], [2, 3]]
        assert not np.shares_memory(result[1], given[1])
        assert session.run(None, {"s": []})[0] == []
    assert session.get_inputs()[0].type == "optional(seq(tensor(int64)))"
    assert session.run(None, {"s": None}) == session.run(None, {}) == [None]


def test_ort_value_shares_memory_with_its_array():
    array = BASE.copy()
    held = sy.OrtValue.ortvalue_from_numpy(array)
    assert held.data_ptr() == array.ctypes.data
    assert (held.shape(), held.data_type(), held.device_name()) == ([2, 3], "tensor(float)", "cpu")
    assert held.is_tensor() and held.has_value() and not held.is_tensor_sequence()
    assert held.tensor_size_in_bytes() == 24
    held.update_inplace(BASE * 3)
    np.testing.assert_array_equal(array, BASE * 3)
    view = held.numpy()
    del held, array
    gc.collect()
    np.testing.assert_array_equal(view, BASE * 3)


def test_ort_value_update_is_checked():
    held = sy.OrtValue.ortvalue_from_numpy(BASE.copy())
    for wrong in (BASE.astype(np.int32), BASE[:1], sy.OrtValue.ortvalue_from_numpy(BASE[:1])):
        with pytest.raises(RuntimeError, match="update_inplace"):
            held.update_inplace(wrong)
    with pytest.raises(TypeError):
        held.update_inplace("text")
    fixed = BASE.copy()
    fixed.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        sy.OrtValue.ortvalue_from_numpy(fixed).update_inplace(BASE)


def test_ort_value_of_shape_and_of_bytes():
    made = sy.OrtValue.ortvalue_from_shape_and_type([4, 0], np.int32)
    assert made.shape() == [4, 0]
    assert made.data_type() == "tensor(int32)"
    assert sy.OrtValue.ortvalue_from_shape_and_type([3], 11).numpy().dtype == np.float64
    with pytest.raises(RuntimeError, match="string"):
        sy.OrtValue.ortvalue_from_shape_and_type([3], np.str_)
    with pytest.raises(ValueError, match="negative"):
        sy.OrtValue.ortvalue_from_shape_and_type([-3], np.int32)
    stands_for = sy.OrtValue.ortvalue_from_numpy_with_onnx_type(np.array([0x3F80], np.uint16), 16)
    assert stands_for.numpy().astype(np.float32).tolist() == [1.0]
    with pytest.raises(RuntimeError, match="size"):
        sy.OrtValue.ortvalue_from_numpy_with_onnx_type(np.zeros(2, np.uint8), 16)


def test_array_protocol_and_dlpack():
    held = sy.OrtValue.ortvalue_from_numpy(BASE.copy())
    assert np.shares_memory(np.asarray(held), held.numpy())
    assert np.asarray(held, dtype=np.float64).dtype == np.float64
    assert not np.shares_memory(np.array(held, copy=True), held.numpy())
    assert held.__dlpack_device__() == (1, 0)
    shared = np.from_dlpack(held)
    assert np.shares_memory(shared, held.numpy())
    again = sy.OrtValue.from_dlpack(held)
    assert again.data_ptr() == held.data_ptr()
    flags = np.array([True, False])
    assert sy.OrtValue.from_dlpack(flags).numpy().tolist() == [True, False]
    del held
    gc.collect()
    np.testing.assert_array_equal(again.numpy(), BASE)


def test_what_is_not_supported_says_so():
    with pytest.raises(sy.NotImplemented, match="AddCustomOpDomain"):
        sy.SessionOptions().register_custom_ops_library("ops.so")

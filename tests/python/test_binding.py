"""IOBinding: fixed inputs and outputs."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import switchyard as sy
from conftest import CPU, two_outputs

A = np.arange(8, dtype=np.float32).reshape(2, 4)
B = np.full((2, 4), 2, np.float32)


@pytest.fixture
def session():
    return sy.InferenceSession(two_outputs(), providers=CPU)


def bound(session):
    binding = session.io_binding()
    binding.bind_cpu_input("A", A)
    binding.bind_cpu_input("B", B)
    return binding


def test_outputs_are_allocated(session):
    binding = bound(session)
    binding.bind_output("D")
    binding.bind_output("S", "cpu")
    binding.synchronize_inputs()
    session.run_with_iobinding(binding)
    binding.synchronize_outputs()
    difference, total = binding.copy_outputs_to_cpu()
    np.testing.assert_array_equal(difference, A - B)
    np.testing.assert_array_equal(total, A + B)
    assert binding.get_outputs()[1].shape() == [2, 4]
    assert len(binding.get_outputs_as_ortvaluevector()) == 2


def test_outputs_into_memory_of_the_caller(session):
    binding = bound(session)
    by_address = np.zeros((2, 4), np.float32)
    binding.bind_output("S", "cpu", 0, np.float32, by_address.shape, by_address.ctypes.data)
    by_array = np.zeros((2, 4), np.float32)
    binding.bind_output("D", "cpu", by_array)
    session.run_with_iobinding(binding, sy.RunOptions())
    np.testing.assert_array_equal(by_address, A + B)
    np.testing.assert_array_equal(by_array, A - B)


def test_values_on_both_sides(session):
    binding = session.io_binding()
    held = sy.OrtValue.ortvalue_from_numpy(A.copy())
    result = sy.OrtValue.ortvalue_from_shape_and_type([2, 4], np.float32)
    binding.bind_ortvalue_input("A", held)
    binding.bind_input("B", "cpu", 0, np.float32, B.shape, B.ctypes.data)
    binding.bind_ortvalue_output("S", result)
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(result.numpy(), A + B)
    held.update_inplace(A * 2)
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(result.numpy(), A * 2 + B)


def test_earlier_results_stay_when_the_shape_changes(session):
    binding = session.io_binding()
    binding.bind_output("S")
    kept = []
    for rows in (3, 1, 0, 5):
        x = np.full((rows, 4), rows, np.float32)
        binding.bind_cpu_input("A", x)
        binding.bind_cpu_input("B", x)
        session.run_with_iobinding(binding)
        kept.append((rows, binding.get_outputs()[0], binding.copy_outputs_to_cpu()[0]))
    for rows, held, array in kept:
        np.testing.assert_array_equal(held.numpy(), np.full((rows, 4), 2 * rows, np.float32))
        np.testing.assert_array_equal(array, held.numpy())


def test_clear_and_bind_again(session):
    binding = bound(session)
    binding.bind_output("S")
    session.run_with_iobinding(binding)
    binding.clear_binding_inputs()
    binding.clear_binding_outputs()
    with pytest.raises(RuntimeError, match="Error in execution"):
        session.run_with_iobinding(binding)
    binding.bind_cpu_input("A", A[:1])
    binding.bind_cpu_input("B", B[:1])
    binding.bind_output("D")
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], (A - B)[:1])


def test_a_binding_keeps_what_it_needs(session):
    binding = session.io_binding()
    binding.bind_cpu_input("A", A.copy())
    binding.bind_cpu_input("B", B.copy())
    binding.bind_output("S")
    gc.collect()
    session.run_with_iobinding(binding)
    result = binding.get_outputs()[0]
    del binding, session
    gc.collect()
    np.testing.assert_array_equal(result.numpy(), A + B)


def test_errors(session):
    binding = session.io_binding()
    with pytest.raises(RuntimeError, match="nonsense"):
        binding.bind_cpu_input("nonsense", A)
    with pytest.raises(RuntimeError, match="Only binding non-string Tensors"):
        binding.bind_input("A", "cpu", 0, np.str_, [2, 4], 0)
    with pytest.raises(ValueError, match="element_type"):
        binding.bind_output("S", "cpu", 0, buffer_ptr=A.ctypes.data)
    with pytest.raises(ValueError, match="contiguous"):
        binding.bind_output("S", "cpu", A[:, ::2])
    with pytest.raises(RuntimeError, match="toaster"):
        binding.bind_output("S", "toaster")
    with pytest.raises(RuntimeError):
        binding.bind_output("S", "cuda")


def test_a_bound_output_of_the_wrong_shape_is_left_alone(session):
    binding = bound(session)
    memory = np.full(16, -1, np.float32)
    binding.bind_output("S", "cpu", 0, np.float32, [1, 4], memory[4:].ctypes.data)
    with pytest.raises(RuntimeError, match="Error in execution"):
        session.run_with_iobinding(binding)
    assert (memory == -1).all()

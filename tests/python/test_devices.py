"""Memory of a device from Python: the vault of tests/support keeps its bytes scrambled, so that
whoever reads them without a copy reads nonsense."""

from __future__ import annotations

import numpy as np
import pytest
import switchyard as sy
from conftest import built, two_outputs

LIBRARY = built("tests", "python", "libswitchyard_provider_vault.so")
VAULT, DEVICE = "VaultExecutionProvider", "device16"
A = np.arange(8, dtype=np.float32).reshape(2, 4)


@pytest.fixture(scope="module")
def session():
    sy.register_execution_provider_library(VAULT, str(LIBRARY))
    assert VAULT in sy.get_available_providers()
    return sy.InferenceSession(two_outputs(), providers=[(VAULT, {"device_id": 0})])


def test_values_on_a_device(session):
    value = session.create_ortvalue_from_shape_and_type([2, 4], np.float32, DEVICE)
    assert value.device_name() == DEVICE and value.shape() == [2, 4]
    value.update_inplace(A)
    assert np.array_equal(value.numpy(), A)
    other = sy.OrtValue.ortvalue_from_numpy(A + 1, DEVICE, 0)
    sy.copy_tensors([other], [value])
    assert np.array_equal(value.numpy(), A + 1)
    host = sy.OrtValue.ortvalue_from_shape_and_type([2, 4], np.float32)
    host.update_inplace(value)
    assert np.array_equal(host.numpy(), A + 1)
    with pytest.raises(RuntimeError):
        value.update_inplace(A[:1])
    with pytest.raises(sy.NotImplemented):
        value.to_dlpack()


def test_a_device_that_nobody_reaches(session):
    for call in (
        lambda: sy.OrtValue.ortvalue_from_numpy(A, "device17", 0),
        lambda: sy.OrtValue.ortvalue_from_shape_and_type([2], np.float32, "npu"),
        lambda: session.create_ortvalue_from_shape_and_type([2], np.float32, "npu"),
    ):
        with pytest.raises(RuntimeError):
            call()


def test_bindings_on_a_device(session):
    binding = session.io_binding()
    binding.bind_ortvalue_input("A", sy.OrtValue.ortvalue_from_numpy(A, DEVICE, 0))
    binding.bind_cpu_input("B", A * 2)
    binding.bind_output("S", DEVICE)
    binding.bind_ortvalue_output(
        "D", sy.OrtValue.ortvalue_from_shape_and_type([2, 4], np.float32, DEVICE)
    )
    session.run_with_iobinding(binding)
    assert [value.device_name() for value in binding.get_outputs()] == [DEVICE, DEVICE]
    sums, differences = binding.copy_outputs_to_cpu()
    assert np.array_equal(sums, A * 3) and np.array_equal(differences, -A)
    assert np.array_equal(binding.get_outputs()[0].numpy(), A * 3)


def test_runs_with_values_on_a_device(session):
    feed = {name: sy.OrtValue.ortvalue_from_numpy(A, DEVICE, 0) for name in "AB"}
    assert np.array_equal(session.run(["S"], feed)[0], A * 2)
    assert np.array_equal(session.run_with_ort_values(["S"], feed)[0].numpy(), A * 2)


def test_a_value_outlives_its_session():
    made = sy.InferenceSession(two_outputs(), providers=[(VAULT, {"device_id": 1})])
    value = made.create_ortvalue_from_shape_and_type([2, 4], np.float32, DEVICE, 1)
    value.update_inplace(A)
    del made
    assert np.array_equal(value.numpy(), A)
    del value
    with pytest.raises(RuntimeError):
        sy.OrtValue.ortvalue_from_numpy(A, DEVICE, 1)

"""SessionOptions, RunOptions, devices, and functions of the module."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import switchyard as sy
from conftest import CPU, two_outputs, unary


def test_defaults():
    options = sy.SessionOptions()
    assert options.graph_optimization_level == sy.GraphOptimizationLevel.ORT_ENABLE_ALL
    assert options.execution_mode == sy.ExecutionMode.ORT_SEQUENTIAL
    assert options.intra_op_num_threads == options.inter_op_num_threads == 0
    assert options.enable_mem_pattern and options.enable_cpu_mem_arena and options.enable_mem_reuse
    assert not options.enable_profiling
    assert options.log_severity_level == -1
    assert options.optimized_model_filepath == options.logid == ""


@pytest.mark.parametrize(
    ("name", "wrong", "error"),
    [
        ("intra_op_num_threads", "2", TypeError),
        ("intra_op_num_threads", 1.5, TypeError),
        ("intra_op_num_threads", -1, ValueError),
        ("graph_optimization_level", 7, (TypeError, ValueError)),
        ("graph_optimization_level", "all", TypeError),
        ("execution_mode", "parallel", TypeError),
        ("enable_profiling", "yes", TypeError),
        ("enable_cpu_mem_arena", 3, TypeError),
        ("logid", 3, TypeError),
        ("log_severity_level", 9, ValueError),
    ],
)
def test_attributes_are_checked(name, wrong, error):
    options = sy.SessionOptions()
    before = getattr(options, name)
    with pytest.raises(error):
        setattr(options, name, wrong)
    assert getattr(options, name) == before


def test_attributes_keep_what_they_are_given():
    options = sy.SessionOptions()
    options.graph_optimization_level = sy.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.execution_mode = sy.ExecutionMode.ORT_PARALLEL
    options.execution_order = sy.ExecutionOrder.PRIORITY_BASED
    options.intra_op_num_threads = 1
    options.logid = "here"
    kept = sy.InferenceSession(two_outputs(), options, providers=CPU).get_session_options()
    assert kept.graph_optimization_level == sy.GraphOptimizationLevel.ORT_ENABLE_BASIC
    assert kept.execution_mode == sy.ExecutionMode.ORT_PARALLEL
    assert kept.execution_order == sy.ExecutionOrder.PRIORITY_BASED
    assert kept.intra_op_num_threads == 1
    assert kept.logid == "here"


def test_config_entries():
    options = sy.SessionOptions()
    options.add_session_config_entry("key", "value")
    options.add_session_config_entry("key", "other")
    assert options.get_session_config_entry("key") == "other"
    with pytest.raises(
        RuntimeError, match="SessionOptions does not have configuration with key: k"
    ):
        options.get_session_config_entry("k")
    with pytest.raises(RuntimeError, match="longer"):
        options.add_session_config_entry("key", "x" * 9000)
    with pytest.raises(TypeError):
        options.add_session_config_entry("key", 1)
    run_options = sy.RunOptions()
    run_options.add_run_config_entry("a", "b")
    assert run_options.get_run_config_entry("a") == "b"
    with pytest.raises(RuntimeError, match="RunOptions does not have configuration with key: c"):
        run_options.get_run_config_entry("c")


def test_free_dimensions():
    options = sy.SessionOptions()
    options.add_free_dimension_override_by_name("a", 4)
    session = sy.InferenceSession(unary("Relu"), options, providers=CPU)
    assert session.get_inputs()[0].shape == [4, "b"]


def test_run_options():
    options = sy.RunOptions()
    assert options.terminate is False
    options.logid = "tag"
    options.log_severity_level = 3
    assert (options.logid, options.log_severity_level) == ("tag", 3)
    with pytest.raises(TypeError):
        options.terminate = "yes"
    session = sy.InferenceSession(two_outputs(), providers=CPU)
    x = np.zeros((1, 4), np.float32)
    session.run(None, {"A": x, "B": x}, options)
    with pytest.raises(TypeError, match="RunOptions"):
        session.run(None, {"A": x, "B": x}, {"terminate": True})


def test_devices_and_memory():
    device = sy.OrtDevice.make("cuda", 1)
    assert (device.device_type(), device.device_id(), device.device_vendor_id()) == (1, 1, 0x10DE)
    with pytest.raises(ValueError, match="Unsupported"):
        sy.OrtDevice.make("toaster", 0)
    info = sy.OrtMemoryInfo(
        "Cpu", sy.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, sy.OrtMemType.DEFAULT
    )
    assert info.device_mem_type == sy.OrtDeviceMemoryType.DEFAULT
    config = sy.OrtArenaCfg({"max_mem": 16})
    assert config.max_mem == 16
    with pytest.raises(RuntimeError, match="foo"):
        sy.OrtArenaCfg({"foo": 1})


def test_module_functions():
    assert sy.get_device() in ("CPU", "GPU")
    assert sy.__version__ == sy.get_version_string()
    assert "Build Info" in sy.get_build_info()
    sy.set_default_logger_severity(2)
    with pytest.raises(RuntimeError, match="severity"):
        sy.set_default_logger_severity(7)
    with pytest.raises(sy.NoSuchFile, match="absent"):
        sy.register_provider_library("absent.so")


GLOBAL_THREADS = """
import sys
import switchyard as sy
sy.set_global_thread_pool_sizes(intra_op_num_threads=2)
model = sys.stdin.buffer.read()
options = sy.SessionOptions()
try:
    sy.InferenceSession(model, options)
except RuntimeError as error:
    assert "use_per_session_threads" in str(error)
else:
    raise SystemExit("threads of its own were given to a session")
options.use_per_session_threads = False
sy.InferenceSession(model, options)
"""


def test_global_threads():
    subprocess.run(
        [sys.executable, "-c", GLOBAL_THREADS], input=two_outputs(), check=True, timeout=60
    )

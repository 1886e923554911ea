"""The documented surface, call by call, against Switchyard and, where it is installed, against
ONNX Runtime: what is written here is what both do. Where they differ on purpose, the test says so
and runs against Switchyard only.
"""

from __future__ import annotations

import importlib
import pathlib
import threading
import types
from typing import Any

import numpy as np
import pytest
from conftest import CPU, model, two_outputs, value

from onnx import TensorProto, helper

X = np.arange(6, dtype=np.float32).reshape(3, 2)
MUL = model(
    [helper.make_node("Mul", ["X", "X"], ["Y"], "mul_1")],
    [value("X", TensorProto.FLOAT, [3, 2])],
    [value("Y", TensorProto.FLOAT, [3, 2])],
)


def session(ort: types.ModuleType, data: bytes = MUL, **words: Any) -> Any:
    return ort.InferenceSession(data, providers=CPU, **words)


# ---- module


ENUMS = {
    "ExecutionMode": {"ORT_SEQUENTIAL": 0, "ORT_PARALLEL": 1},
    "ExecutionOrder": {"DEFAULT": 0, "PRIORITY_BASED": 1, "MEMORY_EFFICIENT": 2},
    "GraphOptimizationLevel": {
        "ORT_DISABLE_ALL": 0,
        "ORT_ENABLE_BASIC": 1,
        "ORT_ENABLE_EXTENDED": 2,
        "ORT_ENABLE_LAYOUT": 3,
        "ORT_ENABLE_ALL": 99,
    },
    "OrtAllocatorType": {"INVALID": -1, "ORT_DEVICE_ALLOCATOR": 0, "ORT_ARENA_ALLOCATOR": 1},
    "OrtMemType": {"CPU_INPUT": -2, "CPU_OUTPUT": -1, "CPU": -1, "DEFAULT": 0},
    "OrtMemoryInfoDeviceType": {"CPU": 0, "GPU": 1, "FPGA": 2, "NPU": 3},
    "OrtDeviceMemoryType": {"DEFAULT": 0, "HOST_ACCESSIBLE": 5},
    "OrtSparseFormat": {
        "ORT_SPARSE_UNDEFINED": 0,
        "ORT_SPARSE_COO": 1,
        "ORT_SPARSE_CSRC": 2,
        "ORT_SPARSE_BLOCK_SPARSE": 4,
    },
    "OrtHardwareDeviceType": {"CPU": 0, "GPU": 1, "NPU": 2},
    "OrtExecutionProviderDevicePolicy": {
        "DEFAULT": 0,
        "PREFER_CPU": 1,
        "PREFER_NPU": 2,
        "PREFER_GPU": 3,
        "MAX_PERFORMANCE": 4,
        "MAX_EFFICIENCY": 5,
        "MIN_OVERALL_POWER": 6,
    },
    "OrtCompileApiFlags": {
        "NONE": 0,
        "ERROR_IF_NO_NODES_COMPILED": 1,
        "ERROR_IF_OUTPUT_FILE_EXISTS": 2,
    },
    "OrtDeviceVendorId": {
        "NONE": 0,
        "AMD": 0x1002,
        "NVIDIA": 0x10DE,
        "ARM": 0x13B5,
        "MICROSOFT": 0x1414,
        "HUAWEI": 0x19E5,
        "QUALCOMM": 0x5143,
        "INTEL": 0x8086,
    },
}


@pytest.mark.parametrize("name", sorted(ENUMS))
def test_enumerations(ort, name):
    enumeration = getattr(ort, name)
    for member, number in ENUMS[name].items():
        assert int(getattr(enumeration, member)) == number


def test_enumerations_of_the_native_module(native):
    assert int(native.kNextPowerOfTwo) == 0 and int(native.kSameAsRequested) == 1
    assert int(native.ArenaExtendStrategy.kSameAsRequested) == 1
    assert int(native.OrtCompiledModelCompatibility.EP_UNSUPPORTED) == 3
    assert int(native.OrtDeviceEpIncompatibilityReason.MISSING_DEPENDENCY) == 4


EXCEPTIONS = [
    "Fail",
    "InvalidArgument",
    "NoSuchFile",
    "NoModel",
    "EngineError",
    "RuntimeException",
    "InvalidProtobuf",
    "ModelLoaded",
    "NotImplemented",
    "InvalidGraph",
    "EPFail",
    "ModelLoadCanceled",
    "ModelRequiresCompilation",
    "NotFound",
    "DeviceReset",
]


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_exceptions_derive_directly_from_exception(ort, native, name):
    path = importlib.import_module(f"{ort.__name__}.capi.onnxruntime_pybind11_state")
    assert getattr(native, name).__bases__ == (Exception,)
    assert getattr(path, name) is getattr(native, name)


EXPORTED = [
    "InferenceSession",
    "IOBinding",
    "OrtValue",
    "OrtDevice",
    "OrtDeviceVendorId",
    "SparseTensor",
    "ModelCompiler",
    "AdapterFormat",
    "SessionOptions",
    "RunOptions",
    "NodeArg",
    "ModelMetadata",
    "OrtMemoryInfo",
    "OrtArenaCfg",
    "OrtEpDevice",
    "OrtHardwareDevice",
    "OrtExternalInitializerInfo",
    "OrtEpAssignedNode",
    "OrtEpAssignedSubgraph",
    "SessionIOBinding",
    "LoraAdapter",
    "get_all_providers",
    "get_available_providers",
    "get_device",
    "get_build_info",
    "get_version_string",
    "get_ep_devices",
    "register_execution_provider_library",
    "unregister_execution_provider_library",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_seed",
    "set_global_thread_pool_sizes",
    "enable_telemetry_events",
    "disable_telemetry_events",
    "create_and_register_allocator",
    "create_and_register_allocator_v2",
    "has_collective_ops",
    "preload_dlls",
    "print_debug_info",
    "copy_tensors",
]


@pytest.mark.parametrize("name", EXPORTED)
def test_exported_names(ort, name):
    found = getattr(ort, name)
    assert ort.__name__ != "switchyard" or found.__doc__, f"{name} has no text"


COLLECTION = [
    "InferenceSession",
    "Session",
    "IOBinding",
    "OrtValue",
    "OrtDevice",
    "SparseTensor",
    "ModelCompiler",
    "AdapterFormat",
    "OrtDeviceVendorId",
    "copy_tensors",
    "check_and_normalize_provider_args",
    "get_ort_device_type",
    "get_vendor_id_for_device_type",
    "make_get_initializer_location_func_wrapper",
    "GetInitializerLocationFunc",
    "GetInitializerLocationWrapperFunc",
]


def test_module_paths(ort):
    collection = importlib.import_module(f"{ort.__name__}.capi.onnxruntime_inference_collection")
    for name in COLLECTION:
        assert hasattr(collection, name), name
    validation = importlib.import_module(f"{ort.__name__}.capi.onnxruntime_validation")
    assert validation.check_distro_info() is None
    assert len(validation.get_package_name_and_version_info()) == 3
    info = importlib.import_module(f"{ort.__name__}.capi.build_and_package_info")
    assert info.package_name and info.__version__
    importlib.import_module(f"{ort.__name__}.capi._ld_preload")
    importlib.import_module(f"{ort.__name__}.capi.convert_npz_to_onnx_adapter")


def test_module_functions(ort):
    assert "Build Info" in ort.get_build_info()
    assert ort.get_all_providers()[-1] == "CPUExecutionProvider"
    assert ort.get_available_providers()[-1] == "CPUExecutionProvider"
    assert ort.get_device() in ("CPU", "GPU")
    assert ort.has_collective_ops() is False
    assert ort.set_seed(3) is None and ort.set_default_logger_verbosity(2) is None
    with pytest.raises(RuntimeError):
        ort.set_default_logger_severity(7)
    assert ort.preload_dlls() is None


def test_print_debug_info(ort, capsys):
    ort.print_debug_info()
    assert "python" in capsys.readouterr().out.lower()


def test_devices_of_providers(ort, native):
    cpu = [d for d in ort.get_ep_devices() if d.ep_name == "CPUExecutionProvider"]
    assert len(cpu) == 1 and cpu[0].device.type == ort.OrtHardwareDeviceType.CPU
    assert isinstance(cpu[0].ep_metadata, dict) and isinstance(cpu[0].ep_options, dict)
    with pytest.raises(RuntimeError, match="DEFAULT memory"):
        cpu[0].create_sync_stream()
    cpu[0].memory_info(ort.OrtDeviceMemoryType.DEFAULT)
    hardware = native.get_hardware_devices()
    assert any(d.type == ort.OrtHardwareDeviceType.CPU for d in hardware)
    details = native.get_hardware_device_ep_incompatibility_details(CPU[0], hardware[0])
    assert details == {"reasons_bitmask": 0, "notes": None, "error_code": 0}
    with pytest.raises(native.InvalidArgument):
        native.get_hardware_device_ep_incompatibility_details("", hardware[0])


def test_compatibility_of_compiled_models(ort, native):
    verdict = native.get_model_compatibility_for_ep_devices(ort.get_ep_devices(), "info")
    assert int(verdict) == 0
    with pytest.raises(RuntimeError):
        native.get_model_compatibility_for_ep_devices([], "info")
    with pytest.raises(TypeError):
        native.get_model_compatibility_for_ep_devices(None, "info")
    read = native.get_compatibility_info_from_model_bytes
    assert read(MUL, "Some") is None
    proto = importlib.import_module("onnx").ModelProto.FromString(MUL)
    entry = proto.metadata_props.add()
    entry.key, entry.value = "ep_compatibility_info.Some", "v1"
    assert read(proto.SerializeToString(), "Some") == "v1"
    for arguments in ((b"zz", "Some"), (b"", "Some"), (MUL, "")):
        with pytest.raises(RuntimeError):
            read(*arguments)
    with pytest.raises(RuntimeError):
        native.get_compatibility_info_from_model("absent.onnx", "Some")


def test_operators_and_kernels(native):
    schemas = native.get_all_operator_schema()
    conv = next(s for s in schemas if s.name == "Conv" and s.domain == "")
    assert [p.name for p in conv.inputs] == ["X", "W", "B"] and conv.outputs[0].typeStr == "T"
    assert "tensor(float)" in conv.inputs[0].types and conv.inputs[0].isHomogeneous
    assert (conv.min_input, conv.max_input, conv.min_output, conv.max_output) == (2, 3, 1, 1)
    assert conv.type_constraints[0].type_param_str == "T"
    assert "tensor(float)" in conv.type_constraints[0].allowed_type_strs
    assert conv.attributes["group"].name == "group" and not conv.attributes["group"].required
    kernels = native.get_registered_ep_kernel_defs("CPUExecutionProvider")
    convs = [k for k in kernels if k.op_name == "Conv" and k.domain == ""]
    assert {k.provider for k in convs} == {"CPUExecutionProvider"}
    assert min(k.version_range[0] for k in convs) == 1
    types = [types for k in convs for types in k.type_constraints.values()]
    assert any("tensor(float)" in listed for listed in types)
    assert len(native.get_all_opkernel_def()) >= len(kernels) > 100
    with pytest.raises(RuntimeError):
        native.get_registered_ep_kernel_defs("Bogus")


def test_libraries_of_providers(ort, native):
    with pytest.raises((native.Fail, native.NoSuchFile)):
        ort.register_execution_provider_library("x", "absent.so")
    with pytest.raises(native.Fail, match="not registered"):
        ort.unregister_execution_provider_library("x")


def test_allocators(ort, native):
    info = ort.OrtMemoryInfo(
        "Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT
    )
    ort.create_and_register_allocator(info, ort.OrtArenaCfg({"max_mem": 1 << 20}))
    ort.create_and_register_allocator(info, None)
    ort.create_and_register_allocator_v2("CPUExecutionProvider", info, {}, None)
    options = ort.SessionOptions()
    options.add_session_config_entry("session.use_env_allocators", "1")
    assert session(ort, sess_options=options).run(None, {"X": X})[0][2, 1] == 25


def test_arena_options(ort):
    names = [
        "max_mem",
        "arena_extend_strategy",
        "initial_chunk_size_bytes",
        "max_dead_bytes_per_chunk",
        "initial_growth_chunk_size_bytes",
        "max_power_of_two_extend_bytes",
    ]
    four = ort.OrtArenaCfg(8, 0, 1, 2)
    assert [getattr(four, name) for name in names] == [8, 0, 1, 2, -1, -1]
    whole = ort.OrtArenaCfg({name: i for i, name in enumerate(names)})
    assert [getattr(whole, name) for name in names] == [0, 1, 2, 3, 4, 5]
    whole.max_mem = 77
    assert whole.max_mem == 77
    with pytest.raises(RuntimeError, match="Invalid OrtArenaCfg option: q"):
        ort.OrtArenaCfg({"q": 1})


def test_memory_info(ort):
    kinds = ort.OrtMemoryInfoDeviceType
    plain = ort.OrtMemoryInfo(
        "Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT
    )
    assert (plain.name, plain.device_id) == ("Cpu", 0)
    assert plain.mem_type == ort.OrtMemType.DEFAULT
    assert plain.allocator_type == ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR
    full = ort.OrtMemoryInfo.create_v2(
        "Test",
        kinds.NPU,
        0x1414,
        1,
        ort.OrtDeviceMemoryType.HOST_ACCESSIBLE,
        128,
        ort.OrtAllocatorType.ORT_DEVICE_ALLOCATOR,
    )
    assert (full.name, full.device_id, full.device_vendor_id) == ("Test", 1, 0x1414)
    assert full.device_mem_type == ort.OrtDeviceMemoryType.HOST_ACCESSIBLE
    assert int(full.mem_type) == -1
    with pytest.raises(AttributeError):
        full.name = "other"
    with pytest.raises(RuntimeError, match="No shared allocator found for"):
        ort.OrtValue.ortvalue_from_shape_and_type([2], np.float32, memory_info=full)


@pytest.mark.parametrize(
    "name, kind, vendor",
    [
        ("cpu", 0, 0),
        ("cuda", 1, 0x10DE),
        ("gpu", 1, 0),
        ("npu", 3, 0),
        ("dml", 1, 0x1414),
        ("cann", 3, 0x19E5),
        ("webgpu", 1, 0),
    ],
)
def test_device_names(ort, name, kind, vendor):
    device = ort.OrtDevice.make(name, 1)
    numbers = (device.device_type(), device.device_id(), device.device_vendor_id())
    assert numbers == (kind, 1, vendor) and device.device_mem_type() == 0


def test_device_errors_and_numbers(ort, native):
    assert ort.OrtDevice.make("gpu", 0, 7).device_vendor_id() == 7
    with pytest.raises(Exception, match="Unsupported device type: bogus"):
        ort.OrtDevice.make("bogus", 0)
    names = ["cpu", "gpu", "npu", "cuda", "cann", "dml", "fpga", "webgpu", "default_memory"]
    assert [getattr(native.OrtDevice, n)() for n in names] == [0, 1, 3, 1, 3, 4, 2, 1, 0]
    assert native.OrtDevice(1, 0, 2).device_id() == 2


# ---- session


def test_sources_of_a_model(ort, native, tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(MUL)
    for source in (str(path), path, MUL):
        assert session(ort, source).run(["Y"], {"X": X})[0][0, 1] == 1
    with pytest.raises(native.NoSuchFile, match=r"3 : NO_SUCHFILE : Load model from .*absent"):
        session(ort, "absent.onnx")
    with pytest.raises(native.InvalidProtobuf, match="7 : INVALID_PROTOBUF"):
        session(ort, b"this is no model")
    with pytest.raises(native.InvalidArgument, match="No graph was found in the protobuf"):
        session(ort, b"")
    for wrong in (5, None, ["m.onnx"]):
        with pytest.raises(TypeError, match="Unable to load from type"):
            session(ort, wrong)


def test_forms_of_providers(ort):
    name = "CPUExecutionProvider"
    of = ort.InferenceSession
    assert of(MUL, providers=[name]).get_providers() == [name]
    assert of(MUL, providers=[(name, {})]).get_providers() == [name]
    assert of(MUL, providers=(name,), provider_options=[{}]).get_providers() == [name]
    assert of(MUL, None, [name], [{"use_arena": 1}]).get_providers() == [name]
    assert of(MUL).get_providers()[-1] == name
    with pytest.warns(UserWarning):
        assert of(MUL, providers=[name, name]).get_providers() == [name]
    options = ort.SessionOptions()
    options.add_provider(name, {})
    assert options.has_providers()
    with pytest.warns(UserWarning):
        of(MUL, options, providers=[name])
    assert session(ort).get_provider_options()[name] == {}


WRONG_PROVIDERS = {
    "no list": ({"CPUExecutionProvider"}, None),
    "no name": ([5], None),
    "three": ([("CPUExecutionProvider", {}, 1)], None),
    "options no dict": ([("CPUExecutionProvider", 1)], None),
    "lengths": (["CPUExecutionProvider"], [{}, {}]),
    "mixed": ([("CPUExecutionProvider", {})], [{}]),
    "options no list": (["CPUExecutionProvider"], {"a": 1}),
    "options of no dicts": (["CPUExecutionProvider"], [3]),
}


@pytest.mark.parametrize("name", sorted(WRONG_PROVIDERS))
def test_wrong_forms_of_providers(ort, name):
    collection = importlib.import_module(f"{ort.__name__}.capi.onnxruntime_inference_collection")
    with pytest.raises(ValueError):
        collection.check_and_normalize_provider_args(*WRONG_PROVIDERS[name], CPU)


def test_normalized_providers(ort):
    collection = importlib.import_module(f"{ort.__name__}.capi.onnxruntime_inference_collection")
    normalize = collection.check_and_normalize_provider_args
    assert normalize(None, None, CPU) == ([], [])
    assert normalize([(CPU[0], {1: 2})], None, CPU) == (CPU, [{"1": "2"}])
    assert normalize(CPU, [{"a": True}], CPU) == (CPU, [{"a": "True"}])
    with pytest.warns(UserWarning, match="Specified provider 'X' is not in available"):
        assert normalize(["X", CPU[0]], None, CPU) == (["X", CPU[0]], [{}, {}])


def test_set_providers(ort):
    made = session(ort)
    made.set_providers(CPU, [{}])
    assert made.get_providers() == CPU and made.run(None, {"X": X})[0][2, 1] == 25
    with pytest.raises(RuntimeError, match="Unknown Provider Type: Bogus"):
        made.set_providers(["Bogus"])


def test_added_providers(ort, native):
    with pytest.raises(native.InvalidArgument, match="Failed to add provider of type"):
        ort.SessionOptions().add_provider("TensorrtExecutionProvider", {})
    with pytest.raises(RuntimeError, match="Unknown Provider Type: Bogus"):
        ort.SessionOptions().add_provider("Bogus", {})
    options = ort.SessionOptions()
    options.add_provider_for_devices([d for d in ort.get_ep_devices() if d.ep_name == CPU[0]], {})
    assert ort.InferenceSession(MUL, options).get_providers() == CPU
    with pytest.raises((native.InvalidArgument, RuntimeError)):
        ort.SessionOptions().add_provider_for_devices([], {})


def test_selection_of_providers(ort):
    options = ort.SessionOptions()
    options.set_provider_selection_policy(ort.OrtExecutionProviderDevicePolicy.PREFER_CPU)
    assert ort.InferenceSession(MUL, options).run(None, {"X": X})[0][0, 1] == 1
    asked: list[Any] = []

    def choose(devices, model_metadata, runtime_metadata, most):
        asked.append((devices, model_metadata, runtime_metadata, most))
        return [d for d in devices if d.ep_name == CPU[0]]

    options = ort.SessionOptions()
    options.set_provider_selection_policy_delegate(choose)
    assert ort.InferenceSession(MUL, options).get_providers() == CPU
    assert asked[0][3] >= 1 and isinstance(asked[0][1], dict)


def test_a_selection_that_raises(ort, native):
    def choose(*_):
        raise ValueError("not today")

    options = ort.SessionOptions()
    options.set_provider_selection_policy_delegate(choose)
    with pytest.raises(native.Fail, match="not today"):
        ort.InferenceSession(MUL, options)


def test_keywords_of_the_constructor(ort):
    made = session(ort, disabled_optimizers=["ConstantFolding"], enable_fallback=0, unknown=3)
    made.disable_fallback()
    made.enable_fallback()
    assert made.run(None, {"X": X})[0][0, 1] == 1


def test_options_from_the_model(ort, monkeypatch):
    proto = importlib.import_module("onnx").ModelProto.FromString(MUL)
    entry = proto.metadata_props.add()
    entry.key = "ort_config"
    entry.value = '{"session_options": {"intra_op_num_threads": 3, "graph_optimization_level": 1}}'
    data = proto.SerializeToString()
    assert session(ort, data).get_session_options().intra_op_num_threads == 0
    monkeypatch.setenv("ORT_LOAD_CONFIG_FROM_MODEL", "1")
    taken = session(ort, data).get_session_options()
    assert taken.intra_op_num_threads == 3 and int(taken.graph_optimization_level) == 1


def test_results_by_name_and_all(ort):
    made = session(ort, two_outputs())
    feed = {name: np.full((2, 4), i, np.float32) for i, name in enumerate("AB")}
    for names in (None, []):
        assert [r[0, 0] for r in made.run(names, feed)] == [1, -1]
    assert [r[0, 0] for r in made.run(["D", "S", "D"], feed)] == [-1, 1, -1]
    assert isinstance(made.run(["S"], feed, ort.RunOptions()), list)


FEEDS = {
    "missing": (
        {},
        ValueError,
        r"Required inputs \(\['X'\]\) are missing from input feed \(\[\]\)",
    ),
    "unknown": ({"X": X, "Z": X}, "InvalidArgument", "Invalid input name: Z"),
    "type": (
        {"X": X.astype(np.float64)},
        "InvalidArgument",
        r"Unexpected input data type. Actual: \(tensor\(double\)\) , expected: \(tensor\(float\)\)",
    ),
    "rank": (
        {"X": X[0]},
        "InvalidArgument",
        "Invalid rank for input: X Got: 1 Expected: 2 Please fix either the inputs/outputs",
    ),
    "dim": (
        {"X": np.ones((2, 3), np.float32)},
        "InvalidArgument",
        "Got invalid dimensions for input: X for the following indices\n"
        " index: 0 Got: 2 Expected: 3\n index: 1 Got: 3 Expected: 2\n Please fix",
    ),
    "dtype": ({"X": X.astype("M8[s]")}, RuntimeError, "can't be converted to MLDataType"),
    "object": ({"X": object()}, RuntimeError, "Unable to handle object of type <class 'object'>"),
}


@pytest.mark.parametrize("name", sorted(FEEDS))
def test_wrong_feeds(ort, native, name):
    feed, kind, text = FEEDS[name]
    made = session(ort)
    with pytest.raises(getattr(native, kind) if isinstance(kind, str) else kind, match=text):
        made.run(None, feed)
    assert made.run(None, {"X": X})[0][0, 1] == 1


def test_wrong_outputs(ort, native):
    with pytest.raises(native.InvalidArgument, match="Invalid output name:Q"):
        session(ort).run(["Q"], {"X": X})
    with pytest.raises(TypeError):
        session(ort).run("Y", {"X": X})


def test_terminated_runs(ort, native):
    options = ort.RunOptions()
    options.terminate = True
    with pytest.raises(native.Fail, match="Exiting due to terminate flag"):
        session(ort).run(None, {"X": X}, options)


def test_failing_kernels_name_their_node(ort, native):
    failing = model(
        [helper.make_node("Reshape", ["X", "S"], ["Y"], "shrink")],
        [value("X", TensorProto.FLOAT, ["n"]), value("S", TensorProto.INT64, [1])],
        [value("Y", TensorProto.FLOAT, ["m"])],
    )
    feed = {"X": np.ones(3, np.float32), "S": np.array([2])}
    with pytest.raises(Exception, match=r"(?i)shrink") as caught:
        session(ort, failing).run(None, feed)
    # Here the shapes are refused before the kernel runs.
    known = ("Fail", "RuntimeException", "InvalidArgument", "InvalidGraph")
    assert type(caught.value).__name__ in known


def test_values_and_vectors(ort, native):
    made = session(ort)
    given = ort.OrtValue.ortvalue_from_numpy(X)
    results = made.run_with_ort_values(["Y"], {"X": given})
    assert isinstance(results[0], ort.OrtValue) and results[0].numpy()[2, 1] == 25
    feeds, fetches = native.OrtValueVector(), native.OrtValueVector()
    feeds.push_back(given._ortvalue)
    feeds.reserve(4)
    device = native.OrtDevice(0, 0, 0)
    made.run_with_ortvaluevector(ort.RunOptions(), ["X"], feeds, ["Y"], fetches, [device])
    assert len(fetches) == 1 and next(iter(fetches)).numpy()[2, 1] == 25
    assert fetches[0].numpy().shape == (3, 2) and fetches.element_type_at(0) == 1
    assert fetches.dlpack_at(0) is not None
    fetches.shrink_to_fit()


def test_asynchronous_runs(ort):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 2
    made = session(ort, sess_options=options)
    done, seen = threading.Event(), []

    def callback(results, user_data, error):
        seen.append((results, user_data, error))
        done.set()

    made.run_async(["Y"], {"X": X}, callback, "mine")
    assert done.wait(30)
    results, user_data, error = seen[0]
    assert (user_data, error) == ("mine", "") and results[0][2, 1] == 25


def test_descriptions(ort):
    named = model(
        [helper.make_node("Relu", ["x"], ["y"])],
        [value("x", TensorProto.FLOAT, ["N", 3, None])],
        [value("y", TensorProto.FLOAT, ["N", 3, None])],
    )
    made = session(ort, named)
    arg = made.get_inputs()[0]
    assert (arg.name, arg.type, arg.shape) == ("x", "tensor(float)", ["N", 3, None])
    assert str(arg) == "NodeArg(name='x', type='tensor(float)', shape=['N', 3, None])"
    assert made.get_overridable_initializers() == []
    meta = made.get_modelmeta()
    assert (meta.producer_name, meta.graph_name, meta.domain) == ("tests", "test", "")
    assert (meta.description, meta.graph_description) == ("", "")
    assert meta.custom_metadata_map == {} and isinstance(meta.version, int)
    assert [m.name for m in made.get_input_memory_infos()] == ["Cpu"]
    assert [m.name for m in made.get_output_memory_infos()] == ["Cpu"]
    assert [d.ep_name for d in made.get_input_epdevices()] == CPU
    assert made.get_providers() == CPU
    assert isinstance(made.get_session_options(), ort.SessionOptions)


def test_overridable_initializers(ort):
    with_default = model(
        [helper.make_node("Add", ["x", "b"], ["y"])],
        [value("x", TensorProto.FLOAT, [2]), value("b", TensorProto.FLOAT, [2])],
        [value("y", TensorProto.FLOAT, [2])],
        {"b": np.array([1, 2], np.float32)},
    )
    made = session(ort, with_default)
    assert [a.name for a in made.get_inputs()] == ["x"]
    assert [a.name for a in made.get_overridable_initializers()] == ["b"]
    x = np.zeros(2, np.float32)
    assert made.run(None, {"x": x})[0].tolist() == [1, 2]
    assert made.run(None, {"x": x, "b": x + 5})[0].tolist() == [5, 5]


def test_assignment_of_nodes(ort, native):
    with pytest.raises(native.Fail, match="record_ep_graph_assignment_info"):
        session(ort).get_provider_graph_assignment_info()
    options = ort.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    made = session(ort, sess_options=options)
    parts = made.get_provider_graph_assignment_info()
    assert [part.ep_name for part in parts] == CPU
    node = parts[0].get_nodes()[0]
    assert (node.name, node.domain, node.op_type) == ("mul_1", "", "Mul")


def test_dynamic_options_and_tuning(ort):
    made = session(ort)
    assert made.get_tuning_results() == [] and made.set_tuning_results([]) is None
    with pytest.raises(RuntimeError):
        bad = [{"ep": "X", "results": {}, "validators": {}}]
        made.set_tuning_results(bad, error_on_invalid=True)
    made.set_ep_dynamic_options({"ep.dynamic.workload_type": "Default"})
    with pytest.raises(RuntimeError):
        made.set_ep_dynamic_options({})


def test_profiling(ort, tmp_path):
    assert session(ort).end_profiling() == ""
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "trace")
    made = session(ort, sess_options=options)
    made.run(None, {"X": X})
    assert made.get_profiling_start_time_ns() > 0
    lines = pathlib.Path(made.end_profiling()).read_text().splitlines()
    assert lines[0].startswith("[") and lines[-1].endswith("]")
    for line in lines[1:-1]:
        for word in ("pid", "dur", "ts", "ph", "X", "name", "args"):
            assert word in line


def test_the_native_session(ort, native):
    made = native.InferenceSession(ort.SessionOptions(), MUL, False, False)
    made.initialize_session(CPU, [{}], set())
    assert made.run(["Y"], {"X": X}, None)[0][2, 1] == 25
    assert [a.name for a in made.inputs_meta] == ["X"]
    assert [a.name for a in made.outputs_meta] == ["Y"]
    binding = native.SessionIOBinding(made)
    binding.bind_input("X", X)
    binding.bind_output("Y", native.OrtDevice(0, 0, 0))
    made.run_with_iobinding(binding, None)
    assert binding.copy_outputs_to_cpu()[0][2, 1] == 25
    assert len(binding.get_outputs()) == 1
    binding.clear_binding_inputs()
    binding.clear_binding_outputs()

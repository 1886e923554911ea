"""The native part of the package switchyard."""

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import numpy.typing as npt

from switchyard._adapters import LoraAdapter
from switchyard._devices import OrtDevice, OrtMemoryInfo
from switchyard._enums import OrtDeviceMemoryType, OrtHardwareDeviceType
from switchyard._sparse import SparseTensor

_Array = npt.NDArray[Any]

class Fail(Exception):
    """Raised for errors with the code FAIL."""

class InvalidArgument(Exception):
    """Raised for errors with the code INVALID_ARGUMENT."""

class NoSuchFile(Exception):
    """Raised for errors with the code NO_SUCHFILE."""

class NoModel(Exception):
    """Raised for errors with the code NO_MODEL."""

class EngineError(Exception):
    """Raised for errors with the code ENGINE_ERROR."""

class RuntimeException(Exception):
    """Raised for errors with the code RUNTIME_EXCEPTION."""

class InvalidProtobuf(Exception):
    """Raised for errors with the code INVALID_PROTOBUF."""

class ModelLoaded(Exception):
    """Raised for errors with the code MODEL_LOADED."""

class NotImplemented(Exception):
    """Raised for errors with the code NOT_IMPLEMENTED."""

class InvalidGraph(Exception):
    """Raised for errors with the code INVALID_GRAPH."""

class EPFail(Exception):
    """Raised for errors with the code EP_FAIL."""

class ModelLoadCanceled(Exception):
    """Raised for errors with the code MODEL_LOAD_CANCELED."""

class ModelRequiresCompilation(Exception):
    """Raised for errors with the code MODEL_REQUIRES_COMPILATION."""

class NotFound(Exception):
    """Raised for errors with the code NOT_FOUND."""

class OrtHardwareDevice:
    """A piece of hardware as found."""

    @property
    def type(self) -> OrtHardwareDeviceType:
        """An OrtHardwareDeviceType."""

    @property
    def vendor_id(self) -> int: ...
    @property
    def vendor(self) -> str: ...
    @property
    def device_id(self) -> int: ...
    @property
    def metadata(self) -> dict[str, str]: ...

class OrtEpDevice:
    """A hardware device with the provider that can drive it."""

    @property
    def ep_name(self) -> str: ...
    @property
    def ep_vendor(self) -> str: ...
    @property
    def ep_metadata(self) -> dict[str, str]: ...
    @property
    def ep_options(self) -> dict[str, str]: ...
    @property
    def device(self) -> OrtHardwareDevice: ...
    def memory_info(self, memory_type: OrtDeviceMemoryType | int) -> OrtMemoryInfo | None:
        """The OrtMemoryInfo of an OrtDeviceMemoryType; None: the device has no such memory."""

    def create_sync_stream(self) -> None:
        """Not supported: RuntimeError for a CPU, NotImplemented for others."""

def get_all_providers() -> list[str]:
    """Names of all providers that this build knows, the CPU last."""

def get_available_providers() -> list[str]:
    """Names of the providers usable here, the CPU last."""

def get_device() -> str:
    """ "GPU" where a usable provider has found one, else "CPU"."""

def get_ep_devices() -> list[OrtEpDevice]:
    """Devices of the usable providers."""

def get_version_string() -> str:
    """Version of the library."""

def set_default_logger_severity(severity: int) -> None:
    """
    Least severity that is logged: 0 verbose, 1 info, 2 warning, 3 error, 4 fatal.
    """

def set_global_thread_pool_sizes(
    intra_op_num_threads: int = 0, inter_op_num_threads: int = 0
) -> None:
    """
    Makes one thread team for all sessions, which must set use_per_session_threads to False.
    """

def register_provider_library(path: str) -> str:
    """Loads a provider module; its name."""

class OrtValue:
    """
    A tensor, sequence, map or nothing, shared between NumPy and sessions. Threads may share one that none of them writes.
    """

    def __init__(self, ortvalue: OrtValue, numpy_obj: object | None = None) -> None:
        """A second handle of the same value; ValueError for anything else."""

    @staticmethod
    def ortvalue_from_numpy(
        numpy_obj: _Array,
        device_type: str | OrtDevice = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> OrtValue:
        """
        A value over the array's memory, which stays alive; a copy where the array is not plain (text, types below a byte, not contiguous), or on another device: RuntimeError where no live session has memory there.
        """

    @staticmethod
    def ortvalue_from_numpy_with_onnx_type(data: _Array, onnx_element_type: int) -> OrtValue:
        """The array's bytes as elements of a type of equal size."""

    @staticmethod
    def ortvalue_from_shape_and_type(
        shape: Sequence[int],
        element_type: npt.DTypeLike | int,
        device_type: str | OrtDevice = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
        memory_info: OrtMemoryInfo | None = None,
    ) -> OrtValue:
        """
        A tensor of its own, contents undefined. element_type: of NumPy, or an ONNX code, not text (RuntimeError). memory_info: an OrtMemoryInfo instead of the device; RuntimeError for memory that no live session has.
        """

    @staticmethod
    def ort_value_from_sparse_tensor(sparse_tensor: SparseTensor) -> OrtValue:
        """A value that carries a SparseTensor. Sessions take none."""

    @staticmethod
    def _window(
        owner: object,
        address: int,
        element_type: npt.DTypeLike | int,
        shape: Sequence[int],
        device: str | OrtDevice,
    ) -> OrtValue: ...
    @staticmethod
    def from_dlpack(data: object) -> OrtValue:
        """A value over the memory of a DLPack object."""

    def has_value(self) -> bool:
        """False for an optional that is empty."""

    def is_tensor(self) -> bool:
        """True for a dense tensor."""

    def is_tensor_sequence(self) -> bool:
        """True for a sequence of tensors."""

    def is_sparse_tensor(self) -> bool:
        """True for what ort_value_from_sparse_tensor made."""

    def as_sparse_tensor(self) -> SparseTensor:
        """The SparseTensor; RuntimeError: there is none."""

    def data_type(self) -> str:
        """ "tensor(float)" ..."""

    def element_type(self) -> int:
        """Code of the ONNX format. Tensors only: RuntimeError."""

    def shape(self) -> list[int]:
        """Dims. Tensors only: RuntimeError."""

    def tensor_size_in_bytes(self) -> int:
        """Bytes of the elements. Tensors only: RuntimeError."""

    def data_ptr(self) -> int:
        """
        Address of the first element, 0 when there is none. Tensors only: RuntimeError.
        """

    def device_name(self) -> str:
        """ "cpu", "gpu" ..."""

    def numpy(self) -> Any:
        """
        An array over the value's memory, a copy of it from a device; a list or dict for sequences and maps.
        """

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> _Array: ...
    def update_inplace(self, data: _Array | OrtValue) -> None:
        """Overwrites the memory with an array or OrtValue."""

    def to_dlpack(self) -> Any:
        """A DLPack capsule over the value's memory."""

    def __dlpack__(self, **kwargs: object) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def _get_c_value(self) -> OrtValue: ...
    @property
    def _ortvalue(self) -> OrtValue: ...

def is_dlpack_uint8_tensor(capsule: object) -> bool:
    """Whether a DLPack capsule holds bytes, which may stand for bools."""

class GraphOptimizationLevel(enum.IntEnum):
    ORT_DISABLE_ALL = 0

    ORT_ENABLE_BASIC = 1

    ORT_ENABLE_EXTENDED = 2

    ORT_ENABLE_LAYOUT = 3

    ORT_ENABLE_ALL = 99

class ExecutionMode(enum.IntEnum):
    ORT_SEQUENTIAL = 0

    ORT_PARALLEL = 1

class ExecutionOrder(enum.IntEnum):
    DEFAULT = 0

    PRIORITY_BASED = 1

    MEMORY_EFFICIENT = 2

class SessionOptions:
    """How a session is made; the session keeps a copy."""

    @overload
    def __init__(self) -> None: ...
    @overload
    def __init__(self, arg: SessionOptions, /) -> None: ...
    @property
    def intra_op_num_threads(self) -> int:
        """Threads of one Run; 0: one per physical core."""

    @intra_op_num_threads.setter
    def intra_op_num_threads(self, value: int) -> None: ...
    @property
    def inter_op_num_threads(self) -> int:
        """Accepted; a session runs its steps in one order."""

    @inter_op_num_threads.setter
    def inter_op_num_threads(self, value: int) -> None: ...
    @property
    def graph_optimization_level(self) -> GraphOptimizationLevel:
        """A GraphOptimizationLevel."""

    @graph_optimization_level.setter
    def graph_optimization_level(self, value: GraphOptimizationLevel) -> None: ...
    @property
    def execution_mode(self) -> ExecutionMode:
        """An ExecutionMode."""

    @execution_mode.setter
    def execution_mode(self, value: ExecutionMode) -> None: ...
    @property
    def execution_order(self) -> ExecutionOrder:
        """An ExecutionOrder."""

    @execution_order.setter
    def execution_order(self, value: ExecutionOrder) -> None: ...
    @property
    def enable_cpu_mem_arena(self) -> bool:
        """Keep memory between Runs."""

    @enable_cpu_mem_arena.setter
    def enable_cpu_mem_arena(self, value: bool) -> None: ...
    @property
    def enable_mem_pattern(self) -> bool:
        """Plan memory per shape."""

    @enable_mem_pattern.setter
    def enable_mem_pattern(self, value: bool) -> None: ...
    @property
    def enable_mem_reuse(self) -> bool:
        """Let values share memory in turn."""

    @enable_mem_reuse.setter
    def enable_mem_reuse(self, value: bool) -> None: ...
    @property
    def use_deterministic_compute(self) -> bool:
        """Results do not depend on threads in any case."""

    @use_deterministic_compute.setter
    def use_deterministic_compute(self, value: bool) -> None: ...
    @property
    def use_per_session_threads(self) -> bool:
        """False: the threads of set_global_thread_pool_sizes."""

    @use_per_session_threads.setter
    def use_per_session_threads(self, value: bool) -> None: ...
    @property
    def optimized_model_filepath(self) -> str:
        """Where the optimised model is written; empty: nowhere."""

    @optimized_model_filepath.setter
    def optimized_model_filepath(self, value: str) -> None: ...
    @property
    def enable_profiling(self) -> bool:
        """Record a trace; see end_profiling."""

    @enable_profiling.setter
    def enable_profiling(self, value: bool) -> None: ...
    @property
    def profile_file_prefix(self) -> str:
        """Start of the trace's file name."""

    @profile_file_prefix.setter
    def profile_file_prefix(self, value: str) -> None: ...
    @property
    def logid(self) -> str:
        """Stands in the session's log lines."""

    @logid.setter
    def logid(self, value: str) -> None: ...
    @property
    def log_verbosity_level(self) -> int:
        """Detail of verbose lines."""

    @log_verbosity_level.setter
    def log_verbosity_level(self, value: int) -> None: ...
    @property
    def log_severity_level(self) -> int:
        """0 verbose to 4 fatal; -1: the default logger's."""

    @log_severity_level.setter
    def log_severity_level(self, value: int) -> None: ...
    def add_session_config_entry(self, key: str, value: str) -> None:
        """Sets a configuration entry."""

    def get_session_config_entry(self, key: str) -> str:
        """A configuration entry; RuntimeError when it was not set."""

    def add_free_dimension_override_by_name(self, dim_name: str, dim_value: int) -> None:
        """Fixes a symbolic dimension of the inputs."""

    def add_free_dimension_override_by_denotation(
        self, dim_denotation: str, dim_value: int
    ) -> None:
        """Fixes the dimensions of that denotation."""

    def add_initializer(self, name: str, ortvalue: OrtValue) -> None:
        """Replaces an initializer of the model."""

    def add_external_initializers(
        self, names: Sequence[str], ortvalues: Sequence[OrtValue]
    ) -> None:
        """
        Replaces initializers whose data lies outside the model; their files are not read.
        """

    def add_external_initializers_from_files_in_memory(
        self, names: Sequence[str], buffers: Sequence[bytes], lengths: Sequence[int]
    ) -> None:
        """Contents of external data files by their location in the model."""

    def register_custom_ops_library(self, path: str) -> None:
        """Not supported: raises NotImplemented."""

    def add_provider(self, name: str, options: Mapping[str, str] = {}) -> None:
        """Appends an execution provider; earlier ones come first."""

    def has_providers(self) -> bool:
        """Whether providers were added."""

    def add_provider_for_devices(
        self, ep_devices: Sequence[OrtEpDevice], options: Mapping[str, str] = {}
    ) -> None:
        """
        Appends the provider of these devices, which must be of one: InvalidArgument.
        """

    def set_provider_selection_policy(self, policy: int) -> None:
        """
        Chooses providers by an OrtExecutionProviderDevicePolicy where none are named.
        """

    def set_provider_selection_policy_delegate(
        self,
        delegate: Callable[
            [list[OrtEpDevice], dict[str, str], dict[str, str], int], Sequence[OrtEpDevice]
        ],
    ) -> None:
        """
        Chooses providers by a function: list of OrtEpDevice, two dicts of metadata and the most that may be chosen in, a list of OrtEpDevice out. What it raises comes as Fail.
        """

    @property
    def _selection(self) -> object | None: ...
    def set_load_cancellation_flag(self, cancel: bool) -> None:
        """
        True: a session that is being made with these options, also in another thread, raises ModelLoadCanceled instead of being made.
        """
    def disable_pass(self, name: str) -> None:
        """Leaves out a graph pass (`switchyard passes` lists them)."""

class RunOptions:
    """Options of one run; terminate may be set while it goes on."""

    def __init__(self) -> None: ...
    @property
    def log_severity_level(self) -> int:
        """0 verbose to 4 fatal; -1: the session's."""

    @log_severity_level.setter
    def log_severity_level(self, value: int) -> None: ...
    @property
    def log_verbosity_level(self) -> int: ...
    @log_verbosity_level.setter
    def log_verbosity_level(self, value: int) -> None: ...
    @property
    def logid(self) -> str:
        """Stands in the run's log lines and in the profile."""

    @logid.setter
    def logid(self, value: str) -> None: ...
    @property
    def terminate(self) -> bool:
        """True ends every run with these options before its next step."""

    @terminate.setter
    def terminate(self, value: bool) -> None: ...
    @property
    def only_execute_path_to_fetches(self) -> bool:
        """Accepted; a run executes what its outputs need in any case."""

    @only_execute_path_to_fetches.setter
    def only_execute_path_to_fetches(self, arg: bool, /) -> None: ...
    def add_active_adapter(self, adapter: LoraAdapter) -> None:
        """
        The adapter's parameters are fed to inputs of their names, over what the feed has; run and run_with_ort_values only.
        """

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Sets a configuration entry."""

    def get_run_config_entry(self, key: str) -> str:
        """A configuration entry; RuntimeError when it was not set."""

class NodeArg:
    """An input or output of a model."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str:
        """ "tensor(float)", "seq(tensor(int64))" ..."""

    @property
    def shape(self) -> list[int | str | None]:
        """
        int, str for a symbolic dimension, None for an unknown one; empty when the rank is unknown.
        """

    def __str__(self) -> str: ...
    def __repr__(self) -> str: ...

class ModelMetadata:
    """What a model says about itself."""

    @property
    def producer_name(self) -> str: ...
    @property
    def graph_name(self) -> str: ...
    @property
    def domain(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def graph_description(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def custom_metadata_map(self) -> dict[str, str]: ...

class Session:
    """A loaded model; use switchyard.InferenceSession."""

    def __init__(self) -> None: ...
    def _open(
        self,
        model: str | bytes,
        is_path: bool,
        options: SessionOptions,
        providers: Sequence[tuple[str, Mapping[str, str]]],
    ) -> list[str]: ...
    def _allocate(
        self,
        shape: Sequence[int],
        element_type: npt.DTypeLike | int,
        device_type: str | OrtDevice,
        device_id: int,
    ) -> OrtValue: ...
    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: RunOptions | None = None,
    ) -> list[Any]:
        """
        Runs the model: results of the named outputs, of all where output_names is None or empty.
        """

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, Any],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        """As run, with OrtValues on both sides; results stay on their device."""

    def get_inputs(self) -> list[NodeArg]: ...
    def get_outputs(self) -> list[NodeArg]: ...
    def get_overridable_initializers(self) -> list[NodeArg]: ...
    def get_modelmeta(self) -> ModelMetadata: ...
    def get_providers(self) -> list[str]: ...
    def get_provider_options(self) -> dict[str, dict[str, str]]: ...
    def get_session_options(self) -> SessionOptions: ...
    def explain(self, json: bool = False, format: str = "text") -> str:
        """What runs where and why: 'text', 'json' with a schema_version, or 'html', a page."""

    def get_node_times(self) -> list[dict[str, object]]:
        """Time per node; empty unless switchyard.node_times is '1'."""

    def end_profiling(self) -> str:
        """Writes the trace; its path, empty when profiling was not on."""

    def get_profiling_start_time_ns(self) -> int: ...
    def get_counters(self) -> dict[str, int]:
        """Counts of runs, plannings and copies since the session was made."""

    def run_with_iobinding(
        self, iobinding: IOBinding, run_options: RunOptions | None = None
    ) -> None:
        """Runs with what is bound."""

def _operator_schemas() -> list[tuple[Any, ...]]: ...
def _kernels() -> list[tuple[Any, ...]]: ...
def _read_metadata(model: str | bytes, is_path: bool) -> ModelMetadata: ...

class IOBinding:
    """Inputs and outputs fixed to memory for repeated runs."""

    def __init__(self, session: Session) -> None: ...
    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """Reads from this array."""

    def bind_input(
        self,
        name: str,
        device_type: str | OrtDevice,
        device_id: int,
        element_type: npt.DTypeLike | int,
        shape: Sequence[int],
        buffer_ptr: int,
    ) -> None:
        """Reads from memory at an address, which the caller keeps alive."""

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Reads from this value."""

    def bind_output(
        self,
        name: str,
        device_type: str | OrtDevice = "cpu",
        device_id: int | _Array = 0,
        element_type: npt.DTypeLike | int | None = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """
        Results are allocated on a device, or written to an address, or to an array given in place of device_id.
        """

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Writes results into this value."""

    def get_outputs(self) -> list[OrtValue]:
        """Results of the last run in the order in which outputs were bound."""

    def copy_outputs_to_cpu(self) -> list[Any]:
        """The same as arrays in host memory."""

    def output_names(self) -> list[str]: ...
    def clear_binding_inputs(self) -> None: ...
    def clear_binding_outputs(self) -> None: ...
    def synchronize_inputs(self) -> None: ...
    def synchronize_outputs(self) -> None: ...

def _verify(
    plain: Session,
    path: str,
    model: bytes,
    feed: object | None,
    dims: dict[str, int],
    seed: int,
    tolerance: float,
    bisect: bool,
    names: list[tuple[str, str]],
    options: list[SessionOptions],
    providers: list[list[tuple[str, dict[str, str]]]],
) -> dict[str, object]: ...

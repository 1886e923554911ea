"""The native part of the package switchyard."""

import enum
from collections.abc import Mapping, Sequence
from typing import overload

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
    def type(self) -> int: ...
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

def get_all_providers() -> list[str]:
    """Names of all providers that this build knows, the CPU last."""

def get_available_providers() -> list[str]:
    """Names of the providers usable here, the CPU last."""

def get_device() -> str:
    """ "GPU" where a provider for one is usable, else "CPU"."""

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
    """A tensor, sequence, map or nothing, shared between NumPy and sessions."""

    @staticmethod
    def ortvalue_from_numpy(
        numpy_obj: object, device_type: str = "cpu", device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        """
        A value over the array's memory, which stays alive; a copy where the array is not plain.
        """

    @staticmethod
    def ortvalue_from_numpy_with_onnx_type(data: object, onnx_element_type: int) -> OrtValue:
        """The array's bytes as elements of a type of equal size."""

    @staticmethod
    def ortvalue_from_shape_and_type(
        shape: Sequence[int],
        element_type: object,
        device_type: str = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> OrtValue:
        """
        A tensor of its own, contents undefined. element_type: of NumPy, or an ONNX code.
        """

    @staticmethod
    def from_dlpack(data: object) -> OrtValue:
        """A value over the memory of a DLPack object."""

    def has_value(self) -> bool: ...
    def is_tensor(self) -> bool: ...
    def is_tensor_sequence(self) -> bool: ...
    def is_sparse_tensor(self) -> bool: ...
    def data_type(self) -> str:
        """ "tensor(float)" ..."""

    def element_type(self) -> int:
        """Code of the ONNX format."""

    def shape(self) -> list[int]: ...
    def tensor_size_in_bytes(self) -> int: ...
    def data_ptr(self) -> int:
        """Address of the first element."""

    def device_name(self) -> str: ...
    def numpy(self) -> object:
        """
        An array over the value's memory; a list or dict for sequences and maps.
        """

    def __array__(self, dtype: object | None = None, copy: object | None = None) -> object: ...
    def update_inplace(self, data: object) -> None:
        """Overwrites the memory with an array or OrtValue."""

    def to_dlpack(self) -> object: ...
    def __dlpack__(self, **kwargs) -> object: ...
    def __dlpack_device__(self) -> tuple: ...

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

    def add_external_initializers(self, names: Sequence[str], ortvalues: Sequence) -> None:
        """
        Replaces initializers whose data lies outside the model; their files are not read.
        """

    def add_external_initializers_from_files_in_memory(
        self, names: Sequence[str], buffers: Sequence, lengths: Sequence[int]
    ) -> None:
        """Contents of external data files by their location in the model."""

    def register_custom_ops_library(self, path: str) -> None:
        """Not supported: raises NotImplemented."""

    def add_provider(self, name: str, options: Mapping[str, str] = {}) -> None:
        """Appends an execution provider; earlier ones come first."""

    def has_providers(self) -> bool: ...
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
    def shape(self) -> list:
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
    def run(
        self, output_names: object | None, input_feed: object, run_options: object | None = None
    ) -> object:
        """
        Runs the model: results of the named outputs, of all where output_names is None or empty.
        """

    def run_with_ort_values(
        self,
        output_names: object | None,
        input_dict_ort_values: object,
        run_options: object | None = None,
    ) -> object:
        """As run, with OrtValues on both sides; results stay on their device."""

    def get_inputs(self) -> list[NodeArg]: ...
    def get_outputs(self) -> list[NodeArg]: ...
    def get_overridable_initializers(self) -> list[NodeArg]: ...
    def get_modelmeta(self) -> ModelMetadata: ...
    def get_providers(self) -> list[str]: ...
    def get_provider_options(self) -> dict[str, dict[str, str]]: ...
    def get_session_options(self) -> SessionOptions: ...
    def explain(self, json: bool = False) -> str:
        """What runs where and why; as JSON with a schema_version."""

    def end_profiling(self) -> str:
        """Writes the trace; its path, empty when profiling was not on."""

    def get_profiling_start_time_ns(self) -> int: ...
    def get_counters(self) -> dict[str, int]:
        """Counts of runs, plannings and copies since the session was made."""

    def run_with_iobinding(self, iobinding: IOBinding, run_options: object | None = None) -> None:
        """Runs with what is bound."""

class IOBinding:
    """Inputs and outputs fixed to memory for repeated runs."""

    def __init__(self, session: Session) -> None: ...
    def bind_cpu_input(self, name: str, arr_on_cpu: object) -> None:
        """Reads from this array."""

    def bind_input(
        self,
        name: str,
        device_type: str,
        device_id: int,
        element_type: object,
        shape: Sequence[int],
        buffer_ptr: int,
    ) -> None:
        """Reads from memory at an address, which the caller keeps alive."""

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Reads from this value."""

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: object = 0,
        element_type: object | None = None,
        shape: object | None = None,
        buffer_ptr: object | None = None,
    ) -> None:
        """
        Results are allocated on a device, or written to an address, or to an array given in place of device_id.
        """

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Writes results into this value."""

    def get_outputs(self) -> list[OrtValue]:
        """Results of the last run in the order in which outputs were bound."""

    def copy_outputs_to_cpu(self) -> list:
        """The same as arrays in host memory."""

    def output_names(self) -> list[str]: ...
    def clear_binding_inputs(self) -> None: ...
    def clear_binding_outputs(self) -> None: ...
    def synchronize_inputs(self) -> None: ...
    def synchronize_outputs(self) -> None: ...

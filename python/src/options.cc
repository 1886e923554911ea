#include "src/options.h"

#include <cstring>

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "src/environment.h"
#include "src/errors.h"
#include "src/values.h"

namespace switchyard::python {
namespace {

constexpr std::size_t kMaxKey = 1024, kMaxValue = 8192;

template <auto Member, typename Class>
void Property(Class& cls, const char* name, const char* doc) {
  using Value = std::remove_reference_t<decltype(std::declval<SessionOptions&>().*Member)>;
  cls.def_prop_rw(
      name, [](const PySessionOptions& self) { return self.core.*Member; },
      [](PySessionOptions& self, Value value) { self.core.*Member = std::move(value); },
      nb::arg("value"), doc);
}

template <auto Member, typename Class>
void CountProperty(Class& cls, const char* name, const char* doc) {
  cls.def_prop_rw(
      name, [](const PySessionOptions& self) { return self.core.*Member; },
      [](PySessionOptions& self, int value) {
        if (value < 0)
          RaiseValueError("a number of threads must not be negative, got " + std::to_string(value));
        self.core.*Member = value;
      },
      nb::arg("value"), doc);
}

void CheckSeverity(int value) {
  if (value < -1 || value > 4) {
    RaiseValueError("log_severity_level is -1 (default) or 0 (verbose) to 4 (fatal), got " +
                    std::to_string(value));
  }
}

void CheckEntry(const std::string& key, const std::string& value) {
  if (key.empty() || key.size() > kMaxKey) {
    RaiseRuntimeError("Config key is empty or longer than maximum length 1024");
  }
  if (value.size() > kMaxValue) {
    RaiseRuntimeError("Config value of '" + key + "' is longer than maximum length 8192");
  }
}

std::string Entry(const std::map<std::string, std::string>& config, const std::string& key,
                  const char* whose) {
  const auto found = config.find(key);
  if (found == config.end()) {
    RaiseRuntimeError(std::string(whose) + " does not have configuration with key: " + key);
  }
  return found->second;
}

void AddProvider(PySessionOptions& self, const std::string& name, const ProviderOptions& options) {
  const std::optional<ProviderFactory> factory = ProcessEnvironment()->providers().Find(name);
  if (!factory) RaiseRuntimeError("Unknown Provider Type: " + name);
  if (factory->unavailable) {
    if (const std::optional<std::string> reason = factory->unavailable()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "Failed to add provider of type '" + name + "' to SessionOptions: " + *reason);
    }
  }
  self.core.AppendExecutionProvider(factory->name, options);
}

// One provider on one or more of its devices.
void AddProviderForDevices(PySessionOptions& self, const std::vector<OrtEpDevice>& devices,
                           const ProviderOptions& options) {
  if (devices.empty())
    throw Error(ErrorCode::kInvalidArgument, "add_provider_for_devices: there are no devices");
  ProviderOptions merged = devices.front().ep_options;
  for (const OrtEpDevice& device : devices) {
    if (device.ep_name != devices.front().ep_name) {
      throw Error(ErrorCode::kInvalidArgument,
                  "add_provider_for_devices: devices of one provider are expected, got " +
                      devices.front().ep_name + " and " + device.ep_name);
    }
  }
  for (const auto& [key, value] : options) merged[key] = value;
  AddProvider(self, devices.front().ep_name, merged);
}

void BindSelection(nb::class_<PySessionOptions>& cls) {
  cls.def("add_provider_for_devices", &AddProviderForDevices, nb::arg("ep_devices"),
          nb::arg("options") = ProviderOptions(),
          "Appends the provider of these devices, which must be of one: InvalidArgument.")
      .def(
          "set_provider_selection_policy",
          [](PySessionOptions& self, nb::handle policy) {
            self.selection = nb::int_(nb::cast<int>(policy));
          },
          nb::arg("policy"),
          "Chooses providers by an OrtExecutionProviderDevicePolicy where none are named.")
      .def(
          "set_provider_selection_policy_delegate",
          [](PySessionOptions& self, nb::object delegate) {
            if (PyCallable_Check(delegate.ptr()) == 0)
              RaiseTypeError(
                  "a delegate is a function of (devices, model metadata, runtime "
                  "metadata, most selections)");
            self.selection = std::move(delegate);
          },
          nb::arg("delegate"),
          "Chooses providers by a function: list of OrtEpDevice, two dicts of metadata and the "
          "most that may be chosen in, a list of OrtEpDevice out. What it raises comes as Fail.")
      .def_prop_ro("_selection", [](const PySessionOptions& self) { return self.selection; })
      .def(
          "set_load_cancellation_flag",
          [](PySessionOptions& self, bool cancel) { self.cancelled->store(cancel); },
          nb::arg("cancel"),
          "True: a session that is being made with these options, also in another thread, raises "
          "ModelLoadCanceled instead of being made.");
}

void AddExternalInitializers(PySessionOptions& self, const std::vector<std::string>& names,
                             nb::sequence values) {
  if (names.size() != nb::len(values)) {
    RaiseRuntimeError("add_external_initializers: " + std::to_string(names.size()) + " names for " +
                      std::to_string(nb::len(values)) + " values");
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    self.core.initializers[names[i]] = nb::cast<const PyOrtValue&>(values[i]).value;
  }
}

// The bytes of a Python object, which stays alive.
class ObjectBytes final : public ByteSource {
 public:
  explicit ObjectBytes(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~ObjectBytes() override {
    if (Py_IsInitialized() == 0) return;
    const nb::gil_scoped_acquire acquire;
    PyBuffer_Release(&buffer_);
  }
  ObjectBytes(const ObjectBytes&) = delete;
  ObjectBytes& operator=(const ObjectBytes&) = delete;
  std::uint64_t size() const override { return static_cast<std::uint64_t>(buffer_.len); }
  void Read(std::uint64_t offset, std::span<std::byte> destination) const override {
    if (offset > size() || destination.size() > size() - offset) {
      throw Error(ErrorCode::kFail, "external data in memory ends too early");
    }
    std::memcpy(destination.data(), memory() + offset, destination.size());
  }
  const std::byte* memory() const override { return static_cast<const std::byte*>(buffer_.buf); }

 private:
  Py_buffer buffer_{};
};

void AddExternalFiles(PySessionOptions& self, const std::vector<std::string>& names,
                      nb::sequence buffers, const std::vector<std::uint64_t>& lengths) {
  if (names.size() != nb::len(buffers) || names.size() != lengths.size()) {
    RaiseRuntimeError("add_external_initializers_from_files_in_memory: " +
                      std::to_string(names.size()) + " names, " + std::to_string(nb::len(buffers)) +
                      " buffers, " + std::to_string(lengths.size()) + " lengths");
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const nb::object buffer = buffers[i];
    auto bytes = std::make_shared<ObjectBytes>(buffer);
    if (bytes->size() != lengths[i]) {
      RaiseRuntimeError("external file '" + names[i] + "' has " + std::to_string(bytes->size()) +
                        " bytes, its length is given as " + std::to_string(lengths[i]));
    }
    self.core.external_files[names[i]] = std::move(bytes);
  }
}

using SessionOptionsClass = nb::class_<PySessionOptions>;

void BindSessionProperties(SessionOptionsClass& cls) {
  CountProperty<&SessionOptions::intra_op_num_threads>(
      cls, "intra_op_num_threads", "Threads of one Run; 0: one per physical core.");
  CountProperty<&SessionOptions::inter_op_num_threads>(
      cls, "inter_op_num_threads", "Accepted; a session runs its steps in one order.");
  Property<&SessionOptions::optimization_level>(cls, "graph_optimization_level",
                                                "A GraphOptimizationLevel.");
  Property<&SessionOptions::execution_mode>(cls, "execution_mode", "An ExecutionMode.");
  Property<&SessionOptions::execution_order>(cls, "execution_order", "An ExecutionOrder.");
  Property<&SessionOptions::enable_cpu_mem_arena>(cls, "enable_cpu_mem_arena",
                                                  "Keep memory between Runs.");
  Property<&SessionOptions::enable_mem_pattern>(cls, "enable_mem_pattern",
                                                "Plan memory per shape.");
  Property<&SessionOptions::enable_mem_reuse>(cls, "enable_mem_reuse",
                                              "Let values share memory in turn.");
  Property<&SessionOptions::use_deterministic_compute>(
      cls, "use_deterministic_compute", "Results do not depend on threads in any case.");
  Property<&SessionOptions::use_per_session_threads>(
      cls, "use_per_session_threads", "False: the threads of set_global_thread_pool_sizes.");
  Property<&SessionOptions::optimized_model_filepath>(
      cls, "optimized_model_filepath", "Where the optimised model is written; empty: nowhere.");
  Property<&SessionOptions::enable_profiling>(cls, "enable_profiling",
                                              "Record a trace; see end_profiling.");
  Property<&SessionOptions::profile_file_prefix>(cls, "profile_file_prefix",
                                                 "Start of the trace's file name.");
  Property<&SessionOptions::log_id>(cls, "logid", "Stands in the session's log lines.");
  Property<&SessionOptions::log_verbosity>(cls, "log_verbosity_level", "Detail of verbose lines.");
  cls.def_prop_rw(
      "log_severity_level", [](const PySessionOptions& self) { return self.core.log_severity; },
      [](PySessionOptions& self, int value) {
        CheckSeverity(value);
        self.core.log_severity = value;
      },
      nb::arg("value"), "0 verbose to 4 fatal; -1: the default logger's.");
}

void BindSessionMethods(SessionOptionsClass& cls) {
  cls.def(
         "add_session_config_entry",
         [](PySessionOptions& self, const std::string& key, const std::string& value) {
           CheckEntry(key, value);
           self.core.AddConfigEntry(key, value);
         },
         nb::arg("key"), nb::arg("value"), "Sets a configuration entry.")
      .def(
          "get_session_config_entry",
          [](const PySessionOptions& self, const std::string& key) {
            return Entry(self.core.config, key, "SessionOptions");
          },
          nb::arg("key"), "A configuration entry; RuntimeError when it was not set.")
      .def(
          "add_free_dimension_override_by_name",
          [](PySessionOptions& self, const std::string& name, std::int64_t value) {
            self.core.free_dimension_overrides.emplace_back(name, value);
          },
          nb::arg("dim_name"), nb::arg("dim_value"), "Fixes a symbolic dimension of the inputs.")
      .def(
          "add_free_dimension_override_by_denotation",
          [](PySessionOptions& self, const std::string& denotation, std::int64_t value) {
            self.core.free_dimension_overrides_by_denotation.emplace_back(denotation, value);
          },
          nb::arg("dim_denotation"), nb::arg("dim_value"),
          "Fixes the dimensions of that denotation.")
      .def(
          "add_initializer",
          [](PySessionOptions& self, const std::string& name, const PyOrtValue& value) {
            self.core.initializers[name] = value.value;
          },
          nb::arg("name"), nb::arg("ortvalue"), "Replaces an initializer of the model.")
      .def("add_external_initializers", &AddExternalInitializers, nb::arg("names"),
           nb::arg("ortvalues"),
           "Replaces initializers whose data lies outside the model; their files are not read.")
      .def("add_external_initializers_from_files_in_memory", &AddExternalFiles, nb::arg("names"),
           nb::arg("buffers"), nb::arg("lengths"),
           "Contents of external data files by their location in the model.")
      .def(
          "register_custom_ops_library",
          [](PySessionOptions&, const std::string& path) {
            throw Error(ErrorCode::kNotImplemented,
                        "custom operator library '" + path +
                            "': libraries of the C interface can't be loaded by this version; "
                            "register operators "
                            "from C++ with SessionOptions::AddCustomOpDomain");
          },
          nb::arg("path"), "Not supported: raises NotImplemented.")
      .def("add_provider", &AddProvider, nb::arg("name"), nb::arg("options") = ProviderOptions(),
           "Appends an execution provider; earlier ones come first.")
      .def(
          "has_providers",
          [](const PySessionOptions& self) { return !self.core.providers().empty(); },
          "Whether providers were added.")
      .def(
          "disable_pass",
          [](PySessionOptions& self, const std::string& name) {
            self.core.disabled_passes.push_back(name);
          },
          nb::arg("name"), "Leaves out a graph pass (`switchyard passes` lists them).");
}

void BindRunOptions(nb::module_& module) {
  nb::class_<PyRunOptions>(module, "RunOptions",
                           "Options of one run; terminate may be set while it goes on.")
      .def(nb::init<>())
      .def_prop_rw(
          "log_severity_level", [](const PyRunOptions& self) { return self.core.log_severity; },
          [](PyRunOptions& self, int value) {
            CheckSeverity(value);
            self.core.log_severity = value;
          },
          nb::arg("value"), "0 verbose to 4 fatal; -1: the session's.")
      .def_prop_rw(
          "log_verbosity_level", [](const PyRunOptions& self) { return self.core.log_verbosity; },
          [](PyRunOptions& self, int value) { self.core.log_verbosity = value; }, nb::arg("value"),
          "Detail of verbose lines.")
      .def_prop_rw(
          "logid", [](const PyRunOptions& self) { return self.core.tag; },
          [](PyRunOptions& self, std::string value) { self.core.tag = std::move(value); },
          nb::arg("value"), "Stands in the run's log lines and in the profile.")
      .def_prop_rw(
          "terminate", [](const PyRunOptions& self) { return self.core.terminated(); },
          [](PyRunOptions& self, bool value) {
            if (value) {
              self.core.SetTerminate();
            } else {
              self.core.UnsetTerminate();
            }
          },
          nb::arg("value"), "True ends every run with these options before its next step.")
      .def_rw("only_execute_path_to_fetches", &PyRunOptions::only_execute_path_to_fetches,
              "Accepted; a run executes what its outputs need in any case.")
      .def(
          "add_active_adapter",
          [](PyRunOptions& self, nb::object adapter) {
            if (!nb::hasattr(adapter, "_parameters"))
              RaiseTypeError("add_active_adapter: expected a LoraAdapter");
            self.adapters.push_back(std::move(adapter));
          },
          nb::arg("adapter"),
          "The adapter's parameters are fed to inputs of their names, over what the feed has; "
          "run and run_with_ort_values only.")
      .def(
          "add_run_config_entry",
          [](PyRunOptions& self, const std::string& key, const std::string& value) {
            CheckEntry(key, value);
            self.core.config[key] = value;
          },
          nb::arg("key"), nb::arg("value"), "Sets a configuration entry.")
      .def(
          "get_run_config_entry",
          [](const PyRunOptions& self, const std::string& key) {
            return Entry(self.core.config, key, "RunOptions");
          },
          nb::arg("key"), "A configuration entry; RuntimeError when it was not set.");
}

}  // namespace

void BindOptions(nb::module_& module) {
  nb::enum_<GraphOptimizationLevel>(module, "GraphOptimizationLevel", nb::is_arithmetic(),
                                    "How far a graph is rewritten before it runs.")
      .value("ORT_DISABLE_ALL", GraphOptimizationLevel::kDisableAll)
      .value("ORT_ENABLE_BASIC", GraphOptimizationLevel::kBasic)
      .value("ORT_ENABLE_EXTENDED", GraphOptimizationLevel::kExtended)
      .value("ORT_ENABLE_LAYOUT", GraphOptimizationLevel::kLayout)
      .value("ORT_ENABLE_ALL", GraphOptimizationLevel::kAll);
  nb::enum_<ExecutionMode>(module, "ExecutionMode", nb::is_arithmetic(),
                           "Accepted; the steps of a session run in one order.")
      .value("ORT_SEQUENTIAL", ExecutionMode::kSequential)
      .value("ORT_PARALLEL", ExecutionMode::kParallel);
  nb::enum_<ExecutionOrder>(module, "ExecutionOrder", nb::is_arithmetic(),
                            "Accepted; the planner chooses the order.")
      .value("DEFAULT", ExecutionOrder::kDefault)
      .value("PRIORITY_BASED", ExecutionOrder::kPriorityBased)
      .value("MEMORY_EFFICIENT", ExecutionOrder::kMemoryEfficient);
  SessionOptionsClass options(module, "SessionOptions",
                              "How a session is made; the session keeps a copy.");
  options.def(nb::init<>()).def(nb::init<const PySessionOptions&>());
  BindSessionProperties(options);
  BindSessionMethods(options);
  BindSelection(options);
  BindRunOptions(module);
}

}  // namespace switchyard::python

#include "src/session.h"

#include <algorithm>
#include <cstddef>

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "src/environment.h"
#include "src/errors.h"
#include "src/numpy_array.h"
#include "switchyard/session/inspect.h"
#include "switchyard/session/provider_names.h"

namespace switchyard::python {
namespace {

struct NodeArg {
  std::string name, type;
  Shape shape;
};

nb::list ShapeToPython(const Shape& shape) {
  nb::list dims;
  if (!shape.ranked()) return dims;
  for (const Dim& dim : shape) {
    if (dim.is_value()) {
      dims.append(dim.value());
    } else if (dim.is_unknown()) {
      dims.append(nb::none());
    } else {
      dims.append(dim.ToString());
    }
  }
  return dims;
}

std::string Describe(const NodeArg& arg) {
  const std::string shape = nb::cast<std::string>(nb::repr(ShapeToPython(arg.shape)));
  return "NodeArg(name='" + arg.name + "', type='" + arg.type + "', shape=" + shape + ")";
}

std::vector<NodeArg> ArgsOf(std::span<const SessionArg> args) {
  std::vector<NodeArg> result;
  for (const SessionArg& arg : args) {
    const ValueType* tensor = &arg.type;
    while (tensor->kind == ValueType::Kind::kOptional && tensor->element)
      tensor = tensor->element.get();
    result.push_back(
        {arg.name, arg.type.ToString(), tensor->is_tensor() ? tensor->shape : Shape()});
  }
  return result;
}

using ProviderList = std::vector<std::pair<std::string, ProviderOptions>>;

// The providers of the argument win over those of the options.
std::vector<std::string> ApplyProviders(const Environment& environment,
                                        const ProviderList& providers, SessionOptions& options) {
  if (providers.empty()) return {};
  options.ClearProviders();
  try {
    return AppendProvidersByName(environment.providers(), providers, options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    RaiseRuntimeError(error.message());
  }
}

// Guarded by the GIL.
std::vector<std::weak_ptr<LoadedSession>>& LiveSessions() {
  static auto* sessions = new std::vector<std::weak_ptr<LoadedSession>>;
  return *sessions;
}

std::shared_ptr<LoadedSession> Load(nb::handle model, bool is_path, const SessionOptions& options,
                                    const std::shared_ptr<Environment>& environment) {
  std::unique_ptr<InferenceSession> session;
  if (is_path) {
    const nb::object encoded = nb::steal(PyUnicode_EncodeFSDefault(model.ptr()));
    if (!encoded.is_valid()) throw nb::python_error();
    const std::string path(PyBytes_AS_STRING(encoded.ptr()),
                           static_cast<std::size_t>(PyBytes_GET_SIZE(encoded.ptr())));
    const nb::gil_scoped_release release;
    session = std::make_unique<InferenceSession>(environment, path, options);
  } else {
    Py_buffer buffer;
    if (PyObject_GetBuffer(model.ptr(), &buffer, PyBUF_SIMPLE) != 0) throw nb::python_error();
    const std::unique_ptr<Py_buffer, decltype(&PyBuffer_Release)> hold(&buffer, &PyBuffer_Release);
    const std::span bytes(static_cast<const std::byte*>(buffer.buf),
                          static_cast<std::size_t>(buffer.len));
    if (bytes.empty())
      throw Error(ErrorCode::kInvalidArgument, "No graph was found in the protobuf: it is empty");
    const nb::gil_scoped_release release;
    session = std::make_unique<InferenceSession>(environment, bytes, options);
  }
  auto loaded = std::make_shared<LoadedSession>(environment, std::move(session));
  std::erase_if(LiveSessions(), [](const auto& known) { return known.expired(); });
  LiveSessions().push_back(loaded);
  return loaded;
}

void CheckCancelled(const PySessionOptions& options) {
  if (!options.cancelled->load()) return;
  throw Error(ErrorCode::kModelLoadCanceled, "loading was cancelled: the options' flag is set");
}

// Loads or replaces; the answer is what to warn of.
std::vector<std::string> Open(PySession& self, nb::handle model, bool is_path,
                              const PySessionOptions& options, const ProviderList& providers) {
  if (HasGlobalThreads() && options.core.use_per_session_threads) {
    RaiseRuntimeError("use_per_session_threads must be false when using a global thread pool");
  }
  const std::shared_ptr<Environment> environment = ProcessEnvironment();
  PySessionOptions wanted = options;
  std::vector<std::string> warnings = ApplyProviders(*environment, providers, wanted.core);
  CheckCancelled(options);
  std::shared_ptr<LoadedSession> loaded = Load(model, is_path, wanted.core, environment);
  CheckCancelled(options);
  self.loaded = std::move(loaded);
  self.options = std::move(wanted);
  return warnings;
}

const std::shared_ptr<LoadedSession>& Loaded(const PySession& self) {
  if (!self.loaded) RaiseRuntimeError("the session has no model: its constructor failed");
  return self.loaded;
}

std::vector<OrtValue> RunCore(const LoadedSession& loaded, nb::handle output_names,
                              const Feeds& feeds, nb::handle run_options) {
  const std::vector<std::string> outputs = OutputNames(output_names);
  const RunOptions& options = RunOptionsOf(run_options);
  const nb::gil_scoped_release release;
  return loaded.session->Run(options, *feeds.names, feeds.values, outputs);
}

// The feed with the parameters of the run's adapters in it, which win.
nb::object WithAdapters(nb::handle feed, nb::handle run_options) {
  if (run_options.is_none()) return nb::borrow(feed);
  RunOptionsOf(run_options);
  const PyRunOptions& options = *nb::inst_ptr<PyRunOptions>(run_options);
  if (options.adapters.empty()) return nb::borrow(feed);
  nb::dict merged;
  if (PyDict_Update(merged.ptr(), feed.ptr()) != 0) throw nb::python_error();
  for (const nb::object& adapter : options.adapters)
    merged.update(nb::cast<nb::dict>(adapter.attr("_parameters")));
  return merged;
}

void MoveToHost(const LoadedSession& loaded, std::vector<OrtValue>& values) {
  for (OrtValue& value : values) {
    if (!value.is_tensor() || value.tensor().device().is_host()) continue;
    const nb::gil_scoped_release release;
    value = loaded.session->CopyTo(value, OrtDevice());
  }
}

nb::object Run(const PySession& self, nb::handle output_names, nb::handle input_feed,
               nb::handle run_options) {
  const std::shared_ptr<LoadedSession> loaded = Loaded(self);
  Feeds feeds;
  const nb::object feed = WithAdapters(input_feed, run_options);
  CollectFeeds(*loaded, feed, feeds);
  std::vector<OrtValue> results = RunCore(*loaded, output_names, feeds, run_options);
  MoveToHost(*loaded, results);
  nb::list list;
  for (OrtValue& result : results) list.append(ResultToPython(result, feeds.values));
  return list;
}

nb::object RunWithOrtValues(const PySession& self, nb::handle output_names, nb::handle input_feed,
                            nb::handle run_options) {
  const std::shared_ptr<LoadedSession> loaded = Loaded(self);
  Feeds feeds;
  const nb::object feed = WithAdapters(input_feed, run_options);
  CollectFeeds(*loaded, feed, feeds);
  std::vector<OrtValue> results = RunCore(*loaded, output_names, feeds, run_options);
  nb::list list;
  for (OrtValue& result : results)
    list.append(PyOrtValue(Unaliased(std::move(result), feeds.values), false, loaded));
  return list;
}

PyOrtValue Allocate(const PySession& self, const std::vector<std::int64_t>& shape,
                    nb::handle element_type, nb::handle device_type, int device_id) {
  const std::shared_ptr<LoadedSession>& loaded = Loaded(self);
  const OrtDevice device = ToDevice(device_type, device_id);
  try {
    return NewTensor(ToDataType(element_type), shape, loaded->session->allocator(device), loaded);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidArgument) throw;
    RaiseRuntimeError(error.message());
  }
}

ModelMetadata ReadMetadata(nb::handle model, bool is_path) {
  SessionOptions options;
  options.optimization_level = GraphOptimizationLevel::kDisableAll;
  options.log_severity = 4;
  if (is_path) return SummarizeModel(nb::cast<std::string>(model)).metadata;
  return Load(model, false, options, ProcessEnvironment())->session->metadata();
}

void BindDescriptions(nb::module_& module) {
  nb::class_<NodeArg>(module, "NodeArg", "An input or output of a model.")
      .def_ro("name", &NodeArg::name, "The name to feed or fetch it by.")
      .def_ro("type", &NodeArg::type, "\"tensor(float)\", \"seq(tensor(int64))\" ...")
      .def_prop_ro(
          "shape", [](const NodeArg& self) { return ShapeToPython(self.shape); },
          "int, str for a symbolic dimension, None for an unknown one; empty when the rank is "
          "unknown.")
      .def("__str__", &Describe)
      .def("__repr__", &Describe);
  nb::class_<ModelMetadata>(module, "ModelMetadata", "What a model says about itself.")
      .def_ro("producer_name", &ModelMetadata::producer_name, "The tool that wrote the model.")
      .def_ro("graph_name", &ModelMetadata::graph_name, "Name of the main graph.")
      .def_ro("domain", &ModelMetadata::domain, "Whose model it is, as a reversed domain name.")
      .def_ro("description", &ModelMetadata::description, "Text about the model.")
      .def_ro("graph_description", &ModelMetadata::graph_description, "Text about its main graph.")
      .def_ro("version", &ModelMetadata::version, "The model's own version; 0: none is given.")
      .def_ro("custom_metadata_map", &ModelMetadata::custom_metadata_map, "What else it says.");
}

ReportFormat FormatNamed(const std::string& name) {
  if (name == "text") return ReportFormat::kText;
  if (name == "json") return ReportFormat::kJson;
  if (name == "html") return ReportFormat::kHtml;
  throw Error(ErrorCode::kInvalidArgument,
              "explain: format '" + name + "': expected 'text', 'json' or 'html'");
}

using SessionClass = nb::class_<PySession>;

void BindQueries(SessionClass& cls) {
  cls.def(
         "get_inputs",
         [](const PySession& self) { return ArgsOf(Loaded(self)->session->inputs()); },
         "Inputs that have no initializer, in order.")
      .def(
          "get_outputs",
          [](const PySession& self) { return ArgsOf(Loaded(self)->session->outputs()); },
          "Outputs in order.")
      .def(
          "get_overridable_initializers",
          [](const PySession& self) {
            return ArgsOf(Loaded(self)->session->overridable_initializers());
          },
          "Inputs that have an initializer, which a feed may replace.")
      .def(
          "get_modelmeta", [](const PySession& self) { return Loaded(self)->session->metadata(); },
          "What the model says about itself.")
      .def(
          "get_providers", [](const PySession& self) { return Loaded(self)->session->providers(); },
          "Names of the session's providers in order of priority, the CPU last.")
      .def(
          "get_provider_options",
          [](const PySession& self) {
            const InferenceSession& session = *Loaded(self)->session;
            const std::vector<std::string> names = session.providers();
            const std::vector<ProviderOptions> options = session.provider_options();
            std::map<std::string, ProviderOptions> result;
            for (std::size_t i = 0; i < names.size(); ++i) result[names[i]] = options[i];
            return result;
          },
          "The options that each provider runs with, by its name.")
      .def(
          "get_session_options", [](const PySession& self) { return self.options; },
          "A copy of the options that the session was made with.")
      .def(
          "explain",
          [](const PySession& self, bool json, const std::string& format) {
            return Loaded(self)->session->Explain(json ? ReportFormat::kJson : FormatNamed(format));
          },
          nb::arg("json") = false, nb::arg("format") = "text",
          "What runs where and why: 'text', 'json' with a schema_version, or 'html', a page for a\n"
          "browser. json=True is short for format='json'. Memory is in it after a run.")
      .def(
          "get_node_times",
          [](const PySession& self) {
            nb::list rows;
            for (const NodeTime& time : Loaded(self)->session->node_times()) {
              nb::dict row;
              row["name"] = time.name;
              row["op"] = time.op;
              row["graph"] = time.graph;
              row["provider"] = time.provider;
              row["runs"] = time.runs;
              row["milliseconds"] = time.milliseconds;
              rows.append(row);
            }
            return rows;
          },
          "Time spent per node since the session was made; empty unless the configuration entry\n"
          "switchyard.node_times is '1'.")
      .def(
          "end_profiling",
          [](const PySession& self) {
            const std::shared_ptr<LoadedSession> loaded = Loaded(self);
            const nb::gil_scoped_release release;
            return loaded->session->EndProfiling();
          },
          "Writes the trace; its path, empty when profiling was not on.")
      .def(
          "get_profiling_start_time_ns",
          [](const PySession& self) { return Loaded(self)->session->profiling_start_time_ns(); },
          "When the trace began, on a clock that only rises; 0 when profiling is off.")
      .def(
          "get_counters",
          [](const PySession& self) {
            const SessionCounters counters = Loaded(self)->session->counters();
            return std::map<std::string, std::uint64_t>{
                {"runs", counters.runs},
                {"plannings", counters.plannings},
                {"bindings", counters.bindings},
                {"copies", counters.copies},
                {"copied_bytes", counters.copied_bytes},
                {"arena_bytes", counters.arena_bytes},
                {"constant_bytes", counters.constant_bytes}};
          },
          "Counts of runs, plannings and copies since the session was made.");
}

}  // namespace

std::shared_ptr<LoadedSession> SessionReaching(const OrtDevice& device) {
  for (const std::weak_ptr<LoadedSession>& known : LiveSessions()) {
    std::shared_ptr<LoadedSession> session = known.lock();
    if (!session) continue;
    try {
      session->session->allocator(device);
      return session;
    } catch (const Error&) {  // not this one
    }
  }
  return nullptr;
}

OrtValue OnHost(const PyOrtValue& value) {
  if (!value.value.is_tensor() || value.value.tensor().device().is_host()) return value.value;
  const OrtDevice device = value.value.tensor().device();
  const std::shared_ptr<LoadedSession> session = value.home ? value.home : SessionReaching(device);
  if (!session) RaiseRuntimeError("no session that is alive reaches " + device.ToString());
  const nb::gil_scoped_release release;
  return session->session->CopyTo(value.value, OrtDevice());
}

void BindSession(nb::module_& module) {
  BindDescriptions(module);
  SessionClass cls(module, "Session", "A loaded model; use switchyard.InferenceSession.");
  cls.def(nb::init<>())
      .def("_open", &Open, nb::arg("model"), nb::arg("is_path"), nb::arg("options"),
           nb::arg("providers"))
      .def("run", &Run, nb::arg("output_names").none(), nb::arg("input_feed"),
           nb::arg("run_options") = nb::none(),
           "Runs the model: results of the named outputs, of all where output_names is None or "
           "empty. input_feed: values by name; shapes as the model says, symbolic dims free. "
           "Results are arrays of the caller's own (text: of str), lists for sequences, dicts for "
           "maps, None for an empty optional. ValueError: an input is missing; InvalidArgument: a "
           "name, type, rank or dim does not fit; RuntimeError: a value can't be a tensor; Fail "
           "and others: a kernel failed, or terminate was set. Any number of threads may run at "
           "once; the interpreter's lock is released.")
      .def("run_with_ort_values", &RunWithOrtValues, nb::arg("output_names").none(),
           nb::arg("input_dict_ort_values"), nb::arg("run_options") = nb::none(),
           "As run, with OrtValues on both sides; results stay on their device. Errors as of run.");
  cls.def("_allocate", &Allocate, nb::arg("shape"), nb::arg("element_type"), nb::arg("device_type"),
          nb::arg("device_id"));
  module.def("_read_metadata", &ReadMetadata, nb::arg("model"), nb::arg("is_path"));
  BindQueries(cls);
}

}  // namespace switchyard::python

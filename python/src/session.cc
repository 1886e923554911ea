#include "src/session.h"

#include <cstddef>

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "src/environment.h"
#include "src/errors.h"
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
    const nb::gil_scoped_release release;
    session = std::make_unique<InferenceSession>(environment, bytes, options);
  }
  return std::make_shared<LoadedSession>(environment, std::move(session));
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
  self.loaded = Load(model, is_path, wanted.core, environment);
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
  CollectFeeds(*loaded, input_feed, feeds);
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
  CollectFeeds(*loaded, input_feed, feeds);
  std::vector<OrtValue> results = RunCore(*loaded, output_names, feeds, run_options);
  nb::list list;
  for (OrtValue& result : results)
    list.append(PyOrtValue{Unaliased(std::move(result), feeds.values), false});
  return list;
}

void BindDescriptions(nb::module_& module) {
  nb::class_<NodeArg>(module, "NodeArg", "An input or output of a model.")
      .def_ro("name", &NodeArg::name)
      .def_ro("type", &NodeArg::type, "\"tensor(float)\", \"seq(tensor(int64))\" ...")
      .def_prop_ro(
          "shape", [](const NodeArg& self) { return ShapeToPython(self.shape); },
          "int, str for a symbolic dimension, None for an unknown one; empty when the rank is "
          "unknown.")
      .def("__str__", &Describe)
      .def("__repr__", &Describe);
  nb::class_<ModelMetadata>(module, "ModelMetadata", "What a model says about itself.")
      .def_ro("producer_name", &ModelMetadata::producer_name)
      .def_ro("graph_name", &ModelMetadata::graph_name)
      .def_ro("domain", &ModelMetadata::domain)
      .def_ro("description", &ModelMetadata::description)
      .def_ro("graph_description", &ModelMetadata::graph_description)
      .def_ro("version", &ModelMetadata::version)
      .def_ro("custom_metadata_map", &ModelMetadata::custom_metadata_map);
}

using SessionClass = nb::class_<PySession>;

void BindQueries(SessionClass& cls) {
  cls.def("get_inputs",
          [](const PySession& self) { return ArgsOf(Loaded(self)->session->inputs()); })
      .def("get_outputs",
           [](const PySession& self) { return ArgsOf(Loaded(self)->session->outputs()); })
      .def("get_overridable_initializers",
           [](const PySession& self) {
             return ArgsOf(Loaded(self)->session->overridable_initializers());
           })
      .def("get_modelmeta", [](const PySession& self) { return Loaded(self)->session->metadata(); })
      .def("get_providers",
           [](const PySession& self) { return Loaded(self)->session->providers(); })
      .def("get_provider_options",
           [](const PySession& self) {
             const InferenceSession& session = *Loaded(self)->session;
             const std::vector<std::string> names = session.providers();
             const std::vector<ProviderOptions> options = session.provider_options();
             std::map<std::string, ProviderOptions> result;
             for (std::size_t i = 0; i < names.size(); ++i) result[names[i]] = options[i];
             return result;
           })
      .def("get_session_options", [](const PySession& self) { return self.options; })
      .def(
          "explain",
          [](const PySession& self, bool json) { return Loaded(self)->session->Explain(json); },
          nb::arg("json") = false, "What runs where and why; as JSON with a schema_version.")
      .def(
          "end_profiling",
          [](const PySession& self) {
            const std::shared_ptr<LoadedSession> loaded = Loaded(self);
            const nb::gil_scoped_release release;
            return loaded->session->EndProfiling();
          },
          "Writes the trace; its path, empty when profiling was not on.")
      .def("get_profiling_start_time_ns",
           [](const PySession& self) { return Loaded(self)->session->profiling_start_time_ns(); })
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

void BindSession(nb::module_& module) {
  BindDescriptions(module);
  SessionClass cls(module, "Session", "A loaded model; use switchyard.InferenceSession.");
  cls.def(nb::init<>())
      .def("_open", &Open, nb::arg("model"), nb::arg("is_path"), nb::arg("options"),
           nb::arg("providers"))
      .def("run", &Run, nb::arg("output_names").none(), nb::arg("input_feed"),
           nb::arg("run_options") = nb::none(),
           "Runs the model: results of the named outputs, of all where output_names is None or "
           "empty.")
      .def("run_with_ort_values", &RunWithOrtValues, nb::arg("output_names").none(),
           nb::arg("input_dict_ort_values"), nb::arg("run_options") = nb::none(),
           "As run, with OrtValues on both sides; results stay on their device.");
  BindQueries(cls);
}

}  // namespace switchyard::python

#include "src/errors.h"
#include "src/session.h"

namespace switchyard::python {
namespace {

std::string_view Utf8(PyObject* text) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text, &size);
  if (data == nullptr) throw nb::python_error();
  return {data, static_cast<std::size_t>(size)};
}

// "['a', 'b']"
std::string ListOf(const std::vector<std::string>& names) {
  std::string text = "[";
  for (const std::string& name : names) text += (text.size() > 1 ? ", '" : "'") + name + "'";
  return text + "]";
}

std::vector<std::string> KeysOf(nb::handle dict) {
  std::vector<std::string> names;
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(dict.ptr(), &at, &key, &value) != 0;) {
    if (PyUnicode_Check(key)) names.emplace_back(Utf8(key));
  }
  return names;
}

// The input of that name. `guess`: where it probably is.
std::size_t FindInput(const LoadedSession& loaded, PyObject* key, std::size_t guess) {
  if (guess < loaded.inputs.size() && loaded.inputs[guess].key.ptr() == key) return guess;
  if (!PyUnicode_Check(key))
    RaiseTypeError("names in an input feed are str, got " + std::string(Py_TYPE(key)->tp_name));
  const auto found = loaded.index.find(Utf8(key));
  if (found != loaded.index.end()) return found->second;
  std::vector<std::string> known;
  for (const LoadedSession::Input& input : loaded.inputs) known.push_back(input.arg->name);
  throw Error(ErrorCode::kInvalidArgument, "Invalid input name: " + std::string(Utf8(key)) +
                                               ", the model's inputs are " + ListOf(known));
}

[[noreturn]] void RaiseMissing(const LoadedSession& loaded, nb::handle feed,
                               const std::vector<bool>& present) {
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < loaded.required; ++i) {
    if (!present[i] && !loaded.inputs[i].may_be_absent)
      missing.push_back(loaded.inputs[i].arg->name);
  }
  RaiseValueError("Required inputs (" + ListOf(missing) + ") are missing from input feed (" +
                  ListOf(KeysOf(feed)) + ").");
}

// The usual case: every required input, in any order, and nothing else.
bool CollectRequired(const LoadedSession& loaded, nb::handle dict, Feeds& feeds) {
  if (static_cast<std::size_t>(PyDict_Size(dict.ptr())) != loaded.required) return false;
  feeds.values.resize(loaded.required);
  PyObject *key = nullptr, *value = nullptr;
  std::size_t guess = 0;
  for (Py_ssize_t at = 0; PyDict_Next(dict.ptr(), &at, &key, &value) != 0; ++guess) {
    const std::size_t i = FindInput(loaded, key, guess);
    if (i >= loaded.required || value == Py_None) return false;
    const LoadedSession::Input& input = loaded.inputs[i];
    feeds.values[i] = ToOrtValue(value, &input.arg->type, input.arg->name, feeds.borrowed);
  }
  feeds.names = &loaded.required_names;
  return true;
}

void CollectSome(const LoadedSession& loaded, nb::handle dict, Feeds& feeds) {
  feeds.values.clear();
  std::vector<bool> present(loaded.inputs.size(), false);
  std::size_t fed = 0;
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(dict.ptr(), &at, &key, &value) != 0;) {
    const std::size_t i = FindInput(loaded, key, loaded.inputs.size());
    const LoadedSession::Input& input = loaded.inputs[i];
    const bool optional = input.arg->type.kind == ValueType::Kind::kOptional;
    if (value == Py_None && !optional) continue;  // as if it were not there
    feeds.own_names.push_back(input.arg->name);
    feeds.values.push_back(ToOrtValue(value, &input.arg->type, input.arg->name, feeds.borrowed));
    present[i] = true;
    fed += i < loaded.required ? 1 : 0;
  }
  for (std::size_t i = 0; i < loaded.required && fed < loaded.required; ++i) {
    if (present[i]) continue;
    if (!loaded.inputs[i].may_be_absent) RaiseMissing(loaded, dict, present);
    feeds.own_names.push_back(loaded.inputs[i].arg->name);
    feeds.values.emplace_back();
    ++fed;
  }
  feeds.names = &feeds.own_names;
}

}  // namespace

LoadedSession::LoadedSession(std::shared_ptr<Environment> env,
                             std::unique_ptr<InferenceSession> made)
    : environment(std::move(env)), session(std::move(made)) {
  const auto add = [this](const SessionArg& arg) {
    PyObject* key = PyUnicode_DecodeUTF8(arg.name.data(), static_cast<Py_ssize_t>(arg.name.size()),
                                         "surrogateescape");
    if (key == nullptr) throw nb::python_error();
    PyUnicode_InternInPlace(&key);
    index.emplace(arg.name, inputs.size());
    inputs.push_back({nb::steal(key), &arg, arg.type.kind == ValueType::Kind::kOptional});
  };
  for (const SessionArg& arg : session->inputs()) {
    add(arg);
    required_names.push_back(arg.name);
  }
  required = inputs.size();
  for (const SessionArg& arg : session->overridable_initializers()) add(arg);
}

void CollectFeeds(const LoadedSession& loaded, nb::handle feed, Feeds& feeds) {
  nb::object dict = nb::borrow(feed);
  if (!PyDict_Check(feed.ptr())) {
    if (!nb::hasattr(feed, "keys")) {
      RaiseTypeError("an input feed is a dict of names and values, got " +
                     std::string(Py_TYPE(feed.ptr())->tp_name));
    }
    dict = nb::steal(PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyDict_Type), feed.ptr()));
    if (!dict.is_valid()) throw nb::python_error();
  }
  feeds.borrowed.reserve(static_cast<std::size_t>(PyDict_Size(dict.ptr())));
  if (!CollectRequired(loaded, dict, feeds)) CollectSome(loaded, dict, feeds);
  if (dict.ptr() != feed.ptr()) feeds.borrowed.push_back(std::move(dict));
}

std::vector<std::string> OutputNames(nb::handle names) {
  std::vector<std::string> result;
  if (names.is_none()) return result;
  if (PyUnicode_Check(names.ptr()))
    RaiseTypeError("output_names is a list of str or None, got str");
  for (const nb::handle name : nb::iter(names)) {
    if (!PyUnicode_Check(name.ptr())) {
      RaiseTypeError("output_names is a list of str or None, it holds " +
                     std::string(Py_TYPE(name.ptr())->tp_name));
    }
    result.emplace_back(Utf8(name.ptr()));
  }
  return result;
}

const RunOptions& RunOptionsOf(nb::handle options) {
  static const RunOptions none;
  if (options.is_none()) return none;
  if (!nb::isinstance<PyRunOptions>(options)) {
    RaiseTypeError("run_options is a RunOptions or None, got " +
                   std::string(Py_TYPE(options.ptr())->tp_name));
  }
  return nb::inst_ptr<PyRunOptions>(options)->core;
}

}  // namespace switchyard::python

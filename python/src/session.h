#pragma once
// The class Session of the module: the base of switchyard.InferenceSession.

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <nanobind/nanobind.h>

#include "src/options.h"
#include "src/values.h"
#include "switchyard/session/inference_session.h"

namespace switchyard::python {

// A loaded model with its names as Python objects: looked up once, when it is made. Immutable.
struct LoadedSession {
  struct Input {
    nb::object key;  // the name as an interned str
    const SessionArg* arg = nullptr;
    bool may_be_absent = false;  // optional, or has a default
  };

  std::shared_ptr<Environment> environment;
  std::unique_ptr<InferenceSession> session;
  std::vector<Input> inputs;  // required ones first, then overridable initializers
  std::size_t required = 0;
  std::vector<std::string> required_names;
  std::unordered_map<std::string_view, std::size_t> index;

  explicit LoadedSession(std::shared_ptr<Environment> env, std::unique_ptr<InferenceSession> made);
};

// A session that is alive and reaches that memory; nullptr: none does. Needs the GIL.
std::shared_ptr<LoadedSession> SessionReaching(const OrtDevice& device);
// A device by the names of the interface (cpu, cuda, gpu, hip, dml, webgpu, npu, cann, device<N>)
// and its number, or an OrtDevice of the package, whose own number counts.
OrtDevice ToDevice(nb::handle device, int id);
// The value itself if the host reaches it, else a copy that it reaches.
OrtValue OnHost(const PyOrtValue& value);

// set_providers puts another LoadedSession in place; runs that go on keep theirs.
struct PySession {
  std::shared_ptr<LoadedSession> loaded;
  PySessionOptions options;
};

// The feeds of one run in the order the core wants them.
struct Feeds {
  const std::vector<std::string>* names = nullptr;
  std::vector<std::string> own_names;
  std::vector<OrtValue> values;
  Borrowed borrowed;
};

void CollectFeeds(const LoadedSession& loaded, nb::handle feed, Feeds& feeds);
// Text names of a list or tuple; None and an empty one mean all.
std::vector<std::string> OutputNames(nb::handle names);
// nullptr for None.
const RunOptions& RunOptionsOf(nb::handle options);

void BindSession(nb::module_& module);
void BindIoBinding(nb::module_& module);
void BindOrtValue(nb::module_& module);
void BindListing(nb::module_& module);

}  // namespace switchyard::python

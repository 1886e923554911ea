#pragma once
// How named providers come into being: the built-in ones, modules loaded on demand, test doubles.
// A module exports SwitchyardProviderEntry; another ABI stamp than ours is refused.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/base/version.h"
#include "switchyard/ep/execution_provider.h"
#include "switchyard/ir/model_writer.h"

#define SWITCHYARD_STRING_OF(x) #x
#define SWITCHYARD_ABI_STAMP(version, abi) \
  "switchyard " version " c++abi " SWITCHYARD_STRING_OF(abi)

namespace switchyard {

// "switchyard 0.1.0 c++abi <number of the compiler's>": the seam is for the same version only. The
// function answers the library's, the constant is that of the code that includes this header.
SWITCHYARD_API std::string_view AbiStamp();
constexpr char kAbiStamp[] = SWITCHYARD_ABI_STAMP(SWITCHYARD_HEADER_VERSION, __GXX_ABI_VERSION);

// What a factory gets besides its options.
struct ProviderEnvironment {
  int team_size = 1;
  std::map<std::string, std::string> session_config;
  Logger logger;
  // Writes parts of a graph for libraries that read ONNX. May be nullptr.
  std::shared_ptr<const ModelWriter> writer = nullptr;
};

struct ProviderFactory {
  std::string name;                  // "CPUExecutionProvider"
  std::vector<std::string> aliases;  // "cpu"
  std::string library;               // module file stem; "" built in
  std::string device_kind;           // "cpu", "gpu", "npu"
  std::vector<std::string> option_keys;
  std::string version;
  std::string needs;  // what a build must find to have it, for messages; "" nothing
  bool built = true;  // false: this build has no code for it
  // Modules: loads the library, nullopt or why it can't be. Empty: nothing to load.
  std::function<std::optional<std::string>()> load;
  bool fallback = false;  // gets what nobody else claims; there is one such, in host memory
  // nullopt: usable here and now; otherwise why not. May be empty: usable.
  std::function<std::optional<std::string>()> unavailable;
  std::function<std::vector<OrtEpDevice>()> devices;  // may be empty
  // Unknown keys and bad values: InvalidArgument listing the known keys.
  std::function<std::shared_ptr<IExecutionProvider>(const ProviderOptions&,
                                                    const ProviderEnvironment&)>
      create;
};

// The manifest entry of a module. `entry` tells name, aliases, library, device kind, option keys
// and needs. The rest is asked of lib<library>.so when somebody wants it: it is looked for in the
// folders of the environment variable SWITCHYARD_PROVIDER_PATH (colons between), then beside this
// library.
SWITCHYARD_API ProviderFactory MakeModuleFactory(ProviderFactory entry);

// All named providers of a process part. Thread-safe.
class SWITCHYARD_API ProviderCatalog {
 public:
  void Add(ProviderFactory factory);  // replaces one of the same name
  // Loads a module. Throws NoSuchFile, or Fail naming both ABI stamps. Answers the provider's name.
  std::string LoadLibrary(const std::string& path);
  // By name or alias, case-sensitive for names; nullopt: unknown.
  std::optional<ProviderFactory> Find(std::string_view name) const;
  ProviderFactory Fallback() const;
  std::vector<ProviderFactory> all() const;

 private:
  mutable std::mutex mutex_;
  std::vector<ProviderFactory> factories_;
};

// The C entry point of a provider module: answers the module's ABI stamp, and fills in `factory`
// unless that is nullptr. It is asked with nullptr first: a module of another stamp knows another
// ProviderFactory and must not touch ours.
using ProviderEntryFn = const char* (*)(ProviderFactory* factory);
inline constexpr const char* kProviderEntryName = "SwitchyardProviderEntry";

// What a module's entry point does: `return AnswerProviderEntry(factory, MakeFactory);`. Of
// internal linkage, so that no other module's stamp is answered.
[[maybe_unused]] static const char* AnswerProviderEntry(ProviderFactory* factory,
                                                        ProviderFactory (*make)()) {
  if (factory != nullptr) *factory = make();
  return kAbiStamp;
}

}  // namespace switchyard

#include "ep/provider_module.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>

#include "base/format.h"

namespace switchyard {
namespace {

std::vector<std::string> ModuleFolders() {
  std::vector<std::string> folders;
  if (const char* path = std::getenv("SWITCHYARD_PROVIDER_PATH")) {
    const std::string_view text = path;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(':', at), text.size());
      if (end > at) folders.emplace_back(text.substr(at, end - at));
      at = end + 1;
    }
  }
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&AbiStamp), &info) != 0 && info.dli_fname != nullptr) {
    std::error_code error;
    const auto self = std::filesystem::weakly_canonical(info.dli_fname, error);
    if (!error) folders.push_back(self.parent_path().string());
  }
  return folders;
}

// The module of one manifest entry, loaded when first asked for.
class Module {
 public:
  explicit Module(ProviderFactory entry) : entry_(std::move(entry)) {}

  // nullopt: it can't be had, for the reason in *why.
  std::optional<ProviderFactory> Get(std::string* why) {
    const std::lock_guard lock(mutex_);
    if (loaded_) return loaded_;
    const std::string path = Path();
    if (path.empty()) {
      *why = NotBuilt();
      return std::nullopt;
    }
    try {
      ProviderFactory factory = LoadProviderModule(path);
      if (factory.name != entry_.name) {
        *why = fmt::format("'{}' holds {}", path, factory.name);
        return std::nullopt;
      }
      loaded_ = std::move(factory);
    } catch (const std::exception& error) {
      *why = error.what();
    }
    return loaded_;
  }

  std::string Path() const {
    for (const std::string& folder : ModuleFolders()) {
      std::string path = folder + "/" + FileName();
      std::error_code error;
      if (std::filesystem::exists(path, error)) return path;
    }
    return {};
  }

  ProviderFactory GetOrThrow() {
    std::string why;
    std::optional<ProviderFactory> factory = Get(&why);
    if (!factory) Throw(ErrorCode::kFail, "{}: {}", entry_.name, why);
    return *std::move(factory);
  }

 private:
  std::string FileName() const { return "lib" + entry_.library + ".so"; }
  std::string NotBuilt() const {
    std::string folders;
    for (const std::string& folder : ModuleFolders())
      folders += (folders.empty() ? "" : ", ") + folder;
    return fmt::format("this build has no {} (looked in {}){}", FileName(), folders,
                       entry_.needs.empty() ? "" : "; building it takes " + entry_.needs);
  }

  const ProviderFactory entry_;
  std::mutex mutex_;
  std::optional<ProviderFactory> loaded_;
};

}  // namespace

ProviderFactory LoadProviderModule(const std::string& path) {
  std::error_code unreadable;
  if (!std::filesystem::exists(path, unreadable)) {
    Throw(ErrorCode::kNoSuchFile, "provider library '{}' does not exist", path);
  }
  // Never closed: objects made by the module may outlive every catalog.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    Throw(ErrorCode::kFail, "provider library can't be loaded: {}", dlerror());
  const auto entry = reinterpret_cast<ProviderEntryFn>(dlsym(library, kProviderEntryName));
  if (entry == nullptr) {
    Throw(ErrorCode::kFail, "'{}' is not a provider library: it does not export {}", path,
          kProviderEntryName);
  }
  const char* stamp = entry(nullptr);
  if (stamp == nullptr || stamp != AbiStamp()) {
    Throw(ErrorCode::kFail, "provider library '{}' was built for '{}', this is '{}'", path,
          stamp == nullptr ? "nothing that it tells" : stamp, AbiStamp());
  }
  ProviderFactory factory;
  entry(&factory);
  if (factory.name.empty() || !factory.create) {
    Throw(ErrorCode::kFail, "provider library '{}' gives no provider: {}", path,
          factory.name.empty() ? "it has no name" : "it can't be created");
  }
  return factory;
}

ProviderFactory MakeModuleFactory(ProviderFactory entry) {
  const auto module = std::make_shared<Module>(entry);
  entry.built = !module->Path().empty();
  entry.load = [module]() -> std::optional<std::string> {
    std::string why;
    if (module->Get(&why)) return std::nullopt;
    return why;
  };
  entry.unavailable = [module]() -> std::optional<std::string> {
    std::string why;
    const std::optional<ProviderFactory> factory = module->Get(&why);
    if (!factory) return why;
    return factory->unavailable ? factory->unavailable() : std::nullopt;
  };
  entry.devices = [module]() -> std::vector<OrtEpDevice> {
    std::string why;
    const std::optional<ProviderFactory> factory = module->Get(&why);
    return factory && factory->devices ? factory->devices() : std::vector<OrtEpDevice>();
  };
  entry.create = [module](const ProviderOptions& options, const ProviderEnvironment& environment) {
    return module->GetOrThrow().create(options, environment);
  };
  return entry;
}

}  // namespace switchyard

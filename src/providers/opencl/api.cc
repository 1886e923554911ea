#include "providers/opencl/api.h"

#include <dlfcn.h>

#include "base/format.h"

namespace switchyard::opencl {
namespace {

constexpr const char* kLibrary = "libOpenCL.so.1";

struct Loaded {
  Api api;
  bool usable = false;
  std::string why_not;
};

Loaded Load() {
  Loaded loaded;
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    loaded.why_not = fmt::format("no OpenCL on this machine: {}", dlerror());
    return loaded;
  }
#define SY_OPENCL_FIND(name)                                                            \
  loaded.api.name = reinterpret_cast<decltype(loaded.api.name)>(dlsym(library, #name)); \
  if (loaded.api.name == nullptr) {                                                     \
    loaded.why_not = fmt::format("{} lacks {}: OpenCL 1.2 is needed", kLibrary, #name); \
    return loaded;                                                                      \
  }
  SY_OPENCL_FUNCTIONS(SY_OPENCL_FIND)
#undef SY_OPENCL_FIND
  loaded.usable = true;
  return loaded;
}

struct Named {
  cl_int status;
  const char* name;
};
constexpr Named kNames[] = {
    {-1, "CL_DEVICE_NOT_FOUND"},
    {-2, "CL_DEVICE_NOT_AVAILABLE"},
    {-3, "CL_COMPILER_NOT_AVAILABLE"},
    {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, "CL_OUT_OF_RESOURCES"},
    {-6, "CL_OUT_OF_HOST_MEMORY"},
    {-7, "CL_PROFILING_INFO_NOT_AVAILABLE"},
    {-8, "CL_MEM_COPY_OVERLAP"},
    {-11, "CL_BUILD_PROGRAM_FAILURE"},
    {-12, "CL_MAP_FAILURE"},
    {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-30, "CL_INVALID_VALUE"},
    {-31, "CL_INVALID_DEVICE_TYPE"},
    {-32, "CL_INVALID_PLATFORM"},
    {-33, "CL_INVALID_DEVICE"},
    {-34, "CL_INVALID_CONTEXT"},
    {-36, "CL_INVALID_COMMAND_QUEUE"},
    {-37, "CL_INVALID_HOST_PTR"},
    {-38, "CL_INVALID_MEM_OBJECT"},
    {-42, "CL_INVALID_BINARY"},
    {-43, "CL_INVALID_BUILD_OPTIONS"},
    {-44, "CL_INVALID_PROGRAM"},
    {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {-46, "CL_INVALID_KERNEL_NAME"},
    {-48, "CL_INVALID_KERNEL"},
    {-49, "CL_INVALID_ARG_INDEX"},
    {-50, "CL_INVALID_ARG_VALUE"},
    {-51, "CL_INVALID_ARG_SIZE"},
    {-52, "CL_INVALID_KERNEL_ARGS"},
    {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-55, "CL_INVALID_WORK_ITEM_SIZE"},
    {-58, "CL_INVALID_EVENT"},
    {-61, "CL_INVALID_BUFFER_SIZE"},
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
};

}  // namespace

const Api* FindApi(std::string* why_not) {
  static const Loaded loaded = Load();
  if (!loaded.usable && why_not != nullptr) *why_not = loaded.why_not;
  return loaded.usable ? &loaded.api : nullptr;
}

const Api& Cl() {
  std::string why_not;
  const Api* api = FindApi(&why_not);
  if (api == nullptr) throw Error(ErrorCode::kFail, why_not);
  return *api;
}

std::string StatusName(cl_int status) {
  for (const Named& named : kNames) {
    if (named.status == status) return fmt::format("{} ({})", named.name, status);
  }
  return fmt::format("OpenCL status {}", status);
}

bool IsLost(cl_int status) {
  return status == CL_DEVICE_NOT_AVAILABLE || status == CL_INVALID_COMMAND_QUEUE ||
         status == CL_INVALID_CONTEXT || status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST ||
         status < -1100;
}

bool IsOutOfMemory(cl_int status) {
  return status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_HOST_MEMORY ||
         status == CL_OUT_OF_RESOURCES;
}

void ThrowStatus(cl_int status, std::string_view what) {
  const bool memory = IsOutOfMemory(status);
  Throw(memory ? ErrorCode::kRuntimeException : ErrorCode::kEpFail, "OpenCL: {}: {}{}", what,
        StatusName(status), memory ? " (the device is out of memory)" : "");
}

}  // namespace switchyard::opencl

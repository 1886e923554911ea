#pragma once
// Programs: OpenCL C for one device, built once per process and kept on disk where a folder is
// given. Kernels: one entry point of a program with its fixed local size.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "providers/opencl/device.h"

namespace switchyard::opencl {

// A built program. Shared by the kernels made from it.
class Program {
 public:
  Program(cl_program program, DeviceContext& context) : program_(program), context_(context) {}
  ~Program() { Cl().clReleaseProgram(program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  cl_program get() const { return program_; }
  DeviceContext& context() const { return context_; }

 private:
  cl_program program_;
  DeviceContext& context_;
};
using ProgramPtr = std::shared_ptr<const Program>;

// All programs of a device. Thread-safe.
class ProgramStore {
 public:
  explicit ProgramStore(DeviceContext& context) : context_(context) {}

  // Built from the source with those options. cache_dir "": the disk is not asked. A file there
  // that is damaged, or of another device, driver or source, is written anew. A folder that can't
  // be written is no error. Throws EpFail with the build log.
  ProgramPtr Get(const std::string& source, const std::string& options,
                 const std::string& cache_dir);

 private:
  ProgramPtr Load(const std::string& file, const std::string& key, const std::string& options);
  ProgramPtr Build(const std::string& source, const std::string& options);
  void Save(const std::string& file, const std::string& key, const Program& program);

  DeviceContext& context_;
  std::mutex mutex_;
  std::map<std::string, ProgramPtr> programs_;
};

}  // namespace switchyard::opencl

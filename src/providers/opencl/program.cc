#include "providers/opencl/program.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "base/format.h"

namespace switchyard::opencl {
namespace {

constexpr std::string_view kMagic = "switchyard opencl program 1\n";
constexpr std::size_t kLogBytes = 4000;

std::uint64_t Hash(std::string_view text, std::uint64_t seed = 0xcbf29ce484222325u) {
  for (const char c : text) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return seed;
}

std::string BuildLog(cl_program program, cl_device_id device) {
  std::size_t bytes = 0;
  Cl().clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes);
  std::string log(bytes, '\0');
  Cl().clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr);
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  if (log.size() > kLogBytes) log.resize(kLogBytes);
  return log;
}

}  // namespace

ProgramPtr ProgramStore::Get(const std::string& source, const std::string& options,
                             const std::string& cache_dir) {
  const DeviceFacts& facts = context_.facts();
  const std::string key =
      fmt::format("{}\n{}\n{}\n{}\n{:016x} {}\n", facts.platform_name, facts.name, facts.driver,
                  options, Hash(source), source.size());
  // One builder at a time: several sessions ask for the same programs.
  const std::lock_guard lock(mutex_);
  if (const auto found = programs_.find(key); found != programs_.end()) return found->second;
  ProgramPtr program;
  std::string file;
  if (!cache_dir.empty()) {
    file = fmt::format("{}/{:016x}{:016x}.clbin", cache_dir, Hash(key), Hash(key, 14695981039u));
    program = Load(file, key, options);
  }
  if (!program) {
    program = Build(source, options);
    if (!file.empty()) Save(file, key, *program);
  }
  programs_.emplace(key, program);
  return program;
}

ProgramPtr ProgramStore::Build(const std::string& source, const std::string& options) {
  context_.CheckAlive();
  const char* text = source.c_str();
  const std::size_t bytes = source.size();
  cl_int status = CL_SUCCESS;
  cl_program raw = Cl().clCreateProgramWithSource(context_.context(), 1, &text, &bytes, &status);
  context_.Check(status, "a program can't be made");
  auto program = std::make_shared<const Program>(raw, context_);
  const cl_device_id device = context_.facts().id;
  status = Cl().clBuildProgram(raw, 1, &device, options.c_str(), nullptr, nullptr);
  if (status != CL_SUCCESS) {
    Throw(ErrorCode::kEpFail, "OpenCL: a kernel can't be built for {}: {}\n{}",
          context_.facts().name, StatusName(status), BuildLog(raw, device));
  }
  context_.counters().programs_built.fetch_add(1, std::memory_order_relaxed);
  return program;
}

// File: magic, key, then the binary with its length and hash in front.
ProgramPtr ProgramStore::Load(const std::string& file, const std::string& key,
                              const std::string& options) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return nullptr;
  const std::string content((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const std::string head = std::string(kMagic) + key;
  constexpr std::size_t kNumbers = 2 * sizeof(std::uint64_t);
  if (content.size() < head.size() + kNumbers || content.compare(0, head.size(), head) != 0)
    return nullptr;
  std::uint64_t numbers[2];
  std::memcpy(numbers, content.data() + head.size(), kNumbers);
  const std::string_view binary = std::string_view(content).substr(head.size() + kNumbers);
  if (binary.size() != numbers[0] || Hash(binary) != numbers[1] || binary.empty()) return nullptr;
  const cl_device_id device = context_.facts().id;
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  const std::size_t size = binary.size();
  cl_int status = CL_SUCCESS, binary_status = CL_SUCCESS;
  cl_program raw = Cl().clCreateProgramWithBinary(context_.context(), 1, &device, &size, &bytes,
                                                  &binary_status, &status);
  if (status != CL_SUCCESS || binary_status != CL_SUCCESS) {
    if (raw != nullptr && status == CL_SUCCESS) Cl().clReleaseProgram(raw);
    return nullptr;
  }
  auto program = std::make_shared<const Program>(raw, context_);
  if (Cl().clBuildProgram(raw, 1, &device, options.c_str(), nullptr, nullptr) != CL_SUCCESS)
    return nullptr;
  context_.counters().programs_loaded.fetch_add(1, std::memory_order_relaxed);
  return program;
}

void ProgramStore::Save(const std::string& file, const std::string& key, const Program& program) {
  std::size_t bytes = 0;
  if (Cl().clGetProgramInfo(program.get(), CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes,
                            nullptr) != CL_SUCCESS ||
      bytes == 0)
    return;
  std::string binary(bytes, '\0');
  auto* data = reinterpret_cast<unsigned char*>(binary.data());
  if (Cl().clGetProgramInfo(program.get(), CL_PROGRAM_BINARIES, sizeof data, &data, nullptr) !=
      CL_SUCCESS)
    return;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), error);
  const std::string temporary = fmt::format("{}.{}", file, getpid());
  {
    std::ofstream out(temporary, std::ios::binary);
    const std::uint64_t numbers[2] = {binary.size(), Hash(binary)};
    out << kMagic << key;
    out.write(reinterpret_cast<const char*>(numbers), sizeof numbers);
    out.write(binary.data(), static_cast<std::streamsize>(binary.size()));
    if (!out) {
      out.close();
      std::filesystem::remove(temporary, error);
      return;
    }
  }
  std::filesystem::rename(temporary, file, error);
  if (error) std::filesystem::remove(temporary, error);
}

}  // namespace switchyard::opencl

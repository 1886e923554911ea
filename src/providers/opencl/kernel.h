#pragma once
// What a file of kernels/ needs: device code from text, arguments, launches. A family is one file:
// its OpenCL C as a string, an OpKernel that builds it, `Register`. Nothing else is edited.
//
//   constexpr const char* kCode = R"CL(
//   __kernel __attribute__((reqd_work_group_size(64, 1, 1)))
//   void abs_all(BUF(const T, x), BUF(T, y), int n) {
//     AT(x); AT(y);
//     int i = get_global_id(0);
//     if (i < n) y[i] = fabs(x[i]);
//   })CL";
//
//   class Abs final : public ClKernel {
//    public:
//     explicit Abs(OpKernelInfo& info) : ClKernel(info),
//         abs_(Build(kCode, {{"T", ClType(info.input_type(0).elem)}}, "abs_all", {64, 1, 1})) {}
//     void Compute(OpKernelContext& context) const override {
//       Tensor& y = context.Output(0);
//       abs_.On(context).In(context.Input(0)).Out(y).Int(y.size()).Run({y.size(), 1, 1});
//     }
//   };
//
// In front of every source stand: BUF(type, name) declares a buffer argument with its element
// offset, AT(name) points `name` at its first element; `half` where the device has it; LANES (1 on
// devices whose work-items are lanes, 8 on CPUs). A tensor's address is (buffer, offset), never a
// pointer of the host. Global sizes are rounded up to the local size: guard. Empty ones launch
// nothing. A kernel has one local size, fixed by reqd_work_group_size.

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "providers/opencl/program.h"
#include "providers/opencl/provider.h"
#include "providers/opencl/stream.h"
#include "switchyard/ep/kernel_registry.h"

namespace switchyard::opencl {

// Preprocessor names for one build: the same source and defines are built once per device.
using Defines = std::map<std::string, std::string>;
using Sizes = std::array<std::int64_t, 3>;

// The OpenCL C type of an element type ("float", "long", "uchar" for bool); nullptr: none.
const char* ClType(DataType type);
// The type that sums and functions of an element type are computed in: float for half, else itself.
const char* ComputeType(DataType type);
// An unsigned type of that many bytes, for data that is only moved; nullptr: not 1, 2, 4 or 8.
const char* MoveType(DataType type);

// What a family registers with.
class Families {
 public:
  Families(KernelRegistry& registry, const DeviceFacts& facts)
      : registry_(registry), facts_(facts) {}
  void Add(KernelCreateInfo info) { registry_.Register(std::move(info)); }
  const DeviceFacts& device() const { return facts_; }
  // float, and half and double where the device has them.
  TypeSet floats() const;
  // Types of 1, 2, 4, 8 or 16 whole bytes: they can be moved without looking at them.
  static constexpr TypeSet moved() { return types::kFixedBytes; }
  static constexpr TypeSet integers() { return types::kIntegers; }

 private:
  KernelRegistry& registry_;
  const DeviceFacts& facts_;
};

class EntryPoint;

// Arguments of one launch, in the order of the kernel's parameters.
class Launch {
 public:
  Launch(const EntryPoint& entry, OpKernelContext& context);
  Launch& In(const Tensor& tensor) { return Buffer(tensor.raw(), tensor); }
  Launch& Out(Tensor& tensor) { return Buffer(tensor.raw_mutable(), tensor); }
  Launch& NoBuffer();  // an optional argument that is left out
  Launch& Int(std::int64_t value);
  Launch& Float(float value) { return Value(&value, sizeof value); }
  Launch& Long(std::int64_t value) { return Value(&value, sizeof value); }
  // Up to 8 values as one int8 argument, the rest zeros.
  Launch& Ints(std::span<const std::int64_t> values);
  Launch& Value(const void* bytes, std::size_t size);
  // Queues the work-items; does not wait.
  void Run(const Sizes& global);

 private:
  struct Argument {
    std::array<std::byte, 32> bytes;
    std::size_t size;
  };
  Launch& Buffer(const void* address, const Tensor& tensor);
  const EntryPoint& entry_;
  OpKernelContext& context_;
  ClStream& stream_;
  InlineVector<Argument, 16> arguments_;
};

// One kernel function of a program. Launches of the same object from several threads take turns.
class EntryPoint {
 public:
  EntryPoint() = default;
  EntryPoint(ProgramPtr program, std::string name, const Sizes& local);
  Launch On(OpKernelContext& context) const { return Launch(*this, context); }
  explicit operator bool() const { return state_ != nullptr; }
  const std::string& name() const { return state_->name; }

 private:
  friend class Launch;
  struct State {
    ~State();
    ProgramPtr program;
    std::string name;
    Sizes local{};
    cl_kernel kernel = nullptr;
    std::mutex mutex;
  };
  std::shared_ptr<State> state_;
};

// Base of this provider's kernels.
class ClKernel : public OpKernel {
 public:
  explicit ClKernel(OpKernelInfo& info);

 protected:
  // Device code ready to be launched; built, or taken from memory or disk, at creation.
  EntryPoint Build(std::string_view code, const Defines& defines, const std::string& entry,
                   const Sizes& local) const;
  // The same as a function that outlives the constructor.
  std::function<EntryPoint(std::string_view, const Defines&, const std::string&, const Sizes&)>
  Builder() const {
    return [this](std::string_view code, const Defines& defines, const std::string& entry,
                  const Sizes& local) { return Build(code, defines, entry, local); };
  }
  const DeviceFacts& device() const { return provider_.context().facts(); }
  // Work-items that one thread of the device computes side by side in registers: see LANES.
  int lanes() const { return device().is_cpu() ? 8 : 1; }
  const OpenClProvider& provider() const { return provider_; }

 private:
  const OpenClProvider& provider_;
};

// Sums of products of sizes in kernels are 32-bit. Throws NotImplemented in the node's name.
void CheckIndexable(const OpKernelContext& context, const Tensor& tensor);

// Copies elements on the device. Both dense.
void CopyOnDevice(OpKernelContext& context, const Tensor& from, Tensor& to);

std::int64_t Product(std::span<const std::int64_t> dims);
// Negative axes count from the end. Throws in the node's name.
std::size_t NormalizeAxis(const OpKernelContext& context, std::int64_t axis, std::size_t rank);
// A host-memory argument of int32 or int64 as numbers.
Dims ReadIntegers(const OpKernelContext& context, std::size_t input);
// "" or why the node's tensors are of too many dims for a kernel that takes up to `most`.
std::string WhyNotRank(const Node& node, std::size_t most = 8);

}  // namespace switchyard::opencl

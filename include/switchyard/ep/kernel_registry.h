#pragma once
// Which node a provider has a kernel for, and the factory that makes it: one source for the claim
// and for the execution.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "switchyard/ep/op_kernel.h"
#include "switchyard/tensor/data_type.h"

namespace switchyard {

using KernelCreateFn = std::function<std::unique_ptr<OpKernel>(OpKernelInfo&)>;

// Which strides an argument may have: none; a pitch on the outer dims with dense rows; any with the
// innermost 1.
enum class StrideKind : std::uint8_t { kDense, kPitched, kStrided };

// Fluent: KernelCreateInfo::For("Softmax").Since(1, 12).Input(0, types::kFloats).Make<Softmax>().
struct SWITCHYARD_API KernelCreateInfo {
  std::string op_type, domain;
  int first_version = 1;
  int last_version = 0;  // 0: up to the newest schema known at build
  std::map<std::size_t, TypeSet> input_types, output_types;  // unnamed arguments: any type
  std::uint64_t host_inputs = 0, host_outputs = 0;           // bit i: argument i is in host memory
  std::uint64_t constant_inputs = 0;                         // bit i: must be constant
  std::vector<std::pair<std::size_t, std::size_t>> may_alias;   // (input, output): in place allowed
  std::vector<std::pair<std::size_t, std::size_t>> must_alias;  // output is a view of the input
  bool part_views = false;   // outputs may be views of a part of input 0: see PrepareContext
  bool part_inputs = false;  // inputs may be written into their part of output 0 at once
  std::map<std::size_t, StrideKind> input_strides, output_strides;
  std::function<std::string(const Node&)> accepts;  // "": yes, else why not; may be empty
  KernelCreateFn create;

  static KernelCreateInfo For(std::string_view op_type, std::string_view domain = "");
  KernelCreateInfo& Since(int first, int last = 0);
  KernelCreateInfo& Input(std::size_t i, TypeSet types);
  KernelCreateInfo& Output(std::size_t i, TypeSet types);
  KernelCreateInfo& HostInput(std::size_t i);
  KernelCreateInfo& HostOutput(std::size_t i);
  KernelCreateInfo& ConstantInput(std::size_t i);
  KernelCreateInfo& MayAlias(std::size_t input, std::size_t output);
  KernelCreateInfo& MustAlias(std::size_t input, std::size_t output);
  KernelCreateInfo& PartViews();
  KernelCreateInfo& PartInputs();
  KernelCreateInfo& InputStrides(std::size_t i, StrideKind kind);
  KernelCreateInfo& OutputStrides(std::size_t i, StrideKind kind);
  KernelCreateInfo& Accepts(std::function<std::string(const Node&)> why_not);
  KernelCreateInfo& Create(KernelCreateFn factory);
  template <typename Kernel>
  KernelCreateInfo& Make() {
    return Create([](OpKernelInfo& info) -> std::unique_ptr<OpKernel> {
      return std::make_unique<Kernel>(info);
    });
  }
};

// Register until a session takes it; read-only and thread-safe afterwards.
class SWITCHYARD_API KernelRegistry {
 public:
  KernelRegistry();
  ~KernelRegistry();
  // Throws InvalidArgument when a registered kernel overlaps in operator, versions and all types.
  void Register(KernelCreateInfo info);
  // The kernel for the node, or nullptr with the reason in *why_not (may be nullptr): no kernel for
  // the operator; not for this opset version; not for this element type ...
  const KernelCreateInfo* Find(const Node& node, std::string* why_not = nullptr) const;
  bool empty() const;
  std::vector<const KernelCreateInfo*> all() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace switchyard

#pragma once
// The code of one node on one provider. Created once per session, run concurrently.
// Prepare sees exact shapes and decides; Compute works; neither allocates on the heap (strings,
// sequences and maps excepted).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "switchyard/base/thread_team.h"
#include "switchyard/ep/run_options.h"
#include "switchyard/ep/stream.h"
#include "switchyard/ir/graph.h"

namespace switchyard {

class IExecutionProvider;

// Another arrangement of a constant input, made once at load and shared by all who name the same
// constant and id. Both functions are pure and write parts [begin, end) of `destination`, from the
// dense tensor or from the constant read by ranges. With pack_ranges the dense tensor is not made
// for this form's sake: the choice for matrices.
struct PackedForm {
  std::string id;  // names the arrangement with all its parameters: "sgemm.b.6x16.avx2"
  std::size_t bytes = 0;
  std::size_t align = 64;
  std::int64_t parts = 1;  // independent pieces
  std::function<void(const Tensor& dense, std::int64_t begin, std::int64_t end,
                     std::byte* destination)>
      pack;
  std::function<void(const Constant& source, std::int64_t begin, std::int64_t end,
                     std::byte* destination)>
      pack_ranges;  // in place of pack
};

// What a factory gets. Valid only during construction, but for the node.
class SWITCHYARD_API OpKernelInfo {
 public:
  OpKernelInfo(const Node& node, const IExecutionProvider& provider)
      : node_(node), provider_(provider) {}

  const Node& node() const { return node_; }
  const Attributes& attributes() const { return node_.attributes(); }
  const IExecutionProvider& provider() const { return provider_; }
  std::size_t num_inputs() const { return node_.inputs().size(); }
  std::size_t num_outputs() const { return node_.outputs().size(); }
  bool has_input(std::size_t i) const { return i < num_inputs() && node_.inputs()[i] != nullptr; }
  bool has_output(std::size_t i) const {
    return i < num_outputs() && node_.outputs()[i] != nullptr;
  }
  const ValueType& input_type(std::size_t i) const { return node_.inputs()[i]->type(); }
  const ValueType& output_type(std::size_t i) const { return node_.outputs()[i]->type(); }
  // The contents of input i if it is the same in every Run, else nullptr.
  const Tensor* constant(std::size_t i) const;
  // The same with its contents not read: type, dims and the bytes by ranges.
  const Constant* stored(std::size_t i) const;

  // Asks for a packed form of constant input i; the answer is the index for
  // OpKernelContext::Packed. The kernel then no longer reads that input densely, unless KeepDense.
  int RequestPacked(std::size_t input, PackedForm form);
  void KeepDense(std::size_t input) { keep_dense_ |= std::uint64_t{1} << input; }

  struct Request {
    std::size_t input;
    PackedForm form;
  };
  const std::vector<Request>& packed_requests() const { return packed_; }
  std::uint64_t keep_dense() const { return keep_dense_; }
  // Throws NotImplemented / InvalidGraph in the node's name.
  [[noreturn]] void Fail(std::string_view text, ErrorCode code = ErrorCode::kInvalidGraph) const;

 private:
  const Node& node_;
  const IExecutionProvider& provider_;
  std::vector<Request> packed_;
  std::uint64_t keep_dense_ = 0;
};

// A node bound to exact shapes.
class SWITCHYARD_API PrepareContext {
 public:
  virtual ~PrepareContext();
  virtual const Node& node() const = 0;
  virtual bool has_input(std::size_t i) const = 0;
  virtual DataType input_elem(std::size_t i) const = 0;
  virtual std::span<const std::int64_t> input_dims(std::size_t i) const = 0;
  // Contents known now: constants and followed integers; else nullptr.
  virtual const Tensor* input_value(std::size_t i) const = 0;
  // Empty span with *known = false where only Compute will tell.
  virtual std::span<const std::int64_t> output_dims(std::size_t i, bool* known = nullptr) const = 0;
  // Scratch memory for Compute, 64-byte aligned; the last call counts.
  virtual void SetScratch(std::size_t bytes) = 0;
  // For kernels registered with PartViews: output `output` is the bytes of input 0 from `offset`
  // on. The runtime may make it a view; Compute then finds the output there and copies nothing.
  virtual void OutputIsPart(std::size_t output, std::size_t offset);
  // For kernels registered with PartInputs: output 0 holds input `input` from `offset` on. The
  // runtime may have it written there at once; Compute then finds it there and copies nothing.
  virtual void InputIsPart(std::size_t input, std::size_t offset);
  // The node's POD state of OpKernel::state_bytes() bytes, kept for this binding.
  virtual void* state() = 0;
  virtual int team_size() const = 0;  // never a reason for other bits
  template <typename T>
  T& State() {
    return *static_cast<T*>(state());
  }
  [[noreturn]] void Fail(std::string_view text) const;  // InvalidArgument in the node's name
};

// One execution. Methods are cheap.
class SWITCHYARD_API OpKernelContext {
 public:
  virtual ~OpKernelContext();
  const Node& node() const { return *node_; }
  std::size_t num_inputs() const { return num_inputs_; }
  std::size_t num_outputs() const { return num_outputs_; }
  bool has_input(std::size_t i) const { return i < num_inputs_ && inputs_[i] != nullptr; }
  bool has_output(std::size_t i) const { return i < num_outputs_ && outputs_[i] != nullptr; }
  // Throws InvalidArgument when absent or not a tensor.
  const Tensor& Input(std::size_t i) const {
    if (!has_input(i)) Missing(i);
    return inputs_[i]->tensor();
  }
  const Tensor* OptionalInput(std::size_t i) const {
    return has_input(i) && inputs_[i]->is_tensor() ? &inputs_[i]->tensor() : nullptr;
  }
  const OrtValue& InputValue(std::size_t i) const {
    if (!has_input(i)) Missing(i);
    return *inputs_[i];
  }
  // The planned output; its dims were known at binding.
  Tensor& Output(std::size_t i) {
    if (!has_output(i)) Missing(i);
    return outputs_[i]->tensor();
  }
  // An output whose dims only Compute knows (also fine when they were known: they must agree then).
  // The caller's own buffer if one is bound: too small is an error before any write.
  Tensor& Output(std::size_t i, std::span<const std::int64_t> dims) {
    return AllocateOutput(i, dims);
  }
  // Hands over a value made here: sequences, maps, optionals, provider-owned buffers.
  void SetOutput(std::size_t i, OrtValue value) { StoreOutput(i, std::move(value)); }

  void* scratch() const { return scratch_; }
  template <typename T>
  const T& State() const {
    return *static_cast<const T*>(state_);
  }
  // The packed form that OpKernelInfo::RequestPacked answered `form` for.
  const std::byte* Packed(int form) const { return packed_[form]; }
  ThreadTeam& team() const { return *team_; }
  Stream* stream() const { return stream_; }
  const RunOptions& run_options() const { return *run_options_; }
  bool Terminated() const { return run_options_->terminated(); }
  // Throws InvalidArgument in the node's name.
  [[noreturn]] void Fail(std::string_view text, ErrorCode code = ErrorCode::kInvalidArgument) const;

 protected:
  virtual Tensor& AllocateOutput(std::size_t i, std::span<const std::int64_t> dims) = 0;
  virtual void StoreOutput(std::size_t i, OrtValue value) = 0;
  [[noreturn]] void Missing(std::size_t i) const;

  const Node* node_ = nullptr;
  std::size_t num_inputs_ = 0, num_outputs_ = 0;
  const OrtValue* const* inputs_ = nullptr;
  OrtValue* const* outputs_ = nullptr;
  void* scratch_ = nullptr;
  const void* state_ = nullptr;
  const std::byte* const* packed_ = nullptr;
  ThreadTeam* team_ = nullptr;
  Stream* stream_ = nullptr;
  const RunOptions* run_options_ = nullptr;
};

// Owned by the Plan. Compute may run concurrently with itself.
class SWITCHYARD_API OpKernel {
 public:
  virtual ~OpKernel();
  // Bytes of POD state that Prepare leaves for Compute; fixed at creation.
  virtual std::size_t state_bytes() const { return 0; }
  virtual void Prepare(PrepareContext& context) const;  // default: nothing
  virtual void Compute(OpKernelContext& context) const = 0;
  // Which variant was chosen and why, for explain; "" if there is nothing to say.
  virtual std::string Variant() const { return {}; }
};

}  // namespace switchyard

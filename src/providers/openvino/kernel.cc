#include "providers/openvino/kernel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>

#include <openvino/runtime/exception.hpp>
#include <openvino/runtime/infer_request.hpp>

#include "base/format.h"
#include "providers/openvino/element_type.h"
#include "providers/openvino/library.h"
#include "providers/openvino/output_memory.h"

namespace switchyard::openvino {
namespace {

using DimVector = std::vector<std::int64_t>;

constexpr std::size_t kMostShapes = 64;  // input shapes whose output shapes are remembered
// Requests that usually take longer are started and watched, so that they can be cancelled; the
// hand-over to another thread costs some 20 us.
constexpr std::int64_t kWatchedNs = 20'000'000;
constexpr std::chrono::milliseconds kWatchInterval(10);

std::int64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool Same(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

bool Same(const ov::Shape& a, std::span<const std::int64_t> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](std::size_t x, std::int64_t y) {
    return static_cast<std::int64_t>(x) == y;
  });
}

ov::Shape ShapeOf(std::span<const std::int64_t> dims) { return {dims.begin(), dims.end()}; }

// OpenVINO takes no null pointers, not even for nothing.
void* NotNull(const void* data) {
  static std::byte nothing[64];
  return data != nullptr ? const_cast<void*>(data) : nothing;
}

struct Port {
  std::size_t index = 0;  // among the model's
  ov::element::Type type;
  DataType own_type = DataType::kUndefined;
  bool is_static = false;
  DimVector dims;  // if static
  std::size_t rank = 0;
};

// What a tensor of a request points at now.
struct Binding {
  const void* data = nullptr;
  DimVector dims;
  bool bound = false;
  ov::Tensor tensor;                     // dynamic outputs: ours to look at after the run
  std::shared_ptr<OutputTarget> target;  // of that tensor
  bool Is(const void* pointer, std::span<const std::int64_t> other) const {
    return bound && data == pointer && Same(dims, other);
  }
  void Set(const void* pointer, std::span<const std::int64_t> other) {
    bound = true;
    data = pointer;
    dims.assign(other.begin(), other.end());
  }
};

// A request with what it is bound to; one Run at a time has it.
struct Slot {
  ov::InferRequest request;
  std::vector<Binding> inputs, outputs;
  DimVector key;                    // dims of the inputs of this Run
  DimVector foreseen_for;           // the key that `foreseen` belongs to
  std::vector<DimVector> foreseen;  // dims of the outputs, empty: not known
};

class CompiledGroup final : public OpKernel {
 public:
  CompiledGroup(ov::CompiledModel model, const FusedNodeAndGraph& group,
                std::vector<std::shared_ptr<const void>> keep)
      : keep_(std::move(keep)), model_(std::move(model)) {
    inputs_ = Ports(model_.inputs(), group.graph, group.meta.inputs);
    outputs_ = Ports(model_.outputs(), group.graph, group.meta.outputs);
    has_open_outputs_ = std::any_of(outputs_.begin(), outputs_.end(),
                                    [](const Port& port) { return !port.is_static; });
    free_.push_back(MakeSlot());
  }

  void Compute(OpKernelContext& context) const override {
    std::unique_ptr<Slot> slot = Acquire();
    try {
      BindInputs(*slot, context);
      if (has_open_outputs_) Foresee(*slot);
      BindOutputs(*slot, context);
      Infer(*slot, context);
      if (has_open_outputs_) Collect(*slot, context);
    } catch (const Error&) {
      throw;  // the request goes with its slot
    } catch (const std::exception& error) {
      context.Fail("OpenVINO: " + Reason(error), ErrorCode::kEpFail);
    }
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(slot));
  }

  std::string Variant() const override { return "OpenVINO infer request"; }

 private:
  // In the order of the claim, which need not be that of the model. Ports of equal values
  // (Identity) may bear each other's names too: each is taken once.
  static std::vector<Port> Ports(const std::vector<ov::Output<const ov::Node>>& ports,
                                 const GraphViewer& graph, const std::vector<std::string>& names) {
    std::vector<Port> result;
    std::vector<bool> taken(ports.size(), false);
    for (const std::string& name : names) {
      const NodeArg& value = *graph.GetNodeArg(name);
      const auto found = std::find_if(ports.begin(), ports.end(), [&](const auto& port) {
        return !taken[static_cast<std::size_t>(&port - ports.data())] &&
               port.get_names().count(name) != 0;
      });
      if (found == ports.end() || ports.size() != names.size())
        Throw(ErrorCode::kNotImplemented, "the compiled model has no port for '{}' alone", name);
      result.push_back(MakePort(*found, static_cast<std::size_t>(found - ports.begin()), value));
    }
    return result;
  }

  static Port MakePort(const ov::Output<const ov::Node>& output, std::size_t index,
                       const NodeArg& value) {
    Port port;
    port.index = index;
    port.type = output.get_element_type();
    port.own_type = value.type().elem;
    if (port.type != ElementType(port.own_type)) {
      Throw(ErrorCode::kNotImplemented, "the compiled model holds '{}' as {}, not {}", value.Name(),
            port.type.get_type_name(), DataTypeName(port.own_type));
    }
    const ov::PartialShape& shape = output.get_partial_shape();
    port.is_static = shape.is_static();
    if (port.is_static) {
      for (std::size_t dim : shape.to_shape()) port.dims.push_back(static_cast<std::int64_t>(dim));
    }
    port.rank = shape.rank().is_static() ? static_cast<std::size_t>(shape.rank().get_length())
                                         : value.type().shape.rank();
    return port;
  }

  std::unique_ptr<Slot> MakeSlot() const {
    auto slot = std::make_unique<Slot>();
    slot->request = const_cast<ov::CompiledModel&>(model_).create_infer_request();
    slot->inputs.resize(inputs_.size());
    slot->outputs.resize(outputs_.size());
    return slot;
  }

  // The one used last: what it is bound to most likely is what comes.
  std::unique_ptr<Slot> Acquire() const {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<Slot> slot = std::move(free_.back());
        free_.pop_back();
        return slot;
      }
    }
    return MakeSlot();
  }

  void BindInputs(Slot& slot, OpKernelContext& context) const {
    slot.key.clear();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Port& port = inputs_[i];
      const Tensor& tensor = context.Input(i);
      if (!port.is_static) {
        slot.key.push_back(static_cast<std::int64_t>(tensor.rank()));
        slot.key.insert(slot.key.end(), tensor.dims().begin(), tensor.dims().end());
      }
      Binding& binding = slot.inputs[i];
      if (binding.Is(tensor.raw(), tensor.dims())) continue;
      slot.request.set_input_tensor(
          port.index, ov::Tensor(port.type, ShapeOf(tensor.dims()), NotNull(tensor.raw())));
      binding.Set(tensor.raw(), tensor.dims());
    }
  }

  // What the outputs' dims were for these inputs the last time.
  void Foresee(Slot& slot) const {
    if (slot.foreseen_for == slot.key && !slot.foreseen.empty()) return;
    slot.foreseen_for = slot.key;
    const std::lock_guard lock(mutex_);
    const auto found = shapes_.find(slot.key);
    if (found != shapes_.end()) {
      slot.foreseen = found->second;
    } else {
      slot.foreseen.assign(outputs_.size(), {-1});
    }
  }

  static bool Known(const DimVector& dims) { return dims.empty() || dims[0] >= 0; }

  void BindOutputs(Slot& slot, OpKernelContext& context) const {
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const Port& port = outputs_[i];
      Binding& binding = slot.outputs[i];
      if (port.is_static) {
        Tensor& tensor = context.Output(i, port.dims);
        if (binding.Is(tensor.raw(), port.dims)) continue;
        slot.request.set_output_tensor(
            port.index, ov::Tensor(port.type, ShapeOf(port.dims), NotNull(tensor.raw())));
        binding.Set(tensor.raw(), port.dims);
        continue;
      }
      const DimVector& dims = slot.foreseen[i];
      if (!Known(dims)) {
        Grow(slot, i, nullptr);
        binding.bound = false;
        continue;
      }
      Tensor& tensor = context.Output(i, dims);
      if (binding.Is(tensor.raw(), dims)) continue;
      auto target = std::make_shared<OutputTarget>();
      target->data = tensor.raw_mutable();
      target->bytes = tensor.bytes();
      Grow(slot, i, std::move(target));
      binding.Set(tensor.raw(), dims);
    }
  }

  void Grow(Slot& slot, std::size_t i, std::shared_ptr<OutputTarget> target) const {
    Binding& binding = slot.outputs[i];
    binding.tensor = MakeGrowingTensor(outputs_[i].type, outputs_[i].rank, target);
    binding.target = std::move(target);
    slot.request.set_output_tensor(outputs_[i].index, binding.tensor);
  }

  void Infer(Slot& slot, OpKernelContext& context) const {
    const std::int64_t start = Now();
    if (usual_ns_.load(std::memory_order_relaxed) < kWatchedNs) {
      slot.request.infer();
    } else {
      slot.request.start_async();
      while (!slot.request.wait_for(kWatchInterval)) {
        if (!context.Terminated()) continue;
        slot.request.cancel();
        try {
          slot.request.wait();
        } catch (const ov::Cancelled&) {
        }
        throw Error(ErrorCode::kFail, "the run was terminated: RunOptions.terminate is set");
      }
    }
    usual_ns_.store(Now() - start, std::memory_order_relaxed);
  }

  // Outputs that did not go where they were foreseen become the run's own blocks.
  void Collect(Slot& slot, OpKernelContext& context) const {
    bool learnt = false;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i].is_static) continue;
      Binding& binding = slot.outputs[i];
      const ov::Shape& made = binding.tensor.get_shape();
      if (binding.bound && Same(made, binding.dims)) continue;
      const DimVector dims(made.begin(), made.end());
      // A foreseen output that came out differently depends on more than the inputs' dims.
      slot.foreseen[i] = binding.bound                       ? DimVector{-2}
                         : slot.foreseen[i] == DimVector{-2} ? DimVector{-2}
                                                             : dims;
      learnt = true;
      binding.bound = false;
      const bool in_target = binding.target && binding.tensor.data() == binding.target->data;
      if (in_target) {
        Tensor held(outputs_[i].own_type, dims, MakeHostAllocator());
        std::copy_n(static_cast<const std::byte*>(binding.tensor.data()), held.bytes(),
                    static_cast<std::byte*>(held.raw_mutable()));
        context.SetOutput(i, OrtValue(std::move(held)));
        continue;
      }
      auto owner = std::make_shared<ov::Tensor>(binding.tensor);
      context.SetOutput(i, OrtValue(Tensor(outputs_[i].own_type, dims, owner->data(), OrtDevice(),
                                           std::static_pointer_cast<void>(owner))));
    }
    if (!learnt) return;
    const std::lock_guard lock(mutex_);
    if (shapes_.size() >= kMostShapes) shapes_.clear();
    shapes_[slot.key] = slot.foreseen;
  }

  std::vector<std::shared_ptr<const void>> keep_;  // before the model: goes after it
  ov::CompiledModel model_;
  std::vector<Port> inputs_, outputs_;
  bool has_open_outputs_ = false;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Slot>> free_;
  mutable std::map<DimVector, std::vector<DimVector>> shapes_;
  mutable std::atomic<std::int64_t> usual_ns_{0};
};

}  // namespace

std::unique_ptr<OpKernel> MakeKernel(ov::CompiledModel model, const FusedNodeAndGraph& group,
                                     std::vector<std::shared_ptr<const void>> keep) {
  return std::make_unique<CompiledGroup>(std::move(model), group, std::move(keep));
}

}  // namespace switchyard::openvino

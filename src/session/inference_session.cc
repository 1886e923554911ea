#include "switchyard/session/inference_session.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>

#include "base/float_mode.h"
#include "base/format.h"
#include "runtime/run_report.h"
#include "session/border.h"
#include "session/builder.h"
#include "session/config_keys.h"
#include "session/profiler.h"
#include "session/session_impl.h"
#include "switchyard/session/io_binding.h"

namespace switchyard {
namespace {

// A buffer of the caller's: exact dims, or an error before anything is written.
class GivenSink final : public OutputSink {
 public:
  void Reset(const std::string* name, const Tensor* tensor, int space) {
    name_ = name;
    tensor_ = tensor;
    space_ = space;
  }
  Tensor Place(DataType type, std::span<const std::int64_t> dims, int) override {
    if (tensor_->type() != type ||
        !std::equal(dims.begin(), dims.end(), tensor_->dims().begin(), tensor_->dims().end())) {
      Throw(ErrorCode::kInvalidArgument, "output '{}' is {}{}, the buffer bound to it is {}",
            *name_, DataTypeName(type), DimsToString(dims), tensor_->Describe());
    }
    return *tensor_;
  }
  int wanted_space() const override { return space_; }
  bool takes_strings() const override { return true; }

 private:
  const std::string* name_ = nullptr;
  const Tensor* tensor_ = nullptr;
  int space_ = kHostSpace;
};

class PoolSink final : public OutputSink {
 public:
  void Reset(OutputPool* pool) { pool_ = pool; }
  Tensor Place(DataType type, std::span<const std::int64_t> dims, int) override {
    StoragePtr block = pool_->Take(std::max<std::size_t>(BytesOf(type, ElementCount(dims)), 1));
    void* data = block.get();
    return Tensor(type, dims, data, OrtDevice(), std::move(block));
  }

 private:
  OutputPool* pool_ = nullptr;
};

class DeviceSink final : public OutputSink {
 public:
  void Reset(AllocatorPtr allocator, int space) {
    allocator_ = std::move(allocator);
    space_ = space;
  }
  Tensor Place(DataType type, std::span<const std::int64_t> dims, int) override {
    return Tensor(type, dims, allocator_);
  }
  int wanted_space() const override { return space_; }

 private:
  AllocatorPtr allocator_;
  int space_ = kHostSpace;
};

std::string ProviderOf(const BuiltModel& model, const Step& step) {
  return step.provider < 0 ? "executor"
                           : model.providers.name(static_cast<std::size_t>(step.provider));
}

}  // namespace

// One Run's room: pooled, so that a steady state touches no heap.
struct RunSlot {
  RunSlot(const Plan& plan, const ExecutionProviders& providers, std::size_t outputs)
      : state(plan, providers),
        inputs(plan.blocks[0].inputs.size(), nullptr),
        sinks(outputs, nullptr),
        given(outputs),
        pooled(outputs),
        device(outputs),
        results(outputs) {}
  RunState state;
  std::vector<const OrtValue*> inputs;
  std::vector<OutputSink*> sinks;
  std::vector<GivenSink> given;
  std::vector<PoolSink> pooled;
  std::vector<DeviceSink> device;
  std::vector<OrtValue> results;
};

SessionCore::SessionCore(std::shared_ptr<Environment> environment_in, const SessionOptions& options,
                         const std::string* path, std::span<const std::byte> bytes)
    : environment(std::move(environment_in)) {
  if (!environment) Throw(ErrorCode::kInvalidArgument, "InferenceSession: the environment is null");
  if (options.enable_profiling) profiler = std::make_unique<Profiler>(options.profile_file_prefix);
  const std::int64_t start = SteadyNow();
  model = BuildModel(*environment, options, path, bytes);
  if (profiler) profiler->Add("model_loading_and_initialization", "Session", start, SteadyNow());
  if (ConfigFlag("switchyard.node_times", options.ConfigEntry("switchyard.node_times")))
    times = std::make_unique<StepTimes>(model->plan->steps.size());
  pool = std::make_shared<OutputPool>(environment->host_allocator());
  for (std::size_t i = 0; i < model->input_index.size(); ++i) {
    const int index = model->input_index[i];
    const SessionArg& arg = index >= 0 ? model->inputs[static_cast<std::size_t>(index)]
                                       : model->overridable[static_cast<std::size_t>(-1 - index)];
    main_input_args.push_back(&arg);
    main_input_required.push_back(index >= 0);
    input_by_name.emplace(arg.name, static_cast<int>(i));
  }
  for (std::size_t i = 0; i < model->outputs.size(); ++i)
    output_by_name.emplace(model->outputs[i].name, static_cast<int>(i));
  if (model->strict_signature) CollectSharedDims();
}

void SessionCore::CollectSharedDims() {
  std::map<std::string, SharedDim> by_name;
  for (std::size_t i = 0; i < main_input_args.size(); ++i) {
    const ValueType& type = main_input_args[i]->type;
    if (!type.is_tensor() || !type.shape.ranked()) continue;
    for (std::size_t axis = 0; axis < type.shape.rank(); ++axis) {
      if (type.shape[axis].is_symbolic())
        by_name[type.shape[axis].ToString()].places.emplace_back(i, axis);
    }
  }
  for (auto& [name, shared] : by_name) {
    shared.name = name;
    if (shared.places.size() > 1) shared_dims.push_back(std::move(shared));
  }
}

// Dims of one name are of one size.
void SessionCore::CheckSharedDims(std::span<const OrtValue* const> inputs) const {
  const auto size_at = [&](const std::pair<std::size_t, std::size_t>& place) -> std::int64_t {
    const OrtValue* value = inputs[place.first];
    if (value == nullptr || !value->is_tensor()) return -1;
    return place.second < value->tensor().rank() ? value->tensor().dim(place.second) : -1;
  };
  for (const SharedDim& shared : shared_dims) {
    const std::pair<std::size_t, std::size_t>* first = nullptr;
    for (const auto& place : shared.places) {
      if (size_at(place) < 0) continue;
      if (first == nullptr) first = &place;
      if (size_at(place) == size_at(*first)) continue;
      Throw(ErrorCode::kInvalidArgument,
            "input '{}': dim {} is {}, expected {}: the model names it '{}' as dim {} of input "
            "'{}' (session.strict_shape_type_inference=0 lets it pass)",
            main_input_args[place.first]->name, place.second, size_at(place), size_at(*first),
            shared.name, first->second, main_input_args[first->first]->name);
    }
  }
}

SessionCore::~SessionCore() {
  if (!profiler) return;
  try {
    profiler->Finish();  // a profile that nobody ended is written all the same
  } catch (const std::exception& error) {
    environment->logger().Log(Severity::kWarning, "session", error.what());
  }
}

int SessionCore::InputIndex(std::string_view name) const {
  const auto it = input_by_name.find(std::string(name));
  if (it != input_by_name.end()) return it->second;
  std::string known;
  for (const SessionArg* arg : main_input_args)
    known += (known.empty() ? "'" : ", '") + arg->name + "'";
  Throw(ErrorCode::kInvalidArgument, "Invalid input name: {}; the model has {}", name,
        known.empty() ? "none" : known);
}

int SessionCore::OutputIndex(std::string_view name) const {
  const auto it = output_by_name.find(std::string(name));
  if (it != output_by_name.end()) return it->second;
  std::string known;
  for (const SessionArg& arg : model->outputs)
    known += (known.empty() ? "'" : ", '") + arg.name + "'";
  Throw(ErrorCode::kInvalidArgument, "Invalid output name:{}; the model has {}", name, known);
}

void SessionCore::CheckInput(std::size_t index, const OrtValue& value) const {
  const SessionArg& arg = *main_input_args[index];
  const ValueType& type = arg.type;
  if (type.kind == ValueType::Kind::kOptional) return;
  if (!value.has_value())
    Throw(ErrorCode::kInvalidArgument, "input '{}' has no value, expected {}", arg.name,
          type.ToString());
  if (type.is_tensor()) {
    if (!value.is_tensor()) {
      Throw(ErrorCode::kInvalidArgument, "input '{}': expected {}, got {}", arg.name,
            type.ToString(), value.type().ToString());
    }
    const Tensor& tensor = value.tensor();
    if (type.elem != DataType::kUndefined && tensor.type() != type.elem) {
      Throw(ErrorCode::kInvalidArgument,
            "input '{}': Unexpected input data type. Actual: (tensor({})) , expected: ({})",
            arg.name, DataTypeName(tensor.type()), type.ToString());
    }
    if (!tensor.is_dense())
      Throw(ErrorCode::kInvalidArgument, "input '{}': the tensor must be dense", arg.name);
    if (model->spaces->OfDevice(tensor.device()) < 0) {
      Throw(ErrorCode::kInvalidArgument,
            "input '{}' lies on {}, which no provider of this session reaches", arg.name,
            tensor.device().ToString());
    }
    const Shape& shape = type.shape;
    if (!shape.ranked() || (shape.rank() == 0 && tensor.size() == 1)) return;
    if (shape.rank() != tensor.rank()) {
      Throw(ErrorCode::kInvalidArgument,
            "Invalid rank for input: {} Got: {} Expected: {} Please fix either the inputs/outputs "
            "or the model. (expected {}, got {})",
            arg.name, tensor.rank(), shape.rank(), shape.ToString(), DimsToString(tensor.dims()));
    }
    std::string wrong;
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      if (shape[i].is_value() && shape[i].value() != tensor.dim(i)) {
        wrong +=
            fmt::format("\n index: {} Got: {} Expected: {}", i, tensor.dim(i), shape[i].value());
      }
    }
    if (wrong.empty()) return;
    Throw(ErrorCode::kInvalidArgument,
          "Got invalid dimensions for input: {} for the following indices{}\n Please fix either "
          "the inputs/outputs or the model. (expected {}, got {})",
          arg.name, wrong, shape.ToString(), DimsToString(tensor.dims()));
  }
  const bool fits = (type.kind == ValueType::Kind::kSequence && value.is_sequence()) ||
                    (type.kind == ValueType::Kind::kMap && value.is_map()) || !type.known();
  if (!fits) {
    Throw(ErrorCode::kInvalidArgument, "input '{}': expected {}, got {}", arg.name, type.ToString(),
          value.type().ToString());
  }
}

std::unique_ptr<RunSlot> SessionCore::Acquire() {
  {
    const std::lock_guard lock(slots_mutex);
    if (!slots.empty()) {
      std::unique_ptr<RunSlot> slot = std::move(slots.back());
      slots.pop_back();
      return slot;
    }
    slots.reserve(++slots_made);  // Release may not fail
  }
  return std::make_unique<RunSlot>(*model->plan, model->providers, model->outputs.size());
}

void SessionCore::Release(std::unique_ptr<RunSlot> slot) {
  std::fill(slot->inputs.begin(), slot->inputs.end(), nullptr);
  std::fill(slot->sinks.begin(), slot->sinks.end(), nullptr);
  for (OrtValue& result : slot->results) result = OrtValue();
  const std::lock_guard lock(slots_mutex);
  slots.push_back(std::move(slot));
}

MemoryReport SessionCore::ReportMemory() {
  MemoryReport report;
  const std::lock_guard lock(slots_mutex);  // slots in the pool are idle
  if (slots.empty()) return report;
  for (const ArenaUse& use : ReportArenas(*model->plan, slots.back()->state)) {
    MemoryReport::Arena arena;
    const auto path = model->graph_paths.find(use.graph);
    if (path != model->graph_paths.end()) arena.graph = path->second;
    arena.device = model->spaces->device(use.space).ToString();
    arena.segment = use.segment;
    arena.bytes = use.bytes;
    for (const ArenaUse::Row& row : use.rows) {
      arena.rows.push_back({row.name, row.scratch, row.offset, row.bytes, row.first, row.last});
    }
    report.arenas.push_back(std::move(arena));
  }
  return report;
}

SessionReport SessionCore::Report() {
  SessionReport report = model->report;
  report.memory = ReportMemory();
  const std::lock_guard lock(slots_mutex);
  if (slots.empty()) return report;
  for (auto& [node, variant] : ReportVariants(*model->plan, slots.back()->state)) {
    const auto row = model->node_rows.find(node);
    if (row != model->node_rows.end()) report.nodes[row->second].variant = std::move(variant);
  }
  return report;
}

void SessionCore::Observe(const Step& step, std::int64_t from, std::int64_t to) {
  if (times) times->Add(static_cast<std::size_t>(&step - model->plan->steps.data()), to - from);
  if (!profiler) return;
  profiler->Add(step.node->Name() + "_kernel_time", "Node", from, to,
                {{"op_name", step.node->OpType()},
                 {"provider", ProviderOf(*model, step)},
                 {"node_index", std::to_string(step.node->Index())}});
}

std::vector<NodeTime> SessionCore::ReportTimes() const {
  std::vector<NodeTime> rows;
  if (!times) return rows;
  for (const Block& block : model->plan->blocks) {
    const auto path = model->graph_paths.find(block.graph);
    for (std::uint32_t i = block.first_step; i < block.end_step; ++i) {
      const Step& step = model->plan->steps[i];
      rows.push_back({path == model->graph_paths.end() ? "" : path->second, step.node->Name(),
                      step.node->OpType(), ProviderOf(*model, step), times->counts[i].runs.load(),
                      static_cast<double>(times->counts[i].nanoseconds.load()) * 1e-6});
    }
  }
  return rows;
}

void SessionCore::Execute(RunSlot& slot, const RunOptions& options) {
  for (std::size_t i = 0; i < slot.inputs.size(); ++i) {
    if (slot.inputs[i] != nullptr) {
      CheckInput(i, *slot.inputs[i]);
    } else if (main_input_required[i] &&
               main_input_args[i]->type.kind != ValueType::Kind::kOptional) {
      std::string missing;
      for (std::size_t k = i; k < slot.inputs.size(); ++k) {
        if (slot.inputs[k] == nullptr && main_input_required[k])
          missing += " '" + main_input_args[k]->name + "'";
      }
      Throw(ErrorCode::kInvalidArgument, "missing input:{}", missing);
    }
  }
  CheckSharedDims(slot.inputs);
  const std::int64_t start = profiler ? SteadyNow() : 0;
  std::size_t started = 0;
  const bool observed = profiler != nullptr || times != nullptr;
  StepObserver observer;
  if (observed) {
    observer = [this](const Step& step, std::int64_t from, std::int64_t to) {
      Observe(step, from, to);
    };
  }
  std::exception_ptr error;
  const DenormalMode denormals(model->flush_denormals);
  try {
    for (; started < model->providers.size(); ++started)
      model->providers[started].OnRunStart(options);
    Executor executor({*model->plan, model->providers, *model->spaces, *model->team, counters},
                      slot.state, options, observed ? &observer : nullptr);
    executor.Run(slot.inputs, slot.sinks, slot.results);
  } catch (...) {
    error = std::current_exception();
  }
  for (std::size_t p = 0; p < started; ++p) {
    try {
      model->providers[p].OnRunEnd(true, options);
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  }
  counters.runs.fetch_add(1, std::memory_order_relaxed);
  if (profiler) profiler->Add("model_run", "Session", start, SteadyNow());
  if (error) std::rethrow_exception(error);
}

void SessionCore::UsePool(RunSlot& slot, std::size_t output) {
  slot.pooled[output].Reset(pool.get());
  slot.sinks[output] = &slot.pooled[output];
}

void SessionCore::Run(const RunOptions& options, std::span<const std::string> input_names,
                      std::span<const OrtValue> inputs, std::span<const std::string> output_names,
                      std::vector<OrtValue>* results) {
  if (input_names.size() != inputs.size()) {
    Throw(ErrorCode::kInvalidArgument, "Run: {} input names for {} values", input_names.size(),
          inputs.size());
  }
  std::unique_ptr<RunSlot> slot = Acquire();
  const auto back = [this](RunSlot* s) { Release(std::unique_ptr<RunSlot>(s)); };
  const std::unique_ptr<RunSlot, decltype(back)> held(slot.release(), back);
  for (std::size_t i = 0; i < input_names.size(); ++i) {
    held->inputs[static_cast<std::size_t>(InputIndex(input_names[i]))] = &inputs[i];
  }
  if (output_names.empty()) {
    for (std::size_t i = 0; i < model->outputs.size(); ++i) UsePool(*held, i);
  }
  for (const std::string& name : output_names)
    UsePool(*held, static_cast<std::size_t>(OutputIndex(name)));
  Execute(*held, options);
  if (output_names.empty()) {
    for (OrtValue& value : held->results) results->push_back(std::move(value));
    return;
  }
  for (const std::string& name : output_names)
    results->push_back(held->results[static_cast<std::size_t>(OutputIndex(name))]);
}

void SessionCore::RunBound(const RunOptions& options, BoundArguments& bound) {
  std::unique_ptr<RunSlot> slot = Acquire();
  const auto back = [this](RunSlot* s) { Release(std::unique_ptr<RunSlot>(s)); };
  const std::unique_ptr<RunSlot, decltype(back)> held(slot.release(), back);
  for (const auto& input : bound.inputs)
    held->inputs[static_cast<std::size_t>(input.index)] = &input.value;
  for (const auto& output : bound.outputs) {
    const auto i = static_cast<std::size_t>(output.index);
    if (output.given.has_value()) {
      const Tensor& tensor = output.given.tensor();
      held->given[i].Reset(&model->outputs[i].name, &tensor,
                           model->spaces->OfDevice(tensor.device()));
      held->sinks[i] = &held->given[i];
    } else if (output.device.is_host()) {
      UsePool(*held, i);
    } else {
      const int space = model->spaces->OfDevice(output.device);
      held->device[i].Reset(model->spaces->allocator(space), space);
      held->sinks[i] = &held->device[i];
    }
  }
  Execute(*held, options);
  bound.results.resize(bound.outputs.size());
  for (std::size_t i = 0; i < bound.outputs.size(); ++i) {
    bound.results[i] = std::move(held->results[static_cast<std::size_t>(bound.outputs[i].index)]);
  }
}

struct InferenceSession::Impl : SessionCore {
  using SessionCore::SessionCore;
};

InferenceSession::InferenceSession(std::shared_ptr<Environment> environment,
                                   const std::string& path, const SessionOptions& options)
    : impl_(AtBorder([&] {
        return std::make_unique<Impl>(std::move(environment), options, &path,
                                      std::span<const std::byte>());
      })) {}

InferenceSession::InferenceSession(std::shared_ptr<Environment> environment,
                                   std::span<const std::byte> model, const SessionOptions& options)
    : impl_(AtBorder([&] {
        return std::make_unique<Impl>(std::move(environment), options, nullptr, model);
      })) {}

InferenceSession::~InferenceSession() = default;

std::span<const SessionArg> InferenceSession::inputs() const { return impl_->model->inputs; }
std::span<const SessionArg> InferenceSession::outputs() const { return impl_->model->outputs; }
std::span<const SessionArg> InferenceSession::overridable_initializers() const {
  return impl_->model->overridable;
}
const ModelMetadata& InferenceSession::metadata() const { return impl_->model->metadata; }

std::vector<std::string> InferenceSession::providers() const {
  return impl_->model->report.providers;
}

std::vector<ProviderOptions> InferenceSession::provider_options() const {
  std::vector<ProviderOptions> all;
  for (std::size_t p = 0; p < impl_->model->providers.size(); ++p)
    all.push_back(impl_->model->providers[p].GetProviderOptions());
  return all;
}

std::vector<OrtValue> InferenceSession::Run(const RunOptions& options,
                                            std::span<const std::string> input_names,
                                            std::span<const OrtValue> inputs,
                                            std::span<const std::string> output_names) {
  std::vector<OrtValue> results;
  AtBorder([&] { impl_->Run(options, input_names, inputs, output_names, &results); });
  return results;
}

std::string InferenceSession::Explain(bool json) const {
  return Explain(json ? ReportFormat::kJson : ReportFormat::kText);
}

std::string InferenceSession::Explain(ReportFormat format) const {
  return AtBorder([&] { return impl_->Report().Show(format); });
}

MemoryReport InferenceSession::memory_report() const {
  return AtBorder([&] { return impl_->ReportMemory(); });
}

const SessionReport& InferenceSession::report() const { return impl_->model->report; }

SessionCounters InferenceSession::counters() const {
  const RunCounters& c = impl_->counters;
  return {c.runs.load(),
          c.plannings.load(),
          c.bindings.load(),
          c.copies.load(),
          c.copied_bytes.load(),
          c.arena_bytes.load(),
          impl_->model->constants->bytes()};
}

std::vector<NodeTime> InferenceSession::node_times() const {
  return AtBorder([&] { return impl_->ReportTimes(); });
}

std::string InferenceSession::EndProfiling() {
  return AtBorder([&] { return impl_->profiler ? impl_->profiler->Finish() : std::string(); });
}

std::int64_t InferenceSession::profiling_start_time_ns() const {
  return impl_->profiler ? impl_->profiler->start_ns() : 0;
}

AllocatorPtr InferenceSession::allocator(const OrtDevice& device) const {
  const int space = impl_->model->spaces->OfDevice(device);
  if (space < 0)
    Throw(ErrorCode::kInvalidArgument, "no provider of this session has memory on {}",
          device.ToString());
  return impl_->model->spaces->allocator(space);
}

OrtValue InferenceSession::CopyTo(const OrtValue& value, const OrtDevice& device) const {
  return AtBorder([&] {
    const Tensor& source = value.tensor();
    Tensor copy(source.type(), source.dims(), allocator(device));
    impl_->model->spaces->Copy(source, copy, nullptr);
    return OrtValue(std::move(copy));
  });
}

void InferenceSession::CopyInto(const Tensor& source, Tensor& target) const {
  AtBorder([&] {
    if (source.type() != target.type() || source.size() != target.size()) {
      Throw(ErrorCode::kInvalidArgument, "can't copy {} into {}", source.Describe(),
            target.Describe());
    }
    impl_->model->spaces->Copy(source, target, nullptr);
  });
}

// ---- binding

struct IOBinding::Impl {
  InferenceSession& session;
  BoundArguments bound;
};

IOBinding::IOBinding(InferenceSession& session)
    : impl_(std::make_unique<Impl>(Impl{session, {}})) {}
IOBinding::~IOBinding() = default;

void InferenceSession::Run(const RunOptions& options, IOBinding& binding) {
  if (&binding.impl_->session != this)
    Throw(ErrorCode::kInvalidArgument, "the binding belongs to another session");
  AtBorder([&] { impl_->RunBound(options, binding.impl_->bound); });
}

void IOBinding::BindInput(std::string_view name, OrtValue value) {
  SessionCore& core = *impl_->session.impl_;
  const int index = core.InputIndex(name);
  core.CheckInput(static_cast<std::size_t>(index), value);
  for (auto& input : impl_->bound.inputs) {
    if (input.index == index) {
      input.value = std::move(value);
      return;
    }
  }
  impl_->bound.inputs.push_back({index, std::move(value)});
}

namespace {

BoundArguments::Output& OutputRow(BoundArguments& bound, int index) {
  for (auto& output : bound.outputs) {
    if (output.index == index) return output;
  }
  bound.outputs.push_back({index, {}, {}});
  return bound.outputs.back();
}

}  // namespace

void IOBinding::BindOutput(std::string_view name, OrtValue value) {
  SessionCore& core = *impl_->session.impl_;
  const int index = core.OutputIndex(name);
  const Tensor& tensor = value.tensor();
  if (core.model->spaces->OfDevice(tensor.device()) < 0) {
    Throw(ErrorCode::kInvalidArgument,
          "output '{}' is bound to {}, which no provider of this session reaches", name,
          tensor.device().ToString());
  }
  const ValueType& type = core.model->outputs[static_cast<std::size_t>(index)].type;
  if (type.is_tensor() && type.elem != DataType::kUndefined && type.elem != tensor.type()) {
    Throw(ErrorCode::kInvalidArgument, "output '{}' is {}, the buffer bound to it is {}", name,
          type.ToString(), tensor.Describe());
  }
  BoundArguments::Output& row = OutputRow(impl_->bound, index);
  row.given = std::move(value);
  row.device = OrtDevice();
}

void IOBinding::BindOutput(std::string_view name, const OrtDevice& device) {
  SessionCore& core = *impl_->session.impl_;
  const int index = core.OutputIndex(name);
  if (core.model->spaces->OfDevice(device) < 0) {
    Throw(ErrorCode::kInvalidArgument,
          "output '{}' is bound to {}, which no provider of this session reaches", name,
          device.ToString());
  }
  BoundArguments::Output& row = OutputRow(impl_->bound, index);
  row.given = OrtValue();
  row.device = device;
}

void IOBinding::ClearInputs() { impl_->bound.inputs.clear(); }

void IOBinding::ClearOutputs() {
  impl_->bound.outputs.clear();
  impl_->bound.results.clear();
}

void IOBinding::SynchronizeInputs() {
  const BuiltModel& model = *impl_->session.impl_->model;
  for (std::size_t p = 0; p < model.providers.size(); ++p) model.providers[p].Sync();
}

void IOBinding::SynchronizeOutputs() { SynchronizeInputs(); }

const std::vector<OrtValue>& IOBinding::outputs() const { return impl_->bound.results; }

std::vector<std::string> IOBinding::output_names() const {
  std::vector<std::string> names;
  for (const auto& output : impl_->bound.outputs) {
    names.push_back(
        impl_->session.impl_->model->outputs[static_cast<std::size_t>(output.index)].name);
  }
  return names;
}

}  // namespace switchyard

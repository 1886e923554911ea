// Scan: a body run once per slice of its inputs. Version 8 does that once per item of a batch, each
// with a length of its own.

#include <algorithm>
#include <cstring>

#include "base/format.h"
#include "runtime/body_sinks.h"

namespace switchyard {
namespace {

// The elements at `index` of `axis`, between a stack and a dense block of its dims without the
// axis. Row by row: `copy` gets offsets into both, in elements, and a count.
template <typename Copy>
void EachRow(std::span<const std::int64_t> dims, std::size_t axis, std::int64_t index,
             const Copy& copy) {
  std::size_t outer = 1, inner = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(dims[i]);
  for (std::size_t i = axis + 1; i < dims.size(); ++i) inner *= static_cast<std::size_t>(dims[i]);
  const auto length = static_cast<std::size_t>(dims[axis]), at = static_cast<std::size_t>(index);
  for (std::size_t o = 0; o < outer; ++o) copy((o * length + at) * inner, o * inner, inner);
}

void CopyElements(const Tensor& source, std::size_t from, Tensor& target, std::size_t to,
                  std::size_t count) {
  if (source.type() == DataType::kString) {
    std::copy_n(source.data<std::string>() + from, count, target.data_mutable<std::string>() + to);
    return;
  }
  const std::size_t width = static_cast<std::size_t>(BitsOf(source.type())) / 8;
  std::memcpy(static_cast<std::byte*>(target.raw_mutable()) + to * width,
              static_cast<const std::byte*>(source.raw()) + from * width, count * width);
}

// Item `index` of dim 0, in place.
Tensor ItemOf(const Tensor& tensor, std::int64_t index) {
  const std::span<const std::int64_t> dims = tensor.dims().subspan(1);
  const std::size_t width = tensor.type() == DataType::kString
                                ? sizeof(std::string)
                                : static_cast<std::size_t>(BitsOf(tensor.type())) / 8;
  const std::size_t offset =
      static_cast<std::size_t>(index) * static_cast<std::size_t>(ElementCount(dims)) * width;
  auto* data = static_cast<std::byte*>(const_cast<void*>(tensor.raw()));
  return Tensor(tensor.type(), dims, data + offset);
}

void Clear(Tensor& tensor) {
  if (tensor.type() != DataType::kString && tensor.size() != 0)
    std::memset(tensor.raw_mutable(), 0, tensor.bytes());
}

}  // namespace

// One execution of a Scan.
class Executor::ScanRun {
 public:
  ScanRun(Executor& executor, const Step& step)
      : run_(executor),
        step_(step),
        plan_(executor.setup_.plan),
        body_(plan_.blocks[static_cast<std::size_t>(step.bodies[0])]),
        host_(executor.setup_.spaces.allocator(kHostSpace)),
        front_(step.node->SinceVersion() < 9 ? 1 : 0),
        scans_(static_cast<std::size_t>(
            std::max<std::int64_t>(step.node->attributes().Int("num_scan_inputs", 0), 0))) {
    CheckCounts();
    states_ = step.num_inputs - front_ - scans_;
    MakeStateSinks();
    if (front_ == 0) {
      ReadAxes();
    } else {
      ReadBatch();
    }
  }

  ~ScanRun() { run_.LeaveBody(false); }

  void Run() {
    if (front_ == 0) {
      for (std::uint32_t i = 0; i < states_; ++i) carried_[i] = Input(i);
      for (std::size_t i = 0; i < scans_; ++i) sources_[i].tensor = Input(states_ + i).tensor();
      RunSequence(length_);
      for (std::size_t i = 0; i < states_; ++i) Give(i, carried_[i]);
      for (std::size_t k = 0; k < scan_sinks_.size(); ++k) {
        Give(states_ + k, Arrange(scan_sinks_[k].Stacked(), Option("scan_output_axes", k),
                                  Option("scan_output_directions", k) != 0));
      }
    } else {
      RunBatch();
    }
    run_.WaitForUploads();
    run_.DropInputs(body_);
  }

 private:
  struct Source {
    Tensor tensor;
    std::size_t axis = 0;
    bool reversed = false;
    GrowingBuffer buffer;
  };

  const OrtValue& Input(std::size_t i) const {
    return run_.Argument(step_.inputs + static_cast<std::uint32_t>(front_ + i));
  }

  std::int64_t Option(std::string_view name, std::size_t i) const {
    const auto values = step_.node->attributes().Ints(name);
    return i < values.size() ? values[i] : 0;
  }

  void CheckCounts() const {
    const std::size_t inputs = step_.num_inputs - std::min<std::size_t>(step_.num_inputs, front_);
    if (scans_ == 0 || scans_ > inputs || body_.inputs.size() != inputs ||
        body_.outputs.size() != step_.num_outputs || step_.num_outputs < inputs - scans_) {
      Throw(ErrorCode::kInvalidGraph,
            "{}: {} inputs, {} of them scanned, do not fit a body with {} inputs and {} outputs",
            step_.node->Describe(), inputs, scans_, body_.inputs.size(), body_.outputs.size());
    }
  }

  void MakeStateSinks() {
    carried_.resize(states_);
    sources_.resize(scans_);
    state_sinks_.reserve(states_);
    for (std::size_t i = 0; i < states_; ++i)
      state_sinks_.emplace_back(run_.state_, run_.setup_.spaces,
                                plan_.values[body_.outputs[i]].space);
  }

  // Slices of one sequence go behind one another, so a sequence has sinks of its own.
  void MakeScanSinks() {
    scan_sinks_.clear();
    scan_sinks_.reserve(body_.outputs.size());
    sinks_.clear();
    for (StateSink& sink : state_sinks_) sinks_.push_back(&sink);
    for (std::size_t i = states_; i < body_.outputs.size(); ++i) {
      scan_sinks_.emplace_back(host_, *plan_.values[body_.outputs[i]].arg);
      sinks_.push_back(&scan_sinks_.back());
    }
  }

  void SetLength(std::int64_t here, const Tensor& tensor) {
    if (length_ >= 0 && here != length_) {
      Throw(ErrorCode::kInvalidArgument, "{}: scan inputs have {} and {} slices",
            step_.node->Describe(), length_, here);
    }
    length_ = here;
    if (IsPacked(tensor.type())) {
      Throw(ErrorCode::kNotImplemented, "{}: scanning {}", step_.node->Describe(),
            tensor.Describe());
    }
  }

  void ReadAxes() {
    for (std::size_t i = 0; i < scans_; ++i) {
      const Tensor& tensor = Input(states_ + i).tensor();
      const auto rank = static_cast<std::int64_t>(tensor.rank());
      std::int64_t axis = Option("scan_input_axes", i);
      if (axis < 0) axis += rank;
      if (axis < 0 || axis >= rank) {
        Throw(ErrorCode::kInvalidArgument, "{}: scan axis {} of {}", step_.node->Describe(), axis,
              tensor.Describe());
      }
      sources_[i].axis = static_cast<std::size_t>(axis);
      sources_[i].reversed = Option("scan_input_directions", i) != 0;
      SetLength(tensor.dim(sources_[i].axis), tensor);
    }
  }

  void ReadBatch() {
    for (std::size_t i = 0; i < states_ + scans_; ++i) {
      const Tensor& tensor = Input(i).tensor();
      const std::size_t least = i < states_ ? 1 : 2;
      if (tensor.rank() < least) {
        Throw(ErrorCode::kInvalidArgument, "{}: input {} is {}, expected a rank of at least {}",
              step_.node->Describe(), front_ + i, tensor.Describe(), least);
      }
      if (batch_ >= 0 && tensor.dim(0) != batch_) {
        Throw(ErrorCode::kInvalidArgument, "{}: its inputs have batches of {} and {}",
              step_.node->Describe(), batch_, tensor.dim(0));
      }
      batch_ = tensor.dim(0);
      if (i >= states_) {
        SetLength(tensor.dim(1), tensor);
        sources_[i - states_].reversed = Option("directions", i - states_) != 0;
      } else if (IsPacked(tensor.type())) {
        Throw(ErrorCode::kNotImplemented, "{}: a batch of states of {}", step_.node->Describe(),
              tensor.Describe());
      }
    }
    lengths_.assign(static_cast<std::size_t>(batch_), length_);
    if (!run_.HasArgument(step_.inputs) || !run_.Argument(step_.inputs).has_value()) return;
    const Tensor& given = run_.Argument(step_.inputs).tensor();
    if (given.rank() != 1 || given.dim(0) != batch_) {
      Throw(ErrorCode::kInvalidArgument, "{}: sequence_lens is {}, expected one per item of {}",
            step_.node->Describe(), given.Describe(), batch_);
    }
    const auto values = given.values<std::int64_t>();
    lengths_.assign(values.begin(), values.end());
    for (const std::int64_t length : lengths_) {
      if (length >= 0 && length <= length_) continue;
      Throw(ErrorCode::kInvalidArgument, "{}: sequence_lens holds {}, the sequences have {} items",
            step_.node->Describe(), length, length_);
    }
  }

  void RunSequence(std::int64_t length) {
    MakeScanSinks();
    auto& values = run_.frame_->values;
    for (std::int64_t t = 0; t < length; ++t) {
      run_.CheckTerminated();
      run_.WaitForUploads();
      for (std::size_t i = 0; i < states_; ++i) values[body_.inputs[i]] = carried_[i];
      for (std::size_t i = 0; i < scans_; ++i) {
        values[body_.inputs[states_ + i]] =
            SliceOf(sources_[i], sources_[i].reversed ? length - 1 - t : t);
      }
      run_.RunBlock(step_.bodies[0], sinks_);
      for (std::size_t i = 0; i < states_; ++i) {
        carried_[i] = run_.CarryOver(body_.outputs[i], carried_[i], state_sinks_[i]);
        state_sinks_[i].Flip();
      }
      for (std::size_t i = 0; i < scan_sinks_.size(); ++i)
        scan_sinks_[i].Take(values[body_.outputs[states_ + i]]);
    }
  }

  OrtValue SliceOf(Source& source, std::int64_t index) const {
    const DataType type = source.tensor.type();
    Dims dims(source.tensor.dims());
    dims.erase(dims.begin() + source.axis);
    Tensor slice;
    if (type == DataType::kString) {
      slice = Tensor(type, dims, host_);
    } else {
      const std::size_t bytes = BytesOf(type, ElementCount(dims));
      source.buffer.Reserve(std::max<std::size_t>(bytes, 1), host_, 0);
      slice = Tensor(type, dims, source.buffer.data());
    }
    if (slice.size() != 0) {
      EachRow(source.tensor.dims(), source.axis, index,
              [&](std::size_t from, std::size_t to, std::size_t count) {
                CopyElements(source.tensor, from, slice, to, count);
              });
    }
    return OrtValue(std::move(slice));
  }

  void RunBatch() {
    std::vector<std::vector<OrtValue>> made(step_.num_outputs);
    for (std::int64_t b = 0; b < batch_; ++b) {
      for (std::size_t i = 0; i < states_; ++i) carried_[i] = ItemOf(Input(i).tensor(), b);
      for (std::size_t i = 0; i < scans_; ++i)
        sources_[i].tensor = ItemOf(Input(states_ + i).tensor(), b);
      RunSequence(lengths_[static_cast<std::size_t>(b)]);
      // The buffers of the states serve the next item.
      for (std::size_t i = 0; i < states_; ++i)
        made[i].push_back(OrtValue(carried_[i].tensor().Clone(host_)));
      for (std::size_t k = 0; k < scan_sinks_.size(); ++k)
        made[states_ + k].push_back(scan_sinks_[k].Stacked());
    }
    if (batch_ == 0) MakeScanSinks();
    for (std::size_t i = 0; i < step_.num_outputs; ++i) Give(i, Batched(i, made[i]));
  }

  // [batch, ...]; scan outputs [batch, longest, ...] with zeros behind the shorter ones.
  OrtValue Batched(std::size_t output, const std::vector<OrtValue>& items) {
    const bool is_state = output < states_;
    const OrtValue nothing = items.empty() ? WithoutItems(output) : OrtValue();
    const Tensor* pattern = items.empty() ? &nothing.tensor() : &items[0].tensor();
    for (const OrtValue& item : items) {  // one that ran tells more than one of length 0
      if (!is_state && pattern->dim(0) == 0) pattern = &item.tensor();
    }
    Dims dims(pattern->dims());
    if (!is_state) dims[0] = length_;
    const auto item_size = static_cast<std::size_t>(ElementCount(dims));
    dims.insert(dims.begin(), static_cast<std::int64_t>(items.size()));
    Tensor all(pattern->type(), dims, host_);
    Clear(all);
    for (std::size_t b = 0; b < items.size(); ++b) {
      const Tensor& item = items[b].tensor();
      if (item.size() == 0) continue;
      const auto theirs = item.dims().subspan(is_state ? 0 : 1);
      const auto ours = pattern->dims().subspan(is_state ? 0 : 1);
      if (!std::equal(theirs.begin(), theirs.end(), ours.begin(), ours.end())) {
        Throw(ErrorCode::kInvalidArgument,
              "{}: output {} has shape {} for one item of the batch and {} for another",
              step_.node->Describe(), output, DimsToString(ours), DimsToString(theirs));
      }
      CopyElements(item, 0, all, b * item_size, static_cast<std::size_t>(item.size()));
    }
    return OrtValue(std::move(all));
  }

  // The item that a batch of none would be made of.
  OrtValue WithoutItems(std::size_t output) {
    if (output >= states_) return scan_sinks_[output - states_].Stacked();
    const Tensor& input = Input(output).tensor();
    return OrtValue(Tensor(input.type(), input.dims().subspan(1), host_));
  }

  // Moves the stacking axis 0 to `axis`, reversed if the slices were to be prepended.
  OrtValue Arrange(OrtValue stacked, std::int64_t axis, bool reversed) const {
    const Tensor& tensor = stacked.tensor();
    const auto rank = static_cast<std::int64_t>(tensor.rank());
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) {
      Throw(ErrorCode::kInvalidArgument, "{}: scan output axis {} of rank {}",
            step_.node->Describe(), axis, rank);
    }
    if (axis == 0 && !reversed) return stacked;
    Dims dims(tensor.dims());
    const std::int64_t length = tensor.dim(0);
    dims.erase(dims.begin());
    const auto slice = static_cast<std::size_t>(ElementCount(dims));
    dims.insert(dims.begin() + axis, length);
    Tensor out(tensor.type(), dims, host_);
    if (slice == 0) return OrtValue(std::move(out));
    for (std::int64_t t = 0; t < length; ++t) {
      EachRow(dims, static_cast<std::size_t>(axis), reversed ? length - 1 - t : t,
              [&](std::size_t to, std::size_t from, std::size_t count) {
                CopyElements(tensor, static_cast<std::size_t>(t) * slice + from, out, to, count);
              });
    }
    return OrtValue(std::move(out));
  }

  void Give(std::size_t output, OrtValue value) {
    const std::uint32_t at = step_.outputs + static_cast<std::uint32_t>(output);
    if (!run_.HasArgument(at)) return;
    run_.Argument(at) = std::move(value);
    run_.state_.used_heap.push_back(plan_.arguments[at]);
  }

  Executor& run_;
  const Step& step_;
  const Plan& plan_;
  const Block& body_;
  const AllocatorPtr& host_;
  std::size_t front_, scans_, states_ = 0;
  std::int64_t length_ = -1, batch_ = -1;
  std::vector<std::int64_t> lengths_;  // of the batch's items
  std::vector<Source> sources_;
  std::vector<StateSink> state_sinks_;
  std::vector<ScanSink> scan_sinks_;
  std::vector<OutputSink*> sinks_;
  std::vector<OrtValue> carried_;
};

void Executor::RunScan(const Step& step) { ScanRun(*this, step).Run(); }

}  // namespace switchyard

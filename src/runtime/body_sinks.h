#pragma once
// Where the outputs of a body go while If, Loop and Scan run it: loop-carried values, stacked
// slices, small values that only the executor reads. Internal to these.

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/format.h"
#include "runtime/executor.h"

namespace switchyard {

// Grows by doubling; contents are kept.
struct GrowingBuffer {
  StoragePtr storage;
  std::size_t bytes = 0;

  std::byte* data() const { return static_cast<std::byte*>(storage.get()); }
  void Reserve(std::size_t wanted, const AllocatorPtr& allocator, std::size_t keep) {
    if (wanted <= bytes) return;
    const std::size_t capacity = std::max(wanted, bytes * 2);
    if (keep == 0) {
      storage.reset();
      bytes = 0;
    }
    void* block = allocator->Alloc(capacity);
    StoragePtr bigger(block, [allocator](void* p) { allocator->Free(p); });
    if (keep != 0) std::memcpy(block, storage.get(), keep);
    storage = std::move(bigger);
    bytes = capacity;
  }
};

// One loop-carried value: alternates between two buffers.
class StateSink final : public OutputSink {
 public:
  StateSink(RunState& state, const MemorySpaces& spaces, int space)
      : state_(state), spaces_(spaces), space_(space) {}
  Tensor Place(DataType type, std::span<const std::int64_t> dims, int space) override {
    SY_CHECK(space == space_);
    GrowingBuffer& buffer = buffers_[parity_];
    const std::size_t bytes = std::max<std::size_t>(BytesOf(type, ElementCount(dims)), 1);
    if (space_ != kHostSpace && bytes > buffer.bytes) state_.WaitForStreams();
    buffer.Reserve(bytes, spaces_.allocator(space_), 0);
    return Tensor(type, dims, buffer.data(), spaces_.device(space_), buffer.storage);
  }
  int wanted_space() const override { return space_; }
  void Flip() { parity_ ^= 1; }

 private:
  RunState& state_;
  const MemorySpaces& spaces_;
  int space_;
  int parity_ = 0;
  GrowingBuffer buffers_[2];
};

// One scan output: slices one behind the other in host memory. Strings are kept as values.
class ScanSink final : public OutputSink {
 public:
  ScanSink(const AllocatorPtr& host, const NodeArg& value) : host_(host), value_(value) {}

  Tensor Place(DataType type, std::span<const std::int64_t> dims, int) override {
    Begin(type, dims);
    const std::size_t at = slice_bytes_ * static_cast<std::size_t>(count_);
    buffer_.Reserve(std::max<std::size_t>(at + slice_bytes_, 1), host_, at);
    return Tensor(type, dims, buffer_.data() + at, OrtDevice());
  }

  // The slice of this iteration has been written, or is `value` elsewhere.
  void Take(const OrtValue& value) {
    const Tensor& tensor = value.tensor();
    if (tensor.type() == DataType::kString) {
      Begin(tensor.type(), tensor.dims());
      strings_.insert(strings_.end(), tensor.data<std::string>(),
                      tensor.data<std::string>() + tensor.size());
    } else {
      const bool in_place =
          started_ && buffer_.data() != nullptr &&
          tensor.raw() == buffer_.data() + slice_bytes_ * static_cast<std::size_t>(count_) &&
          std::equal(dims_.begin(), dims_.end(), tensor.dims().begin(), tensor.dims().end());
      if (!in_place) {
        Tensor slice = Place(tensor.type(), tensor.dims(), kHostSpace);
        if (tensor.size() != 0) std::memcpy(slice.raw_mutable(), tensor.raw(), tensor.bytes());
      }
    }
    ++count_;
  }

  // [count, dims...]; dims of a loop that never ran as far as the model tells, else 0.
  OrtValue Stacked() {
    if (!started_) {
      type_ = value_.type().elem;
      const Shape& shape = value_.type().shape;
      if (shape.ranked()) {
        for (const Dim& d : shape) dims_.push_back(d.is_value() ? d.value() : 0);
      }
    }
    Dims dims;
    dims.push_back(count_);
    for (std::int64_t d : dims_) dims.push_back(d);
    if (type_ == DataType::kString) return OrtValue::FromData<std::string>(dims, strings_);
    if (!buffer_.storage) buffer_.Reserve(1, host_, 0);
    return OrtValue(Tensor(type_, dims, buffer_.data(), OrtDevice(), buffer_.storage));
  }
  std::int64_t count() const { return count_; }

 private:
  void Begin(DataType type, std::span<const std::int64_t> dims) {
    if (!started_) {
      started_ = true;
      type_ = type;
      dims_ = Dims(dims);
      slice_bytes_ = type == DataType::kString ? 0 : BytesOf(type, ElementCount(dims));
      if (IsPacked(type))
        Throw(ErrorCode::kNotImplemented, "scan output '{}' of packed type {}", value_.Name(),
              DataTypeName(type));
      return;
    }
    if (!std::equal(dims_.begin(), dims_.end(), dims.begin(), dims.end())) {
      Throw(ErrorCode::kInvalidArgument,
            "scan output '{}' has shape {} in iteration {}, it was {} before", value_.Name(),
            DimsToString(dims), count_, DimsToString(dims_));
    }
  }
  AllocatorPtr host_;
  const NodeArg& value_;
  bool started_ = false;
  DataType type_ = DataType::kUndefined;
  Dims dims_;
  std::size_t slice_bytes_ = 0;
  std::int64_t count_ = 0;
  GrowingBuffer buffer_;
  std::vector<std::string> strings_;
};

// A small value that only the executor reads.
class ScratchSink final : public OutputSink {
 public:
  explicit ScratchSink(const AllocatorPtr& host) : host_(host) {}
  Tensor Place(DataType type, std::span<const std::int64_t> dims, int) override {
    buffer_.Reserve(std::max<std::size_t>(BytesOf(type, ElementCount(dims)), 1), host_, 0);
    return Tensor(type, dims, buffer_.data(), OrtDevice());
  }

 private:
  AllocatorPtr host_;
  GrowingBuffer buffer_;
};

}  // namespace switchyard

#pragma once
// A typed n-dimensional array over storage it shares or borrows. Dense (row-major) for users and
// foreign providers; inside a plan a tensor may carry strides, the innermost one being 1.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "switchyard/base/error.h"
#include "switchyard/base/export.h"
#include "switchyard/base/inline_vector.h"
#include "switchyard/tensor/allocator.h"
#include "switchyard/tensor/data_type.h"
#include "switchyard/tensor/narrow_float.h"

namespace switchyard {

// Keeps a block alive; what it points to is the tensor's business.
using StoragePtr = std::shared_ptr<void>;

class SWITCHYARD_API Tensor {
 public:
  Tensor() = default;
  // Owns memory from `allocator`; contents undefined, strings empty.
  Tensor(DataType type, std::span<const std::int64_t> dims, const AllocatorPtr& allocator);
  // A window onto `data` in memory of `device`; `storage`, if given, is kept alive. data may be
  // nullptr only if there are no bytes.
  Tensor(DataType type, std::span<const std::int64_t> dims, void* data, OrtDevice device = {},
         StoragePtr storage = nullptr);

  DataType type() const { return type_; }
  std::span<const std::int64_t> dims() const { return dims_; }
  std::size_t rank() const { return dims_.size(); }
  std::int64_t dim(std::size_t i) const { return dims_[i]; }
  std::int64_t size() const { return size_; }  // elements
  std::size_t bytes() const { return BytesOf(type_, size_); }
  const OrtDevice& device() const { return device_; }
  const StoragePtr& storage() const { return storage_; }

  // Strides in elements; empty when dense.
  std::span<const std::int64_t> strides() const { return strides_; }
  bool is_dense() const { return strides_.empty(); }
  void set_strides(std::span<const std::int64_t> strides) {
    strides_.assign(strides.begin(), strides.end());
  }

  const void* raw() const { return data_; }
  void* raw_mutable() { return data_; }
  template <typename T>
  const T* data() const {
    CheckType(DataTypeOf<T>);
    return static_cast<const T*>(data_);
  }
  template <typename T>
  T* data_mutable() {
    CheckType(DataTypeOf<T>);
    return static_cast<T*>(data_);
  }
  template <typename T>
  std::span<const T> values() const {
    return {data<T>(), static_cast<std::size_t>(size_)};
  }

  // The run's fast path: points this object at other memory and dims without touching the heap.
  void Rebind(DataType type, std::span<const std::int64_t> dims, void* data, OrtDevice device) {
    type_ = type;
    if (dims.data() != dims_.data()) dims_.assign(dims.begin(), dims.end());
    strides_.clear();
    size_ = 1;
    for (std::int64_t d : dims_) size_ *= d;
    data_ = data;
    device_ = device;
    if (storage_) storage_.reset();
  }
  void set_data(void* data) { data_ = data; }
  void set_storage(StoragePtr storage) { storage_ = std::move(storage); }

  // Host tensors of the same dims: a dense copy owned by `allocator`.
  Tensor Clone(const AllocatorPtr& allocator) const;
  std::string Describe() const;  // "float[2,3]"

 private:
  void CheckType(DataType asked) const {
    if (asked != type_) WrongType(asked);
  }
  [[noreturn]] void WrongType(DataType asked) const;

  DataType type_ = DataType::kUndefined;
  OrtDevice device_;
  std::int64_t size_ = 0;
  void* data_ = nullptr;
  Dims dims_;
  Dims strides_;
  StoragePtr storage_;
};

}  // namespace switchyard

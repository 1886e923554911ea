#include "switchyard/tensor/tensor.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/format.h"
#include "switchyard/tensor/shape.h"

namespace switchyard {
namespace {

StoragePtr AllocateStorage(DataType type, std::int64_t count, const AllocatorPtr& allocator,
                           void** data) {
  const std::size_t bytes = BytesOf(type, count);
  void* block = allocator->Alloc(bytes);
  *data = block;
  if (type != DataType::kString) {
    return StoragePtr(block, [allocator](void* p) { allocator->Free(p); });
  }
  auto* strings = static_cast<std::string*>(block);
  std::uninitialized_default_construct_n(strings, count);
  return StoragePtr(block, [allocator, count](void* p) {
    std::destroy_n(static_cast<std::string*>(p), count);
    allocator->Free(p);
  });
}

}  // namespace

Tensor::Tensor(DataType type, std::span<const std::int64_t> dims, const AllocatorPtr& allocator)
    : type_(type), device_(allocator->info().device), size_(ElementCount(dims)), dims_(dims) {
  storage_ = AllocateStorage(type, size_, allocator, &data_);
}

Tensor::Tensor(DataType type, std::span<const std::int64_t> dims, void* data, OrtDevice device,
               StoragePtr storage)
    : type_(type),
      device_(device),
      size_(ElementCount(dims)),
      data_(data),
      dims_(dims),
      storage_(std::move(storage)) {
  if (data == nullptr && size_ != 0) {
    Throw(ErrorCode::kInvalidArgument, "{} needs memory, got a null pointer", Describe());
  }
}

Tensor Tensor::Clone(const AllocatorPtr& allocator) const {
  SY_CHECK(device_.is_host() && is_dense());
  Tensor copy(type_, dims_, allocator);
  if (type_ == DataType::kString) {
    std::copy_n(data<std::string>(), size_, copy.data_mutable<std::string>());
  } else if (size_ != 0) {
    std::memcpy(copy.data_, data_, bytes());
  }
  return copy;
}

std::string Tensor::Describe() const {
  return std::string(DataTypeName(type_)) + DimsToString(dims_);
}

void Tensor::WrongType(DataType asked) const {
  Throw(ErrorCode::kInvalidArgument, "tensor {} was read as {}", Describe(), DataTypeName(asked));
}

}  // namespace switchyard

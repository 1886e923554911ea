#include "switchyard/tensor/constant.h"

#include <cstring>

#include "base/format.h"

namespace switchyard {

ByteSource::~ByteSource() = default;

Constant::Constant(DataType type, Dims dims, std::shared_ptr<const ByteSource> source,
                   std::uint64_t offset)
    : type_(type),
      dims_(std::move(dims)),
      size_(ElementCount(dims_)),
      source_(std::move(source)),
      offset_(offset) {
  SY_CHECK(type != DataType::kString);
  const std::uint64_t need = BytesOf(type_, size_);
  if (offset > source_->size() || need > source_->size() - offset) {
    Throw(ErrorCode::kInvalidGraph, "tensor {}{} needs bytes {}..{}, its source has {}",
          DataTypeName(type_), DimsToString(dims_), offset, offset + need, source_->size());
  }
}

Constant::Constant(Tensor tensor)
    : type_(tensor.type()),
      dims_(tensor.dims()),
      size_(tensor.size()),
      dense_(std::make_shared<const Tensor>(std::move(tensor))) {
  SY_CHECK(dense_->device().is_host() && dense_->is_dense());
}

const void* Constant::source_id() const {
  return source_ ? static_cast<const void*>(source_.get()) : dense_->raw();
}

std::span<const std::byte> Constant::repeated() const {
  if (!source_ || IsPacked(type_)) return {};
  const std::span<const std::byte> period = source_->repeated();
  const bool one_element =
      period.size() == BytesOf(type_, 1) && (period.empty() || offset_ % period.size() == 0);
  return one_element ? period : std::span<const std::byte>();
}

void Constant::Read(std::uint64_t begin, std::span<std::byte> destination) const {
  SY_CHECK(begin + destination.size() <= bytes() && type_ != DataType::kString);
  if (destination.empty()) return;
  if (source_) {
    source_->Read(offset_ + begin, destination);
  } else {
    std::memcpy(destination.data(), static_cast<const std::byte*>(dense_->raw()) + begin,
                destination.size());
  }
}

const Tensor& Constant::tensor() const {
  const std::lock_guard lock(mutex_);
  if (!dense_) {
    Tensor tensor(type_, dims_, MakeHostAllocator());
    if (tensor.size() != 0) {
      Read(0, {static_cast<std::byte*>(tensor.raw_mutable()), tensor.bytes()});
    }
    dense_ = std::make_shared<const Tensor>(std::move(tensor));
  }
  return *dense_;
}

bool Constant::is_loaded() const {
  const std::lock_guard lock(mutex_);
  return dense_ != nullptr;
}

void Constant::Release() const {
  const std::lock_guard lock(mutex_);
  if (source_) dense_.reset();
}

}  // namespace switchyard

#include "providers/openvino/output_memory.h"

#include <cstdlib>
#include <new>

namespace switchyard::openvino {
namespace {

constexpr std::size_t kAlignment = 64;

class TargetAllocator {
 public:
  explicit TargetAllocator(std::shared_ptr<const OutputTarget> target)
      : target_(std::move(target)) {}

  void* allocate(std::size_t bytes, std::size_t) {
    if (target_ && target_->data != nullptr && bytes == target_->bytes && bytes != 0)
      return target_->data;
    const std::size_t rounded = (bytes / kAlignment + 1) * kAlignment;
    void* block = std::aligned_alloc(kAlignment, rounded);
    if (block == nullptr) throw std::bad_alloc();
    return block;
  }
  void deallocate(void* block, std::size_t, std::size_t) noexcept {
    if (!target_ || block != target_->data) std::free(block);
  }
  bool is_equal(const TargetAllocator& other) const { return target_ == other.target_; }

 private:
  std::shared_ptr<const OutputTarget> target_;
};

}  // namespace

ov::Tensor MakeGrowingTensor(const ov::element::Type& type, std::size_t rank,
                             std::shared_ptr<const OutputTarget> target) {
  return {type, ov::Shape(rank, 0), ov::Allocator(TargetAllocator(std::move(target)))};
}

}  // namespace switchyard::openvino

#include "runtime/constant_store.h"

#include <algorithm>

#include "base/format.h"

namespace switchyard {
namespace {

std::tuple<const void*, std::uint64_t, std::size_t, std::string> KeyOf(const Constant& constant,
                                                                       const std::string& form) {
  return {constant.source_id(), constant.source_offset(),
          constant.type() == DataType::kString ? 0 : constant.bytes(),
          form + DimsToString(constant.dims()) + std::string(DataTypeName(constant.type()))};
}

}  // namespace

const Tensor& ConstantStore::Dense(const ConstantPtr& constant, int space) {
  const auto [it, fresh] = dense_.try_emplace({KeyOf(*constant, ""), space});
  if (!fresh) return it->second;
  held_.push_back(constant);
  const Tensor& host = constant->tensor();
  if (space == kHostSpace) {
    it->second = host;
  } else {
    it->second = Tensor(host.type(), host.dims(), spaces_.allocator(space));
    spaces_.Copy(host, it->second, nullptr);
  }
  if (host.type() != DataType::kString) bytes_ += host.bytes();
  return it->second;
}

std::size_t ConstantStore::Request(const ConstantPtr& constant, const PackedForm& form) {
  const auto [it, fresh] = by_key_.try_emplace(KeyOf(*constant, form.id), blocks_.size());
  if (fresh) blocks_.push_back({constant, form, nullptr, nullptr});
  return it->second;
}

void ConstantStore::Pack(ThreadTeam& team) {
  for (; packed_blocks_ < blocks_.size(); ++packed_blocks_) {
    Block& block = blocks_[packed_blocks_];
    if (block.form.bytes == 0) continue;
    const AllocatorPtr& host = spaces_.allocator(kHostSpace);
    void* memory = host->Alloc(block.form.bytes);
    block.storage = StoragePtr(memory, [host](void* p) { host->Free(p); });
    block.data = static_cast<std::byte*>(memory);
    bytes_ += block.form.bytes;
    const Tensor& dense = block.constant->tensor();
    const std::int64_t chunks =
        std::min<std::int64_t>(std::max<std::int64_t>(block.form.parts, 1), 64);
    const std::int64_t parts = std::max<std::int64_t>(block.form.parts, 1);
    team.ParallelFor(chunks, [&](std::int64_t chunk, int) {
      block.form.pack(dense, parts * chunk / chunks, parts * (chunk + 1) / chunks, block.data);
    });
    if (dense_.count({KeyOf(*block.constant, ""), kHostSpace}) == 0) block.constant->Release();
  }
}

}  // namespace switchyard

#include "runtime/constant_store.h"

#include <algorithm>

#include "base/format.h"
#include "base/time_limit.h"

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
  CheckTimeLimit();
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

Tensor ConstantStore::Passing(const ConstantPtr& constant) {
  if (constant->is_loaded()) return constant->tensor();
  const std::size_t bytes = constant->bytes();
  if (staging_bytes_ < bytes) {
    EndPacking();
    const AllocatorPtr& host = spaces_.allocator(kHostSpace);
    staging_ = StoragePtr(host->Alloc(bytes), [host](void* p) { host->Free(p); });
    staging_bytes_ = bytes;
  }
  if (staged_ != constant) {
    staged_.reset();
    constant->Read(0, {static_cast<std::byte*>(staging_.get()), bytes});
    staged_ = constant;
  }
  return Tensor(constant->type(), constant->dims(), staging_.get(), {}, staging_);
}

void ConstantStore::EndPacking() {
  staged_.reset();
  staging_.reset();
  staging_bytes_ = 0;
}

void ConstantStore::Fill(const Block& block, ThreadTeam& team) {
  const std::int64_t parts = std::max<std::int64_t>(block.form.parts, 1);
  const std::int64_t chunks = std::min<std::int64_t>(parts, 64);
  const TimeLimit* limit = TimeLimit::Current();
  const auto spread = [&](auto&& pack) {
    team.ParallelFor(chunks, [&](std::int64_t chunk, int) {
      if (limit != nullptr) limit->Check();
      pack(parts * chunk / chunks, parts * (chunk + 1) / chunks);
    });
  };
  if (block.form.pack_ranges) {
    spread([&](std::int64_t begin, std::int64_t end) {
      block.form.pack_ranges(*block.constant, begin, end, block.data);
    });
    return;
  }
  const Tensor dense = Passing(block.constant);
  spread([&](std::int64_t begin, std::int64_t end) {
    block.form.pack(dense, begin, end, block.data);
  });
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
    Fill(block, team);
    if (dense_.count({KeyOf(*block.constant, ""), kHostSpace}) == 0) block.constant->Release();
    block.form.pack = nullptr;
    block.form.pack_ranges = nullptr;
  }
}

}  // namespace switchyard

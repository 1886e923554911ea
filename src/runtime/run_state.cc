#include "runtime/run_state.h"

namespace switchyard {

OutputPool::~OutputPool() {
  for (const Entry& entry : cached_) host_->Free(entry.block);
}

StoragePtr OutputPool::Take(std::size_t bytes) {
  void* block = nullptr;
  std::size_t size = bytes;
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < cached_.size(); ++i) {
      if (cached_[i].bytes < bytes || cached_[i].bytes > bytes * 2) continue;
      block = cached_[i].block;
      size = cached_[i].bytes;
      cached_bytes_ -= size;
      cached_[i] = cached_.back();
      cached_.pop_back();
      break;
    }
  }
  if (block == nullptr) block = host_->Alloc(bytes);
  return StoragePtr(block, [pool = shared_from_this(), size](void* p) { pool->Return(p, size); });
}

void OutputPool::Return(void* block, std::size_t bytes) noexcept {
  if (block == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    if (cached_.size() < kMaxCached && cached_bytes_ + bytes <= kMaxCachedBytes) {
      cached_.push_back({block, bytes});
      cached_bytes_ += bytes;
      return;
    }
  }
  host_->Free(block);
}

RunState::RunState(const Plan& plan, const ExecutionProviders& providers)
    : arenas(plan.blocks.size()),
      dynamic(plan.values.size()),
      stream_busy(providers.size(), false) {
  for (std::size_t p = 0; p < providers.size(); ++p) streams.push_back(providers[p].CreateStream());
  std::size_t most_outputs = 1, most_inputs = 1;
  for (const Step& step : plan.steps) {
    most_outputs = std::max<std::size_t>(most_outputs, step.num_outputs);
    most_inputs = std::max<std::size_t>(most_inputs, step.num_inputs);
  }
  for (const FollowedNode& node : plan.followed) {
    most_outputs = std::max<std::size_t>(most_outputs, node.num_outputs);
    most_inputs = std::max<std::size_t>(most_inputs, node.num_inputs);
  }
  placed_at.resize(plan.values.size(), 0);
  reach.resize(plan.values.size(), 0);
  inferred.resize(most_outputs);
  inferred_inputs.reserve(most_inputs);
}

void RunState::WaitForStreams() {
  for (std::size_t p = 0; p < streams.size(); ++p) {
    if (!stream_busy[p]) continue;
    stream_busy[p] = false;
    streams[p]->Synchronize();
  }
}

}  // namespace switchyard

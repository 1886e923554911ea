#pragma once
// Places constants: dense per memory space, and in the packed forms kernels ask for, each once per
// (bytes, form). Shared by all nodes and bodies of a session.

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/memory_spaces.h"
#include "switchyard/base/thread_team.h"

namespace switchyard {

class ConstantStore {
 public:
  explicit ConstantStore(const MemorySpaces& spaces) : spaces_(spaces) {}

  // The dense tensor in that space; made on first use, kept.
  const Tensor& Dense(const ConstantPtr& constant, int space);
  // Index for packed(); the block is filled by Pack.
  std::size_t Request(const ConstantPtr& constant, const PackedForm& form);
  // Fills the blocks requested since the last call, each by the whole team. Called kernel by
  // kernel: dense copies that nobody asked for go, and what a form reads densely passes through one
  // buffer.
  void Pack(ThreadTeam& team);
  // Gives up the buffer that Pack keeps between calls.
  void EndPacking();
  const std::byte* packed(std::size_t index) const { return blocks_[index].data; }
  // Host and device bytes held, each constant counted once per place and form.
  std::uint64_t bytes() const { return bytes_; }

 private:
  using Key = std::tuple<const void*, std::uint64_t, std::size_t, std::string>;
  struct Block {
    ConstantPtr constant;
    PackedForm form;
    StoragePtr storage;
    std::byte* data = nullptr;
  };
  // The dense tensor for now: in the staging buffer unless it is there already.
  Tensor Passing(const ConstantPtr& constant);
  void Fill(const Block& block, ThreadTeam& team);

  const MemorySpaces& spaces_;
  std::map<std::pair<Key, int>, Tensor> dense_;
  std::map<Key, std::size_t> by_key_;
  std::vector<Block> blocks_;
  std::size_t packed_blocks_ = 0;
  StoragePtr staging_;
  ConstantPtr staged_;  // what the buffer holds
  std::size_t staging_bytes_ = 0;
  std::vector<ConstantPtr> held_;
  std::uint64_t bytes_ = 0;
};

}  // namespace switchyard

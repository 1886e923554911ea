#pragma once
// The memory spaces of a session: the host is 0, every separate device memory of a provider is
// another. Knows allocators, and how to copy between any two spaces.

#include <memory>
#include <vector>

#include "switchyard/ep/execution_provider.h"

namespace switchyard {

inline constexpr int kHostSpace = 0;

class MemorySpaces {
 public:
  // host: allocator of space 0. A provider whose device is host memory shares space 0.
  MemorySpaces(const ExecutionProviders& providers, AllocatorPtr host);

  int size() const { return static_cast<int>(spaces_.size()); }
  // The space of a provider's kernels.
  int OfProvider(int provider) const { return of_provider_[static_cast<std::size_t>(provider)]; }
  // -1: no provider reaches that device.
  int OfDevice(const OrtDevice& device) const;
  const OrtDevice& device(int space) const {
    return spaces_[static_cast<std::size_t>(space)].device;
  }
  const AllocatorPtr& allocator(int space) const {
    return spaces_[static_cast<std::size_t>(space)].allocator;
  }

  // A stream of the source's or destination's device makes the copy asynchronous. Without a way in
  // one hop, two hops through host memory (synchronous). Throws EpFail when nothing can.
  void Copy(const Tensor& source, Tensor& destination, Stream* stream) const;

 private:
  struct Space {
    OrtDevice device;
    AllocatorPtr allocator;
    std::unique_ptr<IDataTransfer> transfer;
  };
  const IDataTransfer* Transfer(const OrtDevice& source, const OrtDevice& destination) const;
  std::vector<Space> spaces_;
  std::vector<int> of_provider_;
};

}  // namespace switchyard

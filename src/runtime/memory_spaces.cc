#include "runtime/memory_spaces.h"

#include <algorithm>
#include <cstring>

#include "base/format.h"

namespace switchyard {

MemorySpaces::MemorySpaces(const ExecutionProviders& providers, AllocatorPtr host) {
  spaces_.push_back({OrtDevice(), std::move(host), nullptr});
  for (std::size_t i = 0; i < providers.size(); ++i) {
    IExecutionProvider& provider = providers[i];
    if (provider.device().is_host()) {
      of_provider_.push_back(kHostSpace);
      continue;
    }
    of_provider_.push_back(static_cast<int>(spaces_.size()));
    Space space{provider.device(), nullptr, provider.GetDataTransfer()};
    for (AllocatorPtr& allocator : provider.CreatePreferredAllocators()) {
      if (allocator->info().device == provider.device()) space.allocator = std::move(allocator);
    }
    if (!space.allocator || !space.transfer) {
      Throw(ErrorCode::kEpFail, "{} runs on {} but offers no {} for it", providers.name(i),
            provider.device().ToString(), space.allocator ? "data transfer" : "allocator");
    }
    spaces_.push_back(std::move(space));
  }
}

int MemorySpaces::OfDevice(const OrtDevice& device) const {
  if (device.is_host()) return kHostSpace;
  for (std::size_t i = 1; i < spaces_.size(); ++i) {
    if (spaces_[i].device == device) return static_cast<int>(i);
  }
  return -1;
}

const IDataTransfer* MemorySpaces::Transfer(const OrtDevice& source,
                                            const OrtDevice& destination) const {
  for (const OrtDevice* end : {&destination, &source}) {
    const int space = OfDevice(*end);
    if (space <= 0) continue;
    const IDataTransfer* transfer = spaces_[static_cast<std::size_t>(space)].transfer.get();
    if (transfer->CanCopy(source, destination)) return transfer;
  }
  return nullptr;
}

void MemorySpaces::Copy(const Tensor& source, Tensor& destination, Stream* stream) const {
  SY_CHECK(source.type() == destination.type() && source.size() == destination.size());
  if (source.size() == 0) return;
  if (source.device().is_host() && destination.device().is_host()) {
    if (source.type() == DataType::kString) {
      std::copy_n(source.data<std::string>(), source.size(),
                  destination.data_mutable<std::string>());
    } else {
      std::memcpy(destination.raw_mutable(), source.raw(), source.bytes());
    }
    return;
  }
  if (source.type() == DataType::kString) {
    Throw(ErrorCode::kEpFail, "strings can't be copied from {} to {}", source.device().ToString(),
          destination.device().ToString());
  }
  if (const IDataTransfer* transfer = Transfer(source.device(), destination.device())) {
    transfer->Copy(source, destination, stream);
    return;
  }
  const OrtDevice host;
  const IDataTransfer* down = Transfer(source.device(), host);
  const IDataTransfer* up = Transfer(host, destination.device());
  if (down == nullptr || up == nullptr) {
    Throw(ErrorCode::kEpFail, "no provider copies from {} to {}", source.device().ToString(),
          destination.device().ToString());
  }
  Tensor staging(source.type(), source.dims(), spaces_[0].allocator);
  if (stream != nullptr) stream->Synchronize();
  down->Copy(source, staging, nullptr);
  up->Copy(staging, destination, nullptr);
}

}  // namespace switchyard

#pragma once
// Copies between the memory of a provider and others.

#include "switchyard/ep/stream.h"
#include "switchyard/tensor/tensor.h"

namespace switchyard {

// Thread-safe. The destination's transfer is asked first, then the source's, then two hops through
// host memory.
class SWITCHYARD_API IDataTransfer {
 public:
  virtual ~IDataTransfer();
  virtual bool CanCopy(const OrtDevice& source, const OrtDevice& destination) const = 0;
  // Dense tensors of the same type and size. With a stream the copy may be queued on it, otherwise
  // it is done on return.
  virtual void Copy(const Tensor& source, Tensor& destination, Stream* stream) const = 0;
};

}  // namespace switchyard

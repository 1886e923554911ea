#pragma once
// In-order queues of a device and marks in them. Library handles (a cuBLAS handle, a command queue)
// hang on the stream.

#include <memory>

#include "switchyard/base/export.h"
#include "switchyard/tensor/device.h"

namespace switchyard {

class Stream;

class SWITCHYARD_API Event {
 public:
  virtual ~Event();
  // The host waits until the work before the mark is done. Throws EpFail if the device is lost.
  virtual void HostWait() = 0;
};

// Owned by a RunState: one Run at a time uses it.
class SWITCHYARD_API Stream {
 public:
  explicit Stream(OrtDevice device) : device_(device) {}
  virtual ~Stream();
  const OrtDevice& device() const { return device_; }

  virtual std::unique_ptr<Event> Record() = 0;
  // Later work of this queue starts after the event. false: it can't; the host must wait instead.
  virtual bool Wait(Event& event) = 0;
  // The host waits for all work queued so far. Throws EpFail if the device is lost.
  virtual void Synchronize() = 0;
  virtual void* handle() const { return nullptr; }

 private:
  OrtDevice device_;
};

}  // namespace switchyard

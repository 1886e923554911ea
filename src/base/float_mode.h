#pragma once
// The floating-point mode of a thread: rounding, and whether denormal numbers count as zero.

#include <cstdint>

namespace switchyard {

// Control bits only, no exception flags; 0 where the processor has nothing of the kind. Cheap.
std::uint32_t FloatMode();
void SetFloatMode(std::uint32_t mode);

// As long as it lives, denormal operands and results of this thread are zeros (flush) or are
// themselves; afterwards it is as it was before.
class DenormalMode {
 public:
  explicit DenormalMode(bool flush);
  ~DenormalMode() { SetFloatMode(before_); }
  DenormalMode(const DenormalMode&) = delete;
  DenormalMode& operator=(const DenormalMode&) = delete;

 private:
  std::uint32_t before_;
};

}  // namespace switchyard

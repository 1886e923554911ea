#include "base/float_mode.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace switchyard {

#if defined(__SSE__)

namespace {

constexpr std::uint32_t kFlags = 0x3F;
constexpr std::uint32_t kFlush = 0x8040;  // FTZ and DAZ

}  // namespace

std::uint32_t FloatMode() { return _mm_getcsr() & ~kFlags; }
void SetFloatMode(std::uint32_t mode) { _mm_setcsr((_mm_getcsr() & kFlags) | mode); }

#elif defined(__aarch64__)

namespace {

constexpr std::uint32_t kFlush = 1u << 24;

}  // namespace

std::uint32_t FloatMode() {
  std::uint64_t mode = 0;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  return static_cast<std::uint32_t>(mode);
}
void SetFloatMode(std::uint32_t mode) {
  asm volatile("msr fpcr, %0" : : "r"(static_cast<std::uint64_t>(mode)));
}

#else

namespace {

constexpr std::uint32_t kFlush = 0;

}  // namespace

std::uint32_t FloatMode() { return 0; }
void SetFloatMode(std::uint32_t) {}

#endif

DenormalMode::DenormalMode(bool flush) : before_(FloatMode()) {
  const std::uint32_t mode = flush ? before_ | kFlush : before_ & ~kFlush;
  if (mode != before_) SetFloatMode(mode);
}

}  // namespace switchyard

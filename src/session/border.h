#pragma once
// The last place where an exception that is not an Error can be met: the public interface.

#include <new>
#include <utility>

#include "switchyard/base/error.h"

namespace switchyard {

// Calls `work`. A failed allocation becomes an Error whose making needs no memory (its text fits
// into the string itself), a foreign exception one that quotes it.
template <typename Work>
decltype(auto) AtBorder(Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::kRuntimeException, "out of memory");
  } catch (const std::exception& other) {
    throw Error(ErrorCode::kRuntimeException, std::string("unexpected error: ") + other.what());
  }
}

}  // namespace switchyard

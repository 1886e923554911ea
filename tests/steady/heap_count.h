#pragma once
// Counts requests to the heap of the whole process, all threads and libraries: the C allocation
// functions are replaced in executables that link this. Not under sanitizers, which bring their
// own.

#include <cstdint>

namespace switchyard::test {

bool HeapCountingWorks();
void StartHeapCount();
// Requests since the start; counting ends.
std::uint64_t StopHeapCount();

}  // namespace switchyard::test

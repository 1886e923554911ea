#pragma once
// Counts, or refuses, requests to the heap of the whole process, all threads and libraries: the C
// allocation functions are replaced in executables that link this. Not under sanitizers, which
// bring their own.

#include <cstdint>

namespace switchyard::test {

bool HeapCountingWorks();
void StartHeapCount();
// Counts, and refuses the requests numbered first to last (from 1).
void StartHeapFailures(std::uint64_t first, std::uint64_t last);
// Requests since the start; counting ends.
std::uint64_t StopHeapCount();

}  // namespace switchyard::test

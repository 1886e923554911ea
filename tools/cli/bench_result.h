#pragma once
// What `switchyard bench` measured: as JSON, as text, and two of them side by side.

#include <string>
#include <vector>

#include "cli/commands.h"

namespace switchyard::cli {

// Sorted times in milliseconds at 0 <= quantile <= 1; the nearest one, no interpolation.
double Percentile(const std::vector<double>& sorted, double quantile);
Json TimesToJson(std::vector<double> milliseconds);
void PrintBench(const Json& result);
// A result that `bench -o` wrote. Throws NoSuchFile, InvalidArgument.
Json ReadBench(const std::string& path);
// Ratios before / after: above 1 the second is faster, or takes less memory. The threshold is the
// loss that counts, as a part: 0.05.
Json CompareBench(const Json& before, const Json& after, double threshold);
void PrintComparison(const Json& comparison);

}  // namespace switchyard::cli

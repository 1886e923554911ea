#include "cli/bench_result.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <numeric>
#include <utility>

namespace switchyard::cli {
namespace {

double Number(const Json& result, const char* group, const char* key) {
  const auto at = result.find(group);
  return at == result.end() ? NAN : at->value(key, NAN);
}

void PrintNodes(const Json& nodes) {
  constexpr std::size_t kMost = 20;
  std::printf("nodes by time (%zu in all)\n", nodes.size());
  for (std::size_t i = 0; i < std::min(nodes.size(), kMost); ++i) {
    const Json& node = nodes[i];
    std::printf("  %8.3f ms %5.1f %%  %-20s %s\n", node["milliseconds"].get<double>(),
                node["share"].get<double>() * 100, node["op"].get<std::string>().c_str(),
                node["name"].get<std::string>().c_str());
  }
}

Json NodeChanges(const Json& before, const Json& after) {
  std::map<std::string, double> times;
  for (const Json& node : before.value("nodes", Json::array()))
    times[node["op"]] += node["milliseconds"].get<double>();
  std::map<std::string, std::pair<double, double>> both;
  for (const auto& [op, time] : times) both[op].first = time;
  for (const Json& node : after.value("nodes", Json::array()))
    both[node["op"]].second += node["milliseconds"].get<double>();
  Json rows = Json::array();
  if (times.empty()) return rows;
  for (const auto& [op, pair] : both)
    rows.push_back({{"op", op}, {"before_ms", pair.first}, {"after_ms", pair.second}});
  std::sort(rows.begin(), rows.end(), [](const Json& a, const Json& b) {
    const auto change = [](const Json& row) {
      return std::abs(row["after_ms"].get<double>() - row["before_ms"].get<double>());
    };
    return change(a) > change(b);
  });
  return rows;
}

}  // namespace

double Percentile(const std::vector<double>& sorted, double quantile) {
  if (sorted.empty()) return NAN;
  const double at = std::ceil(quantile * static_cast<double>(sorted.size())) - 1;
  return sorted[static_cast<std::size_t>(std::max(at, 0.0))];
}

Json TimesToJson(std::vector<double> milliseconds) {
  std::sort(milliseconds.begin(), milliseconds.end());
  const double sum = std::accumulate(milliseconds.begin(), milliseconds.end(), 0.0);
  return {{"runs", milliseconds.size()},
          {"min", milliseconds.front()},
          {"mean", sum / static_cast<double>(milliseconds.size())},
          {"p50", Percentile(milliseconds, 0.5)},
          {"p90", Percentile(milliseconds, 0.9)},
          {"p95", Percentile(milliseconds, 0.95)},
          {"p99", Percentile(milliseconds, 0.99)},
          {"max", milliseconds.back()}};
}

void PrintBench(const Json& result) {
  std::printf("%s: level %s, %d threads, %d at once\n", result["model"].get<std::string>().c_str(),
              result["level"].get<std::string>().c_str(), result["threads"].get<int>(),
              result["concurrency"].get<int>());
  std::printf("load        %.2f ms, first run %.3f ms\n", Number(result, "load", "session_ms"),
              Number(result, "load", "first_run_ms"));
  std::printf("run         ");
  for (const char* key : {"min", "p50", "p90", "p99", "max"})
    std::printf("%s %.3f  ", key, Number(result, "latency_ms", key));
  std::printf("ms of %d\n", result["latency_ms"]["runs"].get<int>());
  std::printf("throughput  %.2f runs/s\n", result["throughput_per_second"].get<double>());
  std::printf(
      "memory      peak %.1f MB, %.1f MB more than before loading; constants %.1f MB, "
      "arena %.1f MB\n",
      Number(result, "memory", "peak_bytes") / 1e6, Number(result, "memory", "added_bytes") / 1e6,
      Number(result, "memory", "constant_bytes") / 1e6,
      Number(result, "memory", "arena_bytes") / 1e6);
  if (result.contains("nodes")) PrintNodes(result["nodes"]);
}

Json ReadBench(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(ErrorCode::kNoSuchFile, "'" + path + "' can't be opened");
  Json result = Json::parse(file, nullptr, false);
  if (!result.is_object() || result.value("kind", "") != "switchyard bench" ||
      !result.contains("latency_ms")) {
    throw Error(ErrorCode::kInvalidArgument,
                "'" + path + "' is no result of switchyard bench (written by -o)");
  }
  return result;
}

Json CompareBench(const Json& before, const Json& after, double threshold) {
  constexpr std::pair<const char*, const char*> kFigures[] = {
      {"latency_ms", "min"},    {"latency_ms", "p50"},    {"latency_ms", "p90"},
      {"latency_ms", "p99"},    {"load", "session_ms"},   {"load", "first_run_ms"},
      {"memory", "peak_bytes"}, {"memory", "arena_bytes"}};
  Json rows = Json::array();
  bool worse = false;
  for (const auto& [group, key] : kFigures) {
    const double a = Number(before, group, key), b = Number(after, group, key);
    if (!std::isfinite(a) || !std::isfinite(b)) continue;
    const double ratio = b > 0 ? a / b : 1;
    const bool lost = b > a * (1 + threshold);
    // A single slow run or load says little.
    const std::string name = std::string(group) + "." + key;
    worse |= lost && (name == "latency_ms.p50" || name == "memory.peak_bytes");
    rows.push_back(
        {{"figure", name}, {"before", a}, {"after", b}, {"ratio", ratio}, {"worse", lost}});
  }
  return {{"schema_version", 1},
          {"same_model", before.value("model", "") == after.value("model", "")},
          {"threshold", threshold},
          {"worse", worse},
          {"figures", rows},
          {"operators", NodeChanges(before, after)}};
}

void PrintComparison(const Json& comparison) {
  if (!comparison["same_model"].get<bool>()) std::printf("the models differ\n");
  std::printf("%-24s %14s %14s %8s\n", "", "before", "after", "ratio");
  for (const Json& row : comparison["figures"]) {
    std::printf("%-24s %14.3f %14.3f %8.2f%s\n", row["figure"].get<std::string>().c_str(),
                row["before"].get<double>(), row["after"].get<double>(), row["ratio"].get<double>(),
                row["worse"].get<bool>() ? "  worse" : "");
  }
  for (const Json& row : comparison["operators"]) {
    std::printf("  %-22s %14.3f %14.3f ms\n", row["op"].get<std::string>().c_str(),
                row["before_ms"].get<double>(), row["after_ms"].get<double>());
  }
}

}  // namespace switchyard::cli

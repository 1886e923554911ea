// switchyard bench: times, memory and throughput of one model, or two results side by side.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <mutex>
#include <thread>

#include "cli/bench_result.h"
#include "cli/commands.h"
#include "cli/feeds.h"
#include "cli/progress.h"
#include "switchyard/base/version.h"

namespace switchyard::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct BenchArguments {
  SessionArguments session;
  FeedArguments feeds;
  int warm_up = 3, runs = 0, concurrency = 1;
  double seconds = 3, threshold = 0.05;
  bool profile = false, json = false;
  std::string output;
  std::vector<std::string> compare;
};

double Milliseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

// Bytes of a row of /proc/self/status; 0 where there is none.
std::uint64_t StatusBytes(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, key.size() + 1, key + ":") == 0)
      return std::stoull(line.substr(key.size() + 1)) * 1024;
  }
  return 0;
}

class Measurement {
 public:
  Measurement(const BenchArguments& arguments, InferenceSession& session, const Feeds& feeds)
      : arguments_(arguments), session_(session), feeds_(feeds) {}

  void RunOnce() { session_.Run({}, feeds_.names, feeds_.values, {}); }

  // Each thread runs until the number or the time is used up; three runs at least.
  void Run(Progress& progress) {
    for (int i = 0; i < arguments_.warm_up; ++i) RunOnce();
    start_ = Clock::now();
    std::vector<std::thread> threads;
    for (int t = 1; t < arguments_.concurrency; ++t)
      threads.emplace_back([this] { Loop(nullptr); });
    Loop(&progress);
    for (std::thread& thread : threads) thread.join();
    spent_ = Milliseconds(Clock::now() - start_);
    if (error_) std::rethrow_exception(error_);
  }

  std::vector<double> times;
  double throughput() const { return static_cast<double>(times.size()) * 1000 / spent_; }

 private:
  bool More(int done) const {
    if (stop_) return false;
    if (arguments_.runs > 0) return done < arguments_.runs;
    return done < 3 || Milliseconds(Clock::now() - start_) < arguments_.seconds * 1000;
  }

  void Loop(Progress* progress) {
    std::vector<double> own;
    try {
      for (int done = 0; More(done); ++done) {
        const Clock::time_point begin = Clock::now();
        RunOnce();
        own.push_back(Milliseconds(Clock::now() - begin));
        if (progress != nullptr) Tell(*progress, done);
      }
    } catch (...) {
      stop_ = true;
      const std::lock_guard lock(mutex_);
      error_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    times.insert(times.end(), own.begin(), own.end());
  }

  void Tell(Progress& progress, int done) const {
    if (arguments_.runs > 0) {
      progress.Set(static_cast<std::size_t>(done), static_cast<std::size_t>(arguments_.runs),
                   "running");
    } else {
      progress.Set(static_cast<std::size_t>(Milliseconds(Clock::now() - start_)),
                   static_cast<std::size_t>(arguments_.seconds * 1000), "running");
    }
  }

  const BenchArguments& arguments_;
  InferenceSession& session_;
  const Feeds& feeds_;
  Clock::time_point start_;
  double spent_ = 0;
  std::mutex mutex_;
  std::exception_ptr error_;
  std::atomic<bool> stop_{false};
};

// In a session of its own: clocks around each node cost time.
Json ProfileNodes(const BenchArguments& arguments, const Feeds& feeds) {
  SessionArguments with_times = arguments.session;
  with_times.config.push_back("switchyard.node_times=1");
  const auto session = OpenSession(with_times);
  const int runs = arguments.runs > 0 ? std::min(arguments.runs, 20) : 10;
  for (int i = 0; i < runs; ++i) session->Run({}, feeds.names, feeds.values, {});
  std::vector<NodeTime> times = session->node_times();
  std::stable_sort(times.begin(), times.end(), [](const NodeTime& a, const NodeTime& b) {
    return a.milliseconds > b.milliseconds;
  });
  double sum = 0;
  for (const NodeTime& time : times) sum += time.milliseconds;
  Json nodes = Json::array();
  for (const NodeTime& time : times) {
    if (time.runs == 0) continue;
    nodes.push_back({{"name", time.name},
                     {"op", time.op},
                     {"graph", time.graph},
                     {"provider", time.provider},
                     {"calls_per_run", static_cast<double>(time.runs) / runs},
                     {"milliseconds", time.milliseconds / runs},
                     {"share", sum > 0 ? time.milliseconds / sum : 0}});
  }
  return nodes;
}

Json Describe(const BenchArguments& arguments, const InferenceSession& session,
              const Feeds& feeds) {
  Json inputs = Json::array();
  for (std::size_t i = 0; i < feeds.names.size(); ++i) {
    inputs.push_back({{"name", feeds.names[i]},
                      {"value", feeds.values[i].is_tensor() ? feeds.values[i].tensor().Describe()
                                                            : feeds.values[i].type().ToString()},
                      {"file", feeds.files[i]}});
  }
  return {{"schema_version", 1},
          {"kind", "switchyard bench"},
          {"version", std::string(Version())},
          {"model", arguments.session.model},
          {"level", arguments.session.level},
          {"threads", arguments.session.threads},
          {"providers", session.providers()},
          {"concurrency", arguments.concurrency},
          {"warm_up", arguments.warm_up},
          {"inputs", inputs}};
}

Json Measure(const BenchArguments& arguments) {
  const std::uint64_t before = StatusBytes("VmRSS");
  Clock::time_point start = Clock::now();
  const auto session = OpenSession(arguments.session);
  const double load = Milliseconds(Clock::now() - start);
  const Feeds feeds = MakeFeeds(arguments.feeds, session->inputs());
  Progress progress("first run");
  Measurement measurement(arguments, *session, feeds);
  start = Clock::now();
  measurement.RunOnce();
  const double first = Milliseconds(Clock::now() - start);
  measurement.Run(progress);
  const std::uint64_t peak = StatusBytes("VmHWM"), now = StatusBytes("VmRSS");
  const SessionCounters counters = session->counters();
  Json result = Describe(arguments, *session, feeds);
  result["load"] = {{"session_ms", load}, {"first_run_ms", first}};
  result["latency_ms"] = TimesToJson(measurement.times);
  result["throughput_per_second"] = measurement.throughput();
  result["memory"] = {{"peak_bytes", peak},
                      {"added_bytes", now > before ? now - before : 0},
                      {"constant_bytes", counters.constant_bytes},
                      {"arena_bytes", counters.arena_bytes}};
  result["counters"] = {{"plannings", counters.plannings},
                        {"bindings", counters.bindings},
                        {"copies", counters.copies},
                        {"copied_bytes", counters.copied_bytes}};
  if (arguments.profile) {
    progress.Set(0, 0, "profiling");
    result["nodes"] = ProfileNodes(arguments, feeds);
  }
  return result;
}

int Execute(const BenchArguments& arguments) {
  if (!arguments.compare.empty()) {
    const Json comparison = CompareBench(ReadBench(arguments.compare[0]),
                                         ReadBench(arguments.compare[1]), arguments.threshold);
    arguments.json ? PrintJson(comparison) : PrintComparison(comparison);
    return comparison["worse"].get<bool>() ? kDiffers : 0;
  }
  if (arguments.session.model.empty())
    throw Error(ErrorCode::kInvalidArgument, "bench: name a model, or two results by --compare");
  const Json result = Measure(arguments);
  if (!arguments.output.empty()) WriteText(arguments.output, result.dump(1));
  arguments.json ? PrintJson(result) : PrintBench(result);
  return 0;
}

void AddMeasureOptions(CLI::App& command, BenchArguments& arguments) {
  command.add_option("-w,--warm-up", arguments.warm_up, "runs before measuring")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  command.add_option("-n,--runs", arguments.runs, "runs per thread; 0: as many as --seconds allow")
      ->check(CLI::Range(0, 100000000))
      ->capture_default_str();
  command.add_option("-s,--seconds", arguments.seconds, "how long to measure")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("-j,--concurrency", arguments.concurrency, "threads that call Run at once")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_flag("--profile", arguments.profile, "time per node, in a second session");
}

}  // namespace

void AddBench(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "Measure time, throughput and memory");
  const auto arguments = std::make_shared<BenchArguments>();
  AddSessionArguments(*command, arguments->session);
  command->get_option("model")->required(false);
  AddFeedArguments(*command, arguments->feeds);
  AddMeasureOptions(*command, *arguments);
  command->add_option("-o,--output", arguments->output, "file for the result as JSON");
  command->add_option("--compare", arguments->compare, "two results instead of a model")
      ->expected(2);
  command
      ->add_option("--threshold", arguments->threshold,
                   "--compare: part by which the second may be slower or larger")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "as JSON with a schema_version");
  command->footer(
      "--compare ends with status 3 where the median time or the peak memory got worse.\n\n"
      "Examples:\n"
      "  switchyard bench model.onnx -t 2\n"
      "  switchyard bench model.onnx -d batch=8 -n 100 --profile -o before.json\n"
      "  switchyard bench model.onnx -j 4 -t 1 --json\n"
      "  switchyard bench --compare before.json after.json");
  command->callback([arguments] {
    if (const int status = Execute(*arguments); status != 0) throw CLI::RuntimeError(status);
  });
}

}  // namespace switchyard::cli

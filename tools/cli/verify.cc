// switchyard verify: the same results at every level, thread count and provider.

#include "switchyard/session/verify.h"

#include <algorithm>
#include <cstdio>

#include "cli/commands.h"
#include "cli/feeds.h"
#include "cli/progress.h"

namespace switchyard::cli {
namespace {

struct VerifyArguments {
  SessionArguments session;
  FeedArguments feeds;
  std::vector<std::string> levels = {"basic", "extended", "layout", "all"};
  std::vector<int> threads = {1, 2};
  std::vector<std::string> providers;  // "A+B:key=value": one list each
  double tolerance = 1e-3;
  bool bisect = false, json = false;
};

std::vector<NamedProvider> ParseList(const std::string& text) {
  std::vector<NamedProvider> list;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find('+', begin), text.size());
    list.push_back(ParseProvider(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return list;
}

std::vector<VerifyCandidate> MakeCandidates(const VerifyArguments& arguments,
                                            const Environment& environment) {
  std::vector<std::string> lists = arguments.providers;
  lists.insert(lists.begin(), "");  // the CPU alone
  std::vector<VerifyCandidate> candidates;
  for (const std::string& list : lists) {
    SessionOptions base = MakeOptions(arguments.session);
    if (!list.empty()) UseProviders(environment, ParseList(list), base);
    for (const std::string& level : arguments.levels) {
      for (const int threads : arguments.threads) {
        SessionOptions options = base;
        options.optimization_level = LevelNamed(level);
        options.intra_op_num_threads = threads;
        const std::string group = (list.empty() ? "CPU" : list) + ", " + level;
        candidates.push_back(
            {group + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads"),
             options, group});
      }
    }
  }
  return candidates;
}

Json ToJson(const OutputError& error) {
  return {
      {"name", error.name},           {"type", error.type},         {"error", error.error},
      {"largest", error.largest},     {"relative", error.relative}, {"elements", error.elements},
      {"differing", error.differing}, {"fault", error.fault},       {"within", error.within}};
}

Json ToJson(const VerifyRow& row) {
  Json outputs = Json::array();
  for (const OutputError& error : row.outputs) outputs.push_back(ToJson(error));
  return {{"candidate", row.label},
          {"ok", row.ok()},
          {"error", row.error},
          {"other_bits_than", row.other_bits},
          {"outputs", outputs}};
}

Json ToJson(const Bisection& found) {
  const char* culprit = found.culprit == Bisection::Culprit::kPass     ? "pass"
                        : found.culprit == Bisection::Culprit::kKernel ? "kernel"
                        : found.culprit == Bisection::Culprit::kNone   ? "none"
                                                                       : "unknown";
  return {{"culprit", culprit},       {"patch", found.patch}, {"patches", found.patches},
          {"pass", found.pass},       {"node", found.node},   {"provider", found.provider},
          {"variant", found.variant}, {"text", found.text},   {"error", ToJson(found.error)}};
}

void PrintRow(const VerifyRow& row) {
  std::printf("%-5s %s\n", row.ok() ? "ok" : "WRONG", row.label.c_str());
  if (!row.error.empty()) std::printf("        %s\n", row.error.c_str());
  for (const OutputError& error : row.outputs) {
    std::printf("        %-24s %s: ", error.name.c_str(), error.type.c_str());
    if (!error.fault.empty()) {
      std::printf("%s\n", error.fault.c_str());
    } else if (error.differing == 0) {
      std::printf("the same bits\n");
    } else {
      std::printf("error %.3g, %.3g of the largest value, %lld of %lld elements differ%s\n",
                  error.error, error.relative, static_cast<long long>(error.differing),
                  static_cast<long long>(error.elements), error.within ? "" : ", out of tolerance");
    }
  }
  if (!row.other_bits.empty())
    std::printf("        other bits than with %s\n", row.other_bits.c_str());
}

VerifySetup MakeSetup(const VerifyArguments& arguments, Progress& progress) {
  VerifySetup setup;
  setup.environment = MakeEnvironment(arguments.session.libraries, arguments.session.verbose);
  setup.model.path = arguments.session.model;
  setup.reference = MakeOptions(arguments.session);
  setup.sample = MakeSampleOptions(arguments.feeds);
  setup.tolerance = arguments.tolerance;
  setup.progress = [&progress](std::size_t done, std::size_t total, std::string_view what) {
    progress.Set(done, total, std::string(what));
  };
  if (!arguments.feeds.inputs.empty()) {
    SessionOptions plain = setup.reference;
    plain.optimization_level = GraphOptimizationLevel::kDisableAll;
    const InferenceSession session(setup.environment, setup.model.path, plain);
    setup.feeds = MakeFeeds(arguments.feeds, session.inputs());
  }
  return setup;
}

int Execute(const VerifyArguments& arguments) {
  std::vector<VerifyRow> rows;
  std::vector<std::pair<std::string, Bisection>> found;
  {
    Progress progress("verifying " + arguments.session.model);
    const VerifySetup setup = MakeSetup(arguments, progress);
    const auto candidates = MakeCandidates(arguments, *setup.environment);
    rows = Verify(setup, candidates);
    for (std::size_t i = 0; arguments.bisect && found.empty() && i < rows.size(); ++i) {
      if (!rows[i].ok()) found.emplace_back(rows[i].label, Bisect(setup, candidates[i]));
    }
  }
  const bool ok = std::all_of(rows.begin(), rows.end(), [](const auto& row) { return row.ok(); });
  if (arguments.json) {
    Json list = Json::array();
    for (const VerifyRow& row : rows) list.push_back(ToJson(row));
    Json document = {{"schema_version", 1},
                     {"model", arguments.session.model},
                     {"ok", ok},
                     {"tolerance", arguments.tolerance},
                     {"candidates", list}};
    for (const auto& [label, bisection] : found) {
      document["bisection"] = ToJson(bisection);
      document["bisection"]["candidate"] = label;
    }
    PrintJson(document);
  } else {
    for (const VerifyRow& row : rows) PrintRow(row);
    for (const auto& [label, bisection] : found)
      std::printf("bisect %s: %s\n", label.c_str(), bisection.text.c_str());
  }
  return ok ? 0 : kDiffers;
}

}  // namespace

void AddVerify(CLI::App& app) {
  CLI::App* command = app.add_subcommand("verify", "Compare with the unoptimised model on the CPU");
  const auto arguments = std::make_shared<VerifyArguments>();
  AddSessionArguments(*command, arguments->session, SessionParts::kModelOnly);
  AddFeedArguments(*command, arguments->feeds);
  command->add_option("-l,--levels", arguments->levels, "optimisation levels to compare")
      ->delimiter(',')
      ->check(CLI::IsMember(LevelNames()))
      ->capture_default_str();
  command->add_option("-t,--threads", arguments->threads, "thread counts to compare")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("-p,--provider", arguments->providers,
                      "list of providers to compare beside the CPU, A or A:key=value or A+B");
  command
      ->add_option("--tolerance", arguments->tolerance,
                   "largest error as part of the output's largest value; ten times that for "
                   "16-bit floats")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_flag("--bisect", arguments->bisect,
                    "name the first pass or kernel that makes the first wrong one differ");
  command->add_flag("--json", arguments->json, "as JSON with a schema_version");
  command->footer(
      "Exit status 3: some result is out of tolerance, or depends on the thread count.\n\n"
      "Examples:\n"
      "  switchyard verify model.onnx\n"
      "  switchyard verify model.onnx --bisect\n"
      "  switchyard verify model.onnx -i x=picture.npy -l all -t 1,4 --tolerance 1e-4\n"
      "  switchyard verify model.onnx -p OpenVINOExecutionProvider --json");
  command->callback([arguments] {
    if (const int status = Execute(*arguments); status != 0) throw CLI::RuntimeError(status);
  });
}

}  // namespace switchyard::cli

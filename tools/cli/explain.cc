// switchyard explain: what runs where and why.

#include <cstdio>

#include "cli/commands.h"
#include "cli/feeds.h"
#include "cli/progress.h"

namespace switchyard::cli {
namespace {

struct ExplainArguments {
  SessionArguments session;
  FeedArguments feeds;
  bool json = false, html = false, no_run = false;
  std::string output;
};

// The plan of memory is made by a run.
void RunOnce(const ExplainArguments& arguments, InferenceSession& session) {
  try {
    const Feeds feeds = MakeFeeds(arguments.feeds, session.inputs());
    const Progress progress("running once for the plan of memory");
    session.Run({}, feeds.names, feeds.values, {});
  } catch (const Error& error) {
    if (!arguments.feeds.inputs.empty()) throw;
    std::fprintf(stderr,
                 "switchyard: warning: no plan of memory, a run with random inputs failed (give "
                 "inputs by -i, or --no-run): %s\n",
                 error.what());
  }
}

void Execute(const ExplainArguments& arguments) {
  const auto session = OpenSession(arguments.session);
  if (!arguments.no_run) RunOnce(arguments, *session);
  const ReportFormat format = arguments.html   ? ReportFormat::kHtml
                              : arguments.json ? ReportFormat::kJson
                                               : ReportFormat::kText;
  WriteText(arguments.output, session->Explain(format));
}

}  // namespace

void AddExplain(CLI::App& app) {
  CLI::App* command = app.add_subcommand("explain", "Show what runs where and why");
  const auto arguments = std::make_shared<ExplainArguments>();
  AddSessionArguments(*command, arguments->session);
  AddFeedArguments(*command, arguments->feeds);
  CLI::Option* json = command->add_flag("--json", arguments->json, "as JSON with a schema_version");
  command->add_flag("--html", arguments->html, "as one page with the graph, for a browser")
      ->excludes(json);
  command->add_option("-o,--output", arguments->output, "file to write");
  command->add_flag("--no-run", arguments->no_run,
                    "do not run the model once, which the plan of memory needs");
  command->footer(
      "Examples:\n"
      "  switchyard explain model.onnx\n"
      "  switchyard explain model.onnx --html -o model.html\n"
      "  switchyard explain model.onnx -p CPUExecutionProvider --json\n"
      "  switchyard explain model.onnx -d batch=8 --no-run");
  command->callback([arguments] { Execute(*arguments); });
}

}  // namespace switchyard::cli

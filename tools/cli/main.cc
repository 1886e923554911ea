// switchyard: runs, inspects and explains ONNX models.
// Exit status: 0 done, 1 an error (one line on standard error), 2 a wrong command line, 3 a
// difference was found (verify, bench --compare).

#include <cstdio>
#include <exception>

#include "cli/commands.h"
#include "switchyard/base/error.h"
#include "switchyard/base/version.h"

namespace switchyard::cli {
namespace {

constexpr int kFailed = 1, kUsage = 2;

int Main(int argc, char** argv) {
  CLI::App app("Runs, inspects and explains ONNX models.", "switchyard");
  app.set_version_flag("--version", std::string(Version()));
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  switchyard run model.onnx --input x=picture.npy --output-dir out\n"
      "  switchyard inspect model.onnx\n"
      "  switchyard explain model.onnx --html -o model.html\n"
      "  switchyard verify model.onnx --bisect\n"
      "  switchyard bench model.onnx -t 2\n"
      "  switchyard providers\n"
      "  switchyard COMMAND --help");
  AddRun(app);
  AddInspect(app);
  AddExplain(app);
  AddBench(app);
  AddVerify(app);
  AddOptimize(app);
  AddProviders(app);
  AddPasses(app);
  AddCompletion(app);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::RuntimeError& status) {  // a command that has said all there is to say
    return status.get_exit_code();
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return kUsage;
  } catch (const Error& error) {
    const std::string name(ErrorCodeName(error.code()));
    std::fprintf(stderr, "switchyard: %s: %s\n", name.c_str(), error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "switchyard: %s\n", error.what());
  }
  return kFailed;
}

}  // namespace
}  // namespace switchyard::cli

int main(int argc, char** argv) { return switchyard::cli::Main(argc, argv); }

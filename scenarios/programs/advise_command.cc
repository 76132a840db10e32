// Subcommand advise: its options, and its output.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/arguments.h"
#include "base/parse.h"
#include "scenarios/programs/command_line.h"
#include "scenarios/programs/study_commands.h"
#include "scenarios/study/advise.h"
#include "scenarios/study/shell.h"

namespace legacy {
namespace {

constexpr int64_t kMostQuickSteps = 1'000'000'000;
constexpr const char* kProgram = "legacy-scenario advise";

std::string Footer(const Scenario& defaults) {
  return fmt::format(
      "All options of legacy-scenario for training, compression, network and clock are allowed,\n"
      "and --scenario, --set and --ns3. These differ:\n"
      "  --workers={} --seeds={} --fidelity={} --policies={} are the defaults\n"
      "  --target: target (default: nine tenths as good as dense is after the short training)\n"
      "  --out: folder in which to keep the study (default: it is deleted at the end)\n"
      "  --print-config: print the definition of a full study, for legacy-study, and exit\n"
      "Examples:\n"
      "  legacy-scenario advise --workers=8 --bandwidth=1Gbps --delay=50us\n"
      "  legacy-scenario advise --workers=16 --bandwidth=10Gbps --print-config\n"
      "{}Handbook: docs/advise.md.",
      defaults.workers, defaults.seeds, defaults.fidelity.text(), Join(defaults.policies, ","),
      kExitStatuses);
}

}  // namespace

int AdviseCommand(int argc, char** argv, const StopFlag& stop) {
  const Scenario defaults = AdviseDefaults();
  CLI::App app(
      "Advises whether to compress on your network, and with which method. It runs short "
      "trainings, replays them on the network and on slower and faster ones, and says how certain "
      "the answer is.",
      kProgram);
  app.allow_extras();
  PrepareArguments(app);
  app.footer(Footer(defaults));
  std::string quick_steps;
  std::string jobs;
  bool as_json = false;
  app.add_option(
         "--quick-steps", quick_steps,
         fmt::format("number of steps of the short training [{}, at most --steps]", kQuickSteps))
      ->type_name("N")
      ->take_last();
  app.add_option("--jobs,-j", jobs, "number of processes to run in parallel [one per core]")
      ->type_name("N")
      ->take_last();
  app.add_flag("--json", as_json, "print the answer as JSON");
  if (const auto exit = ParseArguments(app, argc, argv)) return *exit;

  AdviseRequest request;
  request.arguments.assign(argv + 1, argv + argc);
  std::vector<std::string> rest = app.remaining();
  rest.insert(rest.begin(), kProgram);
  std::vector<char*> words;
  for (std::string& word : rest) words.push_back(word.data());
  const CommandLine line = ParseCommandLine(static_cast<int>(words.size()), words.data(), kProgram,
                                            "", std::nullopt, defaults);
  if (line.exit) return *line.exit;
  request.scenario = line.scenario;
  if (!quick_steps.empty()) {
    request.quick_steps = ParseInteger(quick_steps, "--quick-steps", 1, kMostQuickSteps);
  }
  if (!jobs.empty()) request.jobs = static_cast<int>(ParseInteger(jobs, "--jobs", 1, 1000));
  request = CompleteRequest(std::move(request));
  if (line.print_config) {
    fmt::print("{}", FullDefinition(request));
    return 0;
  }
  const AdviseResult result = Advise(request, stop);
  if (result.interrupted) return kInterrupted;
  if (as_json) {
    fmt::print("{}\n", analysis::AdviceJson(result.study, result.advice).dump(2));
    return 0;
  }
  fmt::print("{}", analysis::AdviceText(result.study, result.advice));
  if (!request.folder.empty()) {
    fmt::print("Figures and tables of this one: {}\n",
               ShellLine({"legacy-study", "report", request.folder.string()}));
  }
  return 0;
}

}  // namespace legacy

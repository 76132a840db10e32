// legacy-scenario trains, compresses and times a comparison of policies over one network.
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/programs/program.h"
#include "compress/registry/load_plugins.h"
#include "scenarios/options/default_run.h"
#include "scenarios/options/presets.h"
#include "scenarios/programs/command_line.h"
#include "scenarios/programs/plan_command.h"
#include "scenarios/run/run_report.h"
#include "scenarios/run/workers/comparison.h"
#include "scenarios/training/processes.h"
#ifdef LEGACY_WITH_ADVICE
#include "scenarios/study/advise.h"
#endif

namespace {

int Main(int argc, char** argv) {
  legacy::LoadPlugins(argc, argv);
  if (argc > 1 && std::strcmp(argv[1], "advise") == 0) {
#ifdef LEGACY_WITH_ADVICE
    return legacy::AdviseCommand(false, argc - 1, argv + 1, legacy::CatchStop());
#else
    throw legacy::Error("advise: this program was built without studies (LEGACY_STUDIES=OFF)");
#endif
  }
  if (argc > 1 && std::strcmp(argv[1], "plan") == 0) {
    return legacy::PlanCommand(argc - 1, argv + 1, legacy::CatchStop());
  }
  const legacy::CommandLine line = legacy::ParseCommandLine(
      argc, argv, "legacy-scenario",
      "Trains a model with compressed gradients, times the encoded bytes on a simulated network, "
      "and compares methods by simulated time to a target. With --layers it trains "
      "nothing and gives bytes and times of a model; legacy-scenario advise says whether to "
      "compress, and with which method (advise --help), and plan how to divide a shape (plan "
      "--help).",
      std::nullopt, legacy::DefaultRun());
  if (line.exit) return *line.exit;
  legacy::ValidateScenario(line.scenario);
  legacy::TargetOf(line.scenario);  // throws on a target that the task does not have
  std::optional<legacy::Launch> launch;
  if (!line.print_config) launch = legacy::LaunchOf(line.scenario);
  const bool leads = !launch || launch->rank == 0;
  if (leads) std::fputs(legacy::PresetText(line.scenario).c_str(), stderr);
  if (line.print_config) {
    std::fputs(legacy::PrintScenario(line.scenario).c_str(), stdout);
    return 0;
  }
  if (leads && line.scenario.layers.empty()) {
    std::fprintf(stderr, "data: %s\n", legacy::DataNote(line.scenario).c_str());
  }
  const legacy::StopFlag& stop = legacy::CatchStop();
  legacy::RunControl control{.resume = line.resume, .requests = &legacy::CatchRequests()};
  std::optional<legacy::RunResult> result;
  const auto run = [&] {
    result =
        legacy::RunComparison(line.scenario, "legacy-scenario", line.text, stop, stderr, control);
  };
  if (launch) {
    legacy::RunTogether(*launch, line.scenario, legacy::SharedText(line.scenario), stop,
                        [&](legacy::ProcessGroup& processes) {
                          control.processes = &processes;
                          run();
                        });
  } else {
    run();
  }
  return result ? legacy::ReportRun(*result, {line.scenario.pictures, line.scenario.verbose}) : 0;
}

}  // namespace

int main(int argc, char** argv) {
  legacy::RunProgram("legacy-scenario", [&] { return Main(argc, argv); });
}

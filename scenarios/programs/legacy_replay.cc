// legacy-replay times a recorded training, or the user's own trace, on another network.
#include <cstdio>
#include <variant>

#include "base/programs/program.h"
#include "compress/registry/load_plugins.h"
#include "scenarios/programs/command_line.h"
#include "scenarios/replay/replay_source.h"
#include "scenarios/run/run_report.h"

namespace {

// True for the options that --help lists. Methods compress traces alone.
bool Lists(const legacy::ScenarioOption& option) {
  return option.Has(legacy::kMayReplay) || option.key == "compression.policies" ||
         option.key == "compression.density";
}

int Main(int argc, char** argv) {
  legacy::LoadPlugins(argc, argv);
  legacy::ReplaySource source;
  const auto defaults = [&](const std::string& run) {
    source = legacy::ReadReplaySource(run);
    return std::visit([](const auto& known) { return legacy::ReplayDefaults(known); }, source);
  };
  const legacy::CommandLine line = legacy::ParseCommandLine(
      argc, argv, "legacy-replay",
      "Times the training of RUN on another network, with other devices or stragglers, without "
      "training again. RUN is a run directory of legacy-scenario --record, or a trace of your own "
      "training (docs/trace-format.md), whose gradients --policies compresses.",
      legacy::OnRun{defaults, Lists});
  if (line.exit) return *line.exit;
  legacy::ValidateScenario(line.scenario);
  std::visit([&](const auto& known) { legacy::CheckReplay(known, line.scenario); }, source);
  if (line.print_config) {
    std::fputs(legacy::PrintScenario(line.scenario).c_str(), stdout);
    return 0;
  }
  const legacy::StopFlag& stop = legacy::CatchStop();
  const legacy::RunResult result = std::visit(
      [&](const auto& known) {
        return legacy::Replay(known, line.scenario, "legacy-replay", line.text, stop);
      },
      source);
  return legacy::ReportRun(result, line.scenario.pictures);
}

}  // namespace

int main(int argc, char** argv) {
  return legacy::ProgramStatus("legacy-replay", [&] { return Main(argc, argv); });
}

// legacy-replay: times a recorded training on another network.
#include <csignal>
#include <cstdio>
#include <exception>

#include "scenarios/command_line.h"
#include "scenarios/recording.h"
#include "scenarios/replay.h"
#include "scenarios/run_report.h"

namespace {

volatile std::sig_atomic_t g_stop = 0;  // set by the handler of SIGINT and SIGTERM alone

extern "C" void Stop(int) { g_stop = 1; }

int Main(int argc, char** argv) {
  legacy::Recording recording;
  const auto defaults = [&](const std::string& run) {
    recording = legacy::ReadRecording(run);
    return legacy::ReplayDefaults(recording);
  };
  const legacy::CommandLine line = legacy::ParseCommandLine(
      argc, argv, "legacy-replay",
      "Times the training of RUN, which legacy-scenario --record left, on another network, with "
      "other devices or stragglers, without training again.",
      legacy::OnRun{defaults, legacy::MayReplayChange});
  if (line.exit) return *line.exit;
  legacy::ValidateScenario(line.scenario);
  legacy::CheckReplay(recording, line.scenario);
  if (line.print_config) {
    std::fputs(legacy::PrintScenario(line.scenario).c_str(), stdout);
    return 0;
  }
  std::signal(SIGINT, Stop);
  std::signal(SIGTERM, Stop);
  const legacy::RunResult result =
      legacy::Replay(recording, line.scenario, "legacy-replay", line.text, g_stop);
  return legacy::ReportRun(result, line.scenario.pictures);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "legacy-replay: %s\n", error.what());
    return 1;
  }
}

#include "scenarios/programs/replay_command.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/programs/program.h"
#include "scenarios/programs/command_line.h"
#include "scenarios/replay/replay_source.h"
#include "scenarios/run/run_report.h"

namespace legacy {
namespace {

constexpr const char* kOfAny =
    "Times the training of RUN on another network, with other devices or stragglers, without "
    "training again. RUN is a run directory of legacy-scenario --record or legacy-federated "
    "--record, or a trace of your own training (docs/trace-format.md), whose gradients --policies "
    "compresses. The options below are those of workers; with a run of federated clients as RUN, "
    "--help lists theirs.";
constexpr const char* kOfClients =
    "Times a recorded run of federated clients (--record) over another network, other lines of its "
    "clients or other devices, without training. Only runs whose results do not depend on the "
    "network have records.";

// True for the options that --help lists. Methods compress only traces.
bool ListsOfWorkers(const ScenarioOption& option) {
  return option.Has(kMayReplay) || option.key == "compression.policies" ||
         option.key == "compression.density";
}
bool ListsOfClients(const ScenarioOption& option) {
  return option.Has(kMayReplay) || option.key == "run.record";
}

}  // namespace

int ReplayCommand(int argc, char** argv, bool clients) {
  const bool of_clients = clients || std::any_of(argv + 1, argv + argc, [](const char* word) {
                            return word[0] != '-' && IsRunOfClients(word);
                          });
  std::unique_ptr<ReplaySource> source;
  const auto defaults = [&](const std::string& run) {
    if (clients && !IsRunOfClients(run)) {
      throw Error("replay", run, "a run of legacy-federated; legacy-replay takes others");
    }
    source = ReadReplaySource(run);
    return source->Defaults();
  };
  const CommandLine line =
      ParseCommandLine(argc, argv, clients ? "legacy-federated replay" : "legacy-replay",
                       of_clients ? kOfClients : kOfAny,
                       OnRun{defaults, of_clients ? ListsOfClients : ListsOfWorkers, of_clients});
  if (line.exit) return *line.exit;
  source->Check(line.scenario);
  if (line.print_config) {
    std::fputs(PrintScenario(line.scenario).c_str(), stdout);
    return 0;
  }
  const RunResult result =
      source->Run(line.scenario, "legacy-replay", line.text, CatchStop(), stderr);
  return ReportRun(result, {line.scenario.pictures, line.scenario.verbose});
}

}  // namespace legacy

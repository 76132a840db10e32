#include "scenarios/replay/federated_replay.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/programs/patience.h"
#include "scenarios/federated/federated_scenario.h"
#include "scenarios/federated/learner.h"
#include "scenarios/federated/plan_parts.h"
#include "scenarios/federated/run/client_comparison.h"
#include "scenarios/federated/run/learner_run.h"
#include "scenarios/federated/run/training_writer.h"
#include "scenarios/options/target.h"
#include "scenarios/replay/replay.h"
#include "scenarios/run/manifest.h"
#include "scenarios/run/run_sink.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

// Returns the recorded scenario without a run directory. Throws Error where the folder has no
// record.
Scenario RecordedScenario(const std::string& directory) {
  const fs::path manifest = fs::path(directory) / "manifest.json";
  if (!fs::exists(manifest) || !fs::exists(fs::path(directory) / kRecordFile)) {
    throw Error("replay", directory, "the folder of a run with --record");
  }
  Scenario scenario = ScenarioOfRun(directory);
  if (!scenario.federated) throw Error("replay", directory, "a run of legacy-federated");
  scenario.out.clear();
  scenario.record = false;
  return scenario;
}

bool MayChange(const ScenarioOption& option) {
  return option.Has(kMayReplay) || option.key == "run.record";
}

}  // namespace

std::shared_ptr<const FederatedRecording> ReadFederatedRecording(const std::string& directory) {
  auto recording = std::make_shared<FederatedRecording>();
  recording->scenario = RecordedScenario(directory);
  recording->run = analysis::ReadRunDirectory(directory);
  const fs::path path = fs::path(directory) / kRecordFile;
  recording->record = ReadRecord(path);
  if (recording->record.Hash() != TrainingHash(TrainingDocument(recording->scenario))) {
    throw Error::Refusal(path.string() + ": of another training than manifest.json");
  }
  return recording;
}

void CheckReplay(const FederatedRecording& recording, const Scenario& scenario) {
  const Scenario& recorded = recording.scenario;
  const std::string why = ", as recorded: it belongs to the training";
  const FederatedSection &now = *scenario.federated, &known = *recorded.federated;
  if (now.HasServer() != known.HasServer()) {
    const std::string& text = known.exchange.text();
    throw Error("federated.exchange", now.exchange.text(),
                (known.HasServer() ? text : "a collective such as " + text) + why);
  }
  CheckUnchanged(scenario, recorded, MayChange,
                 [&](const std::string& value) { return value + why; });
  const std::vector<std::string> couplings = CouplingsOf(scenario);
  if (couplings.empty()) return;
  throw Error::Refusal("replay: what is learnt would depend on the network: " + couplings.front());
}

analysis::RunDirectory ReplayRows(std::shared_ptr<const FederatedRecording> recording,
                                  const Scenario& scenario, const std::function<bool()>& stopped) {
  CheckReplay(*recording, scenario);
  analysis::RunDirectory run;
  run.manifest = recording->run.manifest;
  run.manifest.target = TargetAmong(scenario, run.manifest.metrics);
  run.manifest.fidelity = scenario.fidelity.text();
  MemorySink sink(run);
  const auto learners =
      RecordedLearners(std::move(recording), scenario, TrainingHash(TrainingDocument(scenario)));
  const auto check = [&stopped] {
    if (stopped()) throw GivenUp();
  };
  const auto replay = [&](const FederatedMethod& row, uint64_t seed) {
    PlanRequest request = RequestOf(scenario, seed);
    const AnyLearner learner = MakeLearner(*learners, row, seed, request, "", nullptr);
    PlanNetworks networks(request);
    const auto rounds =
        StartTraining(networks, {.keeps_tasks = sink.TakesTasks(), .on_transfer = check}, scenario,
                      *learners, row, learner);
    TrainingWriter training(scenario, request, row.name, seed, *learner, run.manifest.parameters,
                            sink, nullptr, {});
    while (const PlannedRound* round = rounds->Next()) {
      check();
      training.Write(*round, rounds->Tasks());
    }
    training.Write(rounds->Tasks());
    training.Finish(rounds->Finish(), request.fidelity);
  };
  try {
    for (int s = 0; s < scenario.seeds; ++s) {
      for (const FederatedMethod& row : FederatedMethodsOf(scenario)) {
        replay(row, scenario.seed + s);
      }
    }
  } catch (const GivenUp&) {
  }
  return run;
}

RunResult Replay(std::shared_ptr<const FederatedRecording> recording, const Scenario& scenario,
                 const std::string& program, const std::string& command_line, const StopFlag& stop,
                 std::FILE* log) {
  CheckReplay(*recording, scenario);
  CheckFolders(recording->run.path, scenario.out);
  const std::unique_ptr<FederatedLearners> learners =
      RecordedLearners(recording, scenario, TrainingHash(TrainingDocument(scenario)));
  const FederatedComparison run = {.scenario = scenario,
                                   .program = program,
                                   .command_line = command_line,
                                   .methods = FederatedMethodsOf(scenario),
                                   .learners = *learners,
                                   .couplings = {},
                                   .trains = false,
                                   .stop = stop,
                                   .log = log};
  return RunComparison(run);
}

}  // namespace legacy

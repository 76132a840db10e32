#include "scenarios/replay/federated_replay.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "base/error.h"
#include "scenarios/federated/federated_scenario.h"
#include "scenarios/federated/learner.h"
#include "scenarios/federated/run/client_comparison.h"
#include "scenarios/federated/run/learner_run.h"
#include "scenarios/federated/run/training_writer.h"
#include "scenarios/options/target.h"
#include "scenarios/replay/replay.h"
#include "scenarios/run/run_sink.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

// Returns the recorded scenario without a run directory. Throws Error where the folder has no
// record.
Scenario RecordedScenario(const std::string& directory) {
  const fs::path manifest = fs::path(directory) / "manifest.json";
  if (!fs::exists(manifest) || !fs::exists(fs::path(directory) / kTrafficFile)) {
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
  const fs::path path = fs::path(directory) / kTrafficFile;
  if (recording->scenario.federated->HasServer()) {
    recording->record = ReadTaskRecord(path);
  } else {
    recording->exchanges = ReadTraffic(path);
  }
  return recording;
}

namespace {

// Ends a training that was stopped.
struct TrainingStopped {};

// A StoppableTraining ends, by throwing TrainingStopped, once `stopped` returns true.
class StoppableTraining : public TrainingWriter {
 public:
  StoppableTraining(const Scenario& scenario, const PlanRequest& request, const std::string& name,
                    uint64_t seed, Learner& learner, int64_t parameters, RunSink& sink,
                    const std::function<bool()>& stopped)
      : TrainingWriter(scenario, request, name, seed, learner, parameters, sink, nullptr, {},
                       [](const Resumption&) {}),
        stopped_(stopped) {}

  void OnTransfer() override { Check(); }
  void OnRound(const PlannedRound& round) override {
    Check();
    TrainingWriter::OnRound(round);
  }

 private:
  void Check() const {
    if (stopped_()) throw TrainingStopped();
  }

  const std::function<bool()>& stopped_;
};

}  // namespace

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
  const StopFlag never = 0;
  const auto learners =
      RecordedLearners(std::move(recording), scenario, TrainingHash(TrainingDocument(scenario)));
  const auto replay = [&](const FederatedMethod& row, uint64_t seed) {
    PlanRequest request = RequestOf(scenario, seed);
    const AnyLearner learner = MakeLearner(*learners, row, seed, request, "", nullptr, nullptr);
    StoppableTraining training(scenario, request, row.name, seed, *learner, run.manifest.parameters,
                               sink, stopped);
    const Plan plan = Simulate(scenario, *learners, row, request, learner, training, never);
    training.Finish(plan, request.fidelity);
  };
  try {
    for (int s = 0; s < scenario.seeds; ++s) {
      for (const FederatedMethod& row : FederatedMethodsOf(scenario)) {
        replay(row, scenario.seed + s);
      }
    }
  } catch (const TrainingStopped&) {
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

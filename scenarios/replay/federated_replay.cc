#include "scenarios/replay/federated_replay.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/programs/patience.h"
#include "scenarios/federated/federated_scenario.h"
#include "scenarios/federated/learner.h"
#include "scenarios/federated/plan_parts.h"
#include "scenarios/federated/recorded_learners.h"
#include "scenarios/federated/run/client_comparison.h"
#include "scenarios/federated/run/learner_run.h"
#include "scenarios/federated/run/training_writer.h"
#include "scenarios/options/target.h"
#include "scenarios/replay/replay.h"
#include "scenarios/run/manifest.h"
#include "scenarios/run/run_sink.h"

namespace legacy {
namespace {

bool MayChange(const ScenarioOption& option) {
  return option.Has(kMayReplay) || option.key == "run.record";
}

// A recorded training of clients, which is timed over another network, with other lines of its
// clients, or on other devices.
class RecordedClients : public RecordedRun {
 public:
  explicit RecordedClients(Recording recording)
      : recording_(std::make_shared<const Recording>(std::move(recording))) {}

  Scenario Defaults() const override { return ReplayDefaults(*recording_); }
  void Check(const Scenario& scenario) const override;
  RunResult Run(const Scenario& scenario, const std::string& program,
                const std::string& command_line, const StopFlag& stop,
                std::FILE* log) const override;
  analysis::RunDirectory Rows(const Scenario& scenario,
                              const std::function<bool()>& stopped) const override;

 private:
  std::unique_ptr<FederatedLearners> Learners(const Scenario& scenario) const {
    return RecordedLearners(recording_, scenario, TrainingHash(TrainingDocument(scenario)));
  }

  const std::shared_ptr<const Recording> recording_;
};

// Also refuses trainings in which what is learnt depends on the network.
void RecordedClients::Check(const Scenario& scenario) const {
  ValidateFederated(scenario);
  const Scenario recorded = ReplayDefaults(*recording_);
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

analysis::RunDirectory RecordedClients::Rows(const Scenario& scenario,
                                             const std::function<bool()>& stopped) const {
  Check(scenario);
  analysis::RunDirectory run;
  run.manifest = recording_->run.manifest;
  run.manifest.target = TargetAmong(scenario, run.manifest.metrics);
  run.manifest.fidelity = scenario.fidelity.text();
  MemorySink sink(run);
  const std::unique_ptr<FederatedLearners> learners = Learners(scenario);
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

RunResult RecordedClients::Run(const Scenario& scenario, const std::string& program,
                               const std::string& command_line, const StopFlag& stop,
                               std::FILE* log) const {
  Check(scenario);
  CheckFolders(recording_->run.path, scenario.out);
  const std::unique_ptr<FederatedLearners> learners = Learners(scenario);
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

}  // namespace

std::unique_ptr<RecordedRun> ReplayOfClients(Recording recording) {
  return std::make_unique<RecordedClients>(std::move(recording));
}

}  // namespace legacy

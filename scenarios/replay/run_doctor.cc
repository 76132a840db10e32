#include "scenarios/replay/run_doctor.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>

#include "analysis/federated/round_figures.h"
#include "analysis/federated_tables.h"
#include "analysis/run_directory.h"
#include "base/error.h"
#include "scenarios/federated/exchange_report.h"
#include "scenarios/federated/plan_parts.h"
#include "scenarios/federated/plan_report.h"
#include "scenarios/federated/recorded_learners.h"
#include "scenarios/federated/run/learner_run.h"
#include "scenarios/replay/federated_replay.h"
#include "scenarios/run/manifest.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

// The rows of one training.
template <class Row>
std::vector<Row> RowsOf(const std::vector<Row>& rows, const std::string& policy, uint64_t seed) {
  std::vector<Row> own;
  std::ranges::copy_if(rows, std::back_inserter(own),
                       [&](const Row& row) { return row.policy == policy && row.seed == seed; });
  return own;
}

// Simulates the trainings of a record with remedies.
class RecordedRemedies {
 public:
  RecordedRemedies(const std::string& directory, uint64_t seed,
                   const std::function<void(const std::string&)>& progress, const StopFlag& stop)
      : recording_(ReadFederatedRecording(directory)),
        seed_(seed),
        learners_(RecordedLearners(recording_, recording_->scenario,
                                   TrainingHash(TrainingDocument(recording_->scenario)))),
        progress_(progress),
        stop_(stop) {}

  // Adds the table and the verdict. Leaves them out where it was interrupted.
  void AddTo(FederatedDiagnosis& diagnosis) {
    const std::vector<FederatedMethod> methods = FederatedMethodsOf(recording_->scenario);
    const auto method = std::ranges::find(methods, diagnosis.policy, &FederatedMethod::name);
    if (method == methods.end()) return;
    const PlanRequest request = RequestOf(recording_->scenario, seed_);
    auto remedies = RemediesFor(request);
    // With a server, others would train then, and nobody recorded them.
    if (!request.exchange) {
      std::erase_if(remedies, [](const auto& remedy) { return remedy.second.no_slow_tenth; });
    }
    const Plan base = Simulate(*method, "as it is", {});
    std::vector<Plan> plans;
    for (const auto& [name, remedy] : remedies) {
      if (stop_ != 0) return;
      plans.push_back(Simulate(*method, name, remedy));
    }
    if (stop_ != 0) return;
    if (request.exchange) diagnosis.waits += "\n" + ExchangeWaitsFor(base);
    diagnosis.remedies = RemedyTable(remedies, base, plans);
    diagnosis.verdict = RemedyVerdict(remedies, base, plans);
  }

 private:
  Plan Simulate(const FederatedMethod& method, const std::string& name, PlanRemedy remedy) {
    progress_(method.name + ": " + name);
    PlanRequest request = RequestOf(recording_->scenario, seed_);
    remedy.versions = std::min(kRemedyRounds, request.Versions());
    const AnyLearner learner =
        MakeLearner(*learners_, method, seed_, request, "", nullptr, nullptr);
    PlanNetworks networks(request);
    return RunToEnd(*StartTraining(networks, {.remedy = remedy, .stop = &stop_},
                                   recording_->scenario, *learners_, method, learner));
  }

  std::shared_ptr<const FederatedRecording> recording_;
  uint64_t seed_;
  std::unique_ptr<FederatedLearners> learners_;
  const std::function<void(const std::string&)>& progress_;
  const StopFlag& stop_;
};

}  // namespace

FederatedDiagnoses DiagnoseFederated(const std::string& directory, bool remedies,
                                     const std::function<void(const std::string&)>& progress,
                                     const StopFlag& stop) {
  const Scenario scenario = ScenarioOfRun(directory);
  if (!scenario.federated) {
    throw Error("doctor", directory,
                "a run of legacy-federated (legacy-scenario --doctor looks at trainings of workers "
                "while they run)");
  }
  const analysis::RunDirectory run = analysis::ReadRunDirectory(directory);
  if (run.rounds.empty()) {
    throw Error("doctor", directory, "a run of legacy-federated with a round or more");
  }
  FederatedDiagnoses diagnoses;
  diagnoses.seed = run.manifest.seeds.front();
  std::optional<RecordedRemedies> recorded;
  const bool by_tasks = std::ranges::any_of(
      run.rounds, [](const analysis::RoundRow& row) { return row.critical_client.has_value(); });
  const bool exchanges = !by_tasks && !scenario.federated->HasServer();
  if (!by_tasks && !exchanges) {
    throw Error("doctor", directory, "a run in which updates ended rounds");
  }
  if (remedies && fs::exists(fs::path(directory) / "traffic.jsonl")) {
    recorded.emplace(directory, diagnoses.seed, progress, stop);
  } else if (remedies) {
    diagnoses.remark =
        "From the run's rows alone: it has no record (--record) whose works could be simulated "
        "anew, so no remedies.";
  }
  for (const std::string& policy : run.manifest.policies) {
    const auto rounds = RowsOf(run.rounds, policy, diagnoses.seed);
    if (rounds.empty()) continue;
    FederatedDiagnosis diagnosis{.policy = policy};
    diagnosis.waits = exchanges
                          ? analysis::ExchangesWaitFor(RowsOf(run.steps, policy, diagnoses.seed))
                          : analysis::WaitsFor(rounds, RowsOf(run.clients, policy, diagnoses.seed));
    const bool whole = !RowsOf(run.network, policy, diagnoses.seed).empty();
    if (recorded && whole) recorded->AddTo(diagnosis);
    diagnoses.policies.push_back(std::move(diagnosis));
  }
  diagnoses.interrupted = stop != 0;
  return diagnoses;
}

}  // namespace legacy

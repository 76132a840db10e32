#include "scenarios/replay/run_doctor.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>

#include "analysis/federated/round_figures.h"
#include "analysis/federated_tables.h"
#include "analysis/run_directory.h"
#include "base/error.h"
#include "scenarios/federated/plan_doctor.h"
#include "scenarios/federated/plan_parts.h"
#include "scenarios/federated/plan_report.h"
#include "scenarios/federated/recorded_learners.h"
#include "scenarios/federated/run/learner_run.h"
#include "scenarios/run/manifest.h"
#include "scenarios/run/recording.h"
#include "trainer/clock/record.h"

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

// Adds remedies to the diagnosis of a recorded training. If it is interrupted, remedies are left
// out.
void AddRemedies(const Scenario& scenario, FederatedLearners& learners, const std::string& policy,
                 uint64_t seed, const std::function<void(const std::string&)>& progress,
                 const StopFlag& stop, Diagnosis& diagnosis) {
  const std::vector<FederatedMethod> methods = FederatedMethodsOf(scenario);
  const auto method = std::ranges::find(methods, policy, &FederatedMethod::name);
  if (method == methods.end()) return;
  const PlanRequest request = RequestOf(scenario, seed);
  PlanRemedies remedies = RemediesFor(request);
  // With a server, other clients would then train, and nobody recorded them.
  if (!request.exchange) {
    std::erase_if(remedies, [](const auto& remedy) { return remedy.second.no_slow_tenth; });
  }
  const auto simulate = [&](const Remedy& remedy, const PlanRemedy& change) {
    progress(policy + ": " + remedy.change);
    PlanRequest changed = request;
    const AnyLearner learner = MakeLearner(learners, *method, seed, changed, "", nullptr);
    PlanNetworks networks(changed);
    return RunToEnd(*StartTraining(networks, {.remedy = change, .stop = &stop}, scenario, learners,
                                   *method, learner));
  };
  const Plan base =
      simulate({.change = "as it is"}, {.versions = std::min(kRemedyRounds, request.Versions())});
  std::string waits = diagnosis.waits;
  if (request.exchange) waits += "\n" + ExchangeWaitsFor(base);
  Diagnosis found = DiagnoseRounds(base, remedies, simulate, stop);
  if (stop != 0) return;
  diagnosis = std::move(found);
  diagnosis.waits = std::move(waits);
}

}  // namespace

RunDiagnosis DiagnoseFederated(const std::string& directory, bool remedies,
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
  RunDiagnosis found{.seed = run.manifest.seeds.front()};
  Scenario recorded;
  std::unique_ptr<FederatedLearners> learners;  // null if there are no remedies
  const bool by_tasks = std::ranges::any_of(
      run.rounds, [](const analysis::RoundRow& row) { return row.critical_client.has_value(); });
  const bool exchanges = !by_tasks && !scenario.federated->HasServer();
  if (!by_tasks && !exchanges) {
    throw Error("doctor", directory, "a run in which updates ended rounds");
  }
  if (remedies && fs::exists(fs::path(directory) / kRecordFile)) {
    auto recording = std::make_shared<const Recording>(ReadRecording(directory));
    recorded = ReplayDefaults(*recording);
    learners =
        RecordedLearners(std::move(recording), recorded, TrainingHash(TrainingDocument(recorded)));
  } else if (remedies) {
    found.remark =
        "From the run's rows alone: it has no record (--record) whose works could be simulated "
        "again, so no remedies.";
  }
  for (const std::string& policy : run.manifest.policies) {
    const auto rounds = RowsOf(run.rounds, policy, found.seed);
    if (rounds.empty()) continue;
    Diagnosis diagnosis;
    diagnosis.waits = exchanges
                          ? analysis::ExchangesWaitFor(RowsOf(run.steps, policy, found.seed))
                          : analysis::WaitsFor(rounds, RowsOf(run.clients, policy, found.seed));
    const bool whole = !RowsOf(run.network, policy, found.seed).empty();
    if (learners && whole) {
      AddRemedies(recorded, *learners, policy, found.seed, progress, stop, diagnosis);
    }
    found.policies.emplace_back(policy, std::move(diagnosis));
  }
  found.interrupted = stop != 0;
  return found;
}

}  // namespace legacy

#include "scenarios/replay/recorded_plan.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "ns3-module/fabric/step/build-ddp.h"
#include "ns3-module/fabric/step/build-sharded.h"
#include "scenarios/run/scenario_timing.h"

namespace legacy {
namespace {

const RecordedTraining& TrainingOf(const Record& record, const RecordedStep& which) {
  const std::vector<RecordedTraining>& all = record.trainings;
  const std::string& policy = which.policy.empty() ? all.front().policy : which.policy;
  const auto first = std::ranges::find(all, policy, &RecordedTraining::policy);
  return which.seed || first == all.end()
             ? record.Training(policy, which.seed.value_or(all.front().seed))
             : *first;
}

}  // namespace

fabric::StepPlan PlanOfRecordedStep(const Recording& recording, const RecordedStep& which) {
  const Record& record = recording.record;
  if (record.batch || record.trainings.empty()) {
    throw Error("export", recording.run.path.string(),
                "a recorded run of workers; steps of clients are no plans");
  }
  const RecordedTraining& training = TrainingOf(record, which);
  const auto steps = std::ssize(training.works);
  if (which.step < 0 || which.step >= steps) {
    throw Error("--step", std::to_string(which.step), "0 to " + std::to_string(steps - 1));
  }
  Scenario scenario = ReplayDefaults(recording);
  scenario.fidelity = "flow";  // a plan has no times of the network yet
  const ScenarioTiming timing(scenario);
  const std::vector<Clock> clocks = timing.MakeClocks(record.operations, record.layers);
  const Clock& clock = clocks[timing.EntryOf(which.step)];
  const StepStart start = timing.StartOf(clock, training.seed, which.step);
  const fabric::StepTraffic traffic =
      timing.Price(clock, record.works[training.works[which.step]], start).traffic;
  return traffic.sharded ? fabric::BuildSharded(traffic) : fabric::BuildDdpInSegments(traffic);
}

}  // namespace legacy

#include "scenarios/run/pilot.h"

#include <optional>

#include "scenarios/run/diagnostics.h"
#include "scenarios/run/timed_run.h"

namespace legacy {
namespace {

// Returns the scenario with the fastest engine, which leaves no files.
Scenario QuickScenario(Scenario scenario) {
  scenario.fidelity = "analytic";
  scenario.sync = Scenario().sync;
  return WithoutDiagnostics(std::move(scenario));
}

// Returns the step in which all workers send what the only one does.
StepWork Widened(StepWork work, int workers) {
  work.workers = workers;
  work.active_workers.clear();
  for (BucketWork& bucket : work.buckets) {
    for (SentCall& call : bucket.calls) {
      const bool one = call.collective == Collective::kBroadcast;
      call.bytes.resize(static_cast<size_t>(workers), one ? 0 : call.bytes.front());
    }
  }
  return work;
}

// A PilotClock prices steps for policies that read the clock.
class PilotClock {
 public:
  PilotClock(const Scenario& scenario, const StepSource& training)
      : scenario_(QuickScenario(scenario)),
        timing_(scenario_),
        sink_(rows_),
        timed_network_{&timing_, &sink_},
        numels_(training.LayerNumels()),
        timed_({&timed_network_, 1}, nullptr, "pilot", scenario.seed, training.Costs(), numels_) {}

  const StepTimes& TimesOf(const StepOutcome& outcome) {
    const StepStart start = timed_.Start();
    timed_.Step(Widened(outcome.work, scenario_.workers), start, {});
    return timed_.Times();
  }
  LinkEstimate LinkAt(int64_t step) const { return timing_.LinkAt(step); }

 private:
  Scenario scenario_;
  ScenarioTiming timing_;
  analysis::RunDirectory rows_;
  MemorySink sink_;
  TimedNetwork timed_network_;
  std::vector<int64_t> numels_;
  TimedEverywhere timed_;
};

}  // namespace

double BytesOfPilot(StepSource& training, const Scenario& scenario, bool reads_clock) {
  std::optional<PilotClock> clock;
  if (reads_clock) clock.emplace(scenario, training);
  double bytes = 0;
  for (int64_t step = 0; step < scenario.steps; ++step) {
    if (clock) training.SetLink(clock->LinkAt(step));
    const StepOutcome outcome = training.Step();
    bytes += MeanMessageBytes(outcome.work);
    training.OnFeedback(clock ? clock->TimesOf(outcome) : StepTimes{});
  }
  return bytes / static_cast<double>(scenario.steps);
}

}  // namespace legacy

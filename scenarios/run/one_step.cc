#include "scenarios/run/one_step.h"

#include <utility>

#include "scenarios/run/timed_training.h"
#include "scenarios/training/training_request.h"

namespace legacy {

std::unique_ptr<StepSource> ShapeSteps(const Scenario& scenario, const std::string& method,
                                       StepSources& sources) {
  const Method found = FindMethod(scenario, method);
  return MakeRequested(
      {found.name, found.policy, found.parameter, scenario.seed, DataWorkers(scenario)}, scenario,
      sources, OneProcess());
}

analysis::StepRow TimeOneStep(const Scenario& scenario) {
  const std::string& policy = scenario.policies.front();
  const std::unique_ptr<StepSources> sources = DrawnSources(scenario);
  const std::unique_ptr<StepSource> step = ShapeSteps(scenario, policy, *sources);
  ScenarioTiming timing(scenario);
  StepClocks clocks;
  for (Clock& clock : timing.MakeClocks(step->Costs(), step->Layers())) {
    clocks.push_back(std::make_unique<Clock>(std::move(clock)));
  }
  analysis::RunDirectory rows;
  MemorySink sink(rows);
  TimedTraining timed(timing, sink, nullptr, policy, scenario.seed, std::move(clocks),
                      step->Layers());
  const StepStart start = timed.Start();
  return timed.Step(step->Step(start.participation.workers).work, start, {});
}

}  // namespace legacy

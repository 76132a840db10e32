#include "scenarios/run/one_step.h"

#include <utility>

#include "scenarios/options/methods.h"
#include "scenarios/run/diagnostics.h"
#include "scenarios/run/timed_training.h"
#include "scenarios/training/step_sources.h"

namespace legacy {

analysis::StepRow TimeOneStep(const Scenario& scenario) {
  const std::unique_ptr<StepSources> sources = DrawnSources(scenario);
  TrainingOptions options;
  options.workers = DataWorkers(scenario);
  options.batch_size = scenario.batch;
  options.passes = scenario.accumulate;
  options.total_steps = scenario.steps;
  options.precision = *scenario.precision;
  const std::span<const Unit> layers = sources->Layers();
  const Method method = FindMethod(scenario, scenario.policies.front());
  BuiltMethod built = BuildMethod(method, scenario, layers);
  options.buckets = BucketsOf(scenario, *built.scheme);
  options.weights = WeightCodecOf(method, scenario, options.seed);
  const std::unique_ptr<StepSource> step = sources->Make(options, method, std::move(built));
  ScenarioTiming timing(scenario);
  StepClocks clocks;
  for (Clock& clock : timing.MakeClocks(step->Costs(), step->Layers())) {
    clocks.push_back(std::make_unique<Clock>(std::move(clock)));
  }
  analysis::RunDirectory rows;
  MemorySink sink(rows);
  TimedTraining timed(timing, sink, nullptr, method.name, scenario.seed, std::move(clocks),
                      step->Layers());
  const StepStart start = timed.Start();
  return timed.Step(step->Step(start.participation.workers).work, start, {});
}

}  // namespace legacy

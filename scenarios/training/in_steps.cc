#include "scenarios/training/in_steps.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/parse.h"
#include "scenarios/training/step_sources.h"

namespace legacy {

Scenario InSteps(const Scenario& scenario, const ProcessGroup& processes) {
  Scenario resolved = scenario;
  std::vector<StepCount*> counts = {&resolved.steps, &resolved.warmup_steps,
                                    &resolved.evaluate_every};
  for (StepCount& count : resolved.decay_steps) counts.push_back(&count);
  const auto epochs = std::ranges::find_if(counts, [](auto* count) { return count->InEpochs(); });
  std::string& bounds = resolved.legacy.phase_bounds;
  if (epochs == counts.end() && !HasEpochs(bounds)) return resolved;
  if (!scenario.layers.empty()) {
    throw Error("steps", epochs == counts.end() ? bounds : (*epochs)->Text(),
                "numbers of steps with training.layers: shapes have no epochs");
  }
  const int64_t steps = TrainedSources(scenario, processes)->StepsPerEpoch();
  for (StepCount* count : counts) *count = count->InSteps(steps);
  if (HasEpochs(bounds)) {
    std::vector<std::string> ends;
    for (const int64_t end : ParsePhaseBounds(bounds, resolved.steps, steps)) {
      ends.push_back(std::to_string(end));
    }
    bounds = Join(ends, ",");
  }
  return resolved;
}

}  // namespace legacy

#include "scenarios/training/scenario_task.h"

namespace legacy {

std::unique_ptr<Task> TaskOf(const Scenario& s) {
  return LoadTask({.dataset = s.dataset,
                   .data_root = s.data_root,
                   .train_limit = s.train_limit,
                   .test_limit = s.test_limit,
                   .window = static_cast<int>(s.window),
                   .evaluation_columns = s.evaluation_columns,
                   .validation = *s.evaluate_on == TextPart::kValidation,
                   .negatives = s.negatives,
                   .strict = s.strict_data,
                   .augment = *s.augment,
                   .normalise = s.normalise});
}

ModelRequest ModelOf(const Scenario& scenario, const Task& task, uint64_t seed) {
  ModelRequest request = task.RequestFor(scenario.model, seed);
  request.init = *scenario.init;
  return request;
}

}  // namespace legacy

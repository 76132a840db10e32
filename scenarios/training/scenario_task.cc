#include "scenarios/training/scenario_task.h"

#include <cstdio>
#include <mutex>
#include <set>

namespace legacy {
namespace {

// Prints a line about the data to standard error, once per process.
void SayOnce(const std::string& data, const std::string& line) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard lock(mutex);
  if (said.insert(data + line).second) {
    std::fprintf(stderr, "%s: %s\n", data.c_str(), line.c_str());
  }
}

}  // namespace

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
                   .normalise = s.normalise,
                   .note = [data = s.dataset](const std::string& line) { SayOnce(data, line); }});
}

ModelRequest ModelOf(const Scenario& scenario, const Task& task, uint64_t seed) {
  ModelRequest request = task.RequestFor(scenario.model, seed);
  request.init = *scenario.init;
  return request;
}

}  // namespace legacy

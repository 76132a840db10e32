// The catalogue of tasks: what can be trained, and by which metrics it is judged. Without LibTorch;
// task.h makes tasks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/metric.h"

namespace legacy {

enum class TaskKind : uint8_t {
  kClassification,      // an image gives one of several classes
  kLanguageModelling,   // words give the next word
  kCharacterModelling,  // characters, or bytes, give the next one
  kRecommendation,      // a user and an item give the probability that they meet
};

// A TaskInfo is one row of the catalogue. The first metric is meant where none is named.
struct TaskInfo {
  TaskKind kind = TaskKind::kClassification;
  std::string name;  // "language-modelling"
  std::string help;
  std::vector<Metric> metrics;
};

// An Evaluation is the quality of the model.
struct Evaluation {
  double loss = 0;              // mean over the test set
  std::vector<double> metrics;  // values of the task's metrics, in their order
};

// Returns the row of a kind.
const TaskInfo& InfoOf(TaskKind kind);

}  // namespace legacy

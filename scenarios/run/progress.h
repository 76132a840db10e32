// The progress of a long run is one rewritten line on a terminal, and elsewhere a plain line for
// each evaluation.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "base/progress_line.h"

namespace legacy {

// A ProgressState has the values that the line shows.
struct ProgressState {
  std::string policy;
  uint64_t seed = 0;
  int64_t step = 0;  // steps done of this training
  int64_t steps = 0;
  double loss = 0;
  double accuracy = -1;  // accuracy of the last evaluation; below 0: none yet
  double simulated_seconds = 0;
};

// A Progress writes the line to `log`.
class Progress {
 public:
  // `total_steps` counts the steps of all trainings of the run.
  Progress(int64_t total_steps, bool terminal, std::FILE* log)
      : line_(total_steps, "steps", terminal, log) {}

  // Counts one more step.
  void Step(const ProgressState& state);
  // Shows the evaluation of the model.
  void Evaluated(const ProgressState& state);
  // Ends the line.
  void Finish() { line_.Finish(); }

 private:
  ProgressLine line_;
};

}  // namespace legacy

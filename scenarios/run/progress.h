// Progress of a long run: one rewritten line on a terminal, a plain line for each evaluation
// elsewhere.
#pragma once

#include <cstdint>
#include <string>

#include "base/progress_line.h"

namespace legacy {

struct ProgressState {
  std::string policy;
  uint64_t seed = 0;
  int64_t step = 0;  // done, of this training
  int64_t steps = 0;
  double loss = 0;
  double accuracy = -1;  // of the last evaluation; below 0: none yet
  double simulated_seconds = 0;
};

class Progress {
 public:
  // `total_steps`: over all trainings of the run. Writes to standard error.
  Progress(int64_t total_steps, bool terminal) : line_(total_steps, "steps", terminal) {}

  void Step(const ProgressState& state);       // one more step is done
  void Evaluated(const ProgressState& state);  // after an evaluation
  void Finish() { line_.Finish(); }            // leaves the line

 private:
  ProgressLine line_;
};

}  // namespace legacy

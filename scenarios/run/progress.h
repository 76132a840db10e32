// The progress of a long run is one rewritten line on a terminal, and elsewhere a plain line for
// each evaluation.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/metric.h"
#include "base/programs/progress_line.h"

namespace legacy {

// A ProgressState has the values that the line shows.
struct ProgressState {
  std::string policy;
  uint64_t seed = 0;
  int64_t step = 0;  // steps done of this training
  int64_t steps = 0;
  double loss = 0;
  std::vector<double> metrics = {};  // metrics of the last evaluation; empty: none yet
  double simulated_seconds = 0;
};

// A ShareTold is told the share of the training in work that is done, after each of its steps.
using ShareTold = std::function<void(double share)>;

// A Progress writes the line to `log`.
class Progress {
 public:
  // `total_steps` counts the steps of all trainings of the run, which are called `noun`, "step" or
  // "round". The line shows the metric of that name, or the first. `told` may be empty.
  Progress(int64_t total_steps, std::string noun, std::span<const Metric> metrics,
           const std::string& shown, bool terminal, std::FILE* log, ShareTold told = {});

  // Makes it say how long the run takes, once the rate has settled, for runs that cannot say it
  // before.
  void TellDuration() { tells_duration_ = true; }
  // Counts one more step.
  void Step(const ProgressState& state);
  // Shows the evaluation of the model.
  void Evaluated(const ProgressState& state);
  // Ends the line.
  void Finish() { line_.Finish(); }

 private:
  std::string Text(const ProgressState& state) const;
  void TryToTellDuration();

  std::string noun_;
  size_t position_;  // of the metric
  Metric metric_;    // its name is "" where nothing is trained
  ProgressLine line_;
  ShareTold told_;
  bool tells_duration_ = false;
};

// Returns the line about a run's wall time, "This takes about 2 minutes."; "" for a short run.
std::string DurationText(double seconds);

}  // namespace legacy

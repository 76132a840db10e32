// Progress of a long run: one rewritten line on a terminal, a plain line for each evaluation elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

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
  Progress(int64_t total_steps, bool terminal);

  void Step(const ProgressState& state);       // one more step is done
  void Evaluated(const ProgressState& state);  // after an evaluation
  void Finish();                               // leaves the line

 private:
  std::string Line(const ProgressState& state) const;
  std::string Eta() const;

  using WallClock = std::chrono::steady_clock;
  int64_t total_;
  int64_t done_ = 0;
  bool terminal_;
  bool open_ = false;  // a rewritten line stands on the terminal
  WallClock::time_point start_;
  WallClock::time_point shown_;
};

}  // namespace legacy

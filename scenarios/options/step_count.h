// Numbers of steps in a scenario.
#pragma once

#include <cstdint>
#include <string>

namespace legacy {

// A StepCount is a number of steps, or a number of epochs until it is known how many steps an epoch
// has.
class StepCount {
 public:
  StepCount(int64_t steps = 0) : steps_(steps) {}  // as numbers of steps are everywhere

  bool InEpochs() const { return epochs_ > 0; }
  double epochs() const { return epochs_; }
  // Throws Error where it is a number of epochs.
  operator int64_t() const;
  // Returns the number of steps, rounded, at least 1.
  StepCount InSteps(int64_t steps_per_epoch) const;
  // Returns the text that ParseStepCount reads.
  std::string Text() const;

  friend StepCount ParseStepCount(const std::string& text, const std::string& key, int64_t least);

 private:
  int64_t steps_ = 0;
  double epochs_ = 0;  // 0: it is a number of steps
};

// Reads "600", of at least `least`, or "30ep" and "0.5ep". Throws Error naming `key`.
StepCount ParseStepCount(const std::string& text, const std::string& key, int64_t least);

}  // namespace legacy

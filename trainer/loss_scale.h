// The loss scale keeps small gradients within the range of fp16 (Micikevicius et al., Mixed
// Precision Training, ICLR 2018): the loss is multiplied by a power of two before the backward
// pass, and gradients are divided by it. A step in which a gradient overflows updates nothing and
// halves the scale; after a number of steps without an overflow it doubles.
#pragma once

#include <cstdint>

#include "base/state.h"

namespace legacy {

// A LossScale is the scale of one training.
class LossScale {
 public:
  static constexpr double kFirst = 0x1p16;
  static constexpr double kLargest = 0x1p24;
  static constexpr int64_t kGoodSteps = 2000;  // steps after which it doubles

  double value() const { return value_; }
  // Returns the number of steps that have updated nothing.
  int64_t skipped() const { return skipped_; }

  // Count a step without an overflow, and one with. Overflowed throws Error naming the step where
  // the scale is 1, as halving would then only hide that the training diverges.
  void Updated();
  void Overflowed(int64_t step);

  void Save(StateWriter& out) const;
  void Load(StateReader& in);

 private:
  double value_ = kFirst;
  int64_t good_ = 0;  // steps without an overflow since it changed
  int64_t skipped_ = 0;
};

}  // namespace legacy

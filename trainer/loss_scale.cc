#include "trainer/loss_scale.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"

namespace legacy {

void LossScale::Updated() {
  if (++good_ < kGoodSteps) return;
  value_ = std::min(2 * value_, kLargest);
  good_ = 0;
}

void LossScale::Overflowed(int64_t step) {
  if (value_ == 1) {
    throw Error("step " + std::to_string(step) + ": gradient in fp16", "an overflow",
                "finite numbers at a loss scale of 1; precision bf16 has the range of fp32, and a "
                "lower learning rate may help");
  }
  value_ /= 2;
  good_ = 0;
  ++skipped_;
}

void LossScale::Save(StateWriter& out) const {
  out.Real(value_);
  out.Number(static_cast<uint64_t>(good_));
  out.Number(static_cast<uint64_t>(skipped_));
}

void LossScale::Load(StateReader& in) {
  constexpr uint64_t kMostSteps = uint64_t{1} << 53;
  value_ = in.Real("loss scale");
  int exponent = 0;
  if (!(value_ >= 1 && value_ <= kLargest) || std::frexp(value_, &exponent) != 0.5) {
    throw Error("state: loss scale", std::to_string(value_), "powers of two from 1 to 2^24");
  }
  good_ = static_cast<int64_t>(in.Number("steps since the loss scale changed", kGoodSteps - 1));
  skipped_ = static_cast<int64_t>(in.Number("steps that overflowed", kMostSteps));
}

}  // namespace legacy

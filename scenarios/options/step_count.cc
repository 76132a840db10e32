#include "scenarios/options/step_count.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/number.h"
#include "base/parse.h"

namespace legacy {
namespace {

constexpr const char* kEpochs = "ep";
constexpr double kMostEpochs = 1e6;

}  // namespace

StepCount::operator int64_t() const {
  if (!InEpochs()) return steps_;
  throw Error("steps", Text(), "a number of steps, as only trainings know how long an epoch is");
}

StepCount StepCount::InSteps(int64_t steps_per_epoch) const {
  if (!InEpochs()) return *this;
  return std::max<int64_t>(1, std::llround(epochs_ * static_cast<double>(steps_per_epoch)));
}

std::string StepCount::Text() const {
  return InEpochs() ? FormatNumber(epochs_) + kEpochs : std::to_string(steps_);
}

StepCount ParseStepCount(const std::string& text, const std::string& key, int64_t least) {
  if (!text.ends_with(kEpochs)) {
    return ParseInteger(text, key, least, std::numeric_limits<int64_t>::max());
  }
  StepCount count;
  count.epochs_ = ParseNumber(text.substr(0, text.size() - 2), key, 1e-6, kMostEpochs);
  return count;
}

}  // namespace legacy

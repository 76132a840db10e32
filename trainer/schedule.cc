#include "trainer/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "base/error.h"

namespace legacy {
namespace {

void Require(bool holds, const char* option, double value, const char* allowed) {
  if (!holds) throw Error(option, std::to_string(value), allowed);
}

// Returns the fraction of the decay that is done: 0 at the end of the warm-up, 1 at total_steps.
double Progress(const ScheduleOptions& options, int64_t step, int64_t total_steps) {
  const int64_t length = total_steps - options.warmup_steps;
  if (length <= 0) return 1;
  const int64_t done = std::clamp<int64_t>(step - options.warmup_steps, 0, length);
  return static_cast<double>(done) / static_cast<double>(length);
}

// Returns a value between `from`, at progress 0, and `to`, at 1.
double HalfCosine(double from, double to, double progress) {
  return to + 0.5 * (from - to) * (1 + std::cos(std::numbers::pi * progress));
}

}  // namespace

void CheckSchedule(const ScheduleOptions& options) {
  const double rate = options.learning_rate;
  Require(std::isfinite(rate) && rate > 0, "learning-rate", rate, "positive numbers");
  Require(options.warmup_steps >= 0, "warmup-steps", static_cast<double>(options.warmup_steps),
          "0 or more");
  Require(options.warmup_from >= 0 && options.warmup_from <= rate, "warmup-from",
          options.warmup_from, "from 0 to the learning rate");
  Require(options.gamma > 0 && options.gamma <= 1, "lr-gamma", options.gamma, "(0, 1]");
  Require(options.final_learning_rate >= 0 && options.final_learning_rate <= rate,
          "final-learning-rate", options.final_learning_rate, "from 0 to the learning rate");
  for (size_t i = 0; i < options.milestones.size(); ++i) {
    const int64_t before = i == 0 ? -1 : options.milestones[i - 1];
    Require(options.milestones[i] > before, "lr-milestones",
            static_cast<double>(options.milestones[i]), "ascending steps from 0");
  }
}

double LearningRate(const ScheduleOptions& options, int64_t step, int64_t total_steps) {
  const double rate = options.learning_rate;
  if (step < options.warmup_steps) {
    if (options.decay == Decay::kOneCycle) {
      constexpr double kStart = 1.0 / 25;
      return HalfCosine(kStart * rate, rate,
                        static_cast<double>(step) / static_cast<double>(options.warmup_steps));
    }
    return options.warmup_from + (rate - options.warmup_from) * static_cast<double>(step + 1) /
                                     static_cast<double>(options.warmup_steps);
  }
  const double last = options.final_learning_rate;
  switch (options.decay) {
    case Decay::kConstant:
      return rate;
    case Decay::kStep: {
      const auto passed =
          std::upper_bound(options.milestones.begin(), options.milestones.end(), step) -
          options.milestones.begin();
      return rate * std::pow(options.gamma, static_cast<double>(passed));
    }
    case Decay::kCosine:
    case Decay::kOneCycle:
      return HalfCosine(rate, last, Progress(options, step, total_steps));
    case Decay::kInverseSqrt: {
      const auto peak = static_cast<double>(std::max<int64_t>(options.warmup_steps, 1));
      return rate * std::sqrt(peak / static_cast<double>(step + 1));
    }
    case Decay::kLinear:
      break;
  }
  return rate + (last - rate) * Progress(options, step, total_steps);
}

}  // namespace legacy

// Learning rate of each step: linear warm-up, then constant, steps, cosine or linear decay.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace legacy {

enum class Decay : uint8_t { kConstant, kStep, kCosine, kLinear };

// "constant", "step", "cosine", "linear"; throws Error otherwise.
Decay ParseDecay(std::string_view text);
std::string_view ToString(Decay decay);

struct ScheduleOptions {
  double learning_rate = 0.1;  // reached at the end of the warm-up; > 0
  Decay decay = Decay::kConstant;
  int64_t warmup_steps = 0;  // step s < warmup_steps runs at rate * (s + 1) / warmup_steps
  // kStep: from each of these steps on the rate is multiplied by `gamma`.
  std::vector<int64_t> milestones = {};
  double gamma = 0.1;
  double final_learning_rate = 0;  // kCosine, kLinear: approached at total_steps
};

// Throws Error on a rate that is not positive and finite, a negative warm-up, milestones out of
// order and the like.
void CheckSchedule(const ScheduleOptions& options);

// Rate of `step` (from 0) of `total_steps`; steps past the end keep the last rate.
double LearningRate(const ScheduleOptions& options, int64_t step, int64_t total_steps);

}  // namespace legacy

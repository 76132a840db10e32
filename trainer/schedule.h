// The learning rate of a step warms up linearly, and is then constant or decays by steps, a cosine
// or a line.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/parse.h"

namespace legacy {

// A Decay says how the rate falls after the warm-up.
enum class Decay : uint8_t { kConstant, kStep, kCosine, kLinear };

inline constexpr std::array<const char*, 4> kDecayTexts = {"constant", "step", "cosine", "linear"};

// Returns the decay of that name. Throws Error naming `key` on any other.
inline Decay ParseDecay(const std::string& text, const std::string& key) {
  return ParseChoice<Decay>(text, key, kDecayTexts);
}

// ScheduleOptions describe the rate over a training.
struct ScheduleOptions {
  double learning_rate = 0.1;  // rate at the end of the warm-up; > 0
  Decay decay = Decay::kConstant;
  int64_t warmup_steps = 0;  // step s < warmup_steps runs at rate * (s + 1) / warmup_steps
  // kStep: the rate is multiplied by `gamma` from each of these steps on.
  std::vector<int64_t> milestones = {};
  double gamma = 0.1;
  double final_learning_rate = 0;  // kCosine, kLinear: the rate that is approached at total_steps
};

// Throws Error on a rate that is not positive and finite, a negative warm-up, milestones out of
// order and the like.
void CheckSchedule(const ScheduleOptions& options);

// Returns the rate of `step` (from 0) of `total_steps`. Steps past the end keep the last rate.
double LearningRate(const ScheduleOptions& options, int64_t step, int64_t total_steps);

}  // namespace legacy

// The learning rate of a step warms up, and is then constant or decays.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/parse.h"

namespace legacy {

// A Decay says how the rate falls after the warm-up.
enum class Decay : uint8_t {
  kConstant,
  kStep,    // falls by a factor at milestones
  kCosine,  // half a cosine (Loshchilov and Hutter, ICLR 2017)
  kLinear,
  kInverseSqrt,  // with 1 / sqrt(step) (Vaswani et al., NeurIPS 2017)
  // Rises from a 25th along half a cosine in the warm-up, and falls along another one (Smith and
  // Topin, 2018, as in PyTorch).
  kOneCycle,
};

inline constexpr std::array<const char*, 6> kDecayTexts = {"constant", "step",         "cosine",
                                                           "linear",   "inverse-sqrt", "one-cycle"};

// Returns the decay of that name. Throws Error naming `key` on any other.
inline Decay ParseDecay(const std::string& text, const std::string& key) {
  return ParseChoice<Decay>(text, key, kDecayTexts);
}

// ScheduleOptions describe the rate over a training.
struct ScheduleOptions {
  double learning_rate = 0.1;  // rate at the end of the warm-up; > 0
  Decay decay = Decay::kConstant;
  // But for kOneCycle, step s < warmup_steps runs at
  // warmup_from + (rate - warmup_from) * (s + 1) / warmup_steps.
  int64_t warmup_steps = 0;
  double warmup_from = 0;  // from 0 to the rate
  // kStep: the rate is multiplied by `gamma` from each of these steps on.
  std::vector<int64_t> milestones = {};
  double gamma = 0.1;
  // kCosine, kLinear, kOneCycle: the rate that is approached at total_steps.
  double final_learning_rate = 0;
};

// Throws Error on a rate that is not positive and finite, a negative warm-up, milestones out of
// order and the like.
void CheckSchedule(const ScheduleOptions& options);

// Returns the rate of `step` (from 0) of `total_steps`. Steps past the end keep the last rate.
double LearningRate(const ScheduleOptions& options, int64_t step, int64_t total_steps);

}  // namespace legacy

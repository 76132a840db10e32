// Policy: picks each unit's codec parameter for each step.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compress/unit.h"

namespace legacy {

// When a step happens; all that time-driven policies may know.
struct StepInfo {
  int64_t step = 0;         // from 0
  int64_t total_steps = 0;  // horizon T of LEGACY's phases
  double learning_rate = 0;
};

// What a finished step tells policies that want it. Only what every worker really has.
struct StepFeedback {
  int64_t step = 0;
  double simulated_seconds = 0;  // of the step; reading it makes a training network dependent
  std::span<const float> mean_gradient;  // flat, decoded, the same at every worker
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string_view Name() const = 0;
  // parameters[i] is for units[i]; both of one length.
  virtual void Decide(const StepInfo& step, std::span<const Unit> units,
                      std::span<double> parameters) = 0;
  virtual void Observe(const StepFeedback&) {}
  // True where Decide depends on simulated time: such a training cannot be replayed on another
  // network.
  virtual bool ReadsClock() const { return false; }
};

// One parameter for all units and steps.
std::unique_ptr<Policy> MakeUniformPolicy(double parameter);

}  // namespace legacy

// Gradient files hold real gradients on which to try codecs: those of worker 0 in chosen steps, as
// raw little-endian float32, with a list of their layers that legacy-codec --layers reads.
//
//   gradients/POLICY-seedN-stepK.f32     the chosen layers, one after the other
//   gradients/layers.txt                 a line for each: name, shape as 8x1x3x3
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "compress/unit.h"
#include "scenarios/options/scenario.h"

namespace legacy {

// GradientFiles writes gradient files while trainings run.
class GradientFiles {
 public:
  // Throws Error on steps that do not exist, and on a name that is part of no layer's.
  GradientFiles(const Scenario& scenario, std::span<const Unit> layers,
                const std::filesystem::path& directory);

  // Writes a chosen step of one training; workers other than 0 are ignored. Throws Error naming the
  // file where it cannot be written.
  void Write(const std::string& policy, uint64_t seed, int64_t step, int worker,
             std::span<const float> gradient) const;

 private:
  std::filesystem::path folder_;
  std::set<int> steps_;
  std::vector<Unit> layers_;
};

}  // namespace legacy

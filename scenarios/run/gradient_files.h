// Real gradients to try codecs on: what worker 0 computed in chosen steps, as raw little-endian
// float32, with a list of the layers in it that legacy-codec --layers reads.
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

class GradientFiles {
 public:
  // Throws Error on steps that there are not, and on a name that is part of no layer's.
  GradientFiles(const Scenario& scenario, std::span<const Unit> layers,
                const std::filesystem::path& directory);

  // One training's steps; of worker 0 alone anything is written. Throws Error naming the file where
  // the disk refuses.
  void Write(const std::string& policy, uint64_t seed, int64_t step, int worker,
             std::span<const float> gradient) const;

 private:
  std::filesystem::path folder_;
  std::set<int> steps_;
  std::vector<Unit> layers_;
};

}  // namespace legacy

// A gradient source has the gradients on which a codec is tried, of every worker at every step.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compress/unit.h"

namespace legacy {

// GradientOptions say where gradients come from.
struct GradientOptions {
  // Exactly one of the next three is given.
  // Raw little-endian fp32 files; worker w has file w, or all workers share one file.
  std::vector<std::string> files;
  std::string real;   // name of a compiled-in gradient, which all workers share
  std::string drawn;  // distribution, "student-t:n=1e6"; each worker and step has its own draw
  // Layers of the gradient. Without both there is one layer of one dimension, or the layers of the
  // real gradient.
  std::string shape;             // shape: "512x1024"
  std::string layers;            // file of a list of layers
  std::optional<int> workers;    // nothing: as many as files, or kDefaultWorkers
  std::optional<int64_t> steps;  // nothing: as many as the files hold, or 1
};

inline constexpr int kDefaultWorkers = 8;
inline constexpr int kMostWorkers = 4096;

// A GradientSource reads or draws gradients.
class GradientSource {
 public:
  // Throws Error on files that cannot be read, lengths that do not fit, and values that are not
  // finite, with their position.
  explicit GradientSource(const GradientOptions& options);

  const std::vector<Unit>& units() const { return units_; }
  int workers() const { return workers_; }
  int64_t steps() const { return steps_; }
  const std::string& description() const { return description_; }

  // Returns the flat gradients of all workers in a step, from 0. They are valid until the next
  // call. Files with the length of one step give the same gradients at every step.
  std::vector<std::span<const float>> AtStep(int64_t step);

 private:
  void TakeFiles(const GradientOptions& options);
  void TakeReal(const GradientOptions& options);
  void TakeDrawn(const GradientOptions& options);

  std::vector<Unit> units_;
  int workers_ = 0;
  int64_t steps_ = 0;
  std::string description_;
  std::string drawn_;                         // distribution that is drawn again at each step
  std::vector<std::vector<float>> owned_;     // [file], or [worker] of the current step
  std::vector<std::span<const float>> held_;  // whole files, or the real gradient
};

}  // namespace legacy

// Gradients to try compressors on: hard ones, drawn by name, and real ones that are compiled in.
//
// Drawn: every value is a function of (text, worker, step, layer) alone, the same wherever it runs
// (up to the C library's logarithms and cosines). Real: gradients/NAME.f32, raw little-endian fp32,
// with gradients/NAME.layers, the names and shapes of its tensors (docs/legacy-codec.md);
// CMakeLists.txt has the list.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "compress/options.h"

namespace legacy {

// A GradientRow is a distribution of the table.
struct GradientRow {
  MethodInfo info;
  // Fills all values from the stream.
  void (*fill)(const OptionReader& options, RandomStream& stream, std::span<float> values);
};

// gaussian, laplace, student-t, lognormal, zeros, constant, denormals, ties, mixed, smooth
std::span<const GradientRow> GradientTable();

// "student-t:n=1e6,seed=1". Throws Error with the list for any other name.
std::vector<float> DrawGradient(std::string_view text, uint32_t worker = 0, uint64_t step = 0,
                                uint32_t layer = 0);

// A RealGradient is a gradient that is compiled in.
struct RealGradient {
  std::string_view name;
  std::string_view layers;        // text of its list of layers
  std::span<const float> values;  // in place: nothing is copied
};

std::span<const RealGradient> RealGradients();
// Throws Error with the list.
const RealGradient& FindRealGradient(std::string_view name);

}  // namespace legacy

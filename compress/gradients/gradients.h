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

// A distribution of the table.
struct GradientRow {
  MethodInfo info;
  // Fills all values from the stream.
  void (*fill)(const OptionReader& options, RandomStream& stream, std::span<float> values);
};

// Returns gaussian, laplace, student-t, lognormal, zeros, constant, denormals, ties, mixed and
// smooth.
std::span<const GradientRow> GradientTable();

// Draws a gradient from text such as "student-t:n=1e6,seed=1". Throws Error with the list for any
// other name.
std::vector<float> DrawGradient(std::string_view text, uint32_t worker = 0, uint64_t step = 0,
                                uint32_t layer = 0);

// A gradient that is compiled in.
struct RealGradient {
  std::string_view name;
  std::string_view layers;        // text of its list of layers
  std::span<const float> values;  // values in place, not copied
};

std::span<const RealGradient> RealGradients();
// Returns the gradient of that name. Throws Error with the list for any other name.
const RealGradient& FindRealGradient(std::string_view name);

}  // namespace legacy

// Helpers of the sparsifiers' tests.
#pragma once

#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compress/gradients/gradients.h"
#include "compress/options.h"
#include "compress/sparsifier.h"
#include "tests/compress/test_data.h"

namespace legacy::test {

inline std::unique_ptr<Sparsifier> SparsifierOf(std::string_view text) {
  return MakeSparsifier(ParseStages(text).front());
}

inline CodecContext ContextOf(double parameter, uint64_t step = 0, CodecState* state = nullptr) {
  CodecContext context;
  context.unit = 3;
  context.parameter = parameter;
  context.random = {.seed = 5, .step = step, .worker = 1};
  context.state = state;
  return context;
}

inline double SquaredOf(std::span<const float> values) {
  double sum = 0;
  for (const float x : values) sum += double{x} * x;
  return sum;
}

// Returns the positions with |x| >= threshold, by a plain loop.
inline std::vector<uint32_t> SlowAtLeast(std::span<const float> values, double threshold) {
  std::vector<uint32_t> positions;
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::abs(double{values[i]}) >= threshold) positions.push_back(static_cast<uint32_t>(i));
  }
  return positions;
}

}  // namespace legacy::test

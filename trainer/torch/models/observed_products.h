// Matrix products of observed operations (observed_costs.h).
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <optional>

#include "trainer/clock/operation_cost.h"

namespace legacy {

// Returns the product whose result is given. `batched`: the first of its three sizes counts
// products.
inline MatrixProduct ProductOf(const torch::Tensor& result, int64_t inner, bool batched) {
  const double columns = result.dim() > 1 ? static_cast<double>(result.size(-1)) : 1;
  const double count = batched ? static_cast<double>(result.size(0)) : 1;
  return {.rows = static_cast<double>(result.numel()) / columns / count,
          .columns = columns,
          .inner = static_cast<double>(inner),
          .count = count};
}

// Returns the product of one sample from those of `samples` and of twice as many: either its rows
// grow with the samples, or the number of products does. Nothing: neither does.
inline std::optional<MatrixProduct> OfOneSample(const MatrixProduct& few, const MatrixProduct& many,
                                                double samples) {
  if (few.count == 0 || few.columns != many.columns || few.inner != many.inner) return {};
  MatrixProduct one = few;
  if (few.count == many.count) {
    one.rows = (many.rows - few.rows) / samples;
  } else {
    one.count = (many.count - few.count) / samples;
    one.apart = true;
  }
  if (one.rows <= 0 || one.count <= 0) return {};
  return one;
}

}  // namespace legacy

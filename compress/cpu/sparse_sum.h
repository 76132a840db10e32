// This is the sum of the workers' sparse vectors into a dense one.
#pragma once

#include <cstdint>
#include <span>

namespace legacy::cpu {

// A SparseVector has strictly ascending positions, and the values there.
struct SparseVector {
  std::span<const uint32_t> indices;
  std::span<const float> values;
};

// Adds every worker's value at i to sum[i], in the order of `workers`: the bits of adding one
// worker after the other. Then divides sum[i] by `divisor` unless that is 1, for the workers' mean.
// It goes through `sum` in tiles that stay in the cache while all workers add to them: 8 bytes are
// moved per element, and 8 read for each entry. All indices are below sum.size().
void SumSparse(std::span<const SparseVector> workers, std::span<float> sum, float divisor = 1);

}  // namespace legacy::cpu

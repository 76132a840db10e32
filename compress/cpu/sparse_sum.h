// The sum of the workers' sparse vectors.
#pragma once

#include <cstdint>
#include <span>

namespace legacy::cpu {

// Strictly ascending positions, and the values there.
struct SparseVector {
  std::span<const uint32_t> indices;
  std::span<const float> values;
};

// Adds every worker's value at i to sum[i], in the order of `workers`, which gives the same bits as
// adding one worker after the other. Then divides sum[i] by `divisor` unless it is 1, for the
// workers' mean. `sum` is handled in tiles that stay in the cache while all workers add to them: 8
// bytes move per element, and 8 are read per entry. All indices must be below sum.size().
void SumSparse(std::span<const SparseVector> workers, std::span<float> sum, float divisor = 1);

}  // namespace legacy::cpu

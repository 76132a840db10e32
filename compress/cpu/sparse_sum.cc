#include "compress/cpu/sparse_sum.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "base/simd.h"
#include "compress/cpu/vector.h"

namespace legacy::cpu {
namespace {

// 128 KiB of the sum, which stay in the second cache.
constexpr size_t kTile = 1 << 15;

LEGACY_INLINE void DivideAll(float* values, int64_t n, float divisor) {
  for (int64_t i = 0; i < n; ++i) values[i] /= divisor;
}

// The product with the reciprocal of a power of two has the same bits as the quotient and is
// several times as fast.
bool HasExactReciprocal(float divisor) {
  int exponent = 0;
  return std::abs(std::frexp(divisor, &exponent)) == 0.5f && std::abs(exponent) < 100;
}

// Adds the entries from `next` on that are below `end`; returns the first that is not.
size_t AddBelow(const SparseVector& worker, size_t next, size_t end, float* sum) {
  const uint32_t* indices = worker.indices.data();
  const float* values = worker.values.data();
  const size_t count = worker.indices.size();
  for (; next < count && indices[next] < end; ++next) sum[indices[next]] += values[next];
  return next;
}

}  // namespace

void SumSparse(std::span<const SparseVector> workers, std::span<float> sum, float divisor) {
  const Simd simd = ActiveSimd();
  const bool exact = HasExactReciprocal(divisor);
  std::vector<size_t> next(workers.size());
  for (size_t begin = 0; begin < sum.size(); begin += kTile) {
    const size_t end = std::min(begin + kTile, sum.size());
    for (size_t w = 0; w < workers.size(); ++w) {
      next[w] = AddBelow(workers[w], next[w], end, sum.data());
    }
    if (divisor == 1) continue;
    const auto tile = sum.subspan(begin, end - begin);
    if (exact) {
      Scale(tile, 1 / divisor, simd);
    } else {
      Dispatch<DivideAll>(simd, tile.data(), std::ssize(tile), divisor);
    }
  }
  for (size_t w = 0; w < workers.size(); ++w) {
    assert(workers[w].indices.size() == workers[w].values.size());
    assert(next[w] == workers[w].indices.size());
  }
}

}  // namespace legacy::cpu

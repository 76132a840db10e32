#include "compress/cpu/sparse_sum.h"

#include <algorithm>
#include <cassert>
#include <vector>

namespace legacy::cpu {
namespace {

constexpr size_t kTile = 4096;  // 16 KiB of the sum: with the lists' lines, half of a first cache

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
  std::vector<size_t> next(workers.size());
  for (size_t begin = 0; begin < sum.size(); begin += kTile) {
    const size_t end = std::min(begin + kTile, sum.size());
    for (size_t w = 0; w < workers.size(); ++w) {
      next[w] = AddBelow(workers[w], next[w], end, sum.data());
    }
    if (divisor == 1) continue;
    for (size_t i = begin; i < end; ++i) sum[i] /= divisor;
  }
  for (size_t w = 0; w < workers.size(); ++w) {
    assert(workers[w].indices.size() == workers[w].values.size());
    assert(next[w] == workers[w].indices.size());
  }
}

}  // namespace legacy::cpu

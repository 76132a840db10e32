#include "compress/cpu/random_subset.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace legacy::cpu {

std::vector<uint32_t> RandomSubset(RandomStream stream, int64_t n, int64_t k) {
  assert(0 <= k && k <= n);
  constexpr int64_t kWord = 64;
  std::vector<uint64_t> marked((n + kWord - 1) / kWord);
  const int64_t drawn = std::min(k, n - k);  // the smaller of the subset and its complement
  for (int64_t last = n - drawn; last < n; ++last) {
    int64_t pick = stream.Below(static_cast<uint32_t>(last + 1));
    if (marked[pick / kWord] >> pick % kWord & 1) pick = last;
    marked[pick / kWord] |= uint64_t{1} << pick % kWord;
  }
  std::vector<uint32_t> subset;
  subset.reserve(k);
  for (size_t word = 0; word < marked.size(); ++word) {
    uint64_t bits = drawn == k ? marked[word] : ~marked[word];
    const int64_t first = static_cast<int64_t>(word) * kWord;
    if (n - first < kWord) bits &= (uint64_t{1} << (n - first)) - 1;
    for (; bits != 0; bits &= bits - 1) {
      subset.push_back(static_cast<uint32_t>(first + std::countr_zero(bits)));
    }
  }
  return subset;
}

}  // namespace legacy::cpu

#include "compress/cpu/random_subset.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <limits>
#include <span>

namespace legacy::cpu {
namespace {

constexpr int64_t kWord = 64;
constexpr int64_t kBatch = 1024;  // number of draws at a time

// Marks the first `count` distinct positions of [0, n) that the stream gives.
std::vector<uint64_t> MarkDistinct(RandomStream stream, uint32_t n, int64_t count) {
  std::vector<uint64_t> marked((n + kWord - 1) / kWord);
  const uint32_t refused = RefusedBelow(n);
  std::array<uint32_t, kBatch> buffer;
  while (count > 0) {
    const std::span draws(buffer.data(), std::min(count, kBatch));
    stream.Fill(draws);
    for (const uint32_t draw : draws) {
      const Pick pick = PickOf(draw, n, refused);
      uint64_t& word = marked[pick.position / kWord];
      const uint64_t before = word;
      word |= uint64_t{pick.accepted} << pick.position % kWord;
      count -= word != before;
    }
  }
  return marked;
}

}  // namespace

std::vector<uint32_t> RandomSubset(RandomStream stream, int64_t n, int64_t k) {
  assert(0 <= k && k <= n && n <= std::numeric_limits<uint32_t>::max());
  const int64_t drawn = std::min(k, n - k);  // the smaller of the subset and its complement
  const auto marked = MarkDistinct(stream, static_cast<uint32_t>(n), drawn);
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

#include "compress/cpu/radix_select.h"

#include <cassert>

namespace legacy::cpu {

Cut FindCut(std::span<const float> values, KeyRange range, int64_t rank,
            std::vector<uint32_t>& scratch) {
  assert(1 <= rank && rank <= static_cast<int64_t>(values.size()));
  const auto value_key = [&](int64_t i) { return KeyOf(values[i]); };
  Narrowed part = Narrow(static_cast<int64_t>(values.size()), value_key, range, rank);
  rank -= part.above;
  if (part.range.low == part.range.high) return {part.range.low, rank};

  // The loop has no branch, as in the pass: a key outside the range is overwritten by the next one.
  const auto inside = [&](uint32_t key) {
    return key - part.range.low <= part.range.high - part.range.low;
  };
  if (scratch.size() <= values.size()) scratch.resize(values.size() + 1);
  int64_t n = 0;
  for (const float x : values) {
    scratch[n] = KeyOf(x);
    n += inside(scratch[n]);
  }
  while (part.range.low != part.range.high) {
    const auto scratch_key = [&](int64_t i) { return scratch[i]; };
    part = Narrow(n, scratch_key, part.range, rank);
    rank -= part.above;
    int64_t left = 0;
    for (int64_t i = 0; i < n; ++i) {
      scratch[left] = scratch[i];
      left += inside(scratch[i]);
    }
    n = left;
  }
  return {part.range.low, rank};
}

}  // namespace legacy::cpu

// Exact Top-K of magnitudes on one core: a radix select on the bits of |x|, which order like the
// numbers themselves. Two reads of the input (histogram of the top 11 bits, then compaction of what
// may be kept); the lower 20 bits are resolved among the few elements of the threshold's bin.
// Deterministic: ties go to the lower index.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace legacy::cpu {

// Positions of the `k` largest |x|, ascending; 0 <= k <= values.size() < 2^32. NaN counts as larger
// than infinity.
std::vector<uint32_t> SelectTopK(std::span<const float> values, int64_t k);

// values[i] = 0 at every position of `indices`.
void ClearAt(std::span<float> values, std::span<const uint32_t> indices);

}  // namespace legacy::cpu

// Uniform subsets without replacement.
#pragma once

#include <cstdint>
#include <vector>

#include "compress/random.h"

namespace legacy::cpu {

// A uniform `k`-subset of [0, n), ascending; 0 <= k <= n < 2^32. Floyd's method (Bentley and Floyd,
// "A sample of brilliance", CACM 1987) on a bitmap: min(k, n - k) draws and n / 8 bytes.
std::vector<uint32_t> RandomSubset(RandomStream stream, int64_t n, int64_t k);

}  // namespace legacy::cpu

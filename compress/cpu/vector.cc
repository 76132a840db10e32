#include "compress/cpu/vector.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace legacy::cpu {
namespace {

constexpr uint32_t kExponent = 0x7F800000;

bool NonFinite(float x) { return (std::bit_cast<uint32_t>(x) & kExponent) == kExponent; }

}  // namespace

std::optional<int64_t> FirstNonFinite(std::span<const float> values) {
  constexpr size_t kBlock = 1024;  // the inner loop has no early exit, so that it vectorises
  for (size_t begin = 0; begin < values.size(); begin += kBlock) {
    const auto block = values.subspan(begin, std::min(kBlock, values.size() - begin));
    uint32_t found = 0;
    for (const float x : block) found |= NonFinite(x);
    if (found == 0) continue;
    return static_cast<int64_t>(begin) + (std::ranges::find_if(block, NonFinite) - block.begin());
  }
  return std::nullopt;
}

void Add(std::span<const float> values, std::span<float> sum) {
  assert(values.size() == sum.size());
  for (size_t i = 0; i < values.size(); ++i) sum[i] += values[i];
}

void Scale(std::span<float> values, float factor) {
  for (float& x : values) x *= factor;
}

double SquaredNorm(std::span<const float> values) {
  double sum = 0;
  for (const float x : values) sum += static_cast<double>(x) * x;
  return sum;
}

}  // namespace legacy::cpu

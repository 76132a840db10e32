#include "compress/cpu/element_format.h"

#include <algorithm>
#include <cassert>

namespace legacy::cpu {
namespace {

LEGACY_INLINE void ScaleBody(ElementRule rule, const float* __restrict values, int64_t n,
                             int64_t block, uint8_t* __restrict scales) {
  for (int64_t begin = 0; begin < n; begin += block) {
    const int64_t size = n - begin < block ? n - begin : block;
    int32_t most = 0;
    for (int64_t i = 0; i < size; ++i) {
      const int32_t magnitude = __builtin_bit_cast(int32_t, values[begin + i]) & 0x7FFFFFFF;
      most = most < magnitude ? magnitude : most;
    }
    *scales++ = static_cast<uint8_t>(rule.ScaleOf(most));
  }
}

LEGACY_INLINE void EncodeBody(ElementRule rule, const float* __restrict values, int64_t n,
                              int64_t first, int64_t block, const uint8_t* __restrict scales,
                              uint8_t* __restrict codes) {
  scales += first / block;
  int64_t rest = block - first % block;
  for (int64_t begin = 0; begin < n; rest = block) {
    const int64_t size = n - begin < rest ? n - begin : rest;
    const float inverse = ElementRule::InverseOf(*scales++);
    for (int64_t i = 0; i < size; ++i) {
      codes[begin + i] = static_cast<uint8_t>(rule.CodeOf(values[begin + i], inverse));
    }
    begin += size;
  }
}

LEGACY_INLINE void DecodeBody(ElementRule rule, const uint8_t* __restrict codes, int64_t n,
                              int64_t first, int64_t block, const uint8_t* __restrict scales,
                              float* __restrict values) {
  scales += first / block;
  int64_t rest = block - first % block;
  for (int64_t begin = 0; begin < n; rest = block) {
    const int64_t size = n - begin < rest ? n - begin : rest;
    const ElementRule::Factors factors = ElementRule::FactorsOf(*scales++);
    for (int64_t i = 0; i < size; ++i) {
      values[begin + i] = rule.ValueOf(codes[begin + i], factors);
    }
    begin += size;
  }
}

LEGACY_INLINE void MagnitudeBody(ElementRule rule, const uint8_t* __restrict codes, int64_t n,
                                 int64_t block, uint8_t* __restrict largest) {
  const auto mask = static_cast<uint8_t>((1 << (rule.width - 1)) - 1);
  for (int64_t begin = 0; begin < n; begin += block) {
    const int64_t size = n - begin < block ? n - begin : block;
    uint8_t most = 0;
    for (int64_t i = 0; i < size; ++i) {
      const auto magnitude = static_cast<uint8_t>(codes[begin + i] & mask);
      most = most < magnitude ? magnitude : most;
    }
    *largest++ = most;
  }
}

}  // namespace

void ScaleBlocks(const ElementRule& rule, std::span<const float> values, int64_t block,
                 std::span<uint8_t> scales, Simd simd) {
  assert(std::ssize(scales) == (std::ssize(values) + block - 1) / block);
  Dispatch<ScaleBody>(simd, rule, values.data(), static_cast<int64_t>(values.size()), block,
                      scales.data());
}

void EncodeElements(const ElementRule& rule, std::span<const float> values, int64_t first,
                    int64_t block, const uint8_t* scales, std::span<uint8_t> codes, Simd simd) {
  assert(codes.size() == values.size());
  Dispatch<EncodeBody>(simd, rule, values.data(), static_cast<int64_t>(values.size()), first, block,
                       scales, codes.data());
}

void DecodeElements(const ElementRule& rule, std::span<const uint8_t> codes, int64_t first,
                    int64_t block, const uint8_t* scales, std::span<float> values, Simd simd) {
  assert(codes.size() == values.size());
  Dispatch<DecodeBody>(simd, rule, codes.data(), static_cast<int64_t>(codes.size()), first, block,
                       scales, values.data());
}

void LargestMagnitudes(const ElementRule& rule, std::span<const uint8_t> codes, int64_t block,
                       std::span<uint8_t> largest, Simd simd) {
  assert(std::ssize(largest) == (std::ssize(codes) + block - 1) / block);
  Dispatch<MagnitudeBody>(simd, rule, codes.data(), static_cast<int64_t>(codes.size()), block,
                          largest.data());
}

}  // namespace legacy::cpu

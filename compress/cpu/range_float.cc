#include "compress/cpu/range_float.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <vector>

namespace legacy::cpu {
namespace {

LEGACY_INLINE void EncodeBody(const RangeRounding* rounding, const float* values, int64_t n,
                              uint32_t* codes) {
  const RangeRounding r = *rounding;
  for (int64_t i = 0; i < n; ++i) codes[i] = r.CodeOf(values[i]);
}

LEGACY_INLINE void DecodeBody(const RangeRounding* rounding, const uint32_t* codes, int64_t n,
                              float* values) {
  const RangeRounding r = *rounding;
  for (int64_t i = 0; i < n; ++i) values[i] = r.ValueOf(codes[i]);
}

LEGACY_INLINE double ErrorBody(const RangeRounding* rounding, const float* values, int64_t n) {
  const RangeRounding r = *rounding;
  double lanes[kErrorLanes] = {};
  int64_t i = 0;
  for (; i + kErrorLanes <= n; i += kErrorLanes) {
    for (int lane = 0; lane < kErrorLanes; ++lane) {
      lanes[lane] += r.SquaredError(values[i + lane]);
    }
  }
  for (int lane = 0; i + lane < n; ++lane) lanes[lane] += r.SquaredError(values[i + lane]);
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

LEGACY_INLINE void RangeBody(const float* values, int64_t n, SignedRange* range) {
  int32_t highest = 0, lowest = kMinusZero;
  for (int64_t i = 0; i < n; ++i) {
    highest = std::max(highest, HighestKey(values[i]));
    lowest = std::max(lowest, LowestKey(values[i]));
  }
  *range = SignedRangeOfKeys(highest, lowest);
}

}  // namespace

uint32_t RangeFloat::Encode(float x) const { return RangeRounding(*this).CodeOf(x); }

float RangeFloat::Decode(uint32_t code) const {
  assert(code <= LargestCode());
  return RangeRounding(*this).ValueOf(code);
}

SignedRange SignedRangeOf(std::span<const float> values, Simd simd) {
  SignedRange range;
  Dispatch<RangeBody>(simd, values.data(), static_cast<int64_t>(values.size()), &range);
  return range;
}

void EncodeRange(const RangeFloat& format, std::span<const float> values, std::span<uint32_t> codes,
                 Simd simd) {
  assert(values.size() == codes.size());
  const RangeRounding rounding(format);
  Dispatch<EncodeBody>(simd, &rounding, values.data(), static_cast<int64_t>(values.size()),
                       codes.data());
}

void DecodeRange(const RangeFloat& format, std::span<const uint32_t> codes, std::span<float> values,
                 Simd simd) {
  assert(values.size() == codes.size());
  const RangeRounding rounding(format);
  Dispatch<DecodeBody>(simd, &rounding, codes.data(), static_cast<int64_t>(codes.size()),
                       values.data());
}

double RangeError(const RangeFloat& format, std::span<const float> values, Simd simd) {
  const RangeRounding rounding(format);
  return Dispatch<ErrorBody>(simd, &rounding, values.data(), static_cast<int64_t>(values.size()));
}

int BestMantissa(int bits, SignedRange range, std::span<const float> values, Simd simd) {
  const auto stride = static_cast<size_t>(SampleStride(std::ssize(values)));
  std::vector<float> sample;
  if (stride > 1) {
    for (size_t i = 0; i < values.size(); i += stride) sample.push_back(values[i]);
    values = sample;
  }
  int best = 1;
  double least = std::numeric_limits<double>::infinity();
  for (int mantissa = 1; mantissa <= RangeFloat::MostMantissa(bits); ++mantissa) {
    const double error = RangeError(RangeFloat::Of(bits, mantissa, range), values, simd);
    if (error >= least) continue;
    least = error;
    best = mantissa;
  }
  return best;
}

}  // namespace legacy::cpu

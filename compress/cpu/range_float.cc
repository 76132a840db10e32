#include "compress/cpu/range_float.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>
#include <vector>

namespace legacy::cpu {
namespace {

constexpr int kMantissaBits = 23;  // of fp32
constexpr int32_t kMagnitude = 0x7FFFFFFF;
constexpr int32_t kInfinity = 0x7F800000;
constexpr int kLanes = 16;

LEGACY_INLINE int32_t Bits(float x) { return std::bit_cast<int32_t>(x); }

// What loops need of a format.
struct Rounding {
  explicit Rounding(const RangeFloat& format)
      : base(format.base),
        above(format.above),
        below(format.below),
        shift(kMantissaBits - format.mantissa),
        positive(format.positive),
        negative(format.negative) {
    half_eps = Bits(std::bit_cast<float>(format.base << shift) * 0.5f);
    half_step = 1 << (shift - 1);
  }

  int32_t base, above, below, shift, positive, negative, half_eps, half_step;
};

// Key to which x is rounded, within its sign's part of the range; 0: zero.
LEGACY_INLINE int32_t Round(const Rounding& r, int32_t bits) {
  const int32_t magnitude = bits & kMagnitude;
  const bool minus = bits < 0;
  const int32_t top = minus ? r.below : r.above;
  // Rounding up may reach the key of infinity, which is above `top` like all that saturates.
  const int32_t key = std::min((magnitude + r.half_step) >> r.shift, top);
  const int32_t kept = magnitude >= r.half_eps ? std::max(key, r.base) : 0;
  return top >= r.base ? kept : 0;
}

LEGACY_INLINE uint32_t CodeOf(const Rounding& r, float x) {
  const int32_t bits = Bits(x);
  const int32_t key = Round(r, bits);
  const int32_t code = key - r.base + 1 + (bits < 0 ? r.positive : 0);
  return static_cast<uint32_t>(key == 0 ? 0 : code);
}

LEGACY_INLINE float ValueOf(const Rounding& r, uint32_t code) {
  const auto c = static_cast<int32_t>(code);
  const bool minus = c > r.positive;
  const int32_t key = r.base - 1 + (minus ? c - r.positive : c);
  const int32_t bits = (key << r.shift) | (minus ? ~kMagnitude : 0);
  return std::bit_cast<float>(c == 0 ? 0 : bits);
}

LEGACY_INLINE void EncodeBody(const Rounding* rounding, const float* values, int64_t n,
                              uint32_t* codes) {
  const Rounding r = *rounding;
  for (int64_t i = 0; i < n; ++i) codes[i] = CodeOf(r, values[i]);
}

LEGACY_INLINE void DecodeBody(const Rounding* rounding, const uint32_t* codes, int64_t n,
                              float* values) {
  const Rounding r = *rounding;
  for (int64_t i = 0; i < n; ++i) values[i] = ValueOf(r, codes[i]);
}

LEGACY_INLINE double SquaredDifference(const Rounding& r, float x) {
  const int32_t bits = Bits(x);
  const float rounded = std::bit_cast<float>((Round(r, bits) << r.shift) | (bits & ~kMagnitude));
  const double difference = static_cast<double>(x) - static_cast<double>(rounded);
  return difference * difference;
}

LEGACY_INLINE double ErrorBody(const Rounding* rounding, const float* values, int64_t n) {
  const Rounding r = *rounding;
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += SquaredDifference(r, values[i + lane]);
    }
  }
  for (int lane = 0; i + lane < n; ++lane) lanes[lane] += SquaredDifference(r, values[i + lane]);
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

LEGACY_INLINE void RangeBody(const float* values, int64_t n, SignedRange* range) {
  // As integers floats above zero order like their bits, those below zero the other way round.
  constexpr int32_t kMinusZero = std::numeric_limits<int32_t>::min();
  int32_t highest = 0, lowest = kMinusZero;
  for (int64_t i = 0; i < n; ++i) {
    const int32_t bits = Bits(values[i]);
    highest = std::max(highest, bits);
    lowest = std::max(lowest, bits < 0 ? bits : kMinusZero);
  }
  *range = {std::bit_cast<float>(highest), std::bit_cast<float>(lowest & kMagnitude)};
}

int32_t KeyOf(float magnitude, int mantissa) {
  const int shift = kMantissaBits - mantissa;
  const int32_t key = (Bits(magnitude) + (1 << (shift - 1))) >> shift;
  return std::min(key, RangeFloat::MostKey(mantissa));
}

}  // namespace

int32_t RangeFloat::MostKey(int mantissa) { return (kInfinity >> (kMantissaBits - mantissa)) - 1; }

RangeFloat RangeFloat::Of(int bits, int mantissa, SignedRange range) {
  return FromKeys(bits, mantissa, KeyOf(range.highest, mantissa), KeyOf(range.lowest, mantissa));
}

RangeFloat RangeFloat::FromKeys(int bits, int mantissa, int32_t above, int32_t below) {
  assert(bits >= kLeastBits && bits <= kMostBits);
  assert(mantissa >= 1 && mantissa <= MostMantissa(bits));
  const int32_t codes = 1 << bits;
  const int32_t shared = (above + below + 4 - codes) >> 1;  // rounded up
  const int32_t normal = 1 << mantissa;                     // key of the smallest normal number
  const int32_t base = std::max({shared, above + 2 - codes, below + 2 - codes, normal});
  return {.mantissa = mantissa,
          .above = above,
          .below = below,
          .base = base,
          .positive = std::max(0, above - base + 1),
          .negative = std::max(0, below - base + 1)};
}

uint32_t RangeFloat::Encode(float x) const { return CodeOf(Rounding(*this), x); }

float RangeFloat::Decode(uint32_t code) const {
  assert(code <= LargestCode());
  return ValueOf(Rounding(*this), code);
}

SignedRange SignedRangeOf(std::span<const float> values, Simd simd) {
  SignedRange range;
  Dispatch<RangeBody>(simd, values.data(), static_cast<int64_t>(values.size()), &range);
  return range;
}

void EncodeRange(const RangeFloat& format, std::span<const float> values, std::span<uint32_t> codes,
                 Simd simd) {
  assert(values.size() == codes.size());
  const Rounding rounding(format);
  Dispatch<EncodeBody>(simd, &rounding, values.data(), static_cast<int64_t>(values.size()),
                       codes.data());
}

void DecodeRange(const RangeFloat& format, std::span<const uint32_t> codes, std::span<float> values,
                 Simd simd) {
  assert(values.size() == codes.size());
  const Rounding rounding(format);
  Dispatch<DecodeBody>(simd, &rounding, codes.data(), static_cast<int64_t>(codes.size()),
                       values.data());
}

double RangeError(const RangeFloat& format, std::span<const float> values, Simd simd) {
  const Rounding rounding(format);
  return Dispatch<ErrorBody>(simd, &rounding, values.data(), static_cast<int64_t>(values.size()));
}

int BestMantissa(int bits, SignedRange range, std::span<const float> values, Simd simd) {
  constexpr size_t kSample = size_t{1} << 14;
  const size_t stride = (values.size() + kSample - 1) / kSample;
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

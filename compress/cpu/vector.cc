#include "compress/cpu/vector.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <vector>

namespace legacy::cpu {
namespace {

constexpr int32_t kMagnitude = 0x7FFFFFFF;
constexpr int32_t kInfinity = 0x7F800000;

// Returns the largest |x| as bits, which order as numbers do, NaN above infinity. The type is
// signed, though the value is never negative, because baseline x86 compares only signed integers.
LEGACY_INLINE int32_t LargestBits(const float* values, int64_t n) {
  int32_t largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int32_t bits = __builtin_bit_cast(int32_t, values[i]) & kMagnitude;
    largest = largest > bits ? largest : bits;
  }
  return largest;
}

LEGACY_INLINE void AddAll(const float* values, float* sum, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += values[i];
}

LEGACY_INLINE void SubtractAll(const float* values, float* from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) from[i] -= 0.0f + values[i];
}

LEGACY_INLINE void ScaleAll(float* values, float factor, int64_t n) {
  for (int64_t i = 0; i < n; ++i) values[i] *= factor;
}

struct Square {
  static LEGACY_INLINE double Of(double x) { return x * x; }
};
struct Magnitude {
  static LEGACY_INLINE double Of(double x) { return __builtin_fabs(x); }
};
struct NegativePart {
  static LEGACY_INLINE double Of(double x) { return 0.5 * (__builtin_fabs(x) - x); }  // exact
};
struct Itself {
  static LEGACY_INLINE double Of(double x) { return x; }
};

// Products of two vectors, read as one.
struct Products {
  const float* a;
  const float* b;
  LEGACY_INLINE double operator[](int64_t i) const { return double{a[i]} * double{b[i]}; }
  LEGACY_INLINE Products operator+(int64_t i) const { return {a + i, b + i}; }
};

// Returns the sum of one block of up to kSumBlock terms: the lanes' sums, folded. `Terms` points to
// numbers, or is Products.
template <typename Term, typename Terms>
LEGACY_INLINE double BlockSum(Terms terms, int64_t n) {
  double lanes[kSumLanes] = {};
  int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes) {
    for (int l = 0; l < kSumLanes; ++l) lanes[l] += Term::Of(terms[i + l]);
  }
  for (int l = 0; i + l < n; ++l) lanes[l] += Term::Of(terms[i + l]);
  for (int half = kSumLanes / 2; half > 0; half /= 2) {
    for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  return lanes[0];
}

// Sets sums[b] to the sum of block b.
template <typename Term, typename Terms>
LEGACY_INLINE void BlockSums(Terms terms, int64_t n, double* sums) {
  for (int64_t begin = 0; begin < n; begin += kSumBlock) {
    const int64_t size = n - begin < kSumBlock ? n - begin : kSumBlock;
    *sums++ = BlockSum<Term>(terms + begin, size);
  }
}

template <typename Term, typename Terms>
double Sum(Simd simd, Terms terms, int64_t n) {
  if (n == 0) return 0;
  if (n <= kSumBlock) {
    double sum = 0;
    Dispatch<BlockSums<Term, Terms>>(simd, terms, n, &sum);
    return sum;
  }
  std::vector<double> sums((n + kSumBlock - 1) / kSumBlock);
  Dispatch<BlockSums<Term, Terms>>(simd, terms, n, sums.data());
  return Sum<Itself>(simd, static_cast<const double*>(sums.data()), std::ssize(sums));
}

template <typename Term>
double Sum(Simd simd, std::span<const float> terms) {
  return Sum<Term>(simd, terms.data(), std::ssize(terms));
}

}  // namespace

std::optional<int64_t> FirstNonFinite(std::span<const float> values, Simd simd) {
  // The inner loop has no early exit, so that it is vectorised.
  constexpr int64_t kBlock = 4096;
  const auto n = static_cast<int64_t>(values.size());
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t size = std::min(kBlock, n - begin);
    if (Dispatch<LargestBits>(simd, values.data() + begin, size) < kInfinity) continue;
    int64_t first = begin;
    while ((std::bit_cast<int32_t>(values[first]) & kMagnitude) < kInfinity) ++first;
    return first;
  }
  return std::nullopt;
}

void Add(std::span<const float> values, std::span<float> sum, Simd simd) {
  assert(values.size() == sum.size());
  Dispatch<AddAll>(simd, values.data(), sum.data(), static_cast<int64_t>(sum.size()));
}

void Subtract(std::span<const float> values, std::span<float> from, Simd simd) {
  assert(values.size() == from.size());
  Dispatch<SubtractAll>(simd, values.data(), from.data(), static_cast<int64_t>(from.size()));
}

void Scale(std::span<float> values, float factor, Simd simd) {
  Dispatch<ScaleAll>(simd, values.data(), factor, static_cast<int64_t>(values.size()));
}

double SquaredNorm(std::span<const float> values, Simd simd) { return Sum<Square>(simd, values); }

double AbsSum(std::span<const float> values, Simd simd) { return Sum<Magnitude>(simd, values); }

double Dot(std::span<const float> a, std::span<const float> b, Simd simd) {
  assert(a.size() == b.size());
  return Sum<Itself>(simd, Products{a.data(), b.data()}, std::ssize(a));
}

double SquaredDistance(std::span<const float> a, std::span<const float> b) {
  assert(a.size() == b.size());
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = double{a[i]} - double{b[i]};
    sum += difference * difference;
  }
  return sum;
}

double NegativeSum(std::span<const float> values, Simd simd) {
  return Sum<NegativePart>(simd, values);
}

float AbsMax(std::span<const float> values, Simd simd) {
  return std::bit_cast<float>(
      Dispatch<LargestBits>(simd, values.data(), static_cast<int64_t>(values.size())));
}

}  // namespace legacy::cpu

#include "compress/cpu/rotation.h"

#include <cassert>
#include <cmath>
#include <utility>

namespace legacy::cpu {
namespace {

constexpr int kSignShift = 31;

// Four values in one register of every instruction set.
using Four = float __attribute__((vector_size(16)));

LEGACY_INLINE Four Load(const float* from) {
  Four four;
  __builtin_memcpy(&four, from, sizeof four);
  return four;
}
LEGACY_INLINE void Store(Four four, float* to) { __builtin_memcpy(to, &four, sizeof four); }

// Transposes the matrix whose rows are a, b, c, d.
LEGACY_INLINE void Transpose(Four& a, Four& b, Four& c, Four& d) {
  const Four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const Four cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Four ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  a = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
  b = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
  c = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
  d = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

// Computes two stages of four numbers or registers, at distances 1 and 2.
template <typename Number>
LEGACY_INLINE void TwoStages(Number& a, Number& b, Number& c, Number& d) {
  const Number ab = a + b, a_b = a - b, cd = c + d, c_d = c - d;
  a = ab + cd;
  b = a_b + c_d;
  c = ab - cd;
  d = a_b - c_d;
}

// Sixteen neighbours.
constexpr int64_t kTile = 16;
struct Sixteen {
  Four a, b, c, d;
};

// Returns neighbours after the stages at distances 1 to 8.
LEGACY_INLINE Sixteen FourStages(const float* x) {
  Four a = Load(x), b = Load(x + 4), c = Load(x + 8), d = Load(x + 12);
  Transpose(a, b, c, d);
  TwoStages(a, b, c, d);
  Transpose(a, b, c, d);
  TwoStages(a, b, c, d);
  return {a, b, c, d};
}

LEGACY_INLINE void Store(const Sixteen& x, float* to) {
  Store(x.a, to);
  Store(x.b, to + 4);
  Store(x.c, to + 8);
  Store(x.d, to + 12);
}

LEGACY_INLINE void HadamardBody(float* x, int64_t n) {
  int64_t distance = 1;
  if (n >= kTile) {
    for (int64_t i = 0; i < n; i += kTile) Store(FourStages(x + i), x + i);
    distance = kTile;
  }
  for (; 4 * distance <= n; distance *= 4) {
    for (int64_t begin = 0; begin < n; begin += 4 * distance) {
      float* __restrict a = x + begin;
      float* __restrict b = a + distance;
      float* __restrict c = b + distance;
      float* __restrict d = c + distance;
      for (int64_t i = 0; i < distance; ++i) TwoStages(a[i], b[i], c[i], d[i]);
    }
  }
  if (distance == n) return;
  float* __restrict a = x;
  float* __restrict b = x + distance;
  for (int64_t i = 0; i < distance; ++i) {
    const float sum = a[i] + b[i];
    b[i] = a[i] - b[i];
    a[i] = sum;
  }
}

LEGACY_INLINE void GroupsBody(const float* values, int64_t n, float factor, float* out) {
  static_assert(kHadamardGroup == 2 * kTile);
  int64_t i = 0;
  for (; i + kHadamardGroup <= n; i += kHadamardGroup) {
    const Sixteen low = FourStages(values + i), high = FourStages(values + i + kTile);
    Store({(low.a + high.a) * factor, (low.b + high.b) * factor, (low.c + high.c) * factor,
           (low.d + high.d) * factor},
          out + i);
    Store({(low.a - high.a) * factor, (low.b - high.b) * factor, (low.c - high.c) * factor,
           (low.d - high.d) * factor},
          out + i + kTile);
  }
  for (; i < n; ++i) out[i] = values[i];
}

// Multiplies by `factor`, and changes the signs of elements begin, begin + 1, ...
LEGACY_INLINE void Flip(const float* values, const uint32_t* signs, int64_t begin, int64_t n,
                        float factor, float* out) {
  constexpr int kWord = 32;
  int64_t i = 0;
  if (begin % kWord == 0) {
    const uint32_t* word = signs + begin / kWord;
    for (; i + kWord <= n; i += kWord, ++word) {
      for (int j = 0; j < kWord; ++j) {
        const uint32_t sign = *word >> j << kSignShift;
        const auto bits = __builtin_bit_cast(uint32_t, values[i + j] * factor);
        out[i + j] = __builtin_bit_cast(float, bits ^ sign);
      }
    }
  }
  for (; i < n; ++i) {
    const int64_t at = begin + i;
    const uint32_t sign = signs[at / kWord] >> (at % kWord) << kSignShift;
    const auto bits = __builtin_bit_cast(uint32_t, values[i] * factor);
    out[i] = __builtin_bit_cast(float, bits ^ sign);
  }
}

LEGACY_INLINE void ForwardBody(const float* values, const uint32_t* signs, int64_t begin, int64_t n,
                               float factor, float* rotated) {
  Flip(values, signs, begin, n, factor, rotated);
  HadamardBody(rotated, n);
}

LEGACY_INLINE void BackBody(const uint32_t* signs, int64_t begin, int64_t n, float factor,
                            float* rotated) {
  for (int64_t i = 0; i < n; ++i) rotated[i] *= factor;
  HadamardBody(rotated, n);
  Flip(rotated, signs, begin, n, 1.0f, rotated);
}

int64_t Words(int64_t numel) { return (numel + 31) / 32; }

}  // namespace

float RotationFactor(int64_t length) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(length)));
}

void Hadamard(std::span<float> values, Simd simd) {
  assert(std::has_single_bit(values.size()));
  Dispatch<HadamardBody>(simd, values.data(), static_cast<int64_t>(values.size()));
}

void HadamardGroups(std::span<const float> values, float factor, std::span<float> out, Simd simd) {
  assert(values.size() == out.size());
  Dispatch<GroupsBody>(simd, values.data(), static_cast<int64_t>(values.size()), factor,
                       out.data());
}

Rotation::Rotation(const RandomKey& key, int64_t numel, int64_t block)
    : Rotation(std::vector<uint32_t>(Words(numel)), numel, block) {
  RandomStream(key).Fill(signs_);
}

Rotation::Rotation(std::vector<uint32_t> signs, int64_t numel, int64_t block)
    : numel_(numel), block_(block), signs_(std::move(signs)) {
  assert(std::has_single_bit(static_cast<uint64_t>(block)) && block <= kMostBlock);
  assert(std::ssize(signs_) == Words(numel));
}

void Rotation::Forward(std::span<const float> values, int64_t begin, float factor,
                       std::span<float> rotated, Simd simd) const {
  assert(values.size() == rotated.size() && std::has_single_bit(values.size()));
  const auto length = static_cast<int64_t>(values.size());
  Dispatch<ForwardBody>(simd, values.data(), static_cast<const uint32_t*>(signs_.data()), begin,
                        length, factor * RotationFactor(length), rotated.data());
}

void Rotation::Back(std::span<float> rotated, int64_t begin, Simd simd) const {
  assert(std::has_single_bit(rotated.size()));
  const auto length = static_cast<int64_t>(rotated.size());
  Dispatch<BackBody>(simd, static_cast<const uint32_t*>(signs_.data()), begin, length,
                     RotationFactor(length), rotated.data());
}

RandomKey RotationKey(RandomKey key) {
  key.worker = 0;
  key.purpose = Purpose::kRotation;
  return key;
}

}  // namespace legacy::cpu

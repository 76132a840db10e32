// A setting is what kernels (cuda/) have to know of a quantiser or a sparsifier. Methods without a
// setting have no kernels.
#pragma once

#include <cstdint>

namespace legacy {

// A QuantiserKind names the quantisers that have kernels.
enum class QuantiserKind : uint8_t {
  kFloat32,
  kFloat16,
  kBfloat16,
  kUniform,
  kQsgd,
  kMaxMin,
  kTernGrad,
  kNatural,
  kSign,
  kOneBit,
  kRange,  // rbf
};

// A QuantiserSetting has the options of compress/quantisers, as far as a kind has them.
struct QuantiserSetting {
  QuantiserKind kind = QuantiserKind::kQsgd;
  int bits = 4;            // uniform 2..16, qsgd 2..8, maxmin 1..8, natural 8 or 9, rbf 3..16
  int64_t bucket = 512;    // qsgd, maxmin: a multiple of 64
  bool stochastic = true;  // qsgd, maxmin
  bool euclidean = false;  // qsgd:norm=l2
  double clip = 2.5;       // terngrad
  int mantissa = 0;        // rbf: 0 for the best of a sample of the unit

  bool operator==(const QuantiserSetting&) const = default;
};

// A SparsifierKind names the sparsifiers that have kernels.
enum class SparsifierKind : uint8_t { kTopK, kRandomK, kThreshold, kSampled };

// A SparsifierSetting has the options of compress/sparsifiers, as far as a kind has them.
struct SparsifierSetting {
  SparsifierKind kind = SparsifierKind::kTopK;
  bool unbiased = false;  // randomk
  double sample = 0;      // sampled
};

}  // namespace legacy

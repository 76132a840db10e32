// What kernels (cuda/) have to know of a quantiser or a sparsifier; what has no setting has no
// kernels.
#pragma once

#include <cstdint>

namespace legacy {

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

// Options of compress/quantisers, as far as a kind has them.
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

enum class SparsifierKind : uint8_t { kTopK, kRandomK, kThreshold, kSampled };

// Options of compress/sparsifiers, likewise.
struct SparsifierSetting {
  SparsifierKind kind = SparsifierKind::kTopK;
  bool unbiased = false;  // randomk
  double sample = 0;      // sampled
};

}  // namespace legacy

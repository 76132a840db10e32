// The settings of quantisers and sparsifiers that kernels (cuda/) need. Methods without a setting
// have no kernels.
#pragma once

#include <cstdint>

#include "compress/message.h"

namespace legacy {

// The quantisers that have kernels.
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
  kMx,
  kFp8,
};

// Options of compress/quantisers; each kind uses its own.
struct QuantiserSetting {
  QuantiserKind kind = QuantiserKind::kQsgd;
  int bits = 4;            // uniform 2..16, qsgd 2..8, maxmin 1..8, natural 8 or 9, rbf 3..16
  int64_t bucket = 512;    // qsgd, maxmin: a multiple of 64; mx: of 32
  bool stochastic = true;  // qsgd, maxmin
  bool euclidean = false;  // qsgd:norm=l2
  double clip = 2.5;       // terngrad
  int mantissa = 0;        // rbf: 0 chooses the best for a sample of the unit
  ElementFormat format = ElementFormat::kE4M3;  // mx, fp8, whose `bits` follow from it
  bool scale_up = false;                        // mx, fp8: scales are rounded up

  bool operator==(const QuantiserSetting&) const = default;
};

// The sparsifiers that have kernels.
enum class SparsifierKind : uint8_t { kTopK, kRandomK, kThreshold, kSampled };

// Options of compress/sparsifiers; each kind uses its own.
struct SparsifierSetting {
  SparsifierKind kind = SparsifierKind::kTopK;
  bool unbiased = false;  // randomk
  double sample = 0;      // sampled
};

}  // namespace legacy

// Selects the quantiser's method (quantise_method.h) by its setting.
#pragma once

#include "compress/cuda/kernels/coding/quantise_floats.h"
#include "compress/cuda/kernels/coding/quantise_levels.h"
#include "compress/cuda/kernels/coding/quantise_signs.h"

namespace legacy::cuda {

// Calls body(method) with the method of the setting.
template <class Body>
void WithMethod(const QuantiserSetting& setting, Body body) {
  switch (setting.kind) {
    case QuantiserKind::kFloat32:
      return body(CastMethod<Float32Code>());
    case QuantiserKind::kFloat16:
      return body(CastMethod<Float16Code>());
    case QuantiserKind::kBfloat16:
      return body(CastMethod<Bfloat16Code>());
    case QuantiserKind::kUniform:
      return body(UniformMethod());
    case QuantiserKind::kQsgd:
      if (setting.euclidean) return body(Qsgd<true>());
      return body(Qsgd<false>());
    case QuantiserKind::kMaxMin:
      return body(MaxMin());
    case QuantiserKind::kTernGrad:
      return body(TernGrad());
    case QuantiserKind::kNatural:
      if (setting.bits == 8) return body(Natural8());
      return body(Natural9());
    case QuantiserKind::kSign:
      return body(SignMethod());
    case QuantiserKind::kOneBit:
      return body(OneBit());
    case QuantiserKind::kRange:
      return body(RangeMethod());
    case QuantiserKind::kMx:
      return body(MxMethod<true>());
    case QuantiserKind::kFp8:
      return body(MxMethod<false>());
  }
}

}  // namespace legacy::cuda

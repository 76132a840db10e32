// The rule of momentum that a worker applies before it compresses (schemes/memory.h), for one
// element. Loops on the host and kernels on a GPU share it. Its fp32 operations round alike
// everywhere.
#pragma once

#include "base/simd.h"

namespace legacy::cpu {

// u' = m u + g, and e = v + u'. Nesterov: u' = m (u + g), and e = v + u' + g.
struct MomentumRule {
  float momentum = 0.9f;
  bool nesterov = false;

  // Updates u, and v to what e is without u'. Returns u', which is to be added to v.
  LEGACY_INLINE constexpr float Feed(float g, float& u, float& v) const {
    if (nesterov) v += g;
    return u = nesterov ? momentum * (u + g) : momentum * u + g;
  }
};

}  // namespace legacy::cpu

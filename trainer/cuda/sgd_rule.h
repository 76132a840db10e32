// The optimizer's rule for one element. It is the same on the host and on a GPU (optimizer.h has
// the equations).
#pragma once

#include <cstdint>

namespace legacy {

// A MomentumKind says which momentum the optimizer has.
enum class MomentumKind : uint8_t { kNone, kHeavyBall, kNesterov };

// SgdRates are the factors of one update.
struct SgdRates {
  float rate = 0;
  float momentum = 0;
  float decay = 0;  // weight decay
};

// Updates one weight and its velocity; without momentum the velocity is not touched.
template <MomentumKind kind>
constexpr void UpdateWeight(const SgdRates& rates, float gradient, float& weight, float& velocity) {
  const float g = gradient + rates.decay * weight;
  if constexpr (kind == MomentumKind::kNone) {
    weight -= rates.rate * g;
  } else {
    velocity = rates.momentum * velocity + g;
    weight -=
        rates.rate * (kind == MomentumKind::kNesterov ? g + rates.momentum * velocity : velocity);
  }
}

// Calls function(kind) with the kind as a constant.
template <class Function>
void WithKind(MomentumKind kind, Function function) {
  switch (kind) {
    case MomentumKind::kNone:
      return function.template operator()<MomentumKind::kNone>();
    case MomentumKind::kHeavyBall:
      return function.template operator()<MomentumKind::kHeavyBall>();
    case MomentumKind::kNesterov:
      return function.template operator()<MomentumKind::kNesterov>();
  }
}

}  // namespace legacy

#include "trainer/optimizer.h"

#include <cassert>
#include <string>

#include "base/error.h"

namespace legacy {

void CheckSgd(const SgdOptions& options) {
  if (!(options.momentum >= 0 && options.momentum < 1)) {
    throw Error("momentum", std::to_string(options.momentum), "[0, 1)");
  }
  if (!(options.weight_decay >= 0 && options.weight_decay < 1)) {
    throw Error("weight-decay", std::to_string(options.weight_decay), "[0, 1)");
  }
  if (options.nesterov && options.momentum == 0) {
    throw Error("nesterov", "true", "only with momentum above 0");
  }
}

MomentumKind KindOf(const SgdOptions& options) {
  if (options.momentum == 0) return MomentumKind::kNone;
  return options.nesterov ? MomentumKind::kNesterov : MomentumKind::kHeavyBall;
}

SgdRates RatesOf(const SgdOptions& options, double learning_rate) {
  return {.rate = static_cast<float>(learning_rate),
          .momentum = static_cast<float>(options.momentum),
          .decay = static_cast<float>(options.weight_decay)};
}

Sgd::Sgd(int64_t numel, const SgdOptions& options) : options_(options) {
  CheckSgd(options);
  if (options.momentum > 0) velocity_.resize(static_cast<size_t>(numel));
}

void Sgd::Update(std::span<float> weights, std::span<const float> gradient, int64_t offset,
                 double learning_rate, bool is_vector) {
  assert(weights.size() == gradient.size());
  SgdRates rates = RatesOf(options_, learning_rate);
  if (is_vector && !options_.decay_vectors) rates.decay = 0;
  const size_t count = weights.size();
  if (velocity_.empty()) {
    float none = 0;
    for (size_t i = 0; i < count; ++i) {
      UpdateWeight<MomentumKind::kNone>(rates, gradient[i], weights[i], none);
    }
    return;
  }
  assert(offset >= 0 && static_cast<size_t>(offset) + count <= velocity_.size());
  float* const velocity = velocity_.data() + offset;
  WithKind(KindOf(options_), [&]<MomentumKind kind>() {
    for (size_t i = 0; i < count; ++i) {
      UpdateWeight<kind>(rates, gradient[i], weights[i], velocity[i]);
    }
  });
}

}  // namespace legacy

#include "trainer/optimizer.h"

#include <cassert>
#include <string>

#include "compress/error.h"

namespace legacy {

Sgd::Sgd(int64_t numel, const SgdOptions& options) : options_(options) {
  if (!(options.momentum >= 0 && options.momentum < 1)) {
    throw Error("momentum", std::to_string(options.momentum), "[0, 1)");
  }
  if (!(options.weight_decay >= 0 && options.weight_decay < 1)) {
    throw Error("weight-decay", std::to_string(options.weight_decay), "[0, 1)");
  }
  if (options.nesterov && options.momentum == 0) {
    throw Error("nesterov", "true", "only with momentum above 0");
  }
  if (options.momentum > 0) velocity_.resize(static_cast<size_t>(numel));
}

void Sgd::Update(std::span<float> weights, std::span<const float> gradient, int64_t offset,
                 double learning_rate) {
  assert(weights.size() == gradient.size());
  const float decay = static_cast<float>(options_.weight_decay);
  const float momentum = static_cast<float>(options_.momentum);
  const float rate = static_cast<float>(learning_rate);
  const size_t count = weights.size();
  if (velocity_.empty()) {
    for (size_t i = 0; i < count; ++i) weights[i] -= rate * (gradient[i] + decay * weights[i]);
    return;
  }
  assert(offset >= 0 && static_cast<size_t>(offset) + count <= velocity_.size());
  float* velocity = velocity_.data() + offset;
  if (options_.nesterov) {
    for (size_t i = 0; i < count; ++i) {
      const float g = gradient[i] + decay * weights[i];
      velocity[i] = momentum * velocity[i] + g;
      weights[i] -= rate * (g + momentum * velocity[i]);
    }
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    velocity[i] = momentum * velocity[i] + (gradient[i] + decay * weights[i]);
    weights[i] -= rate * velocity[i];
  }
}

}  // namespace legacy

// The optimizer is SGD with momentum on a flat gradient, in PyTorch's form (torch.optim.SGD): the
// velocity is in gradient units and the learning rate multiplies the whole update.
//
//   g <- g + weight_decay * w;   v <- momentum * v + g;
//   w <- w - lr * (nesterov ? g + momentum * v : v)
//
// Weight decay comes after aggregation: it is never compressed. It may leave out vectors (biases
// and scales of normalisation). 20 bytes moved per element (12 without momentum).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/cuda/sgd_rule.h"

namespace legacy {

// SgdOptions are the optimizer's settings.
struct SgdOptions {
  double momentum = 0.9;      // [0, 1)
  double weight_decay = 0;    // >= 0
  bool nesterov = false;      // needs momentum > 0
  bool decay_vectors = true;  // false: weight decay leaves out tensors of one dimension
};

// Throws Error on options outside their ranges.
void CheckSgd(const SgdOptions& options);

// Returns the kind of momentum.
MomentumKind KindOf(const SgdOptions& options);
// Returns the factors of one update at that learning rate.
SgdRates RatesOf(const SgdOptions& options, double learning_rate);

// An Sgd holds the velocity of one flat model.
class Sgd {
 public:
  // `numel` is that of the flat gradient. Throws Error on options outside their ranges.
  Sgd(int64_t numel, const SgdOptions& options);

  // Updates `weights`, the part of the model from `offset` on, by the mean `gradient` of the same
  // part, which may be a vector.
  void Update(std::span<float> weights, std::span<const float> gradient, int64_t offset,
              double learning_rate, bool is_vector = false);

  std::span<float> Velocity() { return velocity_; }

 private:
  SgdOptions options_;
  std::vector<float> velocity_;  // empty without momentum
};

}  // namespace legacy

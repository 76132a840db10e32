// Optimizers update the weights with the decoded mean of the gradients. Weight decay comes after
// aggregation: it is never compressed. It may leave out vectors (biases and scales of
// normalisation).
//
// SGD with momentum has PyTorch's form (torch.optim.SGD): the velocity is in gradient units and the
// learning rate multiplies the whole update.
//
//   g <- g + weight_decay * w;   v <- momentum * v + g;
//   w <- w - lr * (nesterov ? g + momentum * v : v)
//
// Adam (Kingma and Ba, ICLR 2015), AdamW (Loshchilov and Hutter, ICLR 2019) and LAMB (You et al.,
// ICLR 2020, algorithm 2) keep means of the gradient and of its square. With t updates so far,
//
//   g <- g + weight_decay * w (Adam alone);
//   m <- beta1 * m + (1 - beta1) * g;   v <- beta2 * v + (1 - beta2) * g^2;
//   r = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon) + weight_decay * w (not Adam)
//   w <- w - lr * r;   LAMB: w <- w - lr * |w| / |r| * r, by layer, with |w| / |r| = 1 where
//   either is 0
//
// 1-bit Adam (Tang et al., ICML 2021) keeps v after T updates. From then on, each worker applies
// the first equation of m to its own gradient, the workers' exchange gives m, and
//
//   w <- w - lr * (m / (1 - beta1^t) / (sqrt(v / (1 - beta2^T)) + epsilon) + weight_decay * w)
//
// (the last term not for Adam). Elements with v = 0 have m = 0 and stay: their gradients were 0.
//
// Sign descent keeps nothing. It is the update of DeMo (Peng, Kingma et al., ICLR 2026), whose
// exchange has the momentum:
//
//   w <- w * (1 - lr * weight_decay);   w <- w - lr * sign(g), sign(0) = 0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/state.h"
#include "trainer/cuda/sgd_rule.h"

namespace legacy {

// SgdOptions are the settings of SGD; all optimizers have its weight decay.
struct SgdOptions {
  double momentum = 0.9;      // [0, 1)
  double weight_decay = 0;    // >= 0
  bool nesterov = false;      // needs momentum > 0
  bool decay_vectors = true;  // false: weight decay leaves out tensors of one dimension
};

// An OptimizerKind says which rule updates the weights.
enum class OptimizerKind : uint8_t { kSgd, kAdam, kAdamW, kLamb, kSign };
inline constexpr std::array<const char*, 5> kOptimizerTexts = {"sgd", "adam", "adamw", "lamb",
                                                               "sign"};

// AdaptiveOptions are the settings of the others.
struct AdaptiveOptions {
  OptimizerKind kind = OptimizerKind::kSgd;
  double beta1 = 0.9;    // [0, 1)
  double beta2 = 0.999;  // [0, 1)
  double epsilon = 1e-8;
};

// Reads "sgd", or "adamw:beta1=0.9,beta2=0.95,epsilon=1e-8". Throws Error naming `key`.
AdaptiveOptions ParseOptimizer(const std::string& text, const std::string& key);

// Returns the kernel that the clock charges for an update (compress/kernel_costs.h).
const char* OptimizerKernel(OptimizerKind kind);

// OuterOptions are the settings of the outer optimizer of local training (local_models.h), which is
// SGD without weight decay. The gradient is the mean of what the workers moved.
struct OuterOptions {
  double rate = 1;      // (0, 10]
  double momentum = 0;  // [0, 1)
  bool nesterov = false;
};

// Reads "sgd:rate=1", "momentum:rate=1,momentum=0.9" or "nesterov:rate=0.7,momentum=0.9", with
// these defaults; nothing for "". Throws Error naming `key`.
std::optional<OuterOptions> ParseOuter(const std::string& text, const std::string& key);

// Returns the kernel that the clock charges for an outer update.
const char* OuterKernel(const OuterOptions& options);
// Returns the optimizer's settings without its rate.
SgdOptions SgdOf(const OuterOptions& options);

// Throws Error on options outside their ranges.
void CheckSgd(const SgdOptions& options);

// Returns the kind of momentum.
MomentumKind KindOf(const SgdOptions& options);
// Returns the factors of one update at that learning rate.
SgdRates RatesOf(const SgdOptions& options, double learning_rate);

// An UpdateInfo says what is updated: one layer of a flat model, in one step.
struct UpdateInfo {
  int64_t offset = 0;  // first element
  double learning_rate = 0;
  int64_t step = 0;  // updates of this layer before
  bool is_vector = false;
  // 1-bit Adam: updates after which the variance is kept, where there were as many. What is then
  // called a gradient is the exchanged momentum.
  std::optional<int64_t> momentum_from = std::nullopt;

  bool IsMomentum() const { return momentum_from && step >= *momentum_from; }
};

// An Optimizer holds the state of one flat model. Layers may be updated concurrently.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // Updates a layer's `weights` by its mean `gradient`.
  virtual void Update(std::span<float> weights, std::span<const float> gradient,
                      const UpdateInfo& info) = 0;
  // Turns a worker's gradient of a layer into its momentum, in place. Only for Adam and AdamW.
  virtual void ToMomentum([[maybe_unused]] std::span<const float> weights,
                          [[maybe_unused]] std::span<float> gradient,
                          [[maybe_unused]] const UpdateInfo& info) const;
  // Append and restore the state, for checkpoints. Load throws Error on that of another optimizer.
  virtual void Save(StateWriter& out) const = 0;
  virtual void Load(StateReader& in) = 0;
};

// Makes an optimizer of a model with `numel` elements. Throws Error on options outside their
// ranges.
std::unique_ptr<Optimizer> MakeOptimizer(int64_t numel, const SgdOptions& sgd,
                                         const AdaptiveOptions& adaptive = {});

}  // namespace legacy

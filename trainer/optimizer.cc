#include "trainer/optimizer.h"

#include <cassert>
#include <cmath>
#include <string>

#include "base/error.h"
#include "compress/cpu/vector.h"
#include "compress/options.h"
#include "trainer/clock/profile.h"

namespace legacy {
namespace {

constexpr double kMostMomentum = 0.999999;

void SaveFloats(std::span<const float> values, StateWriter& out) {
  out.Number(values.size());
  out.Floats(values);
}

void LoadFloats(const char* what, StateReader& in, std::span<float> values) {
  in.ExpectNumber(what, values.size());
  in.AnyFloats(values);
}

class Sgd : public Optimizer {
 public:
  Sgd(int64_t numel, const SgdOptions& options) : options_(options) {
    if (options.momentum > 0) velocity_.resize(static_cast<size_t>(numel));
  }

  void Update(std::span<float> weights, std::span<const float> gradient,
              const UpdateInfo& info) override {
    assert(weights.size() == gradient.size());
    SgdRates rates = RatesOf(options_, info.learning_rate);
    if (info.is_vector && !options_.decay_vectors) rates.decay = 0;
    const size_t count = weights.size();
    if (velocity_.empty()) {
      float none = 0;
      for (size_t i = 0; i < count; ++i) {
        UpdateWeight<MomentumKind::kNone>(rates, gradient[i], weights[i], none);
      }
      return;
    }
    assert(info.offset >= 0 && static_cast<size_t>(info.offset) + count <= velocity_.size());
    float* const velocity = velocity_.data() + info.offset;
    WithKind(KindOf(options_), [&]<MomentumKind kind>() {
      for (size_t i = 0; i < count; ++i) {
        UpdateWeight<kind>(rates, gradient[i], weights[i], velocity[i]);
      }
    });
  }

  void Save(StateWriter& out) const override { SaveFloats(velocity_, out); }
  void Load(StateReader& in) override { LoadFloats("velocity", in, velocity_); }

 private:
  SgdOptions options_;
  std::vector<float> velocity_;  // empty without momentum
};

class Sign : public Optimizer {
 public:
  explicit Sign(const SgdOptions& options) : options_(options) {}

  void Update(std::span<float> weights, std::span<const float> gradient,
              const UpdateInfo& info) override {
    assert(weights.size() == gradient.size());
    const double decay = info.is_vector && !options_.decay_vectors ? 0 : options_.weight_decay;
    const auto kept = static_cast<float>(1 - info.learning_rate * decay);
    const auto rate = static_cast<float>(info.learning_rate);
    for (size_t i = 0; i < weights.size(); ++i) {
      const auto sign = static_cast<float>((gradient[i] > 0 ? 1 : 0) - (gradient[i] < 0 ? 1 : 0));
      weights[i] = weights[i] * kept - rate * sign;
    }
  }

  void Save(StateWriter& out) const override { SaveFloats({}, out); }
  void Load(StateReader& in) override { LoadFloats("state of sign descent", in, {}); }

 private:
  SgdOptions options_;
};

class Adaptive : public Optimizer {
 public:
  Adaptive(int64_t numel, const SgdOptions& sgd, const AdaptiveOptions& options)
      : options_(options),
        weight_decay_(static_cast<float>(sgd.weight_decay)),
        decay_vectors_(sgd.decay_vectors),
        mean_(static_cast<size_t>(numel)),
        square_(static_cast<size_t>(numel)) {
    if (options.kind == OptimizerKind::kLamb) direction_.resize(static_cast<size_t>(numel));
  }

  void Update(std::span<float> weights, std::span<const float> gradient,
              const UpdateInfo& info) override {
    assert(weights.size() == gradient.size());
    if (info.IsMomentum()) return TakeMomentum(weights, gradient, info);
    switch (options_.kind) {
      case OptimizerKind::kAdam:
        return Step<OptimizerKind::kAdam>(weights, gradient, info);
      case OptimizerKind::kAdamW:
        return Step<OptimizerKind::kAdamW>(weights, gradient, info);
      default:
        return Step<OptimizerKind::kLamb>(weights, gradient, info);
    }
  }

  void ToMomentum(std::span<const float> weights, std::span<float> gradient,
                  const UpdateInfo& info) const override {
    const auto beta1 = static_cast<float>(options_.beta1);
    const float decay = options_.kind == OptimizerKind::kAdam ? DecayOf(info) : 0;
    for (size_t i = 0; i < gradient.size(); ++i) {
      const size_t at = static_cast<size_t>(info.offset) + i;
      const float g = gradient[i] + decay * weights[i];
      gradient[i] = square_[at] > 0 ? beta1 * mean_[at] + (1 - beta1) * g : 0;
    }
  }

  // The direction of LAMB lasts only for one update.
  void Save(StateWriter& out) const override {
    SaveFloats(mean_, out);
    SaveFloats(square_, out);
  }
  void Load(StateReader& in) override {
    LoadFloats("mean of the gradient", in, mean_);
    LoadFloats("mean of its square", in, square_);
  }

 private:
  float DecayOf(const UpdateInfo& info) const {
    return info.is_vector && !decay_vectors_ ? 0 : weight_decay_;
  }

  // Updates the weights with the exchanged momentum and the frozen variance.
  void TakeMomentum(std::span<float> weights, std::span<const float> momentum,
                    const UpdateInfo& info) {
    const auto updates = static_cast<double>(info.step + 1);
    const auto kept = static_cast<double>(*info.momentum_from);
    const auto epsilon = static_cast<float>(options_.epsilon);
    const auto mean_scale = static_cast<float>(1 / (1 - std::pow(options_.beta1, updates)));
    const auto square_scale = static_cast<float>(1 / (1 - std::pow(options_.beta2, kept)));
    const auto rate = static_cast<float>(info.learning_rate);
    const float decay = options_.kind == OptimizerKind::kAdam ? 0 : DecayOf(info);
    for (size_t i = 0; i < weights.size(); ++i) {
      const size_t at = static_cast<size_t>(info.offset) + i;
      const float m = mean_[at] = square_[at] > 0 ? momentum[i] : 0;
      const float r = m * mean_scale / (std::sqrt(square_[at] * square_scale) + epsilon);
      weights[i] -= rate * (r + decay * weights[i]);
    }
  }

  template <OptimizerKind kind>
  void Step(std::span<float> weights, std::span<const float> gradient, const UpdateInfo& info) {
    const auto updates = static_cast<double>(info.step + 1);
    const auto beta1 = static_cast<float>(options_.beta1);
    const auto beta2 = static_cast<float>(options_.beta2);
    const auto epsilon = static_cast<float>(options_.epsilon);
    const auto mean_scale = static_cast<float>(1 / (1 - std::pow(options_.beta1, updates)));
    const auto square_scale = static_cast<float>(1 / (1 - std::pow(options_.beta2, updates)));
    const auto rate = static_cast<float>(info.learning_rate);
    const float decay = DecayOf(info);
    for (size_t i = 0; i < weights.size(); ++i) {
      const size_t at = static_cast<size_t>(info.offset) + i;
      float g = gradient[i];
      if constexpr (kind == OptimizerKind::kAdam) g += decay * weights[i];
      const float m = mean_[at] = beta1 * mean_[at] + (1 - beta1) * g;
      const float v = square_[at] = beta2 * square_[at] + (1 - beta2) * g * g;
      float r = m * mean_scale / (std::sqrt(v * square_scale) + epsilon);
      if constexpr (kind != OptimizerKind::kAdam) r += decay * weights[i];
      if constexpr (kind == OptimizerKind::kLamb) {
        direction_[at] = r;
      } else {
        weights[i] -= rate * r;
      }
    }
    if constexpr (kind == OptimizerKind::kLamb) {
      const std::span<const float> direction(direction_.data() + info.offset, weights.size());
      const double weight_norm = cpu::SquaredNorm(weights);
      const double direction_norm = cpu::SquaredNorm(direction);
      const double trust =
          weight_norm > 0 && direction_norm > 0 ? std::sqrt(weight_norm / direction_norm) : 1;
      const auto factor = static_cast<float>(info.learning_rate * trust);
      for (size_t i = 0; i < weights.size(); ++i) weights[i] -= factor * direction[i];
    }
  }

  AdaptiveOptions options_;
  float weight_decay_;
  bool decay_vectors_;
  std::vector<float> mean_;       // of the gradient
  std::vector<float> square_;     // mean of its square
  std::vector<float> direction_;  // LAMB: the update before it is scaled
};

const std::vector<MethodInfo>& OptimizerRows() {
  static const std::vector<OptionSpec> options = {
      {"beta1", "0.9", "0 to 0.999999", "decay of the mean of the gradient"},
      {"beta2", "0.999", "0 to 0.999999", "decay of the mean of its square"},
      {"epsilon", "1e-8", "1e-30 to 1", "added to the root of the latter"}};
  static const std::vector<MethodInfo> rows = {
      {"sgd", "SGD with momentum", ""},
      {"adam", "Adam", "Kingma, Ba, ICLR 2015", options},
      {"adamw", "AdamW", "Loshchilov, Hutter, ICLR 2019", options},
      {"lamb", "LAMB", "You et al., ICLR 2020", options},
      {"sign", "sign descent", "Peng, Kingma et al., ICLR 2026"}};
  return rows;
}

}  // namespace

void Optimizer::ToMomentum(std::span<const float>, std::span<float>, const UpdateInfo&) const {
  throw Error("momentum: only adam and adamw have one that workers exchange");
}

AdaptiveOptions ParseOptimizer(const std::string& text, const std::string& key) {
  const std::vector<Stage> stages = ParseStages(text);
  std::vector<std::string> known;
  for (size_t i = 0; i < OptimizerRows().size(); ++i) {
    const MethodInfo& row = OptimizerRows()[i];
    known.push_back(row.name);
    if (stages.size() != 1 || stages.front().name != row.name) continue;
    const OptionReader reader(stages.front(), row.options);
    AdaptiveOptions options{.kind = static_cast<OptimizerKind>(i)};
    if (row.options.empty()) return options;
    options.beta1 = reader.Number("beta1", 0, kMostMomentum);
    options.beta2 = reader.Number("beta2", 0, kMostMomentum);
    options.epsilon = reader.Number("epsilon", 1e-30, 1);
    return options;
  }
  ThrowUnknown(key, text, known);
}

std::optional<OuterOptions> ParseOuter(const std::string& text, const std::string& key) {
  if (text.empty()) return std::nullopt;
  constexpr double kMostRate = 10;
  static const OptionSpec rate = {"rate", "1", "1e-6 to 10", "outer learning rate"};
  static const OptionSpec momentum = {"momentum", "0.9", "0 to 0.999999", "outer momentum"};
  OptionSpec nesterov_rate = rate;
  nesterov_rate.fallback = "0.7";
  const std::vector<MethodInfo> rows = {{"sgd", "the mean", "", {rate}},
                                        {"momentum", "with momentum", "", {rate, momentum}},
                                        {"nesterov", "as DiLoCo", "", {nesterov_rate, momentum}}};
  std::vector<std::string> known;
  const std::vector<Stage> stages = ParseStages(text);
  for (const MethodInfo& row : rows) {
    known.push_back(row.name);
    if (stages.size() != 1 || stages.front().name != row.name) continue;
    const OptionReader reader(stages.front(), row.options);
    OuterOptions options{.rate = reader.Number("rate", 1e-6, kMostRate)};
    if (row.options.size() > 1) options.momentum = reader.Number("momentum", 0, kMostMomentum);
    options.nesterov = row.name == "nesterov" && options.momentum > 0;
    return options;
  }
  ThrowUnknown(key, text, known);
}

const char* OuterKernel(const OuterOptions& options) {
  // Without momentum it reads and writes as much as a sum of two vectors.
  return options.momentum > 0 ? kOptimizerKernel : "accumulate";
}

SgdOptions SgdOf(const OuterOptions& options) {
  return {.momentum = options.momentum, .weight_decay = 0, .nesterov = options.nesterov};
}

const char* OptimizerKernel(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::kSgd:
      return kOptimizerKernel;
    case OptimizerKind::kLamb:
      return "optimizer.lamb";
    case OptimizerKind::kSign:
      return "optimizer.sign";
    default:
      return "optimizer.adam";
  }
}

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

std::unique_ptr<Optimizer> MakeOptimizer(int64_t numel, const SgdOptions& sgd,
                                         const AdaptiveOptions& adaptive) {
  CheckSgd(sgd);
  if (adaptive.kind == OptimizerKind::kSgd) return std::make_unique<Sgd>(numel, sgd);
  if (adaptive.kind == OptimizerKind::kSign) return std::make_unique<Sign>(sgd);
  return std::make_unique<Adaptive>(numel, sgd, adaptive);
}

}  // namespace legacy

#include "trainer/torch/local_models.h"

#include <torch/torch.h>

#include <algorithm>

#include "trainer/rounding.h"
#include "trainer/torch/models/model.h"

namespace legacy {
namespace {

std::span<float> Data(const torch::Tensor& parameter) {
  return {parameter.data_ptr<float>(), static_cast<size_t>(parameter.numel())};
}

}  // namespace

LocalModels::LocalModels(std::span<const std::shared_ptr<Model>> replicas, const Model& model,
                         std::vector<Unit> layers, const SgdOptions& sgd,
                         const AdaptiveOptions& optimizer, const OuterOptions& outer,
                         Precision precision, ProcessGroup& processes)
    : weights_(replicas.size()),
      layers_(std::move(layers)),
      processes_(processes),
      outer_rate_(outer.rate),
      precision_(precision) {
  const int64_t numel = layers_.back().offset + layers_.back().numel;
  outer_ = MakeOptimizer(numel, SgdOf(outer));
  for (const torch::Tensor& parameter : model.parameters()) {
    const auto weights = Data(parameter);
    agreed_.insert(agreed_.end(), weights.begin(), weights.end());
  }
  for (size_t w = 0; w < replicas.size(); ++w) {
    optimizers_.push_back(replicas[w] ? MakeOptimizer(numel, sgd, optimizer) : nullptr);
    if (replicas[w]) weights_[w].emplace(*replicas[w], precision);
  }
}

void LocalModels::Update(int worker, std::span<const float> gradient, double rate, int64_t step) {
  for (size_t l = 0; l < layers_.size(); ++l) {
    const auto part = gradient.subspan(layers_[l].offset, layers_[l].numel);
    optimizers_[worker]->Update(weights_[worker]->Of(l), part,
                                {.offset = layers_[l].offset,
                                 .learning_rate = rate,
                                 .step = step,
                                 .is_vector = layers_[l].shape.size() <= 1});
    weights_[worker]->Publish(l, step);
  }
}

void LocalModels::Moved(int worker, std::span<float> out) const {
  for (size_t l = 0; l < layers_.size(); ++l) {
    const std::span<const float> weights = weights_[worker]->Of(l);
    for (size_t i = 0; i < weights.size(); ++i) {
      const size_t at = static_cast<size_t>(layers_[l].offset) + i;
      out[at] = agreed_[at] - weights[i];
    }
  }
}

void LocalModels::Agree(std::span<const float> mean) {
  outer_->Update(agreed_, mean, {.offset = 0, .learning_rate = outer_rate_});
  for (std::optional<MasterWeights>& weights : weights_) {
    if (!weights) continue;
    for (size_t l = 0; l < layers_.size(); ++l) {
      std::copy_n(agreed_.begin() + layers_[l].offset, layers_[l].numel, weights->Of(l).begin());
    }
    weights->Publish();
  }
}

void LocalModels::SaveShared(StateWriter& out) const {
  out.Floats(agreed_);
  if (outer_) outer_->Save(out);
}

void LocalModels::LoadShared(StateReader& in) {
  in.AnyFloats(agreed_);
  if (outer_) outer_->Load(in);
}

void LocalModels::SaveWorker(int worker, StateWriter& out) const {
  for (size_t l = 0; l < layers_.size(); ++l) out.Floats(weights_[worker]->Of(l));
  optimizers_[worker]->Save(out);
}

void LocalModels::LoadWorker(int worker, StateReader& in) {
  for (size_t l = 0; l < layers_.size(); ++l) in.AnyFloats(weights_[worker]->Of(l));
  weights_[worker]->Publish();
  optimizers_[worker]->Load(in);
}

std::vector<float> LocalModels::AllWeights(size_t layer) const {
  std::vector<float> own;
  for (const std::optional<MasterWeights>& weights : weights_) {
    if (!weights) continue;
    const std::span<const float> part = weights->Of(layer);
    own.insert(own.end(), part.begin(), part.end());
  }
  return GatherWorkers(processes_, static_cast<int>(weights_.size()), own);
}

void LocalModels::WriteMean(Model& model) const {
  const auto parameters = model.parameters();
  const float share = 1.0f / static_cast<float>(weights_.size());
  for (size_t l = 0; l < layers_.size(); ++l) {
    std::vector<float> mean(static_cast<size_t>(layers_[l].numel));  // `model` may be a replica
    const std::vector<float> all = AllWeights(l);
    for (size_t w = 0; w < weights_.size(); ++w) {
      const float* const weights = all.data() + w * mean.size();
      for (size_t i = 0; i < mean.size(); ++i) mean[i] += weights[i] * share;
    }
    RoundTo(precision_, mean);
    std::ranges::copy(mean, Data(parameters[l]).begin());
  }
}

}  // namespace legacy

#include "trainer/torch/local_models.h"

#include <torch/torch.h>

#include <algorithm>

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
                         ProcessGroup& processes)
    : replicas_(replicas.begin(), replicas.end()),
      layers_(std::move(layers)),
      processes_(processes),
      outer_rate_(outer.rate) {
  const int64_t numel = layers_.back().offset + layers_.back().numel;
  for (size_t w = 0; w < replicas_.size(); ++w) {
    optimizers_.push_back(replicas_[w] ? MakeOptimizer(numel, sgd, optimizer) : nullptr);
  }
  outer_ = MakeOptimizer(numel, SgdOf(outer));
  for (const torch::Tensor& parameter : model.parameters()) {
    const auto weights = Data(parameter);
    agreed_.insert(agreed_.end(), weights.begin(), weights.end());
  }
}

std::span<float> LocalModels::Weights(int worker, size_t layer) const {
  return Data(replicas_[worker]->parameters()[layer]);
}

void LocalModels::Update(int worker, std::span<const float> gradient, double rate, int64_t step) {
  for (size_t l = 0; l < layers_.size(); ++l) {
    const auto part = gradient.subspan(layers_[l].offset, layers_[l].numel);
    optimizers_[worker]->Update(Weights(worker, l), part,
                                {.offset = layers_[l].offset,
                                 .learning_rate = rate,
                                 .step = step,
                                 .is_vector = layers_[l].shape.size() <= 1});
  }
}

void LocalModels::Moved(int worker, std::span<float> out) const {
  for (size_t l = 0; l < layers_.size(); ++l) {
    const auto weights = Weights(worker, l);
    for (size_t i = 0; i < weights.size(); ++i) {
      const size_t at = static_cast<size_t>(layers_[l].offset) + i;
      out[at] = agreed_[at] - weights[i];
    }
  }
}

void LocalModels::Agree(std::span<const float> mean) {
  outer_->Update(agreed_, mean, {.offset = 0, .learning_rate = outer_rate_});
  for (size_t w = 0; w < replicas_.size(); ++w) {
    if (!replicas_[w]) continue;
    for (size_t l = 0; l < layers_.size(); ++l) {
      std::copy_n(agreed_.begin() + layers_[l].offset, layers_[l].numel,
                  Weights(static_cast<int>(w), l).begin());
    }
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
  for (size_t l = 0; l < layers_.size(); ++l) out.Floats(Weights(worker, l));
  optimizers_[worker]->Save(out);
}

void LocalModels::LoadWorker(int worker, StateReader& in) {
  for (size_t l = 0; l < layers_.size(); ++l) in.AnyFloats(Weights(worker, l));
  optimizers_[worker]->Load(in);
}

std::vector<float> LocalModels::AllWeights(size_t layer) const {
  std::vector<float> own;
  for (size_t w = 0; w < replicas_.size(); ++w) {
    if (!replicas_[w]) continue;
    const auto weights = Weights(static_cast<int>(w), layer);
    own.insert(own.end(), weights.begin(), weights.end());
  }
  return GatherWorkers(processes_, static_cast<int>(replicas_.size()), own);
}

void LocalModels::WriteMean(Model& model) const {
  const auto parameters = model.parameters();
  const float share = 1.0f / static_cast<float>(replicas_.size());
  for (size_t l = 0; l < layers_.size(); ++l) {
    std::vector<float> mean(static_cast<size_t>(layers_[l].numel));  // `model` may be a replica
    const std::vector<float> all = AllWeights(l);
    for (size_t w = 0; w < replicas_.size(); ++w) {
      const float* const weights = all.data() + w * mean.size();
      for (size_t i = 0; i < mean.size(); ++i) mean[i] += weights[i] * share;
    }
    std::ranges::copy(mean, Data(parameters[l]).begin());
  }
}

}  // namespace legacy

#include "trainer/torch/master_weights.h"

#include <algorithm>

#include "trainer/rounding.h"
#include "trainer/torch/models/model.h"

namespace legacy {

MasterWeights::MasterWeights(const Model& model, Precision precision)
    : in_model_(model.parameters()), precision_(precision) {
  if (!HasSixteenBits(precision)) return;
  for (size_t l = 0; l < Layers(); ++l) {
    const std::span<const float> weights = InModel(l);
    masters_.emplace_back(weights.begin(), weights.end());
  }
  Publish();
}

std::span<float> MasterWeights::InModel(size_t layer) const {
  const torch::Tensor& parameter = in_model_[layer];
  return {parameter.data_ptr<float>(), static_cast<size_t>(parameter.numel())};
}

std::span<float> MasterWeights::Of(size_t layer) {
  return masters_.empty() ? InModel(layer) : std::span(masters_[layer]);
}

std::span<const float> MasterWeights::Of(size_t layer) const {
  return masters_.empty() ? InModel(layer) : std::span(masters_[layer]);
}

void MasterWeights::Publish(size_t layer) {
  if (masters_.empty()) return;
  std::ranges::copy(masters_[layer], InModel(layer).begin());
  RoundTo(precision_, InModel(layer));
}

void MasterWeights::Publish() {
  for (size_t l = 0; l < masters_.size(); ++l) Publish(l);
}

std::vector<float> MasterWeights::Flat() const {
  std::vector<float> flat;
  for (size_t l = 0; l < Layers(); ++l) {
    const auto weights = Of(l);
    flat.insert(flat.end(), weights.begin(), weights.end());
  }
  return flat;
}

}  // namespace legacy

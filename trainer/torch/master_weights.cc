#include "trainer/torch/master_weights.h"

#include <algorithm>

#include "trainer/rounding.h"
#include "trainer/torch/models/model.h"
#include "trainer/weight_codec.h"

namespace legacy {

MasterWeights::MasterWeights(const Model& model, Precision precision, std::span<const Unit> layers,
                             const WeightCodec* codec)
    : in_model_(model.parameters()),
      precision_(precision),
      layers_(layers.begin(), layers.end()),
      codec_(codec) {
  if (!HasSixteenBits(precision) && !codec) return;
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

void MasterWeights::Publish(size_t layer, int64_t step) {
  if (masters_.empty()) return;
  if (!codec_) {
    std::ranges::copy(masters_[layer], InModel(layer).begin());
    return RoundTo(precision_, InModel(layer));
  }
  std::vector<float> rounded = masters_[layer];
  RoundTo(precision_, rounded);
  codec_->Send(layers_[layer], step, rounded, InModel(layer));
}

// Workers begin with equal weights, of which nothing has to be sent.
void MasterWeights::Publish() {
  for (size_t l = 0; l < masters_.size(); ++l) {
    std::ranges::copy(masters_[l], InModel(l).begin());
    RoundTo(precision_, InModel(l));
  }
}

void MasterWeights::Save(StateWriter& out) const {
  for (size_t l = 0; l < Layers(); ++l) out.Floats(Of(l));
  for (size_t l = 0; codec_ && l < Layers(); ++l) out.Floats(InModel(l));
}

void MasterWeights::Load(StateReader& in) {
  for (size_t l = 0; l < Layers(); ++l) in.AnyFloats(Of(l));
  if (!codec_) return Publish();
  for (size_t l = 0; l < Layers(); ++l) in.AnyFloats(InModel(l));
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

// Master weights are the fp32 weights that an optimizer updates, where forward and backward passes
// compute with weights that are rounded to 16 bits, or with what a weight codec sends of them.
#pragma once

#include <torch/types.h>

#include <span>
#include <vector>

#include "base/state.h"
#include "compress/unit.h"
#include "trainer/clock/precision.h"

namespace legacy {

class Model;
class WeightCodec;

// MasterWeights are those of one model, on the host. In fp32 and TF32 without a codec the model's
// own weights are the masters.
class MasterWeights {
 public:
  // Takes the model's weights as masters, and rounds the model's. `codec`, if there is one,
  // outlives this; `layers` are those of the model.
  MasterWeights(const Model& model, Precision precision, std::span<const Unit> layers = {},
                const WeightCodec* codec = nullptr);

  size_t Layers() const { return in_model_.size(); }
  // Returns the masters of a layer. Publish after each change.
  std::span<float> Of(size_t layer);
  std::span<const float> Of(size_t layer) const;
  // Writes a layer's masters, rounded, to the model; with a codec what is sent of them in that
  // step. It may run concurrently for different layers.
  void Publish(size_t layer, int64_t step);
  // Writes all of them without a codec.
  void Publish();

  // Save and load all weights, and with a codec what is known of them.
  void Save(StateWriter& out) const;
  void Load(StateReader& in);

  // Returns all masters, flat.
  std::vector<float> Flat() const;

 private:
  std::span<float> InModel(size_t layer) const;

  std::vector<torch::Tensor> in_model_;      // the model's parameters
  std::vector<std::vector<float>> masters_;  // by layer; empty in fp32 and TF32
  Precision precision_;
  std::vector<Unit> layers_;
  const WeightCodec* codec_;
};

}  // namespace legacy

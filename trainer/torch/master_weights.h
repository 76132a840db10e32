// Master weights are the fp32 weights that an optimizer updates, where forward and backward passes
// compute with weights that are rounded to 16 bits.
#pragma once

#include <torch/types.h>

#include <span>
#include <vector>

#include "trainer/clock/precision.h"

namespace legacy {

class Model;

// MasterWeights are those of one model, on the host. In fp32 and TF32 the model's own weights are
// the masters.
class MasterWeights {
 public:
  // Takes the model's weights as masters, and rounds the model's.
  MasterWeights(const Model& model, Precision precision);

  size_t Layers() const { return in_model_.size(); }
  // Returns the masters of a layer. Publish after each change.
  std::span<float> Of(size_t layer);
  std::span<const float> Of(size_t layer) const;
  // Writes a layer's masters, rounded, to the model. It may run concurrently for different layers.
  void Publish(size_t layer);
  void Publish();

  // Returns all masters, flat.
  std::vector<float> Flat() const;

 private:
  std::span<float> InModel(size_t layer) const;

  std::vector<torch::Tensor> in_model_;      // the model's parameters
  std::vector<std::vector<float>> masters_;  // by layer; empty in fp32 and TF32
  Precision precision_;
};

}  // namespace legacy

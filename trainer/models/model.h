// Models are LibTorch modules.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "compress/unit.h"
#include "trainer/clock/operation_cost.h"

namespace legacy {

// A Model classifies images.
class Model : public torch::nn::Module {
 public:
  // Returns logits [n, classes] of images [n, c, h, w].
  virtual torch::Tensor Forward(const torch::Tensor& images) = 0;
  // Returns the standard deviation of the initial weights, which are normal. 0: uniform, as in
  // MakeModel.
  virtual double InitialDeviation() const { return 0; }
  // Returns true where passes of a training draw numbers.
  virtual bool Draws() const { return false; }

  // Sets the key of what the next pass draws.
  void SetDraws(const RandomKey& key) { draws_ = key; }

 protected:
  // Sets a drawn part of the values to zero, and scales the others, in training mode.
  torch::Tensor Dropout(const torch::Tensor& x, double part);

 private:
  RandomKey draws_;
};

// A ModelRequest says which model to make.
struct ModelRequest {
  std::string name = "small-cnn";  // of the catalogue (model_catalog.h), with its options
  int channels = 1;
  int height = 28;
  int width = 28;
  int classes = 10;
  uint64_t seed = 1;  // seed of the weights, which are the same bits on every machine
};

// Makes a model. Throws Error on unknown names and on images too small for the model.
std::shared_ptr<Model> MakeModel(const ModelRequest& request);

// Makes another instance whose parameters alias `model`'s storage and whose buffers (batch-norm
// statistics) are its own.
std::shared_ptr<Model> ShareParameters(const Model& model, const ModelRequest& request);

// Returns the costs of the model's operations, observed on an instance made for it
// (observed_costs.h). Every parameter appears exactly once.
std::vector<OperationCost> CostsOf(const ModelRequest& request);

// Returns one unit per parameter tensor, in parameters() order, named as named_parameters() does.
std::vector<Unit> LayersOf(const Model& model);

}  // namespace legacy

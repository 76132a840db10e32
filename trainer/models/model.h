// Models are LibTorch modules.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compress/unit.h"
#include "trainer/clock/operation_cost.h"

namespace legacy {

// A Model classifies images.
class Model : public torch::nn::Module {
 public:
  // Returns logits [n, classes] of images [n, c, h, w].
  virtual torch::Tensor Forward(const torch::Tensor& images) = 0;
};

// A ModelRequest says which model to make.
struct ModelRequest {
  std::string name = "small-cnn";  // one of ModelNames()
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

// Models: LibTorch modules with a list of what each operation costs.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compress/unit.h"

namespace legacy {

// One operation of the forward pass, for one sample. The backward pass costs twice the FLOPs
// (gradients of inputs and of weights). Element-wise operations and pooling count as bytes moved.
struct OperationCost {
  std::string kind;             // "conv", "linear", "batchnorm", "elementwise", "pool"
  double forward_flops = 0;     // multiply-adds count as 2
  double forward_bytes = 0;     // activations read and written, 4 bytes each
  double weight_bytes = 0;      // read once per batch
  std::vector<int> parameters;  // indices into parameters(), in order; may be empty
};

class Model : public torch::nn::Module {
 public:
  // [n, c, h, w] -> logits [n, classes]
  virtual torch::Tensor Forward(const torch::Tensor& images) = 0;
  // In forward order. Every parameter appears exactly once.
  virtual std::vector<OperationCost> Costs() const = 0;
};

struct ModelRequest {
  std::string name = "small-cnn";  // small-cnn | medium-cnn | lenet5 | resnet9 | resnet20
  int channels = 1;
  int height = 28;
  int width = 28;
  int classes = 10;
  uint64_t seed = 1;  // of the weights, which are the same bits on every machine
};

// Throws Error on unknown names and on images too small for the model.
std::shared_ptr<Model> MakeModel(const ModelRequest& request);
std::vector<std::string> ModelNames();

// Another instance whose parameters alias `model`'s storage and whose buffers (batch-norm
// statistics) are its own.
std::shared_ptr<Model> ShareParameters(const Model& model, const ModelRequest& request);

// One unit per parameter tensor, in parameters() order, named as named_parameters() does.
std::vector<Unit> LayersOf(const Model& model);

}  // namespace legacy

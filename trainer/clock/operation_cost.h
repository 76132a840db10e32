// Cost of a model's operation. This needs no LibTorch, so that recorded trainings are timed without
// it.
#pragma once

#include <string>
#include <vector>

namespace legacy {

// An OperationCost is one operation of the forward pass, for one sample. The backward pass costs
// twice the FLOPs (gradients of inputs and of weights). Element-wise operations and pooling count
// as bytes moved.
struct OperationCost {
  std::string kind;             // kind: "conv", "linear", "batchnorm", "elementwise", "pool"
  double forward_flops = 0;     // FLOPs; a multiply-add counts as 2
  double forward_bytes = 0;     // activations read and written, 4 bytes each
  double weight_bytes = 0;      // bytes of weights, read once per batch
  std::vector<int> parameters;  // positions among the model's parameters, in order; may be empty
};

}  // namespace legacy

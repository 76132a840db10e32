// What an operation of a model costs. Without LibTorch, for what times recorded trainings.
#pragma once

#include <string>
#include <vector>

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

}  // namespace legacy

// Tensors as bytes, in checkpoints and between processes.
#pragma once

#include <torch/types.h>

#include "base/state.h"

namespace legacy {

// Append and read a tensor of any device: its type, its sizes and its values. A tensor that is read
// lies on the host. LoadTensor throws Error where bytes and sizes differ.
void SaveTensor(const torch::Tensor& tensor, StateWriter& out);
torch::Tensor LoadTensor(StateReader& in);

}  // namespace legacy

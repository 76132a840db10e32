// Tensors and buffers of models as bytes, in checkpoints and between processes.
#pragma once

#include <torch/types.h>

#include "compress/state.h"
#include "trainer/models/model.h"

namespace legacy {

// Append and read a tensor of any device: its type, its sizes and its values. A tensor that is read
// lies on the host. LoadTensor throws Error where bytes and sizes differ.
void SaveTensor(const torch::Tensor& tensor, StateWriter& out);
torch::Tensor LoadTensor(StateReader& in);

// Append and restore a model's buffers: the statistics of batch norm. LoadBuffers writes where the
// buffers lie, and throws Error on those of another model.
void SaveBuffers(const Model& model, StateWriter& out);
void LoadBuffers(Model& model, StateReader& in);

}  // namespace legacy

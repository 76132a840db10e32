// The block of a pre-norm transformer, which models of images and of text share:
// x + attention(norm(x)), then x + outer(gelu(inner(norm(x)))).
#pragma once

#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <functional>
#include <string>

#include "trainer/torch/models/model.h"

namespace legacy {

// A TransformerBlock has the layers of one block.
struct TransformerBlock {
  torch::nn::LayerNorm norm1{nullptr};
  torch::nn::Linear qkv{nullptr};
  torch::nn::Linear out{nullptr};
  torch::nn::LayerNorm norm2{nullptr};
  torch::nn::Linear inner{nullptr};
  torch::nn::Linear outer{nullptr};

  // Makes the layers, of tokens with `width` numbers, as NAME_norm1 ... of `module`.
  TransformerBlock(torch::nn::Module& module, const std::string& name, int64_t width);

  // A Dropper drops numbers where the model is in training mode.
  using Dropper = std::function<torch::Tensor(const torch::Tensor&)>;

  // Returns the block's tokens [n, tokens, width]. `mask` [tokens, tokens] is added to what
  // attention weighs; undefined: nothing.
  torch::Tensor Forward(const torch::Tensor& x, int64_t heads, const torch::Tensor& mask,
                        const Dropper& drop);
};

// Throws Error unless the heads divide the width.
void CheckHeads(const std::string& model, int64_t heads, int64_t width);

}  // namespace legacy

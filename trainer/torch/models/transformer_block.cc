#include "trainer/torch/models/transformer_block.h"

#include <torch/torch.h>

#include <cmath>

#include "base/error.h"

namespace legacy {

TransformerBlock::TransformerBlock(torch::nn::Module& module, const std::string& name,
                                   int64_t width) {
  namespace nn = torch::nn;
  constexpr int64_t kInner = 4;  // width of the hidden layer, in widths of a token
  const auto norm = [&](const char* which) {
    return module.register_module(name + which, nn::LayerNorm(nn::LayerNormOptions({width})));
  };
  const auto linear = [&](const char* which, int64_t from, int64_t to) {
    return module.register_module(name + which, nn::Linear(from, to));
  };
  norm1 = norm("_norm1");
  qkv = linear("_qkv", width, 3 * width);
  out = linear("_out", width, width);
  norm2 = norm("_norm2");
  inner = linear("_inner", width, kInner * width);
  outer = linear("_outer", kInner * width, width);
}

torch::Tensor TransformerBlock::Forward(const torch::Tensor& x, int64_t heads,
                                        const torch::Tensor& mask, const Dropper& drop) {
  const int64_t samples = x.size(0), tokens = x.size(1), width = x.size(2);
  const auto parts = qkv(norm1(x))
                         .view({samples, tokens, 3, heads, width / heads})
                         .permute({2, 0, 3, 1, 4})
                         .unbind(0);
  const double scale = 1 / std::sqrt(static_cast<double>(width / heads));
  torch::Tensor weights = torch::matmul(parts[0] * scale, parts[1].transpose(2, 3));
  if (mask.defined()) weights = weights + mask;
  weights = drop(torch::softmax(weights, -1));
  const torch::Tensor mixed = torch::matmul(weights, parts[2]);
  const torch::Tensor attended =
      x + drop(out(mixed.transpose(1, 2).reshape({samples, tokens, width})));
  return attended + drop(outer(torch::gelu(inner(norm2(attended)))));
}

void CheckHeads(const std::string& model, int64_t heads, int64_t width) {
  if (width % heads == 0) return;
  throw Error("model " + model + ": heads", std::to_string(heads),
              "a divisor of the width, " + std::to_string(width));
}

}  // namespace legacy

// The vision transformer (Dosovitskiy et al., ICLR'21): an image is a sequence of patches, and the
// class is read from a token of its own.
#include <torch/torch.h>

#include <cmath>

#include "base/error.h"
#include "trainer/models/layered_model.h"

namespace legacy {
namespace {

struct VitPlan {
  int64_t patch = 16;
  int64_t width = 384;
  int64_t depth = 12;
  int64_t heads = 6;
};

class VisionTransformer : public Model {
 public:
  VisionTransformer(const ModelRequest& request, const VitPlan& plan) : heads_(plan.heads) {
    namespace nn = torch::nn;
    constexpr int64_t kInner = 4;  // width of the hidden layer, in widths of a token
    const int64_t patches = (request.height / plan.patch) * (request.width / plan.patch);
    const int64_t width = plan.width;
    class_token_ = register_parameter("class_token", torch::zeros({1, 1, width}));
    positions_ = register_parameter("positions", torch::zeros({1, patches + 1, width}));
    patches_ = register_module(
        "patches",
        nn::Conv2d(nn::Conv2dOptions(request.channels, width, plan.patch).stride(plan.patch)));
    for (int64_t b = 0; b < plan.depth; ++b) {
      const std::string name = "block" + std::to_string(b + 1) + "_";
      Block& block = blocks_.emplace_back();
      block.norm1 = register_module(name + "norm1", nn::LayerNorm(nn::LayerNormOptions({width})));
      block.qkv = register_module(name + "qkv", nn::Linear(width, 3 * width));
      block.out = register_module(name + "out", nn::Linear(width, width));
      block.norm2 = register_module(name + "norm2", nn::LayerNorm(nn::LayerNormOptions({width})));
      block.inner = register_module(name + "inner", nn::Linear(width, kInner * width));
      block.outer = register_module(name + "outer", nn::Linear(kInner * width, width));
    }
    norm_ = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({width})));
    classifier_ = register_module("classifier", nn::Linear(width, request.classes));
  }

  double InitialDeviation() const override { return 0.02; }

  torch::Tensor Forward(const torch::Tensor& images) override {
    const int64_t samples = images.size(0);
    torch::Tensor x = patches_(images).flatten(2).transpose(1, 2);
    x = torch::cat({class_token_.expand({samples, 1, -1}), x}, 1) + positions_;
    for (Block& block : blocks_) {
      x = x + Attention(block, block.norm1(x));
      x = x + block.outer(torch::gelu(block.inner(block.norm2(x))));
    }
    return classifier_(norm_(x.select(1, 0)));
  }

 private:
  struct Block {
    torch::nn::LayerNorm norm1{nullptr};
    torch::nn::Linear qkv{nullptr};
    torch::nn::Linear out{nullptr};
    torch::nn::LayerNorm norm2{nullptr};
    torch::nn::Linear inner{nullptr};
    torch::nn::Linear outer{nullptr};
  };

  torch::Tensor Attention(Block& block, const torch::Tensor& x) const {
    const int64_t samples = x.size(0), tokens = x.size(1), width = x.size(2);
    const auto parts = block.qkv(x)
                           .view({samples, tokens, 3, heads_, width / heads_})
                           .permute({2, 0, 3, 1, 4})
                           .unbind(0);
    const double scale = 1 / std::sqrt(static_cast<double>(width / heads_));
    const torch::Tensor weights =
        torch::softmax(torch::matmul(parts[0] * scale, parts[1].transpose(2, 3)), -1);
    const torch::Tensor mixed = torch::matmul(weights, parts[2]);
    return block.out(mixed.transpose(1, 2).reshape({samples, tokens, width}));
  }

  int64_t heads_;
  torch::Tensor class_token_;
  torch::Tensor positions_;
  torch::nn::Conv2d patches_{nullptr};
  std::vector<Block> blocks_;
  torch::nn::LayerNorm norm_{nullptr};
  torch::nn::Linear classifier_{nullptr};
};

}  // namespace

std::shared_ptr<Model> MakeVisionTransformer(const ModelRequest& request, const std::string& name,
                                             const OptionReader& options) {
  if (!name.starts_with("vit-")) return nullptr;
  const VitPlan plan = {.patch = options.Integer("patch", 1, 256),
                        .width = options.Integer("width", 1, 4096),
                        .depth = options.Integer("depth", 1, 128),
                        .heads = options.Integer("heads", 1, 256)};
  if (plan.width % plan.heads != 0) {
    throw Error("model " + name + ": heads", std::to_string(plan.heads),
                "a divisor of the width, " + std::to_string(plan.width));
  }
  if (request.height % plan.patch != 0 || request.width % plan.patch != 0) {
    throw Error("model " + name + ": patch", std::to_string(plan.patch),
                "a divisor of the image's sides, " + std::to_string(request.height) + " and " +
                    std::to_string(request.width));
  }
  return std::make_shared<VisionTransformer>(request, plan);
}

}  // namespace legacy

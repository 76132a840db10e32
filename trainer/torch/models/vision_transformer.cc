// The vision transformer (Dosovitskiy et al., ICLR'21): an image is a sequence of patches, and the
// class is read from an additional token.
#include <torch/torch.h>

#include "base/error.h"
#include "trainer/torch/models/model_family.h"
#include "trainer/torch/models/transformer_block.h"

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
    const int64_t patches = (request.height / plan.patch) * (request.width / plan.patch);
    const int64_t width = plan.width;
    class_token_ = register_parameter("class_token", torch::zeros({1, 1, width}));
    positions_ = register_parameter("positions", torch::zeros({1, patches + 1, width}));
    patches_ = register_module(
        "patches",
        nn::Conv2d(nn::Conv2dOptions(request.channels, width, plan.patch).stride(plan.patch)));
    for (int64_t b = 0; b < plan.depth; ++b) {
      blocks_.emplace_back(*this, "block" + std::to_string(b + 1), width);
    }
    norm_ = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({width})));
    classifier_ = register_module("classifier", nn::Linear(width, request.classes));
  }

  std::optional<InitialValues> Initial(const std::string&,
                                       const torch::Tensor& value) const override {
    return NormalMatrices(value, 0.02);
  }

  torch::Tensor Forward(const torch::Tensor& images) override {
    const int64_t samples = images.size(0);
    torch::Tensor x = patches_(images).flatten(2).transpose(1, 2);
    x = torch::cat({class_token_.expand({samples, 1, -1}), x}, 1) + positions_;
    const auto keep = [](const torch::Tensor& all) { return all; };
    for (TransformerBlock& block : blocks_) x = block.Forward(x, heads_, {}, keep);
    return classifier_(norm_(x.select(1, 0)));
  }

 private:
  int64_t heads_;
  torch::Tensor class_token_;
  torch::Tensor positions_;
  torch::nn::Conv2d patches_{nullptr};
  std::vector<TransformerBlock> blocks_;
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
  CheckHeads(name, plan.heads, plan.width);
  if (request.height % plan.patch != 0 || request.width % plan.patch != 0) {
    throw Error("model " + name + ": patch", std::to_string(plan.patch),
                "a divisor of the image's sides, " + std::to_string(request.height) + " and " +
                    std::to_string(request.width));
  }
  return std::make_shared<VisionTransformer>(request, plan);
}

}  // namespace legacy

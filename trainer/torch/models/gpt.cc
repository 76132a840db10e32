// Decoder-only transformers with learned positions (Radford et al.: Language Models are
// Unsupervised Multitask Learners, 2019). The state of a window is its own: nothing is carried
// over.
#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "trainer/torch/models/model_family.h"
#include "trainer/torch/models/transformer_block.h"

namespace legacy {
namespace {

struct GptPlan {
  int64_t layers = 12;
  int64_t width = 768;
  int64_t heads = 12;
  int64_t context = 1024;
  bool tied = true;
  double dropout = 0;
};

class Gpt : public Model {
 public:
  Gpt(const ModelRequest& request, const GptPlan& plan) : plan_(plan) {
    namespace nn = torch::nn;
    const int64_t words = request.classes, width = plan.width;
    embedding_ = register_parameter("embedding", torch::zeros({words, width}));
    positions_ = register_parameter("positions", torch::zeros({plan.context, width}));
    for (int64_t b = 0; b < plan.layers; ++b) {
      blocks_.emplace_back(*this, "block" + std::to_string(b + 1), width);
    }
    norm_ = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({width})));
    if (!plan.tied) decoder_ = register_module("decoder", nn::Linear(width, words));
    const double hidden = -std::numeric_limits<double>::infinity();
    mask_ = register_buffer("mask", torch::full({request.length, request.length}, hidden).triu(1));
  }

  // Layers that add to the residual stream start smaller, by the root of their number.
  std::optional<InitialValues> Initial(const std::string& name,
                                       const torch::Tensor& value) const override {
    constexpr double kDeviation = 0.02;
    const bool adds =
        name.find("_out.") != std::string::npos || name.find("_outer.") != std::string::npos;
    return NormalMatrices(
        value, adds ? kDeviation / std::sqrt(2.0 * static_cast<double>(plan_.layers)) : kDeviation);
  }
  bool Draws() const override { return plan_.dropout > 0; }

  torch::Tensor Forward(const torch::Tensor& tokens) override {
    const int64_t length = tokens.size(1);
    const auto drop = [this](const torch::Tensor& x) {
      return plan_.dropout > 0 ? Dropout(x, plan_.dropout) : x;
    };
    torch::Tensor x = torch::embedding(embedding_, tokens) + positions_.narrow(0, 0, length);
    x = drop(x);
    const torch::Tensor mask = mask_.narrow(0, 0, length).narrow(1, 0, length);
    for (TransformerBlock& block : blocks_) x = block.Forward(x, plan_.heads, mask, drop);
    x = norm_(x);
    return plan_.tied ? torch::linear(x, embedding_) : decoder_(x);
  }

 private:
  GptPlan plan_;
  torch::Tensor embedding_;
  torch::Tensor positions_;
  std::vector<TransformerBlock> blocks_;
  torch::nn::LayerNorm norm_{nullptr};
  torch::nn::Linear decoder_{nullptr};
  torch::Tensor mask_;  // [length, length]: minus infinity for tokens that come later
};

}  // namespace

std::shared_ptr<Model> MakeGpt(const ModelRequest& request, const std::string& name,
                               const OptionReader& options) {
  if (!name.starts_with("gpt")) return nullptr;
  const GptPlan plan = {.layers = options.Integer("layers", 1, 128),
                        .width = options.Integer("width", 1, 16384),
                        .heads = options.Integer("heads", 1, 256),
                        .context = options.Integer("context", 1, 1 << 16),
                        .tied = options.Switch("tied"),
                        .dropout = options.Number("dropout", 0, 0.99)};
  CheckHeads(name, plan.heads, plan.width);
  if (request.length > plan.context) {
    throw Error("model " + name + ": context", std::to_string(plan.context),
                "at least the tokens of a window, " + std::to_string(request.length));
  }
  return std::make_shared<Gpt>(request, plan);
}

}  // namespace legacy

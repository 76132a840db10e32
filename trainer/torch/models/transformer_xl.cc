// Transformer-XL: attention over relative positions that reaches back into a memory of the previous
// windows, and an adaptive softmax (Dai et al., ACL 2019; Grave et al.: Efficient Softmax
// Approximation for GPUs, ICML 2017). Layers normalise after they add, as the paper's base model
// does.
#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/parse.h"
#include "trainer/torch/models/model_family.h"
#include "trainer/torch/models/transformer_block.h"

namespace legacy {
namespace {

struct TransformerXlPlan {
  int64_t layers = 16;
  int64_t width = 512;
  int64_t heads = 8;
  int64_t inner = 2048;
  int64_t memory = 192;
  double dropout = 0;
  std::vector<int64_t> cutoffs;  // first words of the clusters after the head
};

class TransformerXl : public Model {
 public:
  TransformerXl(const ModelRequest& request, const TransformerXlPlan& plan)
      : plan_(plan), words_(request.classes) {
    namespace nn = torch::nn;
    const int64_t width = plan.width;
    embedding_ = register_parameter("embedding", torch::zeros({words_, width}));
    const auto linear = [&](const std::string& name, int64_t from, int64_t to, bool bias) {
      return register_module(name, nn::Linear(nn::LinearOptions(from, to).bias(bias)));
    };
    const auto norm = [&](const std::string& name) {
      return register_module(name, nn::LayerNorm(nn::LayerNormOptions({width})));
    };
    for (int64_t l = 0; l < plan.layers; ++l) {
      const std::string name = "layer" + std::to_string(l + 1);
      Layer& layer = layers_.emplace_back();
      layer.qkv = linear(name + "_qkv", width, 3 * width, false);
      layer.relative = linear(name + "_relative", width, width, false);
      layer.out = linear(name + "_out", width, width, false);
      layer.norm1 = norm(name + "_norm1");
      layer.inner = linear(name + "_inner", width, plan.inner, true);
      layer.outer = linear(name + "_outer", plan.inner, width, true);
      layer.norm2 = norm(name + "_norm2");
    }
    const int64_t head = width / plan.heads;
    word_bias_ = register_parameter("word_bias", torch::zeros({plan.heads, head}));
    position_bias_ = register_parameter("position_bias", torch::zeros({plan.heads, head}));
    bias_ = register_parameter("decoder_bias", torch::zeros({words_}));
    if (!plan.cutoffs.empty()) {
      const auto clusters = static_cast<int64_t>(plan.cutoffs.size());
      clusters_ = register_parameter("clusters", torch::zeros({clusters, width}));
      cluster_bias_ = register_parameter("cluster_bias", torch::zeros({clusters}));
    }
  }

  std::optional<InitialValues> Initial(const std::string&,
                                       const torch::Tensor& value) const override {
    return NormalMatrices(value, 0.02);
  }
  bool Draws() const override { return plan_.dropout > 0; }
  bool HasOwnLoss() const override { return true; }

  torch::Tensor Forward(const torch::Tensor& tokens) override {
    ModelState state;
    return Continue(tokens, state);
  }

  // Returns tokens [n, length, width], from which TargetLosses decodes. The state has the last
  // `memory` inputs [n, at most memory, width] of each layer.
  torch::Tensor Continue(const torch::Tensor& tokens, ModelState& state) override {
    const int64_t length = tokens.size(1), width = plan_.width;
    torch::Tensor x = torch::embedding(embedding_, tokens) * std::sqrt(static_cast<double>(width));
    const int64_t before = state.empty() ? 0 : state.front().size(1);
    const torch::Tensor distances = Drop(Distances(before + length, x.options()));
    x = Drop(x);
    const torch::Tensor later =
        torch::ones({length, before + length}, x.options().dtype(torch::kBool)).triu(1 + before);
    ModelState next;
    for (size_t l = 0; l < layers_.size(); ++l) {
      const torch::Tensor all = before > 0 ? torch::cat({state[l], x}, 1) : x;
      if (plan_.memory > 0) {
        const int64_t kept = std::min(plan_.memory, before + length);
        next.push_back(all.narrow(1, before + length - kept, kept).detach());
      }
      x = Layered(layers_[l], x, all, distances, later);
    }
    state = std::move(next);
    return Drop(x);
  }

  torch::Tensor TargetLosses(const torch::Tensor& outputs, const torch::Tensor& targets,
                             double smoothing) override {
    const torch::Tensor x = outputs.reshape({-1, plan_.width});
    const torch::Tensor words = targets.reshape({-1});
    if (plan_.cutoffs.empty()) {
      return torch::cross_entropy_loss(torch::linear(x, embedding_, bias_), words, {},
                                       at::Reduction::None, kIgnored, smoothing);
    }
    if (smoothing > 0) {
      throw Error("label smoothing", std::to_string(smoothing), "0 with an adaptive softmax");
    }
    return AdaptiveLosses(x, words);
  }

 private:
  struct Layer {
    torch::nn::Linear qkv{nullptr};
    torch::nn::Linear relative{nullptr};
    torch::nn::Linear out{nullptr};
    torch::nn::LayerNorm norm1{nullptr};
    torch::nn::Linear inner{nullptr};
    torch::nn::Linear outer{nullptr};
    torch::nn::LayerNorm norm2{nullptr};
  };

  torch::Tensor Drop(const torch::Tensor& x) {
    return plan_.dropout > 0 ? Dropout(x, plan_.dropout) : x;
  }

  // Returns the sinusoids [count, width] of the distances count - 1, ..., 0.
  torch::Tensor Distances(int64_t count, const torch::TensorOptions& options) const {
    const torch::Tensor distance = torch::arange(count - 1, -1, -1, options);
    const torch::Tensor even = torch::arange(0, plan_.width, 2, options);
    const torch::Tensor rates =
        torch::exp(even * (-std::log(10000.0) / static_cast<double>(plan_.width)));
    const torch::Tensor angles = torch::outer(distance, rates);
    return torch::cat({angles.sin(), angles.cos()}, 1).narrow(1, 0, plan_.width);
  }

  // Equation 5 of the paper, and its appendix B for the shift. `all` is the memory before x, and x.
  torch::Tensor Layered(Layer& layer, const torch::Tensor& x, const torch::Tensor& all,
                        const torch::Tensor& distances, const torch::Tensor& later) {
    const int64_t samples = x.size(0), length = x.size(1), reach = all.size(1);
    const int64_t heads = plan_.heads, width = plan_.width, head = width / heads;
    const auto parts = layer.qkv(all).view({samples, reach, 3, heads, head}).unbind(2);
    const torch::Tensor query = parts[0].narrow(1, reach - length, length);
    const torch::Tensor relative = layer.relative(distances).view({reach, heads, head});
    const torch::Tensor by_word =
        torch::matmul((query + word_bias_).transpose(1, 2), parts[1].permute({0, 2, 3, 1}));
    const torch::Tensor by_distance = Shifted(
        torch::matmul((query + position_bias_).transpose(1, 2), relative.permute({1, 2, 0})));
    torch::Tensor weights = (by_word + by_distance) * (1 / std::sqrt(static_cast<double>(head)));
    weights =
        torch::softmax(weights.masked_fill(later, -std::numeric_limits<double>::infinity()), -1);
    const torch::Tensor mixed = torch::matmul(weights, parts[2].transpose(1, 2));
    const torch::Tensor out = layer.out(mixed.transpose(1, 2).reshape({samples, length, width}));
    const torch::Tensor attended = layer.norm1(x + Drop(out));
    const torch::Tensor hidden = Drop(torch::relu(layer.inner(attended)));
    return layer.norm2(attended + Drop(layer.outer(hidden)));
  }

  // Moves row i of [n, heads, length, reach] to the left by length - 1 - i. The values that come in
  // from the right are masked afterwards.
  static torch::Tensor Shifted(const torch::Tensor& x) {
    const int64_t n = x.size(0), heads = x.size(1), length = x.size(2), reach = x.size(3);
    const torch::Tensor padded = torch::constant_pad_nd(x, {1, 0});
    return padded.view({n, heads, reach + 1, length}).narrow(2, 1, reach).reshape(x.sizes());
  }

  // The head has the most frequent words, and one entry for each cluster of rarer ones; a cluster
  // is decoded only for the targets that lie in it.
  torch::Tensor AdaptiveLosses(const torch::Tensor& x, const torch::Tensor& words) const {
    const auto decode = [&](const torch::Tensor& rows, int64_t first, int64_t last) {
      return torch::linear(rows, embedding_.narrow(0, first, last - first),
                           bias_.narrow(0, first, last - first));
    };
    const int64_t shortlist = plan_.cutoffs.front();
    const torch::Tensor head = torch::log_softmax(
        torch::cat({decode(x, 0, shortlist), torch::linear(x, clusters_, cluster_bias_)}, 1), 1);
    torch::Tensor entries = words;  // of the head
    torch::Tensor losses = torch::zeros_like(words, x.options());
    for (size_t c = 0; c < plan_.cutoffs.size(); ++c) {
      const int64_t first = plan_.cutoffs[c];
      const int64_t last = c + 1 < plan_.cutoffs.size() ? plan_.cutoffs[c + 1] : words_;
      const torch::Tensor inside = (words >= first).logical_and(words < last);
      const torch::Tensor rows = inside.nonzero().squeeze(1);
      const torch::Tensor logits = decode(x.index_select(0, rows), first, last);
      const torch::Tensor own = words.index_select(0, rows) - first;
      losses = losses.index_add(0, rows,
                                torch::cross_entropy_loss(logits, own, {}, at::Reduction::None));
      entries = entries.masked_fill(inside, shortlist + static_cast<int64_t>(c));
    }
    return losses + torch::nll_loss(head, entries, {}, at::Reduction::None, kIgnored);
  }

  TransformerXlPlan plan_;
  int64_t words_;
  torch::Tensor embedding_;
  std::vector<Layer> layers_;
  torch::Tensor word_bias_;      // [heads, width / heads]
  torch::Tensor position_bias_;  // [heads, width / heads]
  torch::Tensor bias_;
  torch::Tensor clusters_;
  torch::Tensor cluster_bias_;
};

// "auto" has the cut-offs of WikiText-103 for vocabularies of its size, and none for smaller ones.
std::vector<int64_t> CutoffsOf(const std::string& model, const std::string& text, int64_t words) {
  if (text == "none") return {};
  if (text == "auto") {
    constexpr int64_t kLarge = 200'000;
    return words > kLarge ? std::vector<int64_t>{19'997, 39'997, 199'997} : std::vector<int64_t>();
  }
  std::vector<int64_t> cutoffs;
  for (const std::string& item : SplitList(text, '/')) {
    const int64_t least = cutoffs.empty() ? 1 : cutoffs.back() + 1;
    cutoffs.push_back(ParseInteger(item, "model " + model + ": cutoffs", least, words - 1));
  }
  return cutoffs;
}

}  // namespace

std::shared_ptr<Model> MakeTransformerXl(const ModelRequest& request, const std::string& name,
                                         const OptionReader& options) {
  if (name != "transformer-xl") return nullptr;
  const TransformerXlPlan plan = {
      .layers = options.Integer("layers", 1, 128),
      .width = options.Integer("width", 1, 16384),
      .heads = options.Integer("heads", 1, 256),
      .inner = options.Integer("inner", 1, 1 << 16),
      .memory = options.Integer("memory", 0, 1 << 16),
      .dropout = options.Number("dropout", 0, 0.99),
      .cutoffs = CutoffsOf(name, options.Text("cutoffs"), request.classes)};
  CheckHeads(name, plan.heads, plan.width);
  if (plan.width % 2 != 0) {
    throw Error("model " + name + ": width", std::to_string(plan.width), "an even number");
  }
  return std::make_shared<TransformerXl>(request, plan);
}

}  // namespace legacy

// Language models of LSTM layers: embedding, layers and decoder, with dropout between them
// (Zaremba, Sutskever, Vinyals: Recurrent Neural Network Regularization, 2014). A tied decoder has
// the embedding's weights (Press, Wolf, EACL 2017).
#include <torch/torch.h>

#include <cmath>
#include <vector>

#include "base/error.h"
#include "trainer/torch/models/model_family.h"

namespace legacy {
namespace {

struct LstmPlan {
  int64_t hidden = 1500;
  int64_t layers = 2;
  bool tied = false;
  double dropout = 0;
};

class Lstm : public Model {
 public:
  Lstm(const ModelRequest& request, const LstmPlan& plan) : plan_(plan) {
    constexpr int64_t kGates = 4;
    const int64_t words = request.classes, hidden = plan.hidden;
    embedding_ = register_parameter("embedding", torch::zeros({words, hidden}));
    for (int64_t l = 0; l < plan.layers; ++l) {
      const std::string name = "lstm" + std::to_string(l + 1);
      std::vector<torch::Tensor>& layer = layers_.emplace_back();
      for (const char* part : {"_input", "_recurrent"}) {
        layer.push_back(register_parameter(name + part, torch::zeros({kGates * hidden, hidden})));
      }
      for (const char* part : {"_input_bias", "_recurrent_bias"}) {
        layer.push_back(register_parameter(name + part, torch::zeros({kGates * hidden})));
      }
    }
    if (!plan.tied) decoder_ = register_parameter("decoder", torch::zeros({words, hidden}));
    bias_ = register_parameter("decoder_bias", torch::zeros({words}));
  }

  // Embedding and decoder start uniform in +-0.1, layers in +-1 / sqrt(hidden).
  std::optional<InitialValues> Initial(const std::string& name,
                                       const torch::Tensor&) const override {
    if (name == "decoder_bias") return std::nullopt;
    const bool layer = name.starts_with("lstm");
    return InitialValues{InitialValues::Kind::kUniform,
                         layer ? 1 / std::sqrt(static_cast<double>(plan_.hidden)) : 0.1};
  }
  bool Draws() const override { return plan_.dropout > 0; }

  torch::Tensor Forward(const torch::Tensor& tokens) override {
    ModelState state;
    return Continue(tokens, state);
  }

  // The state has the hidden values and the cells [1, n, hidden] of each layer.
  torch::Tensor Continue(const torch::Tensor& tokens, ModelState& state) override {
    if (state.empty()) {
      const torch::Tensor zeros =
          torch::zeros({1, tokens.size(0), plan_.hidden}, embedding_.options());
      state.assign(2 * layers_.size(), zeros);
    }
    torch::Tensor x = Drop(torch::embedding(embedding_, tokens));
    for (size_t l = 0; l < layers_.size(); ++l) {
      auto [output, hidden, cells] =
          torch::lstm(x, {state[2 * l], state[2 * l + 1]}, layers_[l], /*has_biases=*/true,
                      /*num_layers=*/1, /*dropout=*/0, is_training(), /*bidirectional=*/false,
                      /*batch_first=*/true);
      state[2 * l] = hidden.detach();
      state[2 * l + 1] = cells.detach();
      x = Drop(output);
    }
    return torch::linear(x, plan_.tied ? embedding_ : decoder_, bias_);
  }

 private:
  torch::Tensor Drop(const torch::Tensor& x) {
    return plan_.dropout > 0 ? Dropout(x, plan_.dropout) : x;
  }

  LstmPlan plan_;
  torch::Tensor embedding_;
  std::vector<std::vector<torch::Tensor>> layers_;  // weights, as torch::lstm takes them
  torch::Tensor decoder_;
  torch::Tensor bias_;
};

}  // namespace

std::shared_ptr<Model> MakeLstm(const ModelRequest& request, const std::string& name,
                                const OptionReader& options) {
  if (name != "lstm") return nullptr;
  return std::make_shared<Lstm>(request, LstmPlan{.hidden = options.Integer("hidden", 1, 16384),
                                                  .layers = options.Integer("layers", 1, 64),
                                                  .tied = options.Switch("tied"),
                                                  .dropout = options.Number("dropout", 0, 0.99)});
}

}  // namespace legacy

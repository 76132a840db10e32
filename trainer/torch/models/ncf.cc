// NeuMF, a neural collaborative filter: generalised matrix factorisation in parallel with a
// multi-layer perceptron (He et al.: Neural Collaborative Filtering, WWW 2017).
#include <torch/torch.h>

#include <cmath>
#include <vector>

#include "base/error.h"
#include "trainer/torch/models/model_family.h"

namespace legacy {
namespace {

class Ncf : public Model {
 public:
  // The perceptron has layers of 4, 4, 2 and 1 times `factors` numbers: 256-256-128-64 for 64.
  Ncf(const ModelRequest& request, int64_t factors, double dropout) : dropout_(dropout) {
    const auto table = [&](const char* name, int64_t rows, int64_t width) {
      return register_parameter(name, torch::zeros({rows, width}));
    };
    factor_user_ = table("factor_user", request.users, factors);
    factor_item_ = table("factor_item", request.items, factors);
    mlp_user_ = table("mlp_user", request.users, 2 * factors);
    mlp_item_ = table("mlp_item", request.items, 2 * factors);
    int64_t inputs = 4 * factors;
    for (const int64_t outputs : {4 * factors, 2 * factors, factors}) {
      layers_.push_back(register_module("mlp" + std::to_string(layers_.size() + 1),
                                        torch::nn::Linear(inputs, outputs)));
      inputs = outputs;
    }
    last_ = register_module("predict", torch::nn::Linear(2 * factors, 1));
  }

  // Tables are normal, layers uniform as Glorot and Bengio (AISTATS 2010) have it.
  std::optional<InitialValues> Initial(const std::string& name,
                                       const torch::Tensor& value) const override {
    if (name.find("_user") != std::string::npos || name.find("_item") != std::string::npos) {
      return NormalMatrices(value, 0.01);
    }
    if (value.dim() < 2 || name.starts_with("predict")) return std::nullopt;
    const auto fans = static_cast<double>(value.size(0) + value.size(1));
    return InitialValues{InitialValues::Kind::kUniform, std::sqrt(6 / fans)};
  }
  bool Draws() const override { return dropout_ > 0; }

  torch::Tensor Forward(const torch::Tensor& pairs) override {
    const torch::Tensor users = pairs.select(1, 0), items = pairs.select(1, 1);
    const torch::Tensor factors =
        torch::embedding(factor_user_, users) * torch::embedding(factor_item_, items);
    torch::Tensor x =
        torch::cat({torch::embedding(mlp_user_, users), torch::embedding(mlp_item_, items)}, 1);
    for (auto& layer : layers_) {
      x = torch::relu(layer(x));
      if (dropout_ > 0) x = Dropout(x, dropout_);
    }
    return last_(torch::cat({factors, x}, 1)).squeeze(1);
  }

 private:
  double dropout_;
  torch::Tensor factor_user_, factor_item_, mlp_user_, mlp_item_;
  std::vector<torch::nn::Linear> layers_;
  torch::nn::Linear last_{nullptr};
};

}  // namespace

std::shared_ptr<Model> MakeNcf(const ModelRequest& request, const std::string& name,
                               const OptionReader& options) {
  if (name != "ncf") return nullptr;
  return std::make_shared<Ncf>(request, options.Integer("factors", 1, 4096),
                               options.Number("dropout", 0, 0.99));
}

}  // namespace legacy

// Plain models have convolutions, pooling and fully connected layers in a row.

#include <torch/torch.h>

#include <algorithm>
#include <utility>

#include "trainer/torch/models/layered_model.h"

namespace legacy {
namespace {

struct PlainPlan {
  struct Stage {
    int channels = 0;
    int kernel = 0;
    int padding = 0;
    bool pool = true;  // 2x2 max-pooling after the ReLU
  };
  std::vector<Stage> stages;  // convolution and ReLU each
  std::vector<int> hidden;    // fully connected, ReLU each; the classifier comes after
  double dropout = 0;         // after the stages
  double hidden_dropout = 0;  // before the classifier
};

class PlainModel : public LayeredModel {
 public:
  PlainModel(const ModelRequest& request, PlainPlan plan)
      : LayeredModel(request), plan_(std::move(plan)) {
    for (const auto& stage : plan_.stages) {
      convolutions_.push_back(Conv("conv" + std::to_string(convolutions_.size() + 1),
                                   stage.channels, {stage.kernel, 1, stage.padding, true}));
      if (stage.pool) Pool(2);
    }
    for (int outputs : plan_.hidden) {
      hidden_.push_back(Linear("fc" + std::to_string(hidden_.size() + 1), outputs));
    }
    classifier_ = Linear("fc" + std::to_string(hidden_.size() + 1), request.classes);
  }

  torch::Tensor Forward(const torch::Tensor& images) override {
    torch::Tensor x = images;
    for (size_t i = 0; i < convolutions_.size(); ++i) {
      x = convolutions_[i](x).relu_();
      if (plan_.stages[i].pool) x = torch::max_pool2d(x, 2);
    }
    x = x.flatten(1);
    if (plan_.dropout > 0) x = Dropout(x, plan_.dropout);
    for (auto& layer : hidden_) x = layer(x).relu_();
    if (plan_.hidden_dropout > 0) x = Dropout(x, plan_.hidden_dropout);
    return classifier_(x);
  }

  bool Draws() const override { return plan_.dropout > 0 || plan_.hidden_dropout > 0; }

 private:
  PlainPlan plan_;
  std::vector<torch::nn::Conv2d> convolutions_;
  std::vector<torch::nn::Linear> hidden_;
  torch::nn::Linear classifier_{nullptr};
};

}  // namespace

std::shared_ptr<Model> MakePlainModel(const ModelRequest& request, const std::string& name,
                                      const OptionReader&) {
  const auto make = [&](PlainPlan plan) {
    return std::make_shared<PlainModel>(request, std::move(plan));
  };
  if (name == "logistic") return make({});
  if (name == "2nn") return make({.stages = {}, .hidden = {200, 200}});
  if (name == "small-cnn") return make({.stages = {{8, 5, 0}, {16, 5, 0}}, .hidden = {256}});
  if (name == "medium-cnn") return make({.stages = {{32, 3, 1}, {64, 3, 1}}, .hidden = {256}});
  if (name == "niid-cnn") return make({.stages = {{6, 5, 0}, {16, 5, 0}}, .hidden = {120, 84}});
  if (name == "cnn-mcmahan") return make({.stages = {{32, 5, 2}, {64, 5, 2}}, .hidden = {512}});
  if (name == "femnist-cnn") {
    return make({.stages = {{32, 3, 0, false}, {64, 3, 0}},
                 .hidden = {128},
                 .dropout = 0.25,
                 .hidden_dropout = 0.5});
  }
  if (name == "lenet5") {
    // LeCun et al. 1998 put 28x28 digits in a 32x32 frame. ReLU and max-pooling replace the
    // original's activations and pooling, as is usual today.
    const int margin = std::max(0, (32 - std::min(request.height, request.width)) / 2);
    return make({.stages = {{6, 5, margin}, {16, 5, 0}}, .hidden = {120, 84}});
  }
  return nullptr;
}

}  // namespace legacy

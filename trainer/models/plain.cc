// Plain models have convolutions, pooling and fully connected layers in a row.

#include <torch/torch.h>

#include <algorithm>

#include "trainer/models/layered_model.h"

namespace legacy {
namespace {

struct PlainPlan {
  struct Stage {
    int channels = 0;
    int kernel = 0;
    int padding = 0;
  };
  std::vector<Stage> stages;  // convolution, ReLU, 2x2 max-pooling each
  std::vector<int> hidden;    // fully connected, ReLU each; the classifier comes after
};

class PlainModel : public LayeredModel {
 public:
  PlainModel(const ModelRequest& request, const PlainPlan& plan) : LayeredModel(request) {
    for (const auto& stage : plan.stages) {
      convolutions_.push_back(Conv("conv" + std::to_string(convolutions_.size() + 1),
                                   stage.channels, {stage.kernel, 1, stage.padding, true}));
      Pool(2);
    }
    for (int outputs : plan.hidden) {
      hidden_.push_back(Linear("fc" + std::to_string(hidden_.size() + 1), outputs));
    }
    classifier_ = Linear("fc" + std::to_string(hidden_.size() + 1), request.classes);
  }

  torch::Tensor Forward(const torch::Tensor& images) override {
    torch::Tensor x = images;
    for (auto& convolution : convolutions_) x = torch::max_pool2d(convolution(x).relu_(), 2);
    x = x.flatten(1);
    for (auto& layer : hidden_) x = layer(x).relu_();
    return classifier_(x);
  }

 private:
  std::vector<torch::nn::Conv2d> convolutions_;
  std::vector<torch::nn::Linear> hidden_;
  torch::nn::Linear classifier_{nullptr};
};

}  // namespace

std::shared_ptr<Model> MakePlainModel(const ModelRequest& request, const std::string& name,
                                      const OptionReader&) {
  if (name == "small-cnn") {
    return std::make_shared<PlainModel>(request, PlainPlan{{{8, 5, 0}, {16, 5, 0}}, {256}});
  }
  if (name == "medium-cnn") {
    return std::make_shared<PlainModel>(request, PlainPlan{{{32, 3, 1}, {64, 3, 1}}, {256}});
  }
  if (name == "lenet5") {
    // LeCun et al. 1998 put 28x28 digits in a 32x32 frame. ReLU and max-pooling replace the
    // original's activations and pooling, as is usual today.
    const int margin = std::max(0, (32 - std::min(request.height, request.width)) / 2);
    return std::make_shared<PlainModel>(request,
                                        PlainPlan{{{6, 5, margin}, {16, 5, 0}}, {120, 84}});
  }
  return nullptr;
}

}  // namespace legacy

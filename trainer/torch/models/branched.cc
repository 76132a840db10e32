// Networks with parallel branches, for small images: GoogLeNet (Szegedy et al., CVPR'15) in the
// form that CIFAR trainings use, and DenseNet-121 (Huang et al., CVPR'17).
#include <torch/torch.h>

#include <array>

#include "trainer/torch/models/layered_model.h"

namespace legacy {
namespace {

// Channels of an inception block: 1x1; 1x1 then 3x3; 1x1 then two 3x3; pooling then 1x1.
struct Inception {
  int one, reduce3, three, reduce5, five, pooled;
  bool pools_before = false;
};

constexpr std::array<Inception, 9> kInceptions = {{{64, 96, 128, 16, 32, 32},
                                                   {128, 128, 192, 32, 96, 64},
                                                   {192, 96, 208, 16, 48, 64, true},
                                                   {160, 112, 224, 24, 64, 64},
                                                   {128, 128, 256, 24, 64, 64},
                                                   {112, 144, 288, 32, 64, 64},
                                                   {256, 160, 320, 32, 128, 128},
                                                   {256, 160, 320, 32, 128, 128, true},
                                                   {384, 192, 384, 48, 128, 128}}};

class GoogLeNet : public LayeredModel {
 public:
  GoogLeNet(const ModelRequest& request, int width) : LayeredModel(request) {
    const auto scaled = [&](int channels) { return std::max(1, channels * width / 64); };
    stem_ = NormedConv("pre", scaled(192), kThree);
    for (size_t i = 0; i < kInceptions.size(); ++i) {
      const Inception& plan = kInceptions[i];
      if (plan.pools_before) Pool(kHalving);
      AddBlock("inception" + std::to_string(i + 1), plan, scaled);
    }
    PoolAll();
    classifier_ = Linear("linear", request.classes);
  }

  torch::Tensor Forward(const torch::Tensor& images) override {
    torch::Tensor x = stem_(images).relu_();
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (kInceptions[i].pools_before) {
        x = torch::max_pool2d(x, kHalving.kernel, kHalving.stride, kHalving.padding);
      }
      std::vector<torch::Tensor> outputs;
      for (std::vector<ConvBn>& branch : blocks_[i]) {
        const bool last = &branch == &blocks_[i].back();
        torch::Tensor y = last ? torch::max_pool2d(x, 3, 1, 1) : x;
        for (ConvBn& layer : branch) y = layer(y).relu_();
        outputs.push_back(y);
      }
      x = torch::cat(outputs, 1);
    }
    return classifier_(x.mean({2, 3}));
  }

 private:
  static constexpr Window kThree = {.kernel = 3, .stride = 1, .padding = 1, .bias = true};
  static constexpr Window kPoint = {.kernel = 1, .stride = 1, .padding = 0, .bias = true};
  static constexpr Window kHalving = {.kernel = 3, .stride = 2, .padding = 1};

  template <class Scaled>
  void AddBlock(const std::string& name, const Inception& plan, Scaled scaled) {
    struct Layer {
      int channels;
      Window window;
    };
    const std::vector<std::vector<Layer>> branches = {
        {{plan.one, kPoint}},
        {{plan.reduce3, kPoint}, {plan.three, kThree}},
        {{plan.reduce5, kPoint}, {plan.five, kThree}, {plan.five, kThree}},
        {{plan.pooled, kPoint}}};
    auto& block = blocks_.emplace_back();
    int outputs = 0;
    for (size_t b = 0; b < branches.size(); ++b) {
      const Branch branch(*this);
      auto& layers = block.emplace_back();
      for (size_t l = 0; l < branches[b].size(); ++l) {
        layers.push_back(NormedConv(name + "_" + std::to_string(b + 1) + static_cast<char>('a' + l),
                                    scaled(branches[b][l].channels), branches[b][l].window));
      }
      outputs += channels_;
    }
    channels_ = outputs;
  }

  ConvBn stem_;
  std::vector<std::vector<std::vector<ConvBn>>> blocks_;  // [block][branch][layer]
  torch::nn::Linear classifier_{nullptr};
};

class DenseNet121 : public LayeredModel {
 public:
  DenseNet121(const ModelRequest& request, int growth) : LayeredModel(request) {
    stem_ = Conv("stem", 2 * growth, {});
    for (size_t b = 0; b < kLayers.size(); ++b) {
      const std::string name = "block" + std::to_string(b + 1);
      for (int l = 0; l < kLayers[b]; ++l) AddLayer(name + "_" + std::to_string(l + 1), growth);
      if (b + 1 == kLayers.size()) break;
      transitions_.push_back(
          {BatchNorm(name + "_bn"), Conv(name + "_conv", channels_ / 2, kPoint)});
      Pool(2);
    }
    norm_ = BatchNorm("bn");
    PoolAll();
    classifier_ = Linear("linear", request.classes);
  }

  torch::Tensor Forward(const torch::Tensor& images) override {
    torch::Tensor x = stem_(images);
    size_t next = 0;
    for (size_t b = 0; b < kLayers.size(); ++b) {
      for (int l = 0; l < kLayers[b]; ++l) {
        Layer& layer = layers_[next++];
        torch::Tensor y = layer.narrow(layer.norm1(x).relu_());
        y = layer.grow(layer.norm2(y).relu_());
        x = torch::cat({y, x}, 1);
      }
      if (b < transitions_.size()) {
        Transition& transition = transitions_[b];
        x = torch::avg_pool2d(transition.convolution(transition.norm(x).relu_()), 2);
      }
    }
    return classifier_(norm_(x).relu_().mean({2, 3}));
  }

 private:
  static constexpr std::array<int, 4> kLayers = {6, 12, 24, 16};
  static constexpr Window kPoint = {.kernel = 1, .stride = 1, .padding = 0};

  struct Layer {
    torch::nn::BatchNorm2d norm1{nullptr};
    torch::nn::Conv2d narrow{nullptr};
    torch::nn::BatchNorm2d norm2{nullptr};
    torch::nn::Conv2d grow{nullptr};
  };
  struct Transition {
    torch::nn::BatchNorm2d norm{nullptr};
    torch::nn::Conv2d convolution{nullptr};
  };

  void AddLayer(const std::string& name, int growth) {
    constexpr int kBottleneck = 4;
    const int inputs = channels_;
    Layer& layer = layers_.emplace_back();
    layer.norm1 = BatchNorm(name + "_bn1");
    layer.narrow = Conv(name + "_conv1", kBottleneck * growth, kPoint);
    layer.norm2 = BatchNorm(name + "_bn2");
    layer.grow = Conv(name + "_conv2", growth, {});
    channels_ = inputs + growth;
  }

  torch::nn::Conv2d stem_{nullptr};
  std::vector<Layer> layers_;
  std::vector<Transition> transitions_;
  torch::nn::BatchNorm2d norm_{nullptr};
  torch::nn::Linear classifier_{nullptr};
};

}  // namespace

std::shared_ptr<Model> MakeBranchedModel(const ModelRequest& request, const std::string& name,
                                         const OptionReader& options) {
  if (name == "googlenet") {
    return std::make_shared<GoogLeNet>(request,
                                       static_cast<int>(options.Integer("width", 1, 4096)));
  }
  if (name == "densenet121") {
    return std::make_shared<DenseNet121>(request,
                                         static_cast<int>(options.Integer("growth", 1, 1024)));
  }
  return nullptr;
}

}  // namespace legacy

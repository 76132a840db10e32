// Networks that stack convolutions: VGG-16 and -19 (Simonyan and Zisserman, ICLR'15) and AlexNet
// (Krizhevsky, 2014), as in torchvision, and their forms for small images: VGG with one linear
// layer, and the AlexNet of LEGACY's CIFAR-10 runs.
#include <torch/torch.h>

#include <array>

#include "base/error.h"
#include "trainer/torch/models/layered_model.h"

namespace legacy {
namespace {

constexpr double kDropout = 0.5;
constexpr int kHidden = 4096;  // of the fully connected layers, at the paper's width
constexpr int kWidth = 64;     // the paper's width

// The classifier of large images: two hidden layers, with dropout of their inputs or outputs.
struct Hidden {
  std::vector<torch::nn::Linear> layers;
  torch::nn::Linear last{nullptr};
};

// Returns images of side x side; those of 224 pixels have that size already.
torch::Tensor PooledTo(int side, const torch::Tensor& x) {
  if (x.size(2) == side && x.size(3) == side) return x;
  return torch::adaptive_avg_pool2d(x, {side, side});
}

class Vgg : public LayeredModel {
 public:
  Vgg(const ModelRequest& request, const std::array<int, 5>& stages, int width, bool normalises)
      : LayeredModel(request), small_(IsSmall(request)) {
    constexpr int kMostWidening = 3;  // the width doubles three times
    for (size_t s = 0; s < stages.size(); ++s) {
      const int channels = width << std::min<int>(static_cast<int>(s), kMostWidening);
      auto& stage = stages_.emplace_back();
      for (int l = 0; l < stages[s]; ++l) {
        const std::string name = "stage" + std::to_string(s + 1) + "_" + std::to_string(l + 1);
        if (normalises) {
          stage.push_back(NormedConv(name, channels, kThree));
        } else {
          stage.push_back({Conv(name + "_conv", channels, kThree), nullptr});
        }
      }
      Pool(2);
    }
    if (small_) {
      PoolAll();
    } else {
      height_ = width_ = kPooled;
      for (int l = 0; l < 2; ++l) {
        hidden_.layers.push_back(Linear("fc" + std::to_string(l + 1), kHidden * width / kWidth));
      }
    }
    hidden_.last = Linear("classifier", request.classes);
  }

  bool Draws() const override { return !small_; }

  torch::Tensor Forward(const torch::Tensor& images) override {
    torch::Tensor x = images;
    for (auto& stage : stages_) {
      for (ConvBn& layer : stage) x = layer(x).relu_();
      x = torch::max_pool2d(x, 2);
    }
    if (small_) return hidden_.last(x.mean({2, 3}));
    x = PooledTo(kPooled, x).flatten(1);
    for (auto& layer : hidden_.layers) x = Dropout(layer(x).relu_(), kDropout);
    return hidden_.last(x);
  }

 private:
  static constexpr Window kThree = {.kernel = 3, .stride = 1, .padding = 1, .bias = true};
  static constexpr int kPooled = 7;

  bool small_;
  std::vector<std::vector<ConvBn>> stages_;
  Hidden hidden_;
};

class AlexNet : public LayeredModel {
 public:
  AlexNet(const ModelRequest& request, int width) : LayeredModel(request) {
    for (size_t l = 0; l < kLayers.size(); ++l) {
      convolutions_.push_back(Conv("conv" + std::to_string(l + 1),
                                   std::max(1, kLayers[l].channels * width / kWidth),
                                   kLayers[l].window));
      if (kLayers[l].pools) Pool(kPool);
    }
    height_ = width_ = kPooled;
    for (int l = 0; l < 2; ++l) {
      hidden_.layers.push_back(
          Linear("fc" + std::to_string(l + 1), std::max(1, kHidden * width / kWidth)));
    }
    hidden_.last = Linear("classifier", request.classes);
  }

  bool Draws() const override { return true; }

  torch::Tensor Forward(const torch::Tensor& images) override {
    torch::Tensor x = images;
    for (size_t l = 0; l < kLayers.size(); ++l) {
      x = convolutions_[l](x).relu_();
      if (kLayers[l].pools) x = torch::max_pool2d(x, kPool.kernel, kPool.stride);
    }
    x = PooledTo(kPooled, x).flatten(1);
    for (auto& layer : hidden_.layers) x = layer(Dropout(x, kDropout)).relu_();
    return hidden_.last(x);
  }

 private:
  struct Layer {
    int channels;
    Window window;
    bool pools;
  };
  static constexpr std::array<Layer, 5> kLayers = {{{64, {11, 4, 2, true}, true},
                                                    {192, {5, 1, 2, true}, true},
                                                    {384, {3, 1, 1, true}, false},
                                                    {256, {3, 1, 1, true}, false},
                                                    {256, {3, 1, 1, true}, true}}};
  static constexpr Window kPool = {.kernel = 3, .stride = 2, .padding = 0};
  static constexpr int kPooled = 6;

  std::vector<torch::nn::Conv2d> convolutions_;
  Hidden hidden_;
};

// 3x3 convolutions with batch norm and without bias, and logits times 1/8 as in ResNet-9.
class SmallAlexNet : public LayeredModel {
 public:
  SmallAlexNet(const ModelRequest& request, int width) : LayeredModel(request) {
    for (size_t l = 0; l < kChannels.size(); ++l) {
      layers_.push_back(NormedConv("layer" + std::to_string(l + 1),
                                   std::max(1, kChannels[l] * width / kWidth), {}));
      if (kPools[l]) Pool(2);
    }
    PoolAll();
    classifier_ = Linear("classifier", request.classes, false);
  }

  torch::Tensor Forward(const torch::Tensor& images) override {
    constexpr double kLogitScale = 0.125;
    torch::Tensor x = images;
    for (size_t l = 0; l < layers_.size(); ++l) {
      x = layers_[l](x).relu_();
      if (kPools[l]) x = torch::max_pool2d(x, 2);
    }
    return classifier_(x.amax({2, 3})) * kLogitScale;
  }

 private:
  static constexpr std::array<int, 5> kChannels = {64, 192, 384, 256, 256};
  static constexpr std::array<bool, 5> kPools = {true, true, false, false, true};

  std::vector<ConvBn> layers_;
  torch::nn::Linear classifier_{nullptr};
};

}  // namespace

std::shared_ptr<Model> MakeStackedModel(const ModelRequest& request, const std::string& name,
                                        const OptionReader& options) {
  const auto width = [&] { return static_cast<int>(options.Integer("width", 1, 4096)); };
  if (name == "vgg16" || name == "vgg19") {
    const std::array<int, 5> stages =
        name == "vgg16" ? std::array<int, 5>{2, 2, 3, 3, 3} : std::array<int, 5>{2, 2, 4, 4, 4};
    constexpr std::array<std::string_view, 3> kChoices = {"auto", "on", "off"};
    const size_t choice = options.Choice("batchnorm", kChoices);
    return std::make_shared<Vgg>(request, stages, width(),
                                 choice == 0 ? IsSmall(request) : choice == 1);
  }
  if (name != "alexnet") return nullptr;
  if (IsSmall(request)) return std::make_shared<SmallAlexNet>(request, width());
  return std::make_shared<AlexNet>(request, width());
}

}  // namespace legacy

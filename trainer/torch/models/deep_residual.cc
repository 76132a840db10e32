// Deep residual networks: ResNet-18, -50 and -101 (He et al., CVPR'16), with names and sizes of
// torchvision, and the pre-activation SENet-18 (He et al., ECCV'16; Hu et al., CVPR'18). Small
// images take a 3x3 stem without pooling.
#include <torch/torch.h>

#include <array>

#include "trainer/torch/models/layered_model.h"

namespace legacy {
namespace {

constexpr int kStages = 4;

struct DeepPlan {
  std::array<int, kStages> blocks;
  bool bottleneck = false;  // 1x1, 3x3, 1x1 with an expansion by 4 instead of two 3x3
  int width = 64;
};

class DeepResidual : public LayeredModel {
 public:
  DeepResidual(const ModelRequest& request, const DeepPlan& plan)
      : LayeredModel(request), small_(IsSmall(request)) {
    stem_ = small_ ? NormedConv("stem", plan.width, {})
                   : NormedConv("stem", plan.width, {.kernel = 7, .stride = 2, .padding = 3});
    if (!small_) Pool(kStemPool);
    for (int stage = 0; stage < kStages; ++stage) {
      for (int block = 0; block < plan.blocks[stage]; ++block) {
        AddBlock("layer" + std::to_string(stage + 1) + "_" + std::to_string(block),
                 plan.width << stage, stage > 0 && block == 0 ? 2 : 1, plan.bottleneck);
      }
    }
    PoolAll();
    classifier_ = Linear("fc", request.classes);
  }

  torch::Tensor Forward(const torch::Tensor& images) override {
    torch::Tensor x = stem_(images).relu_();
    if (!small_) x = torch::max_pool2d(x, kStemPool.kernel, kStemPool.stride, kStemPool.padding);
    for (Block& block : blocks_) {
      torch::Tensor y = x;
      for (size_t i = 0; i < block.layers.size(); ++i) {
        y = block.layers[i](y);
        if (i + 1 < block.layers.size()) y.relu_();
      }
      x = (y + (block.shortcut.convolution ? block.shortcut(x) : x)).relu_();
    }
    return classifier_(x.mean({2, 3}));
  }

 private:
  static constexpr Window kStemPool = {.kernel = 3, .stride = 2, .padding = 1};

  struct Block {
    std::vector<ConvBn> layers;
    ConvBn shortcut;  // null if the block's input has the shape of its output
  };

  void AddBlock(const std::string& name, int width, int stride, bool bottleneck) {
    constexpr int kExpansion = 4;
    constexpr Window kPoint = {.kernel = 1, .stride = 1, .padding = 0};
    const int outputs = bottleneck ? kExpansion * width : width;
    const bool projects = stride != 1 || channels_ != outputs;
    Block& block = blocks_.emplace_back();
    const auto main = [&] {
      if (bottleneck) {
        block.layers = {NormedConv(name + "_1", width, kPoint),
                        NormedConv(name + "_2", width, {.stride = stride}),
                        NormedConv(name + "_3", outputs, kPoint)};
      } else {
        block.layers = {NormedConv(name + "_1", outputs, {.stride = stride}),
                        NormedConv(name + "_2", outputs, {})};
      }
    };
    if (!projects) return main();
    {
      const Branch branch(*this);
      main();
    }
    block.shortcut =
        NormedConv(name + "_shortcut", outputs, {.kernel = 1, .stride = stride, .padding = 0});
  }

  bool small_;
  ConvBn stem_;
  std::vector<Block> blocks_;
  torch::nn::Linear classifier_{nullptr};
};

// SeNet18 normalises before each convolution, and scales channels by a gate of their means.
class SeNet18 : public LayeredModel {
 public:
  SeNet18(const ModelRequest& request, int width) : LayeredModel(request) {
    stem_ = NormedConv("stem", width, {});
    for (int stage = 0; stage < kStages; ++stage) {
      for (int block = 0; block < 2; ++block) {
        AddBlock("layer" + std::to_string(stage + 1) + "_" + std::to_string(block), width << stage,
                 stage > 0 && block == 0 ? 2 : 1);
      }
    }
    PoolAll();
    classifier_ = Linear("fc", request.classes);
  }

  torch::Tensor Forward(const torch::Tensor& images) override {
    torch::Tensor x = stem_(images).relu_();
    for (Block& block : blocks_) {
      const torch::Tensor active = block.norm1(x).relu_();
      torch::Tensor y = block.conv1(active);
      y = block.conv2(block.norm2(y).relu_());
      const torch::Tensor means = y.mean({2, 3}, true);
      const torch::Tensor gate = block.expand(block.squeeze(means).relu_()).sigmoid();
      x = y * gate + (block.shortcut ? block.shortcut(active) : x);
    }
    return classifier_(x.mean({2, 3}));
  }

 private:
  struct Block {
    torch::nn::BatchNorm2d norm1{nullptr};
    torch::nn::Conv2d conv1{nullptr};
    torch::nn::BatchNorm2d norm2{nullptr};
    torch::nn::Conv2d conv2{nullptr};
    torch::nn::Conv2d squeeze{nullptr};
    torch::nn::Conv2d expand{nullptr};
    torch::nn::Conv2d shortcut{nullptr};  // null if the block keeps the shape
  };

  void AddBlock(const std::string& name, int outputs, int stride) {
    constexpr int kReduction = 16;
    constexpr Window kPoint = {.kernel = 1, .stride = 1, .padding = 0, .bias = true};
    const bool projects = stride != 1 || channels_ != outputs;
    Block& block = blocks_.emplace_back();
    block.norm1 = BatchNorm(name + "_bn1");
    const int inputs = channels_, height = height_, width = width_;
    block.conv1 = Conv(name + "_conv1", outputs, {.stride = stride});
    block.norm2 = BatchNorm(name + "_bn2");
    block.conv2 = Conv(name + "_conv2", outputs, {});
    {
      const Branch branch(*this);
      PoolAll();
      block.squeeze = Conv(name + "_squeeze", std::max(1, outputs / kReduction), kPoint);
      block.expand = Conv(name + "_expand", outputs, kPoint);
    }
    if (!projects) return;
    std::tie(channels_, height_, width_) = std::tie(inputs, height, width);
    block.shortcut =
        Conv(name + "_shortcut", outputs, {.kernel = 1, .stride = stride, .padding = 0});
  }

  ConvBn stem_;
  std::vector<Block> blocks_;
  torch::nn::Linear classifier_{nullptr};
};

}  // namespace

std::shared_ptr<Model> MakeDeepResidualModel(const ModelRequest& request, const std::string& name,
                                             const OptionReader& options) {
  const auto width = [&] { return static_cast<int>(options.Integer("width", 1, 4096)); };
  if (name == "resnet18") {
    return std::make_shared<DeepResidual>(request, DeepPlan{{2, 2, 2, 2}, false, width()});
  }
  if (name == "resnet50") {
    return std::make_shared<DeepResidual>(request, DeepPlan{{3, 4, 6, 3}, true, width()});
  }
  if (name == "resnet101") {
    return std::make_shared<DeepResidual>(request, DeepPlan{{3, 4, 23, 3}, true, width()});
  }
  if (name == "senet18") return std::make_shared<SeNet18>(request, width());
  return nullptr;
}

}  // namespace legacy

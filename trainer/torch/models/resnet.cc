// Residual networks for small images: ResNet-20 (He et al., CVPR'16, section 4.2), a cheap form of
// it that works on patches, and the ResNet-9 of the DAWNBench entry by Page (2018).
#include "trainer/torch/models/layered_model.h"

namespace legacy {
namespace {

// ResNet9 has, at width 64, the layers conv 64; conv 128 + pool, residual 128; conv 256 + pool;
// conv 512 + pool, residual 512; pool, linear without bias, logits times 1/8.
class ResNet9 : public LayeredModel {
 public:
  ResNet9(const ModelRequest& request, int width) : LayeredModel(request) {
    prepare_ = ConvRelu("prep", width, false);
    layer1_ = ConvRelu("layer1", 2 * width, true);
    AddResidual("layer1", 2 * width, residual1_);
    layer2_ = ConvRelu("layer2", 4 * width, true);
    layer3_ = ConvRelu("layer3", 8 * width, true);
    AddResidual("layer3", 8 * width, residual3_);
    PoolAll();
    classifier_ = Linear("classifier", request.classes, false);
  }

  torch::Tensor Forward(const torch::Tensor& images) override {
    torch::Tensor x = prepare_(images).relu_();
    x = torch::max_pool2d(layer1_(x).relu_(), 2);
    x = x + residual1_[1](residual1_[0](x).relu_()).relu_();
    x = torch::max_pool2d(layer2_(x).relu_(), 2);
    x = torch::max_pool2d(layer3_(x).relu_(), 2);
    x = x + residual3_[1](residual3_[0](x).relu_()).relu_();
    x = x.amax({2, 3});
    return classifier_(x) * kLogitScale;
  }

 private:
  static constexpr double kLogitScale = 0.125;

  ConvBn ConvRelu(const std::string& name, int outputs, bool pool) {
    ConvBn unit = NormedConv(name, outputs, {});
    if (pool) Pool(2);
    return unit;
  }

  void AddResidual(const std::string& name, int outputs, ConvBn (&residual)[2]) {
    residual[0] = ConvRelu(name + "_res1", outputs, false);
    residual[1] = ConvRelu(name + "_res2", outputs, false);
  }

  ConvBn prepare_, layer1_, layer2_, layer3_;
  ConvBn residual1_[2], residual3_[2];
  torch::nn::Linear classifier_{nullptr};
};

// ResNet20 has 6n + 2 layers with n = 3 and widths 16, 32, 64, or other multiples of the first.
class ResNet20 : public LayeredModel {
 public:
  enum class Kind : uint8_t {
    // Shortcuts have no parameters (option A: every second pixel, new channels are zero).
    kPaper,
    // The stem turns each patch of 4x4 pixels into one pixel, which divides the work by sixteen.
    // Shortcuts that change the shape are projections (option B); there are 65 parameter tensors.
    kPatches,
  };

  ResNet20(const ModelRequest& request, Kind kind, int width) : LayeredModel(request), kind_(kind) {
    if (kind == Kind::kPatches) {
      first_ = NormedConv("first", width, {.kernel = 4, .stride = 4, .padding = 0});
    } else {
      first_ = NormedConv("first", width, {});
    }
    for (int stage = 0; stage < 3; ++stage) {
      for (int block = 0; block < 3; ++block) {
        const std::string name =
            "stage" + std::to_string(stage + 1) + "_block" + std::to_string(block + 1);
        blocks_.push_back(MakeBlock(name, width << stage, stage > 0 && block == 0 ? 2 : 1));
      }
    }
    PoolAll();
    classifier_ = Linear("classifier", request.classes);
  }

  torch::Tensor Forward(const torch::Tensor& images) override {
    torch::Tensor x = first_(images).relu_();
    for (auto& block : blocks_) {
      const torch::Tensor shortcut = block.projection.norm ? block.projection(x) : x;
      const torch::Tensor y = block.second(block.first(x).relu_());
      x = Joined(y, shortcut).relu_();
    }
    return classifier_(x.mean({2, 3}));
  }

 private:
  struct Block {
    ConvBn projection;  // null if the shortcut has no parameters
    ConvBn first;
    ConvBn second;
  };

  Block MakeBlock(const std::string& name, int outputs, int stride) {
    Block block;
    if (kind_ == Kind::kPatches && outputs != channels_) {
      const Branch branch(*this);
      block.projection =
          NormedConv(name + "_shortcut", outputs, {.kernel = 1, .stride = stride, .padding = 0});
    }
    block.first = NormedConv(name + "_a", outputs, {.stride = stride});
    block.second = NormedConv(name + "_b", outputs, {});
    return block;
  }

  // Returns the sum of `y` and `x`. If `y` has more channels, `x` is added to those in the middle.
  static torch::Tensor Joined(const torch::Tensor& y, const torch::Tensor& x) {
    const int64_t added = y.size(1) - x.size(1);
    if (added == 0) return y + x;
    y.narrow(1, added / 2, x.size(1)) += x.slice(2, 0, x.size(2), 2).slice(3, 0, x.size(3), 2);
    return y;
  }

  Kind kind_;
  ConvBn first_;
  std::vector<Block> blocks_;
  torch::nn::Linear classifier_{nullptr};
};

}  // namespace

std::shared_ptr<Model> MakeResidualModel(const ModelRequest& request, const std::string& name,
                                         const OptionReader& options) {
  using Kind = ResNet20::Kind;
  const auto width = [&] { return static_cast<int>(options.Integer("width", 1, 4096)); };
  if (name == "resnet9") return std::make_shared<ResNet9>(request, width());
  if (name == "resnet20") return std::make_shared<ResNet20>(request, Kind::kPaper, width());
  if (name == "patch-resnet20") {
    return std::make_shared<ResNet20>(request, Kind::kPatches, width());
  }
  return nullptr;
}

}  // namespace legacy

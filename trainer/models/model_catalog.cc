#include "trainer/models/model_catalog.h"

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace legacy {
namespace {

constexpr const char* kHe =
    "He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition, CVPR 2016";
constexpr const char* kVgg =
    "Simonyan, Zisserman: Very Deep Convolutional Networks for Large-Scale Image Recognition, ICLR "
    "2015";
constexpr const char* kVit =
    "Dosovitskiy et al.: An Image is Worth 16x16 Words, ICLR 2021; sizes of DeiT (Touvron et al., "
    "ICML 2021)";

OptionSpec Width(const char* fallback, const char* help) {
  return {"width", fallback, "1 to 4096", help};
}

std::vector<OptionSpec> TransformerOptions(const char* width, const char* heads) {
  return {{"patch", "16", "1 to 256", "side of a patch in pixels"},
          Width(width, "numbers of a token"),
          {"depth", "12", "1 to 128", "blocks"},
          {"heads", heads, "1 to 256", "heads of attention, which divide the width"}};
}

const std::vector<MethodInfo>& Rows() {
  static const std::vector<MethodInfo> rows = {
      {"small-cnn", "two convolutions 5x5 (8, 16 channels), a hidden layer of 256", ""},
      {"medium-cnn", "two convolutions 3x3 (32, 64 channels), a hidden layer of 256", ""},
      {"lenet5", "LeNet-5 with ReLU and max-pooling",
       "LeCun et al.: Gradient-Based Learning Applied to Document Recognition, Proc. IEEE 1998"},
      {"resnet9", "the ResNet-9 of a DAWNBench entry, for 32x32 images",
       "Page: How to Train Your ResNet, 2018"},
      {"resnet20", "ResNet-20 for CIFAR, shortcuts without parameters", kHe},
      {"patch-resnet20", "ResNet-20 on patches of 4x4 pixels, a sixteenth of the work", kHe},
      {"resnet18",
       "ResNet-18; below 64 pixels with a 3x3 stem and no first pooling",
       kHe,
       {Width("64", "channels of the first stage")}},
      {"resnet50",
       "ResNet-50, stride in the 3x3 convolutions; small images as resnet18",
       kHe,
       {Width("64", "channels of the first stage, before the expansion by 4")}},
      {"resnet101",
       "ResNet-101, as resnet50",
       kHe,
       {Width("64", "channels of the first stage, before the expansion by 4")}},
      {"senet18",
       "pre-activation ResNet-18 with squeeze and excitation (reduction 16)",
       "Hu, Shen, Sun: Squeeze-and-Excitation Networks, CVPR 2018",
       {Width("64", "channels of the first stage")}},
      {"googlenet",
       "GoogLeNet for small images: batch norm, two 3x3 in the place of 5x5",
       "Szegedy et al.: Going Deeper with Convolutions, CVPR 2015",
       {Width("64", "64: the paper's channels, which are multiplied by width / 64")}},
      {"densenet121",
       "DenseNet-121 for small images",
       "Huang et al.: Densely Connected Convolutional Networks, CVPR 2017",
       {{"growth", "32", "1 to 1024", "channels that each layer adds"}}},
      {"vgg16",
       "VGG-16; below 64 pixels with batch norm and one linear layer",
       kVgg,
       {Width("64", "channels of the first stage"),
        {"batchnorm", "auto", "auto, on, off", "auto: on below 64 pixels"}}},
      {"vgg19",
       "VGG-19, as vgg16",
       kVgg,
       {Width("64", "channels of the first stage"),
        {"batchnorm", "auto", "auto, on, off", "auto: on below 64 pixels"}}},
      {"alexnet",
       "AlexNet as torchvision has it; below 64 pixels a small form with batch norm",
       "Krizhevsky: One Weird Trick for Parallelizing Convolutional Neural Networks, 2014",
       {Width("64", "channels of the first layer")}},
      {"vit-small", "vision transformer of 12 blocks, 384 wide, 6 heads", kVit,
       TransformerOptions("384", "6")},
      {"vit-base", "vision transformer of 12 blocks, 768 wide, 12 heads", kVit,
       TransformerOptions("768", "12")},
  };
  return rows;
}

}  // namespace

std::span<const MethodInfo> ModelCatalog() { return Rows(); }

const MethodInfo& ModelInfo(const std::string& name, const std::string& key) {
  std::vector<std::string> known;
  for (const MethodInfo& row : Rows()) {
    if (row.name == name) return row;
    known.push_back(row.name);
  }
  ThrowUnknown(key, name, known);
}

Stage ParseModel(const std::string& text, const std::string& key) {
  const std::vector<Stage> stages = ParseStages(text);
  if (stages.size() != 1) throw Error(key, text, "one model, as in resnet18:width=16");
  const OptionReader check(stages.front(), ModelInfo(stages.front().name, key).options);
  return stages.front();
}

std::string ModelList() {
  std::string list;
  for (const MethodInfo& row : Rows()) {
    list += row.name + ": " + row.help + "\n";
    if (!row.paper.empty()) list += "    " + row.paper + "\n";
    for (const OptionSpec& option : row.options) {
      list += "    " + option.name + "=" + option.fallback + "  (" + option.allowed + ") " +
              option.help + "\n";
    }
  }
  return list;
}

}  // namespace legacy

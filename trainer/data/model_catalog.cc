#include "trainer/data/model_catalog.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"
#include "base/programs/program.h"

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

OptionSpec Dropout(const char* fallback) {
  return {"dropout", fallback, "0 to 0.99", "part of the numbers that training drops"};
}

std::vector<OptionSpec> TransformerOptions(const char* width, const char* heads) {
  return {{"patch", "16", "1 to 256", "side of a patch in pixels"},
          Width(width, "numbers of a token"),
          {"depth", "12", "1 to 128", "blocks"},
          {"heads", heads, "1 to 256", "heads of attention, which divide the width"}};
}

std::vector<OptionSpec> GptOptions(const char* layers, const char* width, const char* heads,
                                   const char* context) {
  return {{"layers", layers, "1 to 128", "blocks"},
          {"width", width, "1 to 16384", "numbers of a token"},
          {"heads", heads, "1 to 256", "heads of attention, which divide the width"},
          {"context", context, "1 to 65536", "positions, at least the tokens of a window"},
          {"tied", "on", "on, off", "on: the decoder has the embedding's weights, and no bias"},
          Dropout("0")};
}

const std::vector<MethodInfo>& ImageModels() {
  static const std::vector<MethodInfo> rows = {
      {"small-cnn", "two convolutions 5x5 (8, 16 channels), a hidden layer of 256", ""},
      {"medium-cnn", "two convolutions 3x3 (32, 64 channels), a hidden layer of 256", ""},
      {"lenet5", "LeNet-5 with ReLU and max-pooling",
       "LeCun et al.: Gradient-Based Learning Applied to Document Recognition, Proc. IEEE 1998"},
      {"logistic", "logistic regression", ""},
      {"2nn", "two hidden layers of 200",
       "McMahan et al.: Communication-Efficient Learning of Deep Networks, AISTATS 2017"},
      {"niid-cnn", "LeNet-5 without padding, as federated benchmarks have it",
       "Li et al.: Federated Learning on Non-IID Data Silos, ICDE 2022"},
      {"cnn-mcmahan", "two convolutions 5x5 (32, 64 channels), a hidden layer of 512",
       "McMahan et al.: Communication-Efficient Learning of Deep Networks, AISTATS 2017"},
      {"femnist-cnn", "two convolutions 3x3 (32, 64 channels), a hidden layer of 128, dropout",
       "Reddi et al.: Adaptive Federated Optimization, ICLR 2021"},
      {"resnet9",
       "the ResNet-9 of a DAWNBench entry, for 32x32 images",
       "Page: How to Train Your ResNet, 2018",
       {Width("64", "channels of the first layer")}},
      {"resnet20",
       "ResNet-20 for CIFAR, shortcuts without parameters",
       kHe,
       {Width("16", "channels of the first stage")}},
      {"patch-resnet20",
       "ResNet-20 on patches of 4x4 pixels, a sixteenth of the work",
       kHe,
       {Width("16", "channels of the first stage")}},
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

const std::vector<MethodInfo>& TokenModels() {
  constexpr const char* kGpt =
      "Radford et al.: Language Models are Unsupervised Multitask Learners, 2019";
  static const std::vector<MethodInfo> rows = {
      {"lstm",
       "embedding, LSTM layers, decoder; the state continues from window to window",
       "Zaremba, Sutskever, Vinyals: Recurrent Neural Network Regularization, 2014; tied: Press, "
       "Wolf, EACL 2017",
       {{"hidden", "1500", "1 to 16384", "numbers of a layer, and of a word"},
        {"layers", "2", "1 to 64", "layers"},
        {"tied", "off", "on, off", "on: the decoder has the embedding's weights"},
        Dropout("0.5")}},
      {"gpt2-small", "GPT-2 of 12 blocks, 768 wide, 12 heads", kGpt,
       GptOptions("12", "768", "12", "1024")},
      {"gpt-tiny", "GPT-2 of 4 blocks, 128 wide, 4 heads", kGpt,
       GptOptions("4", "128", "4", "128")},
      {"transformer-xl",
       "Transformer-XL base: 16 layers over a memory of the windows before",
       "Dai et al.: Transformer-XL, ACL 2019",
       {{"layers", "16", "1 to 128", "layers"},
        {"width", "512", "even, to 16384", "numbers of a token"},
        {"heads", "8", "1 to 256", "heads of attention, which divide the width"},
        {"inner", "2048", "1 to 65536", "numbers of the hidden layer"},
        {"memory", "192", "0 to 65536", "tokens before a window that it attends to"},
        {"cutoffs", "auto", "auto, none, 2000/10000 ...",
         "first words of the adaptive softmax's clusters; auto: those of WikiText-103 for more "
         "than 200000 words, else none"},
        Dropout("0.1")}},
  };
  return rows;
}

const std::vector<MethodInfo>& PairModels() {
  static const std::vector<MethodInfo> rows = {
      {"ncf",
       "NeuMF: factors of users and items, beside a perceptron",
       "He et al.: Neural Collaborative Filtering, WWW 2017",
       {{"factors", "64", "1 to 4096", "factors; the perceptron has 4, 4, 2 and 1 times as many"},
        Dropout("0.5")}},
  };
  return rows;
}

const std::vector<ModelRow>& ModelRows() {
  static const std::vector<ModelRow> rows = [] {
    using Input = ModelRow::Input;
    std::vector<ModelRow> all;
    for (const MethodInfo& info : ImageModels()) all.push_back({Input::kImages, info});
    for (const MethodInfo& info : TokenModels()) all.push_back({Input::kTokens, info});
    for (const MethodInfo& info : PairModels()) all.push_back({Input::kPairs, info});
    return all;
  }();
  return rows;
}

ModelRow::Input InputOf(TaskKind task) {
  switch (task) {
    case TaskKind::kClassification:
      return ModelRow::Input::kImages;
    case TaskKind::kLanguageModelling:
    case TaskKind::kCharacterModelling:
      return ModelRow::Input::kTokens;
    case TaskKind::kRecommendation:
      return ModelRow::Input::kPairs;
  }
  return ModelRow::Input::kImages;
}

}  // namespace

std::span<const ModelRow> ModelCatalog() { return ModelRows(); }

const ModelRow& FindModel(const std::string& name, const std::string& key) {
  std::vector<std::string> known;
  for (const ModelRow& row : ModelRows()) {
    if (row.info.name == name) return row;
    known.push_back(row.info.name);
  }
  throw NotAmong(key, name, known, CommandOf("legacy-scenario") + " --model=list");
}

void CheckTakes(const ModelRow& row, TaskKind task, const std::string& key) {
  if (row.input == InputOf(task)) return;
  std::string fit;
  for (const ModelRow& other : ModelRows()) {
    if (other.input == InputOf(task)) fit += (fit.empty() ? "" : ", ") + other.info.name;
  }
  throw Error(key, row.info.name, "a model for " + InfoOf(task).name + ": " + fit);
}

bool IsModelFile(const std::string& text) { return text.ends_with(".pt"); }

void CheckModel(const std::string& text, TaskKind task, const std::string& key) {
  if (!IsModelFile(text)) return CheckTakes(FindModel(ParseModel(text, key).name, key), task, key);
  if (!std::filesystem::is_regular_file(text)) {
    throw Error(key, text, "a TorchScript file that is there");
  }
}

Stage ParseModel(const std::string& text, const std::string& key) {
  const std::vector<Stage> stages = ParseStages(text);
  if (stages.size() != 1) throw Error(key, text, "one model, as in resnet18:width=16");
  const OptionReader check(stages.front(), FindModel(stages.front().name, key).info.options);
  return stages.front();
}

std::string ModelList() {
  constexpr const char* kHeadings[] = {"models of images", "models of text", "models of ratings"};
  std::string list;
  const ModelRow* before = nullptr;
  for (const ModelRow& row : ModelRows()) {
    if (!before || before->input != row.input) {
      list += std::string(before ? "\n" : "") + kHeadings[static_cast<int>(row.input)] + "\n\n";
    }
    before = &row;
    list += row.info.name + ": " + row.info.help + "\n";
    if (!row.info.paper.empty()) list += "    " + row.info.paper + "\n";
    for (const OptionSpec& option : row.info.options) {
      list += "    " + option.name + "=" + option.fallback + "  (" + option.allowed + ") " +
              option.help + "\n";
    }
  }
  return list;
}

}  // namespace legacy

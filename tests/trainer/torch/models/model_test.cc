#include "trainer/torch/models/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <map>
#include <thread>

#include "base/error.h"

namespace legacy::model_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

ModelRequest Grey(const std::string& name) { return {.name = name}; }
ModelRequest Cifar(const std::string& name) {
  return {.name = name, .channels = 3, .height = 32, .width = 32};
}

int64_t Elements(const Model& model) {
  int64_t elements = 0;
  for (const auto& parameter : model.parameters()) elements += parameter.numel();
  return elements;
}

void ExpectCounts(const ModelRequest& request, int64_t elements, size_t tensors) {
  SCOPED_TRACE(request.name);
  const std::vector<Unit> layers = LayersOf(request);
  EXPECT_EQ(layers.back().offset + layers.back().numel, elements);
  EXPECT_EQ(layers.size(), tensors);
}

// Returns the multiply-adds of convolutions and fully connected layers, for one sample.
double MultiplyAdds(const ModelRequest& request) {
  double flops = 0;
  for (const auto& cost : CostsOf(request)) flops += cost.forward_flops;
  return flops / 2;
}

struct KnownModel {
  const char* name;
  int channels;
  int side;
  int classes;
  int64_t elements;
  size_t tensors;
  double multiply_adds;  // published, in 10^9; 0: none
};

// Counts of the papers' public code, and published multiply-adds of an image.
TEST(ModelTest, SizesAndCostsAreTheKnownOnes) {
  const KnownModel known[] = {{"small-cnn", 1, 28, 10, 71'786, 8, 0},
                              {"medium-cnn", 1, 28, 10, 824'458, 8, 0},
                              {"lenet5", 1, 28, 10, 61'706, 10, 0},
                              {"logistic", 1, 28, 10, 7'850, 2, 0},
                              {"2nn", 1, 28, 10, 199'210, 6, 0},
                              {"niid-cnn", 1, 28, 10, 44'426, 10, 0},
                              {"niid-cnn", 3, 32, 10, 62'006, 10, 0},
                              {"cnn-mcmahan", 1, 28, 10, 1'663'370, 8, 0},
                              {"femnist-cnn", 1, 28, 10, 1'199'882, 8, 0},
                              {"femnist-cnn", 1, 28, 62, 1'206'590, 8, 0},
                              {"resnet9", 3, 32, 10, 6'573'120, 25, 0},
                              {"resnet20", 3, 32, 10, 269'722, 59, 0.0406},
                              {"patch-resnet20", 3, 32, 10, 272'810, 65, 0},
                              {"resnet18:width=16", 3, 32, 10, 701'466, 62, 0},
                              {"resnet18", 3, 32, 10, 11'173'962, 62, 0.56},
                              {"resnet18", 3, 32, 100, 11'220'132, 62, 0.56},
                              {"resnet50", 3, 224, 1000, 25'557'032, 161, 4.09},
                              {"resnet101", 3, 224, 1000, 44'549'160, 314, 7.80},
                              {"senet18", 3, 32, 10, 11'260'354, 88, 0},
                              {"googlenet", 3, 32, 10, 6'166'250, 258, 0},
                              {"densenet121", 3, 32, 10, 6'956'298, 362, 0},
                              {"vgg16", 3, 32, 10, 14'728'266, 54, 0},
                              {"vgg19", 3, 32, 10, 20'040'522, 66, 0},
                              {"vgg16", 3, 224, 1000, 138'357'544, 32, 15.47},
                              {"vgg16:batchnorm=on", 3, 224, 1000, 138'365'992, 58, 15.47},
                              {"alexnet", 3, 32, 10, 2'255'296, 16, 0},
                              {"alexnet", 3, 224, 1000, 61'100'840, 16, 0.71},
                              {"vit-small", 3, 224, 1000, 22'050'664, 152, 0},
                              {"vit-base", 3, 224, 1000, 86'567'656, 152, 0}};
  for (const KnownModel& one : known) {
    SCOPED_TRACE(one.name);
    const ModelRequest request = {.name = one.name,
                                  .channels = one.channels,
                                  .height = one.side,
                                  .width = one.side,
                                  .classes = one.classes};
    ExpectCounts(request, one.elements, one.tensors);
    if (one.multiply_adds > 0) {
      EXPECT_NEAR(MultiplyAdds(request) / 1e9, one.multiply_adds, 0.02 * one.multiply_adds);
    }
  }
}

// A smaller model has as many tensors.
TEST(ModelTest, WidthsKeepTheStructure) {
  for (const std::string name :
       {"resnet9", "resnet18", "senet18", "googlenet", "vgg16", "alexnet"}) {
    const auto whole = MakeModel(Cifar(name));
    const auto narrow = MakeModel(Cifar(name + ":width=16"));
    EXPECT_EQ(narrow->parameters().size(), whole->parameters().size()) << name;
    EXPECT_LT(10 * Elements(*narrow), Elements(*whole)) << name;
  }
}

TEST(ModelTest, CostsAreTheKnownOnes) {
  EXPECT_EQ(MultiplyAdds(Grey("small-cnn")), 115200 + 204800 + 65536 + 2560);
  EXPECT_EQ(MultiplyAdds(Grey("lenet5")), 117600 + 240000 + 48000 + 10080 + 840);
  EXPECT_EQ(MultiplyAdds(Cifar("resnet20")), 40551040);  // "40.55 M"
}

TEST(ModelTest, ResNet9HasThePublishedShareOfSmallTensors) {
  const auto layers = LayersOf(*MakeModel(Cifar("resnet9")));
  EXPECT_EQ(layers.size(), 25u);
  double small = 0;
  for (const auto& layer : layers)
    small += layer.numel < 10000 ? static_cast<double>(layer.numel) : 0;
  EXPECT_NEAR(100 * small / 6573120, 0.172, 0.0005);
}

class EveryModelTest : public testing::TestWithParam<const char*> {};

TEST_P(EveryModelTest, CostsNameEachParameterOnceAndInOrder) {
  for (const ModelRequest& request : {Grey(GetParam()), Cifar(GetParam())}) {
    const auto model = MakeModel(request);
    const auto parameters = model->parameters();
    int next = 0;
    for (const auto& cost : CostsOf(request)) {
      double bytes = 0;
      for (int index : cost.parameters) {
        ASSERT_EQ(index, next++);
        bytes += 4.0 * static_cast<double>(parameters.at(static_cast<size_t>(index)).numel());
      }
      EXPECT_EQ(cost.weight_bytes, bytes);
      EXPECT_GT(cost.forward_bytes, 0);
    }
    EXPECT_EQ(next, static_cast<int>(parameters.size()));
  }
}

TEST_P(EveryModelTest, LayersTileTheFlatGradient) {
  const auto model = MakeModel(Cifar(GetParam()));
  const auto layers = LayersOf(*model);
  const auto named = model->named_parameters();
  ASSERT_EQ(layers.size(), named.size());
  int64_t offset = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    EXPECT_EQ(layers[i].id, i);
    EXPECT_EQ(layers[i].name, named[i].key());
    EXPECT_EQ(layers[i].shape, named[i].value().sizes().vec());
    EXPECT_EQ(layers[i].offset, offset);
    offset += layers[i].numel;
  }
  EXPECT_EQ(offset, Elements(*model));
}

TEST_P(EveryModelTest, ComputesLogitsAndGradientsOfEverything) {
  torch::set_num_threads(1);
  for (const ModelRequest& request : {Grey(GetParam()), Cifar(GetParam())}) {
    const auto model = MakeModel(request);
    const torch::Tensor images =
        torch::linspace(-1, 1, 2 * request.channels * request.height * request.width)
            .view({2, request.channels, request.height, request.width});
    const torch::Tensor logits = model->Forward(images);
    EXPECT_EQ(logits.sizes(), (torch::IntArrayRef{2, 10}));
    EXPECT_TRUE(logits.isfinite().all().item<bool>());
    const auto gradients = torch::autograd::grad({logits.pow(2).sum()}, model->parameters());
    for (const auto& gradient : gradients) EXPECT_TRUE(gradient.isfinite().all().item<bool>());
  }
}

TEST_P(EveryModelTest, WeightsDependOnTheSeedAlone) {
  torch::manual_seed(1);
  const auto first = MakeModel(Grey(GetParam()))->parameters();
  torch::manual_seed(2);
  const auto second = MakeModel(Grey(GetParam()))->parameters();
  ModelRequest other = Grey(GetParam());
  other.seed = 2;
  const auto third = MakeModel(other)->parameters();
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(first[i].equal(second[i]));
    EXPECT_EQ(first[i].equal(third[i]), first[i].dim() < 2);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModelTest,
                         testing::Values("small-cnn", "medium-cnn", "lenet5", "logistic", "2nn",
                                         "femnist-cnn", "resnet9", "resnet20"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::erase(name, '-');
                           return name;
                         });

// Two samples of 32x32 pixels, or 64x64 for the forms of large images.
TEST(ModelTest, DeepModelsComputeLogitsAndGradientsOfEverything) {
  torch::set_num_threads(1);
  for (const std::string text :
       {"resnet18:width=4", "resnet50:width=4", "senet18:width=16", "googlenet:width=8",
        "densenet121:growth=4", "vgg16:width=4", "vgg19:width=4,batchnorm=off", "alexnet:width=8",
        "vit-small:patch=8,width=24,depth=2,heads=3"}) {
    for (const int side : {32, 64}) {
      SCOPED_TRACE(text + " " + std::to_string(side));
      const ModelRequest request = {.name = text, .channels = 3, .height = side, .width = side};
      const auto model = MakeModel(request);
      model->SetDraws({.purpose = Purpose::kDropout});
      const torch::Tensor images =
          torch::linspace(-1, 1, 2 * 3 * side * side).sin().view({2, 3, side, side});
      const torch::Tensor logits = model->Forward(images);
      EXPECT_EQ(logits.sizes(), (torch::IntArrayRef{2, 10}));
      for (const auto& gradient :
           torch::autograd::grad({logits.pow(2).sum()}, model->parameters())) {
        EXPECT_TRUE(gradient.isfinite().all().item<bool>());
      }
    }
  }
}

TEST(ModelTest, DropoutFollowsItsKey) {
  const ModelRequest request = {
      .name = "alexnet:width=8", .channels = 3, .height = 64, .width = 64};
  const auto model = MakeModel(request);
  ASSERT_TRUE(model->Draws());
  const torch::Tensor images = torch::linspace(-1, 1, 2 * 3 * 64 * 64).view({2, 3, 64, 64});
  const auto logits = [&](uint64_t step) {
    model->SetDraws({.seed = 7, .step = step, .purpose = Purpose::kDropout});
    return model->Forward(images);
  };
  const torch::Tensor first = logits(1);
  EXPECT_FALSE(first.equal(logits(2)));
  EXPECT_TRUE(first.equal(logits(1)));
  model->eval();
  EXPECT_TRUE(logits(1).equal(logits(2)));
}

TEST(ModelTest, WeightsHaveTheVarianceOfHe) {
  for (const auto& parameter : MakeModel(Cifar("resnet9"))->named_parameters()) {
    const torch::Tensor value = parameter.value();
    if (value.dim() == 1) {
      EXPECT_TRUE(value.eq(parameter.key().ends_with("weight") ? 1 : 0).all().item<bool>());
    } else if (value.dim() == 4) {
      const double fan_in = static_cast<double>(value[0].numel());
      EXPECT_NEAR(value.to(torch::kFloat64).var(false).item<double>() * fan_in / 2, 1, 0.06);
      EXPECT_NEAR(value.mean().item<double>() * std::sqrt(fan_in), 0, 0.15);
    }
  }
}

// A uniform variable within 1 / sqrt(n) has the variance 1 / (3 n), and comes near its bounds.
TEST(ModelTest, TorchsWeightsAndBiasesAreUniformWithinTheRootOfTheFanIn) {
  ModelRequest request = Cifar("niid-cnn");
  request.init = WeightRule::kTorch;
  const std::map<std::string, double> fan_ins = {
      {"conv1", 3 * 25}, {"conv2", 6 * 25}, {"fc1", 16 * 25}, {"fc2", 120}, {"fc3", 84}};
  const auto model = MakeModel(request);
  const auto parameters = model->named_parameters();
  EXPECT_EQ(parameters.size(), 10u);
  for (const auto& parameter : parameters) {
    const std::string& name = parameter.key();
    const double fan_in = fan_ins.at(name.substr(0, name.find('.')));
    const torch::Tensor scaled = parameter.value().to(torch::kFloat64) * std::sqrt(fan_in);
    EXPECT_LE(scaled.abs().max().item<double>(), 1) << name;
    EXPECT_GT(scaled.abs().max().item<double>(), 0.5) << name;
    if (scaled.numel() < 10000) continue;
    EXPECT_NEAR(scaled.square().mean().item<double>(), 1.0 / 3, 0.01) << name;
  }
  request.name = "resnet9";
  for (const auto& parameter : MakeModel(request)->named_parameters()) {
    if (parameter.key().find("_bn.") == std::string::npos) continue;
    EXPECT_TRUE(
        parameter.value().eq(parameter.key().ends_with("weight") ? 1 : 0).all().item<bool>());
  }
  request.name = "vit-small:width=24,heads=2,depth=1,patch=8";
  EXPECT_THAT([&] { MakeModel(request); }, ThrowsMessage<Error>(HasSubstr("training.init")));
}

Batch MakeBatch(int64_t number) {
  torch::Tensor images = torch::arange(4 * 3 * 32 * 32).add(31 * number).mul(0.37).sin();
  return {images.view({4, 3, 32, 32}), torch::arange(4).add(number).remainder(10)};
}

std::vector<torch::Tensor> Gradients(Model& model, const Batch& batch) {
  const auto loss =
      torch::nn::functional::cross_entropy(model.Forward(batch.inputs), batch.targets);
  return torch::autograd::grad({loss}, model.parameters());
}

TEST(ShareParametersTest, ThreadsComputeTheBitsOfOneAfterTheOther) {
  torch::set_num_threads(1);
  const auto model = MakeModel(Cifar("resnet20"));
  constexpr int kThreads = 2;
  constexpr int kRounds = 3;
  std::vector<std::shared_ptr<Model>> instances;
  for (int i = 0; i < kThreads; ++i)
    instances.push_back(ShareParameters(*model, Cifar("resnet20")));
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::vector<torch::Tensor>> results(kThreads);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] { results[i] = Gradients(*instances[i], MakeBatch(i)); });
    }
    for (auto& thread : threads) thread.join();
    for (int i = 0; i < kThreads; ++i) {
      const auto expected = Gradients(*model, MakeBatch(i));
      for (size_t p = 0; p < expected.size(); ++p) EXPECT_TRUE(results[i][p].equal(expected[p]));
    }
  }
  for (const auto& parameter : model->parameters()) EXPECT_FALSE(parameter.grad().defined());
}

TEST(ShareParametersTest, WeightsAreOneAndStatisticsAreEachsOwn) {
  const auto model = MakeModel(Cifar("resnet20"));
  const auto shared = ShareParameters(*model, Cifar("resnet20"));
  {
    torch::NoGradGuard no_grad;
    for (auto& parameter : model->parameters()) parameter.mul_(0.5);
  }
  for (size_t i = 0; i < model->parameters().size(); ++i) {
    EXPECT_EQ(model->parameters()[i].data_ptr(), shared->parameters()[i].data_ptr());
    EXPECT_TRUE(model->parameters()[i].equal(shared->parameters()[i]));
    EXPECT_TRUE(shared->parameters()[i].requires_grad());
  }
  const torch::Tensor before = model->buffers()[0].clone();
  shared->Forward(MakeBatch(0).inputs);
  EXPECT_TRUE(model->buffers()[0].equal(before));
  EXPECT_FALSE(shared->buffers()[0].equal(before));
}

TEST(ShareParametersTest, RefusesAnotherRequest) {
  EXPECT_THROW(ShareParameters(*MakeModel(Grey("small-cnn")), Cifar("small-cnn")), Error);
}

TEST(ModelTest, RefusesInvalidRequests) {
  EXPECT_THAT([] { MakeModel(Grey("resnet-9")); },
              ThrowsMessage<Error>(AllOf(HasSubstr("'resnet-9'; did you mean resnet9?"),
                                         HasSubstr("legacy-scenario --model=list prints all"))));
  EXPECT_THAT([] { MakeModel({.name = "small-cnn", .height = 11}); },
              ThrowsMessage<Error>(AllOf(HasSubstr("conv2"), HasSubstr("3x12"))));
  EXPECT_THROW(MakeModel({.name = "resnet9", .height = 7}), Error);
  EXPECT_THROW(MakeModel({.name = "lenet5", .classes = 0}), Error);
}

}  // namespace
}  // namespace legacy::model_test
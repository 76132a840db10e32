#include "trainer/models/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
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

// Returns the multiply-adds of convolutions and fully connected layers, for one sample.
double MultiplyAdds(const ModelRequest& request) {
  double flops = 0;
  for (const auto& cost : CostsOf(request)) flops += cost.forward_flops;
  return flops / 2;
}

TEST(ModelTest, SizesAreTheKnownOnes) {
  EXPECT_EQ(Elements(*MakeModel(Grey("small-cnn"))), 71786);
  EXPECT_EQ(Elements(*MakeModel(Grey("medium-cnn"))), 824458);
  EXPECT_EQ(Elements(*MakeModel(Grey("lenet5"))), 61706);
  EXPECT_EQ(Elements(*MakeModel(Cifar("resnet9"))), 6573120);
  EXPECT_EQ(Elements(*MakeModel(Cifar("resnet20"))), 269722);
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
                         testing::Values("small-cnn", "medium-cnn", "lenet5", "resnet9",
                                         "resnet20"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::erase(name, '-');
                           return name;
                         });

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

struct Batch {
  torch::Tensor images;
  torch::Tensor labels;
};

Batch MakeBatch(int64_t number) {
  torch::Tensor images = torch::arange(4 * 3 * 32 * 32).add(31 * number).mul(0.37).sin();
  return {images.view({4, 3, 32, 32}), torch::arange(4).add(number).remainder(10)};
}

std::vector<torch::Tensor> Gradients(Model& model, const Batch& batch) {
  const auto loss = torch::nn::functional::cross_entropy(model.Forward(batch.images), batch.labels);
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
  shared->Forward(MakeBatch(0).images);
  EXPECT_TRUE(model->buffers()[0].equal(before));
  EXPECT_FALSE(shared->buffers()[0].equal(before));
}

TEST(ShareParametersTest, RefusesAnotherRequest) {
  EXPECT_THROW(ShareParameters(*MakeModel(Grey("small-cnn")), Cifar("small-cnn")), Error);
}

TEST(ModelTest, RefusesInvalidRequests) {
  EXPECT_THAT([] { MakeModel(Grey("resnet-9")); },
              ThrowsMessage<Error>(AllOf(HasSubstr("'resnet-9'"), HasSubstr("resnet20"))));
  EXPECT_THAT([] { MakeModel({.name = "small-cnn", .height = 11}); },
              ThrowsMessage<Error>(AllOf(HasSubstr("conv2"), HasSubstr("3x12"))));
  EXPECT_THROW(MakeModel({.name = "resnet9", .height = 7}), Error);
  EXPECT_THROW(MakeModel({.name = "lenet5", .classes = 0}), Error);
}

}  // namespace
}  // namespace legacy::model_test
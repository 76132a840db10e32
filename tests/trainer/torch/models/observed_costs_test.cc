// Observed costs are those counted by hand, from the shapes of what a pass reads and writes.
#include "trainer/torch/models/observed_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "base/error.h"

namespace legacy::observed_costs_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

NamedTensors Named(const torch::nn::Module& module) {
  NamedTensors named;
  for (const auto& parameter : module.named_parameters()) {
    named.emplace_back(parameter.key(), parameter.value());
  }
  return named;
}

auto Costs(const std::string& kind, double flops, double bytes, double weight_bytes,
           const std::vector<int>& parameters) {
  return AllOf(Field("kind", &OperationCost::kind, kind),
               Field("flops", &OperationCost::forward_flops, flops),
               Field("bytes", &OperationCost::forward_bytes, bytes),
               Field("weights", &OperationCost::weight_bytes, weight_bytes),
               Field("parameters", &OperationCost::parameters, parameters));
}

TEST(ObservedCosts, ConvolutionsNormsAndPools) {
  torch::nn::Sequential net(
      torch::nn::Conv2d(torch::nn::Conv2dOptions(4, 6, 3).padding(1).groups(2).bias(false)),
      torch::nn::BatchNorm2d(6), torch::nn::ReLU(torch::nn::ReLUOptions(true)),
      torch::nn::MaxPool2d(2), torch::nn::Flatten(), torch::nn::Linear(6 * 16, 5));
  const auto costs = ObserveCosts(Named(*net), Unread::kRefused, [&](int64_t samples) {
    net->forward(torch::zeros({samples, 4, 8, 8}));
  });
  EXPECT_THAT(
      costs,
      ElementsAre(Costs("conv", 2 * 9 * 2 * 6 * 64, 4 * (4 * 64 + 6 * 64), 4 * 6 * 2 * 9, {0}),
                  Costs("batchnorm", 0, 4 * 3 * 6 * 64, 4 * 12, {1, 2}),
                  Costs("elementwise", 0, 4 * 2 * 6 * 64, 0, {}),
                  Costs("pool", 0, 4 * (6 * 64 + 6 * 16), 0, {}),
                  Costs("linear", 2 * 96 * 5, 4 * (96 + 5), 4 * (96 * 5 + 5), {3, 4})));
}

// Each layer counts as lstm_ptb of trainer/shapes/make_shapes.py counts it.
TEST(ObservedCosts, LstmsAreTwoProductsAndGatesALayer) {
  constexpr double kWords = 7;
  torch::nn::LSTM lstm(torch::nn::LSTMOptions(3, 5).num_layers(2));
  const auto costs = ObserveCosts(Named(*lstm), Unread::kRefused, [&](int64_t samples) {
    lstm->forward(torch::zeros({7, samples, 3}));
  });
  const auto layer = [&](size_t first, double inputs) {
    const int p = static_cast<int>(first) / 3 * 4;
    EXPECT_THAT(costs[first], Costs("linear", 2 * kWords * 20 * inputs, 4 * kWords * (inputs + 20),
                                    4 * (20 * inputs + 40), {p, p + 1, p + 2, p + 3}));
    EXPECT_THAT(costs[first + 1],
                Costs("linear", 2 * kWords * 20 * 5, 4 * kWords * 25, 4 * kWords * 100, {}));
    EXPECT_THAT(costs[first + 2],
                Costs("elementwise", 0, 4 * kWords * (2 * 20 + 5 + 2 * 5), 0, {}));
  };
  ASSERT_EQ(costs.size(), 6u);
  layer(0, 3);
  layer(3, 5);
}

// A tied table belongs to its first reader, which looks rows up; the second one reads it all. A
// mask does not grow with the batch.
TEST(ObservedCosts, TiedWeightsMasksAndAttention) {
  const torch::Tensor table = torch::ones({11, 4});
  const torch::Tensor mask = torch::zeros({6, 6});
  const auto costs = ObserveCosts({{"table", table}}, Unread::kRefused, [&](int64_t samples) {
    const auto x = torch::embedding(table, torch::zeros({samples, 6}, torch::kInt64));
    const auto scores = torch::softmax(torch::matmul(x, x.transpose(1, 2)) + mask, -1);
    torch::matmul(torch::matmul(scores, x), table.t());
  });
  ASSERT_EQ(costs.size(), 6u);
  EXPECT_THAT(costs[0], Costs("elementwise", 0, 6 * 8 + 4 * 2 * 24, 0, {0}));
  EXPECT_THAT(costs[1], Costs("linear", 2 * 36 * 4, 4 * (2 * 24 + 36), 0, {}));
  EXPECT_THAT(costs[2], Costs("elementwise", 0, 4 * 2 * 36, 4 * 36, {}));
  EXPECT_THAT(costs[3], Costs("elementwise", 0, 4 * 2 * 36, 0, {}));
  EXPECT_THAT(costs[4], Costs("linear", 2 * 6 * 6 * 4, 4 * (36 + 24 + 24), 0, {}));
  EXPECT_THAT(costs[5], Costs("linear", 2 * 6 * 4 * 11, 4 * (24 + 66), 4 * 44, {}));
}

TEST(ObservedCosts, ViewsCostNothing) {
  EXPECT_THAT(
      ObserveCosts({}, Unread::kRefused,
                   [](int64_t samples) {
                     torch::zeros({samples, 4, 6}).view({-1, 6}).t().unsqueeze(0).slice(1, 0, 2);
                   }),
      IsEmpty());
}

TEST(ObservedCosts, PassesThatCannotBeCountedAreRefused) {
  const NamedTensors two = {{"used", torch::ones(3)}, {"idle.weight", torch::ones(3)}};
  EXPECT_THAT(([&] {
                ObserveCosts(two, Unread::kRefused, [&](int64_t samples) {
                  torch::ones({samples, 3}) * two.front().second;
                });
              }),
              ThrowsMessage<Error>(HasSubstr("idle.weight")));
  EXPECT_THAT(
      [] {
        ObserveCosts({}, Unread::kRefused, [](int64_t samples) {
          torch::Tensor x = torch::ones({samples, 3});
          for (int64_t i = 0; i < samples; ++i) x = x + x;
        });
      },
      ThrowsMessage<Error>(HasSubstr("whatever the number of samples")));
  EXPECT_THROW(ObserveCosts({}, Unread::kRefused, [](int64_t) { throw Error("broken"); }), Error);
  torch::ones(3) + torch::ones(3);  // no observer is left
}

}  // namespace
}  // namespace legacy::observed_costs_test

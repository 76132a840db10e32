// Models of text and of ratings: published counts, and properties of what they compute.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "base/error.h"
#include "trainer/torch/models/model.h"

namespace legacy::language_models_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

ModelRequest Words(const std::string& name, int vocabulary, int length) {
  return {
      .name = name, .classes = vocabulary, .task = TaskKind::kLanguageModelling, .length = length};
}

ModelRequest Ratings(const std::string& name, int users, int items) {
  return {.name = name, .task = TaskKind::kRecommendation, .users = users, .items = items};
}

torch::Tensor Tokens(int64_t samples, int64_t length, int64_t vocabulary) {
  return torch::arange(samples * length)
      .mul(7)
      .add(3)
      .remainder(vocabulary)
      .view({samples, length});
}

TEST(LanguageModels, CountsAreThePublishedOnes) {
  struct Known {
    ModelRequest request;
    int64_t elements;
    size_t tensors;
  };
  const Known known[] = {
      {Words("lstm", 10'000, 35), 66'034'000, 11},
      {Words("lstm:hidden=650,layers=3,tied=on", 28'869, 35), 28'949'319, 14},
      {Words("lstm:hidden=650,layers=3,tied=on", 33'278, 35), 31'819'578, 14},
      {Words("transformer-xl", 267'735, 192), 191'950'298, 182},
      {Words("gpt2-small", 50'257, 1024), 124'439'808, 148},
      {Words("gpt-tiny", 65, 128), 818'048, 52},
      {Words("gpt-tiny:layers=2,width=64,tied=off,context=64", 65, 64), 112'577, 30},
      {Ratings("ncf", 138'493, 26'744), 31'832'577, 12}};
  for (const Known& one : known) {
    SCOPED_TRACE(one.request.name);
    const std::vector<Unit> layers = LayersOf(one.request);
    EXPECT_EQ(layers.back().offset + layers.back().numel, one.elements);
    EXPECT_EQ(layers.size(), one.tensors);
  }
}

// A pass over two windows that hands over the state equals one pass over both. So a mistake in the
// positions, in the shift of Transformer-XL or in what is carried over shows.
TEST(LanguageModels, StatesGoOnWhereTheWindowEnded) {
  torch::set_num_threads(1);
  for (const char* name : {"lstm:hidden=16,layers=2,dropout=0",
                           "transformer-xl:layers=3,width=16,heads=4,inner=32,dropout=0"}) {
    SCOPED_TRACE(name);
    const auto model = MakeModel(Words(name, 50, 6));
    const torch::Tensor tokens = Tokens(3, 18, 50);
    const torch::Tensor whole = model->Forward(tokens);
    ModelState state;
    for (int64_t first = 0; first < 18; first += 6) {
      const torch::Tensor part = model->Continue(tokens.narrow(1, first, 6), state);
      EXPECT_TRUE(torch::allclose(part, whole.narrow(1, first, 6), 1e-4, 1e-5));
      for (const torch::Tensor& tensor : state) EXPECT_FALSE(tensor.requires_grad());
    }
  }
}

TEST(LanguageModels, MemoryEndsWhereItsLengthSays) {
  const std::string name = "transformer-xl:layers=1,width=16,heads=2,inner=16,dropout=0,memory=";
  const auto outputs = [&](const std::string& memory, int64_t changed) {
    const auto model = MakeModel(Words(name + memory, 50, 4));
    torch::Tensor tokens = Tokens(1, 12, 50);
    tokens[0][changed] = 49;
    ModelState state;
    torch::Tensor last;
    for (int64_t first = 0; first < 12; first += 4) {
      last = model->Continue(tokens.narrow(1, first, 4), state);
    }
    return last;
  };
  EXPECT_TRUE(outputs("4", 3).equal(outputs("4", 2)));   // both are before the memory
  EXPECT_FALSE(outputs("4", 4).equal(outputs("4", 2)));  // the memory's first token
  EXPECT_TRUE(outputs("0", 7).equal(outputs("0", 2)));
}

TEST(LanguageModels, NoTokenSeesLaterOnes) {
  for (const char* name : {"lstm:hidden=16,dropout=0", "gpt-tiny:layers=2,width=16,heads=2",
                           "transformer-xl:layers=2,width=16,heads=2,inner=16,dropout=0"}) {
    SCOPED_TRACE(name);
    const auto model = MakeModel(Words(name, 50, 8));
    const torch::Tensor tokens = Tokens(2, 8, 50);
    torch::Tensor other = tokens.clone();
    other.select(1, 5).fill_(0);
    const torch::Tensor one = model->Forward(tokens), two = model->Forward(other);
    EXPECT_TRUE(one.narrow(1, 0, 5).equal(two.narrow(1, 0, 5)));
    EXPECT_FALSE(one.narrow(1, 5, 1).equal(two.narrow(1, 5, 1)));
  }
}

TEST(LanguageModels, LossesAreThoseOfADistribution) {
  constexpr int64_t kWords = 60;
  for (const char* name :
       {"lstm:hidden=16,dropout=0", "gpt-tiny:layers=2,width=16,heads=2,tied=off",
        "transformer-xl:layers=1,width=16,heads=2,inner=16,dropout=0",
        "transformer-xl:layers=1,width=16,heads=2,inner=16,dropout=0,cutoffs=10/30/50"}) {
    SCOPED_TRACE(name);
    const auto model = MakeModel(Words(name, kWords, 1));
    const torch::Tensor outputs = model->Forward(torch::full({1, 1}, 4, torch::kInt64));
    const torch::Tensor words = torch::arange(kWords).view({kWords, 1});
    const torch::Tensor losses =
        model->TargetLosses(outputs.expand({kWords, 1, -1}).contiguous(), words, 0);
    EXPECT_NEAR(losses.neg().exp().sum().item<double>(), 1, 1e-4);
  }
}

// Every parameter takes part, and costs name each of them once.
TEST(LanguageModels, LearnWithAllParameters) {
  torch::set_num_threads(1);
  for (const ModelRequest& request :
       {Words("lstm:hidden=16", 40, 8), Words("lstm:hidden=16,layers=3,tied=on", 40, 8),
        Words("gpt2-small:layers=2,width=16,heads=2,dropout=0.1", 40, 8),
        Words("gpt-tiny:layers=2,width=16,heads=2,tied=off", 40, 8),
        Words("transformer-xl:layers=2,width=16,heads=2,inner=16", 40, 8),
        Words("transformer-xl:layers=2,width=16,heads=2,inner=16,cutoffs=10/20", 40, 8),
        Ratings("ncf:factors=4", 30, 20)}) {
    SCOPED_TRACE(request.name);
    const auto model = MakeModel(request);
    model->SetDraws({.purpose = Purpose::kDropout});
    const Batch batch = ExampleBatch(request, 4);
    const torch::Tensor outputs = model->Forward(batch.inputs);
    const torch::Tensor loss = request.task == TaskKind::kRecommendation
                                   ? outputs.pow(2).sum()
                                   : model->TargetLosses(outputs, batch.targets, 0).mean();
    for (const auto& gradient : torch::autograd::grad({loss}, model->parameters())) {
      EXPECT_TRUE(gradient.isfinite().all().item<bool>());
    }
    std::vector<int> times(model->parameters().size());
    double flops = 0;
    for (const OperationCost& cost : CostsOf(request)) {
      for (const int parameter : cost.parameters) ++times[parameter];
      flops += cost.forward_flops;
    }
    EXPECT_THAT(times, ::testing::Each(1));
    EXPECT_GT(flops, 0);
  }
}

// The multiply-adds of a token of GPT-2 are its matrices', and those of attention over the window.
TEST(LanguageModels, CostsOfGptAreItsProducts) {
  constexpr double kLength = 64, kWidth = 64, kWords = 65, kLayers = 2;
  double flops = 0;
  for (const OperationCost& cost :
       CostsOf(Words("gpt-tiny:layers=2,width=64,heads=4", kWords, kLength))) {
    flops += cost.forward_flops;
  }
  const double matrices = kLayers * 12 * kWidth * kWidth + kWords * kWidth;
  const double attention = kLayers * 2 * kLength * kWidth;
  EXPECT_EQ(flops / 2, kLength * (matrices + attention));
}

TEST(LanguageModels, WrongOptionsAreRefusedWithWhatIsAllowed) {
  const auto refuses = [](const ModelRequest& request, const std::string& got,
                          const std::string& allowed) {
    EXPECT_THAT([&] { MakeModel(request); },
                ThrowsMessage<Error>(AllOf(HasSubstr(got), HasSubstr(allowed))))
        << request.name;
  };
  refuses(Words("gpt-tiny", 65, 256), "'128'", "at least the tokens of a window, 256");
  refuses(Words("gpt-tiny:heads=3", 65, 8), "'3'", "a divisor of the width, 128");
  refuses(Words("transformer-xl:cutoffs=20/10", 65, 8), "'10'", "21");
  refuses(Words("transformer-xl:cutoffs=65", 65, 8), "'65'", "64");
  refuses(Words("resnet18", 65, 8), "'resnet18'", "lstm, gpt2-small");
  refuses(Ratings("lstm", 9, 9), "'lstm'", "a model for recommendation: ncf");
}

}  // namespace
}  // namespace legacy::language_models_test

// The order in which texts are read, and perplexities against sums by hand.
#include "trainer/torch/tasks/language.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "trainer/torch/training.h"

namespace legacy::language_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Corpus CorpusOf(TextUnit unit, int vocabulary, const TokenFile& train, const TokenFile& test) {
  Corpus corpus;
  corpus.name = "drawn";
  corpus.unit = unit;
  corpus.vocabulary.resize(static_cast<size_t>(vocabulary));
  corpus.train = train;
  corpus.test = test;
  return corpus;
}

// Returns 0, 1, ..., so that a token is its own position.
TokenFile Positions(int count) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  std::iota(tokens.begin(), tokens.end(), 0);
  return TokenFile(std::move(tokens));
}

// Returns a text in which each word is followed by one of two.
TokenFile Pattern(int count, int vocabulary) {
  std::vector<int32_t> tokens = {0};
  while (std::ssize(tokens) < count) {
    const auto i = static_cast<int32_t>(tokens.size());
    tokens.push_back((3 * tokens.back() + 1 + (i * i / 7) % 2) % vocabulary);
  }
  return TokenFile(std::move(tokens));
}

std::vector<int64_t> Values(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.contiguous();
  return {flat.data_ptr<int64_t>(), flat.data_ptr<int64_t>() + flat.numel()};
}

TEST(LanguageModelling, WorkersReadStretchesOfTheirOwnInColumns) {
  const LanguageModelling task(CorpusOf(TextUnit::kWords, 50, Positions(50), Positions(20)), 3, 1);
  const auto feed = task.Open({.workers = 2, .batch_size = 2});
  EXPECT_EQ(feed->StepsPerEpoch(), 3);  // 12 tokens a column, of which 10 are read
  feed->Seek(0);
  EXPECT_TRUE(feed->Begins());
  EXPECT_THAT(Values(feed->Get(0).inputs), ElementsAre(0, 1, 2, 12, 13, 14));
  EXPECT_THAT(Values(feed->Get(0).targets), ElementsAre(1, 2, 3, 13, 14, 15));
  EXPECT_THAT(Values(feed->Get(1).inputs), ElementsAre(24, 25, 26, 36, 37, 38));
  feed->Seek(2);
  EXPECT_FALSE(feed->Begins());
  EXPECT_THAT(Values(feed->Get(0).targets), ElementsAre(7, 8, 9, 19, 20, 21));
  feed->Seek(3);
  EXPECT_TRUE(feed->Begins());
  EXPECT_THAT(Values(feed->Get(1).inputs), ElementsAre(24, 25, 26, 36, 37, 38));
}

// The perplexity is that of the sum of all tokens' losses in one pass, whatever the windows.
TEST(LanguageModelling, PerplexityIsThatOfOnePassOverTheWholeText) {
  torch::set_num_threads(1);
  const torch::NoGradGuard no_grad;
  const TokenFile text = Pattern(101, 20);
  for (const int columns : {1, 3, 7}) {
    const LanguageModelling task(CorpusOf(TextUnit::kCharacters, 20, Pattern(200, 20), text), 8,
                                 columns);
    const auto model = MakeModel(task.RequestFor("lstm:hidden=8,dropout=0", 1));
    model->eval();
    std::vector<MetricSums> parts;
    for (int64_t p = 0; p < task.Parts(1); ++p) parts.push_back(task.Evaluate(*model, p, 1));
    const Evaluation got = task.Conclude(parts);

    double loss = 0;
    for (int column = 0; column < columns; ++column) {
      ModelState state;
      for (int i = 100 * column / columns; i < 100 * (column + 1) / columns; ++i) {
        const torch::Tensor token = torch::full({1, 1}, text.tokens()[i], torch::kInt64);
        const torch::Tensor logits = model->Continue(token, state).view({-1});
        loss -= torch::log_softmax(logits, 0)[text.tokens()[i + 1]].item<double>();
      }
    }
    EXPECT_NEAR(got.loss, loss / 100, 1e-5) << columns;
    EXPECT_NEAR(got.metrics[0], std::exp(loss / 100), 1e-3);
    EXPECT_NEAR(got.metrics[1], loss / 100 / std::log(2), 1e-5);
  }
}

TEST(LanguageModelling, LearnsAPatternWithCompressedGradients) {
  const LanguageModelling task(CorpusOf(TextUnit::kWords, 12, Pattern(2000, 12), Pattern(400, 12)),
                               16, 4);
  for (const char* model :
       {"lstm:hidden=24,layers=1,dropout=0", "gpt-tiny:layers=1,width=24,heads=2",
        "transformer-xl:layers=1,width=24,heads=2,inner=24,dropout=0,memory=8"}) {
    TrainingOptions options;
    options.workers = 2;
    options.batch_size = 4;
    options.total_steps = 60;
    options.schedule.learning_rate = 0.01;
    options.optimizer.kind = OptimizerKind::kAdam;
    Training training(options, task, task.RequestFor(model, 1), MakeUniformPolicy(0.1),
                      MakeScheme("topk"));
    const double before = training.Evaluate().metrics.front();
    for (int step = 0; step < 60; ++step) training.Step();
    const double after = training.Evaluate().metrics.front();
    EXPECT_NEAR(before, 12, 6) << model;
    EXPECT_LT(after, 4) << model;
    EXPECT_GE(after, 1.5) << model;  // two words are possible each time
  }
}

// States belong to workers: threads do not mix them up.
TEST(LanguageModelling, ThreadsComputeTheBitsOfOne) {
  const LanguageModelling task(CorpusOf(TextUnit::kWords, 12, Pattern(2000, 12), Pattern(400, 12)),
                               16, 7);
  std::vector<std::vector<float>> weights;
  std::vector<double> perplexities;
  for (const int threads : {1, 2}) {
    TrainingOptions options;
    options.workers = 3;
    options.batch_size = 2;
    options.threads = threads;
    options.total_steps = 50;
    Training training(options, task, task.RequestFor("lstm:hidden=12", 1), MakeUniformPolicy(0.1),
                      MakeScheme("topk"));
    for (int step = 0; step < 24; ++step) training.Step();  // more than an epoch
    weights.push_back(training.Weights());
    perplexities.push_back(training.Evaluate().metrics.front());
  }
  EXPECT_EQ(weights[0], weights[1]);
  EXPECT_EQ(perplexities[0], perplexities[1]);
}

TEST(LanguageModelling, TextsThatAreTooShortAreRefused) {
  const Corpus texts = CorpusOf(TextUnit::kWords, 60, Positions(50), Positions(5));
  EXPECT_THAT(([&] { LanguageModelling(texts, 3, 9); }),
              ThrowsMessage<Error>(AllOf(HasSubstr("'5'"), HasSubstr("at least 10"))));
  const LanguageModelling task(texts, 10, 1);
  EXPECT_THAT(([&] { task.Open({.workers = 2, .batch_size = 3}); }),
              ThrowsMessage<Error>(AllOf(HasSubstr("'3'"), HasSubstr("at most 2 for 2 workers"))));
}

}  // namespace
}  // namespace legacy::language_test

// The metrics of images, and folders of images as a task.
#include "trainer/torch/tasks/classification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "base/error.h"
#include "tests/trainer/data/temporary_folder.h"
#include "trainer/bench/drawn_jpeg.h"
#include "trainer/torch/training.h"

namespace legacy::classification_test {
namespace {

TEST(Classification, HitsAreThoseOfTheHighestLogits) {
  // Classes of the first by rank: 6 4 5 1 2. Of the second, lower classes come first.
  const torch::Tensor logits = torch::tensor({0.0f, 3.0f, 2.0f, 1.0f, 5.0f, 4.0f, 6.0f, 1.0f, 1.0f,
                                              1.0f, 1.0f, 1.0f, 1.0f, 1.0f})
                                   .view({2, 7});
  const auto hits = [&](int64_t first, int64_t second) {
    const ClassificationSums sums = SumsOf(logits, torch::tensor({first, second}));
    return std::pair(sums.hits.item<int64_t>(), sums.hits5.item<int64_t>());
  };
  EXPECT_EQ(hits(6, 0), std::pair(int64_t{2}, int64_t{2}));
  EXPECT_EQ(hits(2, 4), std::pair(int64_t{0}, int64_t{2}));
  EXPECT_EQ(hits(3, 5), std::pair(int64_t{0}, int64_t{0}));
  EXPECT_EQ(hits(4, 1), std::pair(int64_t{0}, int64_t{2}));
}

class FolderClassificationTest : public testing::Test {
 protected:
  FolderClassificationTest() {
    uint32_t number = 0;
    for (const std::string name : {"a", "b", "c"}) {
      for (int i = 0; i < 8; ++i) Write("train/" + name, ++number);
      for (int i = 0; i < 2; ++i) Write("val/" + name, ++number);
    }
  }
  void Write(const std::string& folder, uint32_t number) {
    folder_.Write(folder + "/" + std::to_string(number) + ".jpg",
                  DrawJpeg({.width = 40, .height = 30, .number = number}));
  }
  FolderClassification Open(int64_t train_limit = 0) const {
    return FolderClassification({.name = "drawn",
                                 .folder = {.folder = folder_.path(), .size = 16, .cache = {}},
                                 .mean = {0.5, 0.5, 0.5},
                                 .stddev = {0.25, 0.25, 0.25},
                                 .train_limit = train_limit});
  }

  TemporaryFolder folder_;
};

TEST_F(FolderClassificationTest, BatchesAreThePixelsOfTheirSamplesWhoeverDecodesThem) {
  const FolderClassification task = Open();
  const auto one = task.Open({.workers = 2, .batch_size = 4, .seed = 3, .threads = 1});
  const auto many = task.Open({.workers = 2, .batch_size = 4, .seed = 3, .threads = 64});
  EXPECT_EQ(one->StepsPerEpoch(), 3);
  std::vector<int64_t> classes(3);
  for (int64_t step = 0; step < 3; ++step) {
    one->Seek(step);
    for (int worker = 0; worker < 2; ++worker) {
      const Batch batch = one->Get(worker);
      EXPECT_EQ(batch.inputs.sizes(), (torch::IntArrayRef{4, 3, 16, 16}));
      EXPECT_LE(batch.inputs.abs().max().item<float>(), 2);
      for (int i = 0; i < 4; ++i) ++classes[batch.targets[i].item<int64_t>()];
      many->Seek(step);  // asks again, although the other worker's batch was not taken
      const Batch other = many->Get(worker);
      EXPECT_TRUE(batch.inputs.equal(other.inputs));
      EXPECT_TRUE(batch.targets.equal(other.targets));
    }
  }
  EXPECT_EQ(classes, (std::vector<int64_t>{8, 8, 8}));
}

TEST_F(FolderClassificationTest, ALimitTakesSamplesOfAllClasses) {
  const FolderClassification task = Open(6);
  EXPECT_EQ(task.Samples(true), 6);
  std::vector<int> labels;
  for (int64_t i = 0; i < 6; ++i)
    labels.push_back(task.folder().label(true, task.InFolder(true, i)));
  EXPECT_EQ(labels, (std::vector<int>{0, 0, 1, 1, 2, 2}));
}

TEST_F(FolderClassificationTest, TrainsToTheSameBitsOnAnyNumberOfThreads) {
  const FolderClassification task = Open();
  std::vector<std::vector<float>> weights;
  for (const int threads : {1, 2}) {
    TrainingOptions options;
    options.workers = 3;
    options.batch_size = 2;
    options.threads = threads;
    Training training(options, task, task.RequestFor("lenet5", 1), MakeUniformPolicy(0.1),
                      MakeScheme("topk"));
    for (int step = 0; step < 6; ++step) training.Step();
    weights.push_back(training.Weights());
    const Evaluation result = training.Evaluate();
    EXPECT_EQ(result.metrics.size(), 2u);
    EXPECT_EQ(result.metrics[1], 1);  // there are three classes
  }
  EXPECT_EQ(weights[0], weights[1]);
}

}  // namespace
}  // namespace legacy::classification_test

#include "trainer/torch/federated/local_training.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "base/error.h"
#include "trainer/torch/one_thread.h"

namespace legacy::local_training_test {
namespace {

constexpr double kRate = 0.05;

class LocalTraining : public testing::Test {
 protected:
  LocalTraining()
      : task_(
            LoadTask({.dataset = "glyphs", .data_root = {}, .train_limit = 60, .test_limit = 10})),
        samples_(task_->OpenSamples()),
        request_(task_->RequestFor("logistic", 1)),
        own_(40) {
    UseOneThread();
    std::iota(own_.begin(), own_.end(), 7);
  }

  LocalTrainer Trainer(const LocalOptions& options, const ClientRule& rule = {}) const {
    return LocalTrainer(*task_, *samples_, request_, options, rule);
  }
  LocalTask Of(const LocalTrainer& trainer) const {
    return {.version = 3,
            .client = 5,
            .samples = own_,
            .base = trainer.initial_weights(),
            .rate = [](int64_t) { return kRate; }};
  }

  std::unique_ptr<Task> task_;
  std::unique_ptr<SampleSet> samples_;
  ModelRequest request_;
  std::vector<int64_t> own_;
};

// A mask of infinities is a constant of a transformer: it neither travels nor counts as diverged.
TEST_F(LocalTraining, KeepsConstantsOfTheModel) {
  const auto task = LoadTask(
      {.dataset = "grammar", .data_root = {}, .train_limit = 2000, .test_limit = 500, .window = 8});
  const auto samples = task->OpenSamples();
  LocalTrainer trainer(*task, *samples,
                       task->RequestFor("gpt2-small:layers=1,width=16,heads=2,context=8", 1),
                       {.batch_size = 4}, {});
  EXPECT_TRUE(trainer.initial_buffers().empty());
  const LocalResult result = trainer.Train(Of(trainer));
  EXPECT_TRUE(result.finite);
  EXPECT_GT(result.loss, 0);
}

// LibTorch's own SGD on all samples at once is the oracle: their order does not matter then.
TEST_F(LocalTraining, EqualsLibTorchOnWholeBatches) {
  LocalTrainer trainer = Trainer({.batch_size = 40, .sgd = {.momentum = 0.9}});
  LocalTask task = Of(trainer);
  task.epochs = 4;
  const LocalResult result = trainer.Train(task);
  EXPECT_EQ(result.local_steps, 4);
  EXPECT_EQ(result.samples, 40);

  const std::shared_ptr<Model> model = MakeModel(request_);
  torch::optim::SGD sgd(model->parameters(), torch::optim::SGDOptions(kRate).momentum(0.9));
  const Batch batch = samples_->Gather(own_, {});
  double losses = 0;
  for (int step = 0; step < 4; ++step) {
    sgd.zero_grad();
    ModelState state;
    const torch::Tensor loss = task_->Loss(*model, batch, state, 0);
    losses += loss.item<double>() / 4;
    loss.backward();
    sgd.step();
  }
  size_t at = 0;
  for (const torch::Tensor& parameter : model->parameters()) {
    for (int64_t i = 0; i < parameter.numel(); ++i, ++at) {
      EXPECT_NEAR(trainer.initial_weights()[at] + result.update[at], parameter.data_ptr<float>()[i],
                  2e-6);
    }
  }
  EXPECT_NEAR(result.loss, losses, 1e-6);
}

TEST_F(LocalTraining, IsAPureFunctionOfItsTask) {
  LocalTrainer trainer = Trainer({.batch_size = 8}), other = Trainer({.batch_size = 8});
  const LocalTask task = Of(trainer);
  const LocalResult first = trainer.Train(task);
  LocalTask another = task;
  another.client = 6;
  const LocalResult second = other.Train(another);
  EXPECT_NE(first.update, second.update);  // another order of the same samples
  another = task;
  another.version = 4;
  EXPECT_NE(other.Train(another).update, first.update);
  EXPECT_EQ(other.Train(task).update, first.update);
  EXPECT_EQ(trainer.Train(task).update, first.update);
}

TEST_F(LocalTraining, CountsItsSteps) {
  LocalTrainer trainer = Trainer({.batch_size = 16});
  LocalTask task = Of(trainer);
  EXPECT_EQ(trainer.Train(task).local_steps, 3);  // 16, 16 and 8 samples
  task.epochs = 2;
  EXPECT_EQ(trainer.Train(task).local_steps, 6);
  task.steps = 4;
  EXPECT_EQ(trainer.Train(task).local_steps, 4);
  task.steps = 0;
  task.epochs = 1;
  task.samples = std::span(own_).first(1);
  EXPECT_EQ(trainer.Train(task).local_steps, 1);
}

// A given number of steps are the first ones of an epoch.
TEST_F(LocalTraining, GoesThroughSamplesInOrder) {
  LocalTrainer trainer = Trainer({.batch_size = 16});
  LocalTask whole = Of(trainer), steps = whole;
  steps.steps = 3;
  EXPECT_EQ(trainer.Train(whole).update, trainer.Train(steps).update);
}

// The states of an optimizer that is kept continue: two tasks of two steps are one of four, from
// where the first ended.
TEST_F(LocalTraining, KeepsItsOptimizer) {
  LocalTrainer trainer = Trainer({.batch_size = 40, .optimizer = {.kind = OptimizerKind::kAdamW}});
  LocalTask task = Of(trainer);
  task.epochs = 4;
  const LocalResult whole = trainer.Train(task);
  task.epochs = 2;
  const LocalResult first = trainer.Train(task);
  std::vector<float> middle = trainer.initial_weights();
  for (size_t i = 0; i < middle.size(); ++i) middle[i] += first.update[i];
  task.base = middle;
  task.optimizer = first.optimizer;
  task.first_step = first.local_steps;
  const LocalResult second = trainer.Train(task);
  double most = 0;
  for (size_t i = 0; i < middle.size(); ++i) {
    most = std::max<double>(most, std::abs(first.update[i] + second.update[i] - whole.update[i]));
  }
  EXPECT_LT(most, 2e-5);
}

TEST_F(LocalTraining, FollowsTheRulesOfAlgorithms) {
  const auto norm = [&](const ClientRule& rule, float control, float state) {
    LocalTrainer trainer = Trainer({.batch_size = 8}, rule);
    LocalTask task = Of(trainer);
    const std::vector<float> controls(trainer.initial_weights().size(), control);
    const std::vector<float> states(trainer.initial_weights().size(), state);
    task.downlink = controls;
    task.state = states;
    task.epochs = 3;
    double squares = 0, sum = 0;
    for (const float x : trainer.Train(task).update) squares += x * x, sum += x;
    return std::pair(std::sqrt(squares), sum / static_cast<double>(controls.size()));
  };
  const auto [plain, mean] = norm({}, 1, 2);
  EXPECT_LT(norm({.proximal = 5}, 0, 0).first, plain);
  // 15 steps move all weights by -rate (c - s) more.
  EXPECT_NEAR(norm({.control = true}, 0.25F, 0.25F).first, plain, 1e-5);
  EXPECT_GT(norm({.control = true}, 0, 0.1F).second, mean + 0.05);
  EXPECT_LT(norm({.dynamic = 5}, 0, 0).first, plain);
}

// Squares of losses are those of the samples, and change nothing else.
TEST_F(LocalTraining, TellsTheSquaresOfLosses) {
  LocalTrainer plain = Trainer({.batch_size = 16}),
               squares = Trainer({.batch_size = 16, .squares = true});
  LocalTask task = Of(plain);
  task.rate = [](int64_t) { return 0.0; };
  const LocalResult result = squares.Train(task);
  EXPECT_EQ(result.loss, plain.Train(task).loss);
  EXPECT_EQ(plain.Train(task).squared_loss, 0);
  const std::shared_ptr<Model> model = MakeModel(request_);
  double sum = 0;
  for (const int64_t sample : own_) {
    ModelState state;
    const Batch one = samples_->Gather(std::span(&sample, 1), {});
    sum += std::pow(task_->Loss(*model, one, state, 0).item<double>(), 2);
  }
  EXPECT_NEAR(result.squared_loss, sum / 40, 1e-5);
  task = Of(plain);
  EXPECT_EQ(squares.Train(task).update, plain.Train(task).update);
}

TEST_F(LocalTraining, SaysThatItDiverged) {
  LocalTrainer trainer = Trainer({.batch_size = 8});
  LocalTask task = Of(trainer);
  EXPECT_TRUE(trainer.Train(task).finite);
  task.rate = [](int64_t) { return std::numeric_limits<double>::infinity(); };
  EXPECT_FALSE(trainer.Train(task).finite);
}

// The squares of every task's losses have the mean loss below their root, and leave it as it is.
TEST(Losses, HaveSquaresInEveryTask) {
  for (const auto& [dataset, name] :
       {std::pair("glyphs", "logistic"), std::pair("grammar", "lstm:hidden=8"),
        std::pair("tastes", "ncf:factors=4")}) {
    const auto task = LoadTask({.dataset = dataset, .data_root = {}});
    const std::shared_ptr<Model> model = MakeModel(task->RequestFor(name, 1));
    model->eval();
    const std::vector<int64_t> numbers = {3, 0, 17, 40};
    const Batch batch = task->OpenSamples()->Gather(numbers, {.seed = 1});
    ModelState state, other;
    double squares = 0;
    const double loss = task->Loss(*model, batch, state, 0, &squares).item<double>();
    EXPECT_EQ(task->Loss(*model, batch, other, 0).item<double>(), loss) << dataset;
    EXPECT_GT(squares, loss * loss) << dataset;
    EXPECT_LT(squares, 2 * loss * loss) << dataset;
  }
}

TEST(SampleSets, GiveSamplesByNumber) {
  for (const char* dataset : {"glyphs", "grammar", "tastes"}) {
    const auto task = LoadTask({.dataset = dataset, .data_root = {}});
    const auto samples = task->OpenSamples();
    const SampleLabels labels = samples->Labels();
    ASSERT_GT(labels.samples, 100) << dataset;
    const RandomKey key = {.seed = 1, .step = 2};
    const std::vector<int64_t> numbers = {labels.samples - 1, 0, 17};
    const Batch batch = samples->Gather(numbers, key);
    EXPECT_TRUE(batch.inputs.equal(samples->Gather(numbers, key).inputs)) << dataset;
    const Batch one = samples->Gather(std::span(numbers).first(1), key);
    const int64_t rows = one.inputs.size(0);
    EXPECT_EQ(batch.inputs.size(0), 3 * rows);
    EXPECT_TRUE(batch.inputs.slice(0, 0, rows).equal(one.inputs)) << dataset;
    if (labels.classes > 0) {
      EXPECT_EQ(batch.targets[2].item<int64_t>(), labels.labels[17]);
    }
    if (labels.group_count > 0) {
      EXPECT_EQ(one.inputs[0][0].item<int64_t>(), labels.groups[labels.samples - 1]);
    }
  }
}

}  // namespace
}  // namespace legacy::local_training_test

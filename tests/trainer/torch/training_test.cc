#include "trainer/torch/training.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "trainer/data/sampler.h"
#include "trainer/torch/data/batch.h"
#include "trainer/torch/models/model.h"
#include "trainer/torch/one_thread.h"
#include "trainer/torch/tasks/classification.h"

namespace legacy::training_test {
namespace {

const Classification& Glyphs() {
  static const Classification task(LoadDataset({"glyphs", "", 256, 100}));
  return task;
}

ModelRequest ModelFor(const Task& task, const std::string& name = "small-cnn") {
  return task.RequestFor(name, 5);
}

TrainingOptions SmallOptions() {
  TrainingOptions options;
  options.workers = 4;
  options.batch_size = 4;
  options.total_steps = 20;
  options.seed = 11;
  options.schedule.learning_rate = 0.05;
  options.buckets = {4096, 65536};
  return options;
}

Training MakeTraining(const TrainingOptions& options, const std::string& scheme, double parameter,
                      bool error_feedback = true, const Task& task = Glyphs(),
                      const std::string& model = "small-cnn") {
  return Training(options, task, ModelFor(task, model), MakeUniformPolicy(parameter),
                  MakeScheme(scheme, {.error_feedback = error_feedback}));
}

std::vector<float> WeightsAfter(Training&& training, int steps) {
  for (int s = 0; s < steps; ++s) training.Step();
  return training.Weights();
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), 4 * a.size()) == 0;
}

// Trains in one LibTorch process with torch::optim::SGD on the union of the workers' batches.
std::vector<float> PlainLoop(const TrainingOptions& options, int steps) {
  UseOneThread();
  const auto model = MakeModel(ModelFor(Glyphs()));
  const auto group = [&](bool vectors) {
    std::vector<torch::Tensor> parameters;
    for (const torch::Tensor& parameter : model->parameters()) {
      if ((parameter.dim() == 1) == vectors) parameters.push_back(parameter);
    }
    const bool decays = !vectors || options.sgd.decay_vectors;
    return torch::optim::OptimizerParamGroup(
        parameters, std::make_unique<torch::optim::SGDOptions>(
                        torch::optim::SGDOptions(options.schedule.learning_rate)
                            .momentum(options.sgd.momentum)
                            .weight_decay(decays ? options.sgd.weight_decay : 0)
                            .nesterov(options.sgd.nesterov)));
  };
  torch::optim::SGD sgd({group(false), group(true)},
                        torch::optim::SGDOptions(options.schedule.learning_rate));
  Sampler sampler(Glyphs().images().train_labels.size(0), options.workers, options.batch_size,
                  options.seed);
  for (int step = 0; step < steps; ++step) {
    sampler.Seek(step);
    std::vector<int64_t> all;
    for (int w = 0; w < options.workers; ++w) {
      all.insert(all.end(), sampler.Batch(w).begin(), sampler.Batch(w).end());
    }
    const Batch batch = TrainingBatch(Glyphs().images(), all, std::nullopt);
    sgd.zero_grad();
    torch::nn::functional::cross_entropy(
        model->Forward(batch.inputs), batch.targets,
        torch::nn::functional::CrossEntropyFuncOptions().label_smoothing(options.label_smoothing))
        .backward();
    sgd.step();
  }
  std::vector<float> weights;
  for (const torch::Tensor& parameter : model->parameters()) {
    const float* data = parameter.data_ptr<float>();
    weights.insert(weights.end(), data, data + parameter.numel());
  }
  return weights;
}

double LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(double{a[i]} - double{b[i]}));
  }
  return largest;
}

TEST(Training, DenseWorkersEqualOneProcessOnTheirJointBatch) {
  for (const SgdOptions& sgd : {SgdOptions{0, 0, false}, SgdOptions{0.9, 5e-4, false},
                                SgdOptions{0.9, 5e-4, true}, SgdOptions{0.9, 0.5, false, false}}) {
    TrainingOptions options = SmallOptions();
    options.sgd = sgd;
    options.label_smoothing = sgd.nesterov ? 0.1 : 0;
    const auto ours = WeightsAfter(MakeTraining(options, "dense", 1, false), 5);
    const auto plain = PlainLoop(options, 5);
    EXPECT_LT(LargestDifference(ours, plain), 1e-6);
    EXPECT_GT(LargestDifference(ours, PlainLoop(options, 4)), 1e-3) << "it does train";
  }
}

TEST(Training, AdamAndAdamWAreThoseOfLibTorch) {
  for (const OptimizerKind kind : {OptimizerKind::kAdam, OptimizerKind::kAdamW}) {
    constexpr double kRate = 1e-3;
    constexpr double kDecay = 0.1;
    TrainingOptions options = SmallOptions();
    options.workers = 1;
    options.schedule.learning_rate = kRate;
    options.sgd = {.momentum = 0, .weight_decay = kDecay};
    options.optimizer = {.kind = kind, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-4};
    Training training = MakeTraining(options, "dense", 1, false);
    const auto model = MakeModel(ModelFor(Glyphs()));
    std::unique_ptr<torch::optim::Optimizer> theirs;
    if (kind == OptimizerKind::kAdam) {
      theirs = std::make_unique<torch::optim::Adam>(
          model->parameters(),
          torch::optim::AdamOptions(kRate).betas({0.8, 0.95}).eps(1e-4).weight_decay(kDecay));
    } else {
      theirs = std::make_unique<torch::optim::AdamW>(
          model->parameters(),
          torch::optim::AdamWOptions(kRate).betas({0.8, 0.95}).eps(1e-4).weight_decay(kDecay));
    }
    for (int step = 0; step < 6; ++step) {
      training.Step();
      int64_t offset = 0;
      const std::span<const float> gradient = training.MeanGradient();
      for (torch::Tensor& parameter : model->parameters()) {
        parameter.mutable_grad() =
            torch::tensor(std::vector<float>(gradient.begin() + offset,
                                             gradient.begin() + offset + parameter.numel()))
                .view(parameter.sizes());
        offset += parameter.numel();
      }
      theirs->step();
    }
    std::vector<float> expected;
    for (const torch::Tensor& parameter : model->parameters()) {
      const float* data = parameter.data_ptr<float>();
      expected.insert(expected.end(), data, data + parameter.numel());
    }
    EXPECT_LT(LargestDifference(training.Weights(), expected), 2e-6);
  }
}

double NormOf(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += double{value} * value;
  return std::sqrt(sum);
}

TEST(Training, GradientsAreClippedBeforeAndAfterTheExchange) {
  constexpr double kNorm = 0.01;
  TrainingOptions options = SmallOptions();
  Training free = MakeTraining(options, "dense", 1, false);
  EXPECT_TRUE(free.Step().work.whole_gradient.empty());
  EXPECT_GT(NormOf(free.MeanGradient()), 10 * kNorm);
  options.clip_mean = kNorm;
  Training mean = MakeTraining(options, "dense", 1, false);
  EXPECT_TRUE(mean.Step().work.whole_gradient.empty());
  EXPECT_NEAR(NormOf(mean.MeanGradient()), kNorm, 1e-5 * kNorm);
  options.clip_mean = 0;
  options.clip_worker = kNorm;
  Training worker = MakeTraining(options, "dense", 1, false);
  const StepOutcome outcome = worker.Step();
  ASSERT_EQ(outcome.work.whole_gradient.size(), 1u);
  EXPECT_EQ(outcome.work.whole_gradient[0].kernel, "clip");
  // A mean of gradients of that norm is shorter, unless they are all alike.
  EXPECT_LT(NormOf(worker.MeanGradient()), kNorm);
  EXPECT_GT(NormOf(worker.MeanGradient()), 0.3 * kNorm);
  options.clip_worker = -1;
  EXPECT_THROW(MakeTraining(options, "dense", 1, false), Error);
}

// Each worker clips its own gradient to norm / sqrt(N), as LibTorch's function does (which adds
// 1e-6 to the norm), and the mean follows.
TEST(Training, LocalClippingIsThatOfLibTorchAtEachWorker) {
  constexpr double kNorm = 60;
  const TrainingOptions options = SmallOptions();
  Training training = MakeTraining(options, "dense:local_clip=60", 1, false);
  UseOneThread();
  const auto model = MakeModel(ModelFor(Glyphs()));
  Sampler sampler(Glyphs().images().train_labels.size(0), options.workers, options.batch_size,
                  options.seed);
  int clipped = 0;
  for (int step = 0; step < 4; ++step) {
    // The model has the training's weights, so that no difference adds up.
    int64_t offset = 0;
    const std::vector<float> weights = training.Weights();
    for (torch::Tensor& parameter : model->parameters()) {
      const torch::NoGradGuard no_grad;
      parameter.copy_(
          torch::tensor(std::vector<float>(weights.begin() + offset,
                                           weights.begin() + offset + parameter.numel()))
              .view(parameter.sizes()));
      offset += parameter.numel();
    }
    std::vector<double> mean(weights.size());
    sampler.Seek(step);
    for (int w = 0; w < options.workers; ++w) {
      const Batch batch = TrainingBatch(Glyphs().images(), sampler.Batch(w), std::nullopt);
      model->zero_grad();
      torch::nn::functional::cross_entropy(model->Forward(batch.inputs), batch.targets).backward();
      const double limit = kNorm / std::sqrt(options.workers);
      clipped += torch::nn::utils::clip_grad_norm_(model->parameters(), limit) > limit;
      size_t at = 0;
      for (const torch::Tensor& parameter : model->parameters()) {
        const float* const gradient = parameter.grad().data_ptr<float>();
        for (int64_t i = 0; i < parameter.numel(); ++i) mean[at++] += gradient[i];
      }
    }
    training.Step();
    const std::span<const float> ours = training.MeanGradient();
    for (size_t i = 0; i < mean.size(); ++i) {
      ASSERT_NEAR(ours[i], mean[i] / options.workers, 1e-5) << step << " " << i;
    }
  }
  EXPECT_GT(clipped, 0);
  EXPECT_LT(clipped, 4 * options.workers) << "some gradients are shorter";
}

TEST(Training, ThreadsDoNotChangeABit) {
  for (const char* scheme : {"topk", "ar-topk"}) {
    std::vector<float> weights;
    Evaluation evaluation;
    for (int threads : {1, 2, 4}) {
      TrainingOptions options = SmallOptions();
      options.threads = threads;
      options.workers = 5;
      options.evaluation_batch = 30;
      Training training = MakeTraining(options, scheme, 0.05);
      for (int s = 0; s < 4; ++s) training.Step();
      const Evaluation now = training.Evaluate();
      if (threads == 1) {
        weights = training.Weights();
        evaluation = now;
      }
      EXPECT_TRUE(SameBits(training.Weights(), weights)) << scheme << ", threads " << threads;
      EXPECT_EQ(now.loss, evaluation.loss);
      EXPECT_EQ(now.metrics, evaluation.metrics);
    }
  }
}

TEST(Training, FullDensityIsDense) {
  const auto dense = WeightsAfter(MakeTraining(SmallOptions(), "dense", 1, false), 3);
  for (Scope scope : {Scope::kLayer, Scope::kBucket, Scope::kModel}) {
    TrainingOptions options = SmallOptions();
    options.scope = scope;
    EXPECT_TRUE(SameBits(WeightsAfter(MakeTraining(options, "topk", 1), 3), dense))
        << kScopeTexts[static_cast<size_t>(scope)];
  }
}

TEST(Training, TheTestLossFalls) {
  TrainingOptions options = SmallOptions();
  options.batch_size = 16;
  options.sgd.momentum = 0;
  Training training = MakeTraining(options, "topk", 0.1);
  const double before = training.Evaluate().loss;
  for (int s = 0; s < 20; ++s) training.Step();
  EXPECT_LT(training.Evaluate().loss, 0.5 * before);
}

class EvaluationTest : public testing::TestWithParam<int64_t> {};

TEST_P(EvaluationTest, EqualsOneSampleAtATime) {
  TrainingOptions options = SmallOptions();
  options.evaluation_batch = 37;
  options.local_steps = GetParam();
  Training training = MakeTraining(options, "topk", 0.1, true, Glyphs(), "resnet20");
  for (int64_t step = 0; step < options.local_steps; ++step) training.Step();
  const Evaluation evaluation = training.Evaluate();
  const torch::NoGradGuard no_grad;
  Model& model = training.Replica(0);
  EXPECT_TRUE(model.is_training());
  model.eval();
  const int64_t samples = Glyphs().images().test_labels.size(0);
  double loss = 0;
  int64_t hits = 0;
  for (int64_t i = 0; i < samples; ++i) {
    const Batch batch = TestBatch(Glyphs().images(), i, 1);
    const torch::Tensor logits = model.Forward(batch.inputs).to(torch::kDouble)[0];
    const auto label = batch.targets[0].item<int64_t>();
    loss += (logits.exp().sum().log() - logits[label]).item<double>();
    hits += logits.argmax().item<int64_t>() == label;
  }
  EXPECT_NEAR(evaluation.loss, loss / static_cast<double>(samples), 1e-5);
  EXPECT_EQ(evaluation.metrics.front(), static_cast<double>(hits) / static_cast<double>(samples));
}

INSTANTIATE_TEST_SUITE_P(LocalSteps, EvaluationTest, testing::Values(1, 2));

TEST(Training, ACorruptByteReachesTheModel) {
  const auto clean = WeightsAfter(MakeTraining(SmallOptions(), "topk", 0.05), 1);
  Training training = MakeTraining(SmallOptions(), "topk", 0.05);
  training.SetMessageHook([](const MessageInfo& info, Bytes& message) {
    if (info.worker == 2 && info.unit == 0) message[message.size() - 2] ^= std::byte{0x40};
  });
  training.Step();
  EXPECT_FALSE(SameBits(training.Weights(), clean));
}

TEST(Training, AMessageThatDoesNotDecodeIsNamed) {
  Training training = MakeTraining(SmallOptions(), "topk", 0.05);
  training.SetMessageHook([](const MessageInfo& info, Bytes& message) {
    if (info.worker == 2 && info.unit == 1) message[0] ^= std::byte{1};
  });
  try {
    training.Step();
    FAIL() << "decoded";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).rfind("step 0, worker 2, unit 'conv1.bias': ", 0), 0u)
        << error.what();
  }
}

TEST(Training, NamesWhereAGradientIsNotFinite) {
  Training training = MakeTraining(SmallOptions(), "topk", 0.05);
  training.Step();
  training.Replica(0).parameters()[0].data_ptr<float>()[0] =
      std::numeric_limits<float>::quiet_NaN();
  try {
    training.Step();
    FAIL() << "continued";
  } catch (const Error& error) {
    EXPECT_EQ(
        std::string(error.what()).rfind("worker 0, step 1, layer 'conv1.weight': gradient: ", 0),
        0u)
        << error.what();
  }
}

double GradientError(const std::vector<float>& mean, const std::vector<std::vector<float>>& parts) {
  double largest = 0;
  for (size_t i = 0; i < mean.size(); ++i) {
    double sum = 0;
    for (const auto& part : parts) sum += part[i];
    largest = std::max(largest, std::abs(mean[i] - sum / static_cast<double>(parts.size())));
  }
  return largest;
}

// A step of one worker gives its gradient, and a step of several workers the mean of theirs.
TEST(Training, TheMeanIsOverTheActiveWorkers) {
  const auto gradient_of = [](const std::vector<int>& workers) {
    Training training = MakeTraining(SmallOptions(), "dense", 1, false);
    training.Step(workers);
    return std::vector<float>(training.MeanGradient().begin(), training.MeanGradient().end());
  };
  std::vector<std::vector<float>> alone;
  for (int w = 0; w < 4; ++w) alone.push_back(gradient_of({w}));
  EXPECT_LT(GradientError(gradient_of({0, 2, 3}), {alone[0], alone[2], alone[3]}), 1e-6);
  EXPECT_GT(GradientError(gradient_of({0, 2, 3}), alone), 1e-4) << "worker 1 would have counted";
  EXPECT_EQ(gradient_of({0, 1, 2, 3}), gradient_of({}));
}

TEST(Training, DroppedWorkersKeepTheirState) {
  TrainingOptions options = SmallOptions();
  options.scope = Scope::kModel;
  options.threads = 2;
  Training training = MakeTraining(options, "topk", 0.05, true, Glyphs(), "resnet20");
  training.Step();
  const auto read_residual = [&] { return training.Residual(0, 1); };
  const std::vector<float> residual = read_residual();
  const torch::Tensor statistics = training.Replica(1).buffers()[0].clone();
  const StepOutcome outcome = training.Step(std::vector<int>{0, 2, 3});
  EXPECT_NE(residual, std::vector<float>(residual.size()));
  EXPECT_EQ(read_residual(), residual);
  EXPECT_TRUE(torch::equal(training.Replica(1).buffers()[0], statistics));
  EXPECT_EQ(outcome.work.active_workers, (std::vector<int>{0, 2, 3}));
  const std::vector<int64_t>& bytes = outcome.work.buckets[0].calls[0].bytes;
  EXPECT_GT(bytes[0], 0);
  EXPECT_EQ(bytes, (std::vector<int64_t>{bytes[0], 0, bytes[0], bytes[0]}));
  EXPECT_TRUE(training.Step().work.active_workers.empty());
  EXPECT_THROW(training.Step(std::vector<int>{2, 1}), Error);
  EXPECT_THROW(training.Step(std::vector<int>{1, 1}), Error);
  EXPECT_THROW(training.Step(std::vector<int>{4}), Error);
  EXPECT_THROW(training.Step(std::vector<int>{-1}), Error);
}

// A worker that is never active has no batch-norm statistics to evaluate with.
TEST(Training, EvaluatesWithStatisticsOfAWorkerThatTakesPart) {
  Training training = MakeTraining(SmallOptions(), "dense", 1, false, Glyphs(), "resnet20");
  training.Step(std::vector<int>{1, 2, 3});
  const double loss = training.Evaluate().loss;
  training.Replica(0).buffers()[0].fill_(1e3);
  EXPECT_EQ(training.Evaluate().loss, loss);
  EXPECT_TRUE(training.Replica(1).is_training());
  training.Replica(1).buffers()[0].fill_(1e3);
  EXPECT_NE(training.Evaluate().loss, loss);
}

TEST(Training, ReportsWhatTheStepAskedFor) {
  Training training = MakeTraining(SmallOptions(), "ar-topk", 0.01);
  int calls = 0;
  training.SetMessageHook([&](const MessageInfo&, Bytes&) { ++calls; });
  const StepOutcome outcome = training.Step();
  const size_t units = training.Units().size();
  EXPECT_EQ(calls, static_cast<int>(units) * 2 * 4);
  ASSERT_EQ(outcome.units.size(), units);
  EXPECT_EQ(outcome.units[0].parameter, 0.01);
  EXPECT_EQ(outcome.units[0].elements, 2);  // 1 % of 200 weights
  EXPECT_EQ(outcome.work.workers, 4);
  EXPECT_EQ(outcome.work.batch_size, 4);
  std::vector<bool> seen(training.Layers().size());
  for (const BucketWork& bucket : outcome.work.buckets) {
    ASSERT_EQ(bucket.calls.size(), 2u);
    EXPECT_EQ(bucket.calls[0].collective, Collective::kBroadcast);
    EXPECT_GT(bucket.calls[0].bytes[0], 0);
    EXPECT_EQ(bucket.calls[0].bytes[1], 0);
    EXPECT_EQ(bucket.calls[1].collective, Collective::kAllReduce);
    EXPECT_EQ(bucket.calls[1].bytes, std::vector<int64_t>(4, bucket.calls[1].bytes[0]));
    for (int layer : bucket.layers) seen[layer] = true;
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), static_cast<int64_t>(seen.size()));
}

// A dense exchange that records how its residuals are rescaled.
class SpyScheme : public Scheme {
 public:
  explicit SpyScheme(std::vector<float>& factors)
      : dense_(MakeScheme("dense", {.error_feedback = false})), factors_(factors) {}
  std::string_view Name() const override { return "spy"; }
  const ParameterSpec& Parameter() const override { return dense_->Parameter(); }
  int64_t ElementsSent(const Unit& unit, double) const override { return unit.numel; }
  std::vector<double> SquaredErrors(const Unit&, std::span<const float>,
                                    std::span<const double> parameters,
                                    const RandomKey&) const override {
    return std::vector<double>(parameters.size());
  }
  WorkList ErrorWork(const Unit&, std::span<const double>) const override { return {}; }
  std::optional<int64_t> MessageBytes(const Unit&, double) const override { return std::nullopt; }
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override {
    return std::make_unique<Spy>(dense_->Open(unit, workers), factors_);
  }

 private:
  class Spy : public Exchange {
   public:
    Spy(std::unique_ptr<Exchange> inner, std::vector<float>& factors)
        : inner_(std::move(inner)), factors_(factors) {}
    void Begin(const UnitStep& context) override { inner_->Begin(context); }
    std::optional<CollectiveCall> NextCall() override { return inner_->NextCall(); }
    Message Encode(int worker, std::span<const float> gradient) override {
      return inner_->Encode(worker, gradient);
    }
    void Accumulate(int worker, ByteSpan message) override { inner_->Accumulate(worker, message); }
    void FinishCall() override { inner_->FinishCall(); }
    void Mean(std::span<float> out) const override { inner_->Mean(out); }
    int64_t ElementsSent() const override { return inner_->ElementsSent(); }
    void RescaleResiduals(float factor) override { factors_.push_back(factor); }
    std::span<const float> Residual(int) const override { return {}; }
    std::vector<float> ErrorFed(int worker, std::span<const float> gradient) const override {
      return inner_->ErrorFed(worker, gradient);
    }
    Bytes Save() const override { return inner_->Save(); }
    void Load(ByteSpan state) override { inner_->Load(state); }

   private:
    std::unique_ptr<Exchange> inner_;
    std::vector<float>& factors_;
  };

  std::unique_ptr<Scheme> dense_;
  std::vector<float>& factors_;
};

TEST(Training, ResidualsFollowTheLearningRate) {
  for (bool rescale : {true, false}) {
    TrainingOptions options = SmallOptions();
    options.scope = Scope::kModel;
    options.rescale_residuals = rescale;
    options.schedule = {.learning_rate = 0.1, .decay = Decay::kStep, .warmup_steps = 2};
    options.schedule.milestones = {3};
    std::vector<float> factors;
    Training training(options, Glyphs(), ModelFor(Glyphs()), MakeUniformPolicy(1),
                      std::make_unique<SpyScheme>(factors));
    for (int s = 0; s < 5; ++s) training.Step();  // rates .05 .1 .1 .01 .01
    EXPECT_EQ(factors, rescale ? (std::vector<float>{0.5f, 10.0f}) : std::vector<float>{});
  }
}

TEST(Training, WorkersKeepTheirOwnBatchNormStatistics) {
  TrainingOptions options = SmallOptions();
  options.workers = 2;
  Training training = MakeTraining(options, "topk", 0.1, true, Glyphs(), "resnet20");
  training.Step();
  const auto first = training.Replica(0).buffers();
  const auto second = training.Replica(1).buffers();
  ASSERT_FALSE(first.empty());
  EXPECT_FALSE(torch::equal(first[0], second[0]));
  EXPECT_EQ(training.Replica(0).parameters()[0].data_ptr<float>(),
            training.Replica(1).parameters()[0].data_ptr<float>());
}

TEST(Training, RefusesOptionsThatDoNotFit) {
  TrainingOptions options = SmallOptions();
  options.workers = 0;
  EXPECT_THROW(MakeTraining(options, "dense", 1), Error);
  options = SmallOptions();
  options.batch_size = 65;  // 4 x 65 > 256 samples
  EXPECT_THROW(MakeTraining(options, "dense", 1), Error);
  options = SmallOptions();
  options.sgd = {0, 0, true};
  EXPECT_THROW(MakeTraining(options, "dense", 1), Error);
  ModelRequest request = ModelFor(Glyphs());
  request.classes = 3;
  EXPECT_THROW(Training(SmallOptions(), Glyphs(), request, MakeUniformPolicy(1),
                        MakeScheme("dense", {.error_feedback = false})),
               Error);
}

// Returns a data set of ramps, in which every pixel shows a shift or a mirrored image.
Dataset Ramps() {
  Dataset data;
  data.name = "ramps";
  data.train_images = torch::arange(1, 101, torch::kUInt8).reshape({1, 1, 10, 10});
  data.train_labels = torch::zeros({1}, torch::kInt64);
  data.mean = {0};
  data.stddev = {1.0 / 255};
  data.classes = 2;
  data.augment = Augmentation::kCrop;
  return data;
}

TEST(Batch, AugmentationShiftsAndMirrors) {
  const Dataset data = Ramps();
  const std::vector<int64_t> indices(200, 0);
  const RandomKey key{.seed = 1, .step = 2, .worker = 3, .layer = 0, .purpose = Purpose::kAugment};
  const torch::Tensor images = TrainingBatch(data, indices, key).inputs.round().to(torch::kInt64);
  int mirrored = 0;
  std::vector<std::pair<int64_t, int64_t>> shifts;
  for (int64_t i = 0; i < images.size(0); ++i) {
    torch::Tensor image = images[i][0];
    // The two middle columns survive every shift; their order tells whether the image is mirrored.
    const bool flip = image[5][4].item<int64_t>() > image[5][5].item<int64_t>();
    mirrored += flip;
    if (flip) image = image.flip({1});
    const int64_t value = image[5][5].item<int64_t>() - 1;
    shifts.emplace_back(value / 10 - 5, value % 10 - 5);
    const auto [rows, columns] = shifts.back();
    for (int64_t r = 0; r < 10; ++r) {
      for (int64_t c = 0; c < 10; ++c) {
        const int64_t y = r + rows;
        const int64_t x = c + columns;
        const bool inside = y >= 0 && y < 10 && x >= 0 && x < 10;
        ASSERT_EQ(image[r][c].item<int64_t>(), inside ? 10 * y + x + 1 : 0);
      }
    }
  }
  EXPECT_NEAR(mirrored, 100, 40);
  std::sort(shifts.begin(), shifts.end());
  EXPECT_EQ(shifts.front().first, -4);
  EXPECT_EQ(shifts.back().first, 4);
  EXPECT_TRUE(
      torch::equal(images, TrainingBatch(data, indices, key).inputs.round().to(torch::kInt64)));
}

// Pads by torch::reflection_pad2d, and cuts out the part that the shift chooses.
TEST(Batch, ReflectedCropsAreThoseOfAReflectedImage) {
  Dataset data = Ramps();
  data.augment = Augmentation::kReflectCrop;
  constexpr int kCount = 200, kMost = Shift::kMost;
  const std::vector<int64_t> indices(kCount, 0);
  const RandomKey key{.seed = 1, .step = 2, .worker = 3, .layer = 0, .purpose = Purpose::kAugment};
  const torch::Tensor images = TrainingBatch(data, indices, key).inputs.round();
  const torch::Tensor padded =
      torch::reflection_pad2d(data.train_images.to(torch::kFloat32), {kMost, kMost, kMost, kMost});
  const std::vector<Shift> shifts = DrawShifts(key, kCount);
  for (int i = 0; i < kCount; ++i) {
    const Shift& shift = shifts[static_cast<size_t>(i)];
    torch::Tensor expected =
        padded[0].narrow(1, kMost + shift.rows, 10).narrow(2, kMost + shift.columns, 10);
    if (shift.flip) expected = expected.flip({2});
    ASSERT_TRUE(torch::equal(images[i], expected)) << i;
  }
}

}  // namespace
}  // namespace legacy::training_test
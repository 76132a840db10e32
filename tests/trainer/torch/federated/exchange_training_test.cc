#include "trainer/torch/federated/exchange_training.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <string>
#include <tuple>

#include "base/error.h"
#include "compress/message.h"
#include "trainer/federated/fragments.h"
#include "trainer/torch/federated/federated_training.h"

namespace legacy::exchange_training_test {
namespace {

constexpr int64_t kClients = 5;

class Exchanging : public testing::Test {
 protected:
  Exchanging()
      : task_(LoadTask(
            {.dataset = "glyphs", .data_root = {}, .train_limit = 200, .test_limit = 100})),
        samples_(task_->OpenSamples()),
        partition_(MakePartition("dirichlet:alpha=1", samples_->Labels(), kClients, 1)) {}

  static FederatedOptions Options() {
    FederatedOptions options;
    options.versions = 8;
    options.per_version = kClients;
    options.local.batch_size = 16;
    options.local.sgd.momentum = 0;
    options.schedule.learning_rate = 0.05;
    return options;
  }

  std::unique_ptr<ExchangeTraining> Make(const FederatedOptions& options,
                                         const std::string& scheme = "dense", double parameter = 1,
                                         const std::string& model = "logistic") const {
    return std::make_unique<ExchangeTraining>(
        options, *task_, task_->RequestFor(model, 1), *partition_, [&](std::span<const Unit>) {
          return ExchangeMethod{MakeScheme(scheme), MakeUniformPolicy(parameter)};
        });
  }

  // The same with a server, in which all clients take part.
  struct Served {
    ClientStore store;
    FederatedTraining training;

    Served(const Exchanging& test, const FederatedOptions& options,
           const std::string& model = "logistic")
        : store(testing::TempDir(), int64_t{1} << 30),
          training(options, *test.task_, test.task_->RequestFor(model, 1), *test.partition_,
                   MakeUniformPolicy(1), store) {}

    void Round() {
      for (int64_t k = 0; k < kClients; ++k) training.Start({training.version(), k});
      for (int64_t k = 0; k < kClients; ++k) training.Count({training.version(), k});
      training.Update();
    }
  };

  // The weights before and after three steps on all samples at once.
  struct Central {
    std::vector<float> begin, weights;
  };
  Central CentralSteps(const FederatedOptions& options) const {
    std::vector<int64_t> all(200);
    std::iota(all.begin(), all.end(), 0);
    LocalTrainer trainer(*task_, *samples_, task_->RequestFor("logistic", 1), options.local, {});
    const LocalResult result = trainer.Train(
        {.samples = all, .epochs = 3, .base = trainer.initial_weights(), .rate = [](int64_t) {
           return 0.05;
         }});
    Central central = {trainer.initial_weights(), trainer.initial_weights()};
    for (size_t i = 0; i < result.update.size(); ++i) central.weights[i] += result.update[i];
    return central;
  }

  std::unique_ptr<Task> task_;
  std::unique_ptr<SampleSet> samples_;
  std::unique_ptr<Partition> partition_;
};

std::vector<float> WeightsOf(const ExchangeTraining& training) {
  return {training.weights().begin(), training.weights().end()};
}

double Distance(std::span<const float> a, std::span<const float> b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max<double>(most, std::abs(a[i] - b[i]));
  return most;
}

// One step of SGD without momentum, outer rate 1 and no outer momentum is data parallelism: a step
// of gradient descent on the samples of all.
TEST_F(Exchanging, OneStepIsDataParallelism) {
  for (const char* algorithm : {"fedavg", "diloco:rate=1,momentum=0"}) {
    FederatedOptions options = Options();
    options.local.batch_size = 1000;
    options.steps = 1;
    options.algorithm = algorithm;
    options.weighting = Weighting::kSamples;
    const auto training = Make(options);
    for (int version = 0; version < 3; ++version) training->Round();

    const Central central = CentralSteps(options);
    EXPECT_LT(Distance(training->weights(), central.weights), 1e-6) << algorithm;
    EXPECT_GT(Distance(training->weights(), central.begin), 1e-3);
  }
}

// A client without samples changes nothing: four clients with 50 samples each are a step on all,
// whatever their weights, in steps and in epochs.
TEST_F(Exchanging, AClientWithoutSamplesCountsForNothing) {
  const std::string file = testing::TempDir() + "exchange_without_samples.csv";
  std::ofstream csv(file);
  csv << "sample,client\n";
  for (int i = 0; i < 200; ++i) csv << i << "," << (i % 4 < 2 ? i % 4 : i % 4 + 1) << "\n";
  csv.close();
  partition_ = MakePartition("natural:file=" + file, samples_->Labels(), kClients, 1);
  std::remove(file.c_str());
  ASSERT_EQ(partition_->SizeOf(2), 0);
  FederatedOptions options = Options();
  options.local.batch_size = 1000;
  const std::vector<float> expected = CentralSteps(options).weights;
  for (const Weighting weighting : {Weighting::kUniform, Weighting::kSamples}) {
    for (const int64_t steps : {0, 1}) {
      options.weighting = weighting;
      options.steps = steps;
      const auto training = Make(options);
      for (int version = 0; version < 3; ++version) {
        const ExchangeOutcome outcome = training->Round();
        EXPECT_TRUE(std::isfinite(outcome.loss));
        EXPECT_EQ(outcome.works.front().local_steps, (std::vector<int64_t>{1, 1, 0, 1, 1}));
      }
      EXPECT_LT(Distance(training->weights(), expected), 1e-6) << steps;
    }
  }
}

// A server sums in double and rounds once, a collective in single precision, so they agree up to
// that.
TEST_F(Exchanging, LearnsAsWithAServerInWhichAllTakePart) {
  for (const char* algorithm : {"fedavg", "fedprox:mu=0.1", "fedavgm", "fedadam", "diloco"}) {
    FederatedOptions options = Options();
    options.algorithm = algorithm;
    options.local.optimizer = {.kind = OptimizerKind::kAdamW};
    options.schedule.learning_rate = 1e-3;
    options.keep_optimizer = true;
    options.steps = 5;
    const auto training = Make(options);
    Served served(*this, options);
    for (int version = 0; version < 4; ++version) {
      training->Round();
      served.Round();
    }
    // FedAdam divides by roots of squares near 0.
    const double limit = std::string(algorithm) == "fedadam" ? 1e-4 : 1e-6;
    EXPECT_LT(Distance(training->weights(), served.training.weights()), limit) << algorithm;
    EXPECT_NEAR(training->Evaluate().loss, served.training.Evaluate().loss, 1e-4) << algorithm;
  }
}

// Statistics of batch norm travel and are averaged, or stay with the clients.
TEST_F(Exchanging, AveragesStatisticsAsAServer) {
  for (const BatchNormRule rule : {BatchNormRule::kAverage, BatchNormRule::kLocal}) {
    FederatedOptions options = Options();
    options.batch_norm = rule;
    options.steps = 2;
    const auto training = Make(options, "dense", 1, "patch-resnet20");
    Served served(*this, options, "patch-resnet20");
    size_t buckets = 0;
    for (int version = 0; version < 2; ++version) {
      buckets = training->Round().works.front().buckets.size();
      served.Round();
    }
    EXPECT_NEAR(training->Evaluate().loss, served.training.Evaluate().loss, 1e-3);
    const size_t more = rule == BatchNormRule::kAverage ? 1 : 0;
    options.batch_norm = BatchNormRule::kLocal;
    EXPECT_EQ(
        buckets,
        Make(options, "dense", 1, "patch-resnet20")->Round().works.front().buckets.size() + more);
  }
}

TEST_F(Exchanging, DoesNotDependOnThreads) {
  for (const auto& [scheme, parameter, algorithm] :
       {std::tuple("dense", 1.0, "fedavg"),
        {"topk:decay=0.95+maxmin:bits=2", 0.03, "fedavg"},
        {"topk:decay=0.95+maxmin:bits=2", 0.03, "diloco:fragments=2,overlap=1"},
        {"qsgd", 4.0, "diloco:fragments=2,overlap=1"},
        {"powersgd", 2.0, "diloco:overlap=3"},
        {"powersgd", 2.0, "fedavg"},
        {"ar-topk", 0.05, "fedavg"}}) {
    FederatedOptions options = Options();
    options.algorithm = algorithm;
    if (options.algorithm != "fedavg") options.steps = 5;
    const auto one = Make(options, scheme, parameter);
    for (int version = 0; version < 3; ++version) one->Round();
    for (const int threads : {2, 3}) {
      options.threads = threads;
      const auto many = Make(options, scheme, parameter);
      for (int version = 0; version < 3; ++version) many->Round();
      EXPECT_EQ(WeightsOf(*many), WeightsOf(*one)) << scheme << " on " << threads;
    }
  }
}

class ExchangingState : public Exchanging, public testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(Algorithms, ExchangingState,
                         testing::Values("diloco", "diloco:fragments=2,overlap=1"));

TEST_P(ExchangingState, GoesOn) {
  FederatedOptions options = Options();
  options.algorithm = GetParam();
  options.steps = 4;
  options.local.optimizer = {.kind = OptimizerKind::kAdamW};
  options.schedule.learning_rate = 1e-3;
  options.keep_optimizer = true;
  const auto whole = Make(options, "topk", 0.05);
  for (int version = 0; version < 2; ++version) whole->Round();
  StateWriter out;
  whole->Save(out);
  const Bytes state = out.Take();
  const auto again = Make(options, "topk", 0.05);
  StateReader in(state);
  again->Load(in);
  in.ExpectEnd();
  EXPECT_EQ(again->version(), 2);
  for (int version = 0; version < 2; ++version) {
    EXPECT_EQ(whole->Round().loss, again->Round().loss);
  }
  EXPECT_EQ(WeightsOf(*again), WeightsOf(*whole));
  for (size_t length = 0; length < state.size(); length += 1 + state.size() / 20) {
    StateReader part(ByteSpan(state).first(length));
    EXPECT_THROW(Make(options, "topk", 0.05)->Load(part), Error) << length;
  }
}

TEST_F(Exchanging, ChargesWhatEachClientDoes) {
  FederatedOptions options = Options();
  options.algorithm = "diloco";
  options.epochs = 2;
  const ExchangeOutcome outcome = Make(options, "topk", 0.05)->Round();
  ASSERT_EQ(outcome.works.size(), 1u);
  const StepWork& work = outcome.works.front();
  ASSERT_EQ(work.local_steps.size(), static_cast<size_t>(kClients));
  for (int64_t client = 0; client < kClients; ++client) {
    EXPECT_EQ(work.local_steps[static_cast<size_t>(client)],
              2 * ((partition_->SizeOf(client) + 15) / 16));
    EXPECT_GT(work.MessageBytes(static_cast<int>(client)), 0);
  }
  ASSERT_TRUE(work.update);
  EXPECT_EQ(work.update->front().kernel, "optimizer.sgd");
}

// Streaming DiLoCo without its two parts is DiLoCo.
TEST_F(Exchanging, OneFragmentThatNobodyOverlapsIsDiLoCo) {
  FederatedOptions options = Options();
  options.local.optimizer = {.kind = OptimizerKind::kAdamW};
  options.schedule.learning_rate = 1e-3;
  options.steps = 5;
  options.algorithm = "diloco";
  const auto plain = Make(options, "topk", 0.05);
  options.algorithm = "diloco:fragments=1,overlap=0";
  const auto streamed = Make(options, "topk", 0.05);
  for (int version = 0; version < 3; ++version) {
    const ExchangeOutcome one = plain->Round(), other = streamed->Round();
    EXPECT_EQ(one.loss, other.loss);
    ASSERT_EQ(other.works.size(), 1u);
    EXPECT_EQ(one.works[0].MessageBytes(2), other.works[0].MessageBytes(2));
  }
  EXPECT_EQ(WeightsOf(*plain), WeightsOf(*streamed));
}

// The work of clients while the model travels is lost if they keep nothing of it: plain SGD then
// makes only the steps before, on the same batches.
TEST_F(Exchanging, AnOverlapOfWhichNothingIsKeptIsFewerSteps) {
  for (const char* scheme : {"dense", "qsgd"}) {
    FederatedOptions options = Options();
    options.algorithm = "diloco:overlap=2,mix=0";
    options.steps = 5;
    options.keep_optimizer = false;
    const auto streamed = Make(options, scheme, 4);
    options.algorithm = "diloco";
    options.steps = 3;
    const auto fewer = Make(options, scheme, 4);
    for (int version = 0; version < 4; ++version) {
      EXPECT_EQ(streamed->Round().works[0].local_steps, std::vector<int64_t>(kClients, 5));
      fewer->Round();
    }
    EXPECT_EQ(WeightsOf(*streamed), WeightsOf(*fewer)) << scheme;
  }
}

// The algorithm, step by step: logistic regression has two layers, its fragments.
TEST_F(Exchanging, StreamsFragmentsInTurn) {
  constexpr double kMix = 0.25, kRate = 0.7, kMomentum = 0.9;
  constexpr int64_t kSteps = 7;  // turns of 3 and 4 steps
  FederatedOptions options = Options();
  options.algorithm = "diloco:fragments=2,overlap=2,mix=0.25";
  options.local.optimizer = {.kind = OptimizerKind::kAdamW};
  options.schedule.learning_rate = 1e-2;
  options.steps = kSteps;
  const auto training = Make(options);

  LocalTrainer trainer(*task_, *samples_, task_->RequestFor("logistic", 1), options.local, {});
  const std::span<const Unit> layers = trainer.layers();
  ASSERT_EQ(layers.size(), 2u);
  std::vector<float> shared = trainer.initial_weights();
  std::vector<double> velocity(shared.size());
  std::vector<std::vector<float>> own(kClients, shared);
  std::vector<Bytes> optimizer(kClients);
  const auto train = [&](int64_t version, int64_t client, int64_t from, int64_t until) {
    const std::vector<int64_t> samples = partition_->SamplesOf(client);
    LocalResult result = trainer.Train({.version = version,
                                        .client = client,
                                        .samples = samples,
                                        .steps = until,
                                        .from = from,
                                        .base = own[client],
                                        .optimizer = optimizer[client],
                                        .first_step = version * kSteps,
                                        .keep_weights = true,
                                        .rate = [](int64_t) { return 1e-2; }});
    EXPECT_EQ(result.local_steps, until - from);
    own[client] = result.weights;
    optimizer[client] = result.optimizer;
  };
  for (int64_t version = 0; version < 3; ++version) {
    const ExchangeOutcome outcome = training->Round();
    ASSERT_EQ(outcome.works.size(), 2u);
    for (const auto& [layer, first, end] : {std::tuple(0, 0, 3), std::tuple(1, 3, 7)}) {
      EXPECT_EQ(outcome.works[layer].local_steps, std::vector<int64_t>(kClients, end - first));
      EXPECT_EQ(outcome.works[layer].step, 2 * version + layer);
      EXPECT_EQ(outcome.works[layer].MessageBytes(1), kHeaderBytes + 4 * layers[layer].numel);
      const auto from = static_cast<size_t>(layers[layer].offset);
      const auto until = from + static_cast<size_t>(layers[layer].numel);
      std::vector<double> moved(shared.size());
      for (int64_t client = 0; client < kClients; ++client) {
        train(version, client, first, end - 2);
        for (size_t i = from; i < until; ++i) {
          moved[i] += (static_cast<double>(own[client][i]) - shared[i]) / kClients;
        }
        train(version, client, end - 2, end);
      }
      for (size_t i = from; i < until; ++i) {
        velocity[i] = kMomentum * velocity[i] + moved[i];
        shared[i] = static_cast<float>(shared[i] + kRate * (moved[i] + kMomentum * velocity[i]));
        for (std::vector<float>& weights : own) {
          weights[i] = static_cast<float>(kMix * weights[i] + (1 - kMix) * shared[i]);
        }
      }
    }
    EXPECT_LT(Distance(training->weights(), shared), 2e-6) << version;
  }
  EXPECT_GT(Distance(training->weights(), trainer.initial_weights()), 1e-2);
}

// Fragments together send what the model sends, and each layer is in one of them.
TEST_F(Exchanging, FragmentsAddUpToTheModel) {
  FederatedOptions options = Options();
  options.steps = 8;
  for (const Scope scope : {Scope::kLayer, Scope::kBucket, Scope::kModel}) {
    options.scope = scope;
    options.algorithm = "diloco";
    const auto dense = Make(options, "dense", 1, "lenet5");
    const int64_t whole = dense->Round().works.front().MessageBytes(3);
    options.algorithm = "diloco:fragments=4";
    const auto training = Make(options, "dense", 1, "lenet5");
    const ExchangeOutcome outcome = training->Round();
    ASSERT_EQ(outcome.works.size(), 4u);
    int64_t bytes = 0, elements = 0, most = 0;
    std::vector<int> layers;
    for (const StepWork& work : outcome.works) {
      EXPECT_GT(work.MessageBytes(3), 0);
      bytes += work.MessageBytes(3);
      most = std::max(most, work.MessageBytes(3));
      for (const BucketWork& bucket : work.buckets) {
        elements += bucket.elements;
        layers.insert(layers.end(), bucket.layers.begin(), bucket.layers.end());
      }
    }
    // A fragment has its own message of each unit.
    const int64_t more = std::ssize(training->units()) - std::ssize(dense->units());
    EXPECT_EQ(bytes, whole + more * kHeaderBytes);
    EXPECT_EQ(more, scope == Scope::kLayer ? 0 : 3);
    EXPECT_LT(most, whole);
    EXPECT_EQ(elements, std::ssize(training->weights()));
    std::ranges::sort(layers);
    std::vector<int> all(training->layers().size());
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(layers, all);
    EXPECT_EQ(outcome.units.size(), training->units().size());
    for (size_t u = 0; u < training->units().size(); ++u) EXPECT_EQ(training->units()[u].id, u);
  }
}

TEST(Fragments, AreCutEvenly) {
  std::vector<Unit> layers;
  for (const int64_t numel : {10, 1, 1, 28, 20, 40}) {
    const int64_t offset = layers.empty() ? 0 : layers.back().offset + layers.back().numel;
    layers.push_back({static_cast<uint32_t>(layers.size()), "l", {numel}, offset, numel});
  }
  const auto numels = [&](int fragments) {
    std::vector<int64_t> result;
    for (const Fragment& one : CutFragments(layers, fragments, Scope::kLayer, {})) {
      EXPECT_EQ(one.plan.units.front().offset, one.offset);
      result.push_back(one.numel);
    }
    return result;
  };
  EXPECT_EQ(numels(1), (std::vector<int64_t>{100}));
  EXPECT_EQ(numels(2), (std::vector<int64_t>{60, 40}));
  EXPECT_EQ(numels(6), (std::vector<int64_t>{10, 1, 1, 28, 20, 40}));
  EXPECT_THROW(CutFragments(layers, 7, Scope::kLayer, {}), Error);
  EXPECT_THROW(TurnsOf(4, 0, 3), Error);
  EXPECT_THROW(TurnsOf(2, 2, 5), Error);
  EXPECT_EQ(TurnsOf(2, 1, 5).back().sent, 4);
}

TEST_F(Exchanging, FragmentsNeedNoServer) {
  FederatedOptions options = Options();
  options.algorithm = "diloco:fragments=2";
  options.steps = 4;
  try {
    Served(*this, options);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("without a server"), std::string::npos);
  }
}

TEST_F(Exchanging, RefusesWhatNeedsAServer) {
  const auto error = [&](const char* algorithm, const char* scheme) -> std::string {
    FederatedOptions options = Options();
    options.algorithm = algorithm;
    try {
      Make(options, scheme);
    } catch (const Error& refused) {
      return refused.what();
    }
    return "";
  };
  for (const char* algorithm : {"scaffold", "fednova", "feddyn", "fedbuff", "fedasync"}) {
    EXPECT_NE(error(algorithm, "dense").find("mean update alone"), std::string::npos) << algorithm;
  }
  for (const auto& [algorithm, message] :
       {std::pair("diloco:fragments=2", "these need local work in steps"),
        {"diloco:overlap=1", "these need local work in steps"},
        {"diloco:mix=0.3", "diloco: mix: got '0.3'; allowed: nothing without overlap"},
        {"diloco:fragments=0", "fragments: got '0'"},
        {"diloco:overlap=-1", "overlap: got '-1'"},
        {"diloco:overlap=1,mix=1.5", "mix: got '1.5'"}}) {
    EXPECT_NE(error(algorithm, "dense").find(message), std::string::npos)
        << error(algorithm, "dense");
  }
  EXPECT_NE(error("fedavg", "dgc").find("scheme"), std::string::npos);
  EXPECT_EQ(error("fedavg", "powersgd"), "");
}

}  // namespace
}  // namespace legacy::exchange_training_test

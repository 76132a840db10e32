#include "trainer/federated/exchange_training.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/error.h"
#include "trainer/federated/federated_training.h"

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
    return std::make_unique<ExchangeTraining>(options, *task_, task_->RequestFor(model, 1),
                                              *partition_, MakeUniformPolicy(parameter),
                                              MakeScheme(scheme));
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

    std::vector<int64_t> all(200);
    for (int64_t i = 0; i < 200; ++i) all[i] = i;
    LocalTrainer trainer(*task_, *samples_, task_->RequestFor("logistic", 1), options.local, {});
    const LocalResult central = trainer.Train(
        {.samples = all, .epochs = 3, .base = trainer.initial_weights(), .rate = [](int64_t) {
           return 0.05;
         }});
    std::vector<float> expected = trainer.initial_weights();
    for (size_t i = 0; i < expected.size(); ++i) expected[i] += central.update[i];
    EXPECT_LT(Distance(training->weights(), expected), 1e-6) << algorithm;
    EXPECT_GT(Distance(training->weights(), trainer.initial_weights()), 1e-3);
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
      buckets = training->Round().work.buckets.size();
      served.Round();
    }
    EXPECT_NEAR(training->Evaluate().loss, served.training.Evaluate().loss, 1e-3);
    const size_t more = rule == BatchNormRule::kAverage ? 1 : 0;
    options.batch_norm = BatchNormRule::kLocal;
    EXPECT_EQ(buckets,
              Make(options, "dense", 1, "patch-resnet20")->Round().work.buckets.size() + more);
  }
}

TEST_F(Exchanging, DoesNotDependOnThreads) {
  for (const auto& [scheme, parameter] : {std::pair("dense", 1.0),
                                          {"topk:decay=0.95+maxmin:bits=2", 0.03},
                                          {"qsgd", 4.0},
                                          {"powersgd", 2.0},
                                          {"ar-topk", 0.05}}) {
    FederatedOptions options = Options();
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

TEST_F(Exchanging, GoesOnFromItsState) {
  FederatedOptions options = Options();
  options.algorithm = "diloco";
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
  for (size_t length = 0; length < state.size(); length += 1 + state.size() / 50) {
    StateReader part(ByteSpan(state).first(length));
    EXPECT_THROW(Make(options, "topk", 0.05)->Load(part), Error) << length;
  }
}

TEST_F(Exchanging, ChargesWhatEachClientDoes) {
  FederatedOptions options = Options();
  options.algorithm = "diloco";
  options.epochs = 2;
  const ExchangeOutcome outcome = Make(options, "topk", 0.05)->Round();
  ASSERT_EQ(outcome.work.local_steps.size(), static_cast<size_t>(kClients));
  for (int64_t client = 0; client < kClients; ++client) {
    EXPECT_EQ(outcome.work.local_steps[static_cast<size_t>(client)],
              2 * ((partition_->SizeOf(client) + 15) / 16));
    EXPECT_GT(outcome.work.MessageBytes(static_cast<int>(client)), 0);
  }
  ASSERT_TRUE(outcome.work.update);
  EXPECT_EQ(outcome.work.update->front().kernel, "optimizer.sgd");
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
  EXPECT_NE(error("fedavg", "dgc").find("scheme"), std::string::npos);
  EXPECT_EQ(error("fedavg", "powersgd"), "");
}

}  // namespace
}  // namespace legacy::exchange_training_test

#include "trainer/federated/federated_training.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "base/error.h"

namespace legacy::federated_training_test {
namespace {

constexpr int64_t kClients = 6;

class Federated : public testing::Test {
 protected:
  Federated()
      : task_(LoadTask(
            {.dataset = "glyphs", .data_root = {}, .train_limit = 240, .test_limit = 200})),
        samples_(task_->OpenSamples()),
        partition_(MakePartition("dirichlet:alpha=1", samples_->Labels(), kClients, 1)) {}

  static FederatedOptions Options() {
    FederatedOptions options;
    options.versions = 8;
    options.per_version = 3;
    options.local.batch_size = 16;
    options.local.sgd.momentum = 0;
    options.schedule.learning_rate = 0.05;
    return options;
  }

  // A Run has a training with a store of its own.
  struct Run {
    ClientStore store;
    FederatedTraining training;

    Run(const Federated& test, const FederatedOptions& options, double parameter,
        const std::string& model)
        : store(testing::TempDir(), int64_t{1} << 30),
          training(options, *test.task_, test.task_->RequestFor(model, 1), *test.partition_,
                   MakeUniformPolicy(parameter), store) {}

    // Makes a version of these clients' updates.
    void Round(const std::vector<int64_t>& clients) {
      for (const int64_t client : clients) training.Start({training.version(), client});
      for (const int64_t client : clients) training.Count({training.version(), client});
      training.Update();
    }
    void Rounds(int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t first = training.version() % 3;
        Round({first, first + 1, first + 3});
      }
    }
    std::vector<float> Weights() const {
      return {training.weights().begin(), training.weights().end()};
    }
  };
  std::unique_ptr<Run> Make(const FederatedOptions& options, double parameter = 1,
                            const std::string& model = "logistic") const {
    return std::make_unique<Run>(*this, options, parameter, model);
  }

  std::unique_ptr<Task> task_;
  std::unique_ptr<SampleSet> samples_;
  std::unique_ptr<Partition> partition_;
};

double Distance(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max<double>(most, std::abs(a[i] - b[i]));
  return most;
}

// One step of whole batches at every client, weighted by samples, is a step of gradient descent on
// all samples.
TEST_F(Federated, EqualsGradientDescentWhereAllClientsMakeOneStep) {
  FederatedOptions options = Options();
  options.local.batch_size = 1000;
  const auto run = Make(options);
  run->Round({0, 1, 2, 3, 4, 5});
  run->Round({0, 1, 2, 3, 4, 5});

  std::vector<int64_t> all(240);
  for (int64_t i = 0; i < 240; ++i) all[i] = i;
  LocalTrainer trainer(*task_, *samples_, task_->RequestFor("logistic", 1), options.local, {});
  const LocalResult central = trainer.Train(
      {.samples = all, .epochs = 2, .base = trainer.initial_weights(), .rate = [](int64_t) {
         return 0.05;
       }});
  std::vector<float> expected = trainer.initial_weights();
  for (size_t i = 0; i < expected.size(); ++i) expected[i] += central.update[i];
  EXPECT_LT(Distance(run->Weights(), expected), 1e-6);
}

TEST_F(Federated, Learns) {
  FederatedOptions options = Options();
  options.epochs = 3;
  options.schedule.learning_rate = 0.1;
  const auto run = Make(options);
  const Evaluation before = run->training.Evaluate();
  run->Rounds(12);
  const Evaluation after = run->training.Evaluate();
  EXPECT_GT(after.metrics.front(), before.metrics.front() + 0.2);
  EXPECT_LT(after.loss, before.loss);
}

// Threads, the order of calls, tasks that are left out, and memory that is full change no bit.
TEST_F(Federated, DoesNotDependOnThreadsOrderOrLosers) {
  for (const char* algorithm : {"fedavg", "scaffold", "scaffold:uplink=two", "feddyn:alpha=0.1"}) {
    FederatedOptions options = Options();
    options.algorithm = algorithm;
    options.scheme = "topk";
    options.downlink = "delta:qsgd@6";
    const auto one = Make(options, 0.1);
    one->Rounds(4);
    for (const int threads : {2, 3, 8}) {
      options.threads = threads;
      const auto many = Make(options, 0.1);
      FederatedTraining& training = many->training;
      for (int round = 0; round < 4; ++round) {
        const int64_t version = training.version(), first = version % 3;
        for (const int64_t client : {first + 3, first + 2, first + 1, first}) {
          training.Start({version, client});
        }
        training.Abandon({version, first + 2});  // in work, or not yet begun
        for (const int64_t client : {first + 1, first + 3, first})
          training.Count({version, client});
        training.Update();
      }
      EXPECT_EQ(many->Weights(), one->Weights()) << algorithm << " on " << threads;
      EXPECT_EQ(training.live(), 0);
    }
  }
}

TEST_F(Federated, EqualsFedAvgAtTheLimitsOfAlgorithms) {
  const auto after = [&](const std::string& algorithm, Weighting weighting) {
    FederatedOptions options = Options();
    options.algorithm = algorithm;
    options.weighting = weighting;
    const auto run = Make(options);
    run->Rounds(3);
    return run->Weights();
  };
  const std::vector<float> plain = after("fedavg", Weighting::kUniform);
  EXPECT_EQ(after("fedprox:mu=0", Weighting::kUniform), plain);
  EXPECT_EQ(after("fedavgm:momentum=0", Weighting::kUniform), plain);
  EXPECT_NE(after("fedavg", Weighting::kSamples), plain);
  // SCAFFOLD's control variates are zero in the first round.
  FederatedOptions options = Options();
  options.weighting = Weighting::kUniform;
  const auto fedavg = Make(options);
  options.algorithm = "scaffold";
  const auto scaffold = Make(options);
  for (Run* run : {fedavg.get(), scaffold.get()}) run->Rounds(1);
  EXPECT_EQ(scaffold->Weights(), fedavg->Weights());
  for (Run* run : {fedavg.get(), scaffold.get()}) run->Rounds(2);
  EXPECT_NE(scaffold->Weights(), fedavg->Weights());
}

// A buffer of all tasks that start together is a round.
TEST_F(Federated, EqualsARoundWhereABufferHoldsAll) {
  FederatedOptions options = Options();
  options.weighting = Weighting::kUniform;
  const auto sync = Make(options);
  options.algorithm = "fedbuff:k=3";
  const auto async = Make(options);
  for (Run* run : {sync.get(), async.get()}) run->Rounds(4);
  EXPECT_EQ(async->Weights(), sync->Weights());
}

// Updates may start from older versions.
TEST_F(Federated, CountsStaleUpdates) {
  FederatedOptions options = Options();
  options.algorithm = "fedbuff:k=1,alpha=0.5";
  options.threads = 2;
  const auto run = Make(options);
  FederatedTraining& training = run->training;
  training.Start({0, 0});
  training.Start({0, 1});
  training.Count({0, 0});
  training.Update();
  const std::vector<float> before = run->Weights();
  training.Count({0, 1});  // one version late
  training.Update();
  const std::vector<float> after = run->Weights();
  const auto fresh = Make(options);
  const std::vector<float> start = fresh->Weights();
  fresh->Round({1});
  double ratio = 0, norm = 0;
  for (size_t i = 0; i < after.size(); ++i) {
    const double update = fresh->Weights()[i] - start[i];
    ratio += (after[i] - before[i]) * update;
    norm += update * update;
  }
  EXPECT_NEAR(ratio / norm, std::sqrt(0.5), 1e-4);  // (1 + 1)^-0.5
}

TEST_F(Federated, SendsAndReceivesWhatItSays) {
  FederatedOptions options = Options();
  options.scheme = "topk";
  const auto run = Make(options, 0.01, "patch-resnet20:width=4");
  FederatedTraining& training = run->training;
  training.Start({0, 2});
  EXPECT_EQ(training.Finish({0, 2}).up_bytes, training.UpBytes());
  EXPECT_EQ(training.Finish({0, 2}).local_steps, training.LocalStepsOf({0, 2}));
  training.Count({0, 2});
  training.Update();
  int64_t numel = 0;
  for (const Unit& layer : training.layers()) numel += layer.numel;
  const int64_t average = training.DownBytes();
  EXPECT_GT(average, 4 * numel);  // statistics of batch norm travel
  options.batch_norm = BatchNormRule::kLocal;
  EXPECT_EQ(Make(options, 0.01, "patch-resnet20:width=4")->training.DownBytes(), 4 * numel);
  options.algorithm = "scaffold";
  EXPECT_EQ(Make(options, 0.01, "patch-resnet20:width=4")->training.DownBytes(), 8 * numel);
}

// Clients train from what they decode, and the server keeps its own weights.
TEST_F(Federated, ClientsStartFromWhatTheyDecode) {
  for (const char* downlink : {"fp16", "delta:topk@5%"}) {
    FederatedOptions options = Options();
    options.downlink = downlink;
    const auto run = Make(options), dense = Make(Options());
    LocalTrainer trainer(*task_, *samples_, task_->RequestFor("logistic", 1), options.local, {});
    for (const int64_t client : {2, 4, 2}) {
      const std::vector<float> server = run->Weights();
      const std::vector<float> sent(run->training.sent_weights().begin(),
                                    run->training.sent_weights().end());
      const std::vector<int64_t> own = partition_->SamplesOf(client);
      const int64_t version = run->training.version();
      const LocalResult oracle = trainer.Train(
          {.version = version, .client = client, .samples = own, .base = sent, .rate = [](int64_t) {
             return 0.05;
           }});
      run->Round({client});
      dense->Round({client});
      std::vector<float> expected = server;
      for (size_t i = 0; i < expected.size(); ++i) expected[i] += oracle.update[i];
      EXPECT_LT(Distance(run->Weights(), expected), 1e-6) << downlink;
    }
    EXPECT_NE(run->Weights(), dense->Weights());
    const std::span<const float> sent = run->training.sent_weights();
    EXPECT_NE(run->Weights(), std::vector<float>(sent.begin(), sent.end()));
    const int64_t whole = run->training.downlink().WholeBytes();
    EXPECT_EQ(run->training.DownBytes(), whole);
    if (!run->training.downlink().Size()) continue;
    const auto need = [&](int64_t client) {
      return run->training.ledger().NeedOf(client, 3, *run->training.downlink().Size());
    };
    EXPECT_EQ(need(0).bytes, whole);  // its first contact
    EXPECT_EQ(need(2).messages, 1);
    EXPECT_EQ(need(4).messages, 2);
    EXPECT_LT(need(4).bytes, whole);
    EXPECT_EQ(need(4).bytes, 2 * need(2).bytes);
  }
}

// With memory a client's updates arrive in the end; without it what is left out is lost.
TEST_F(Federated, LearnsMoreWithMemory) {
  const auto loss = [&](UplinkMemory memory, const std::string& algorithm) {
    FederatedOptions options = Options();
    options.scheme = "topk";
    options.memory = memory;
    options.algorithm = algorithm;
    options.weighting = Weighting::kUniform;
    const auto run = Make(options, 0.02);
    for (int i = 0; i < 8; ++i) run->Round({0, 1, 2, 3, 4, 5});
    return run->training.Evaluate().loss;
  };
  EXPECT_LT(loss(UplinkMemory::kClient, "fedavg"), loss(UplinkMemory::kOff, "fedavg"));
  EXPECT_LT(loss(UplinkMemory::kEf21, "fedavg"), loss(UplinkMemory::kOff, "fedavg"));
}

// A residual that is older than the limit is as none.
TEST_F(Federated, DropsOldResiduals) {
  const auto after = [&](int64_t age, UplinkMemory memory) {
    FederatedOptions options = Options();
    options.scheme = "topk";
    options.memory = memory;
    options.residual_age = age;
    const auto run = Make(options, 0.05);
    run->Round({0});
    run->Round({1});
    run->Round({0});
    return run->Weights();
  };
  EXPECT_EQ(after(1, UplinkMemory::kClient), after(0, UplinkMemory::kOff));
  EXPECT_EQ(after(2, UplinkMemory::kClient), after(0, UplinkMemory::kClient));
  EXPECT_NE(after(0, UplinkMemory::kClient), after(0, UplinkMemory::kOff));
}

TEST_F(Federated, GoesOnFromItsState) {
  for (const char* algorithm : {"fedadam", "scaffold", "diloco"}) {
    FederatedOptions options = Options();
    options.algorithm = algorithm;
    options.scheme = "topk";
    options.downlink = std::string(algorithm) == "fedadam" ? "delta:topk@10%" : "fp16";
    options.keep_optimizer = true;
    options.local.optimizer.kind = OptimizerKind::kAdamW;
    options.schedule.learning_rate = 0.002;
    const auto whole = Make(options, 0.05, "patch-resnet20:width=4");
    whole->Rounds(5);
    const auto first = Make(options, 0.05, "patch-resnet20:width=4");
    first->Rounds(2);
    StateWriter out;
    first->training.Save(out);
    first->store.Save(out);
    const Bytes bytes = out.Take();
    const auto second = Make(options, 0.05, "patch-resnet20:width=4");
    StateReader in(bytes);
    second->training.Load(in);
    second->store.Load(in);
    in.ExpectEnd();
    EXPECT_EQ(second->training.version(), 2);
    second->Rounds(3);
    EXPECT_EQ(second->Weights(), whole->Weights()) << algorithm;
    EXPECT_EQ(second->training.DownBytes(), whole->training.DownBytes());
    if (const auto size = whole->training.downlink().Size()) {
      EXPECT_EQ(second->training.downlink().Size()->sent, size->sent);
      for (int64_t client = 0; client < kClients; ++client) {
        EXPECT_EQ(second->training.ledger().NeedOf(client, 5, *size).bytes,
                  whole->training.ledger().NeedOf(client, 5, *size).bytes);
      }
    }
    EXPECT_EQ(second->training.Evaluate().loss, whole->training.Evaluate().loss);
    first->store.Remove();
  }
}

TEST_F(Federated, SaysWhoDiverged) {
  FederatedOptions options = Options();
  options.schedule.learning_rate = 3e38;
  options.epochs = 10;
  const auto run = Make(options);
  run->training.Start({0, 4});
  try {
    run->training.Finish({0, 4});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("version 0, client 4: its update is not finite"),
              std::string::npos);
  }
  options.drop_diverged = true;
  const auto dropping = Make(options);
  dropping->training.Start({0, 4});
  EXPECT_FALSE(dropping->training.Finish({0, 4}).finite);
  dropping->training.Count({0, 4});
  EXPECT_EQ(dropping->training.live(), 0);
}

TEST_F(Federated, RefusesWhatDoesNotGoTogether) {
  const auto message = [&](const FederatedOptions& options) -> std::string {
    try {
      Make(options);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  FederatedOptions options = Options();
  options.scheme = "topk";
  options.memory = UplinkMemory::kEf21;
  EXPECT_NE(message(options).find("ef21"), std::string::npos);  // weights are samples
  options.weighting = Weighting::kUniform;
  EXPECT_EQ(message(options), "no error");
  options.algorithm = "fednova";
  EXPECT_NE(message(options).find("ef21"), std::string::npos);
  options = Options();
  options.epochs = 0;
  EXPECT_EQ(message(options), "local epochs: got '0'; allowed: at least 1");
}

}  // namespace
}  // namespace legacy::federated_training_test

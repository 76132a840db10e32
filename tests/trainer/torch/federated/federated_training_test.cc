#include "trainer/torch/federated/federated_training.h"

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

// A federation of one client is a training of its samples, version by version.
TEST_F(Federated, OfOneClientIsATraining) {
  const auto one = MakePartition("iid", samples_->Labels(), 1, 1);
  FederatedOptions options = Options();
  options.per_version = 1;
  options.epochs = 2;
  options.local.sgd.momentum = 0.9;
  ClientStore store(testing::TempDir(), int64_t{1} << 30);
  FederatedTraining training(options, *task_, task_->RequestFor("logistic", 1), *one,
                             MakeUniformPolicy(1), store);
  LocalTrainer trainer(*task_, *samples_, task_->RequestFor("logistic", 1), options.local, {});
  std::vector<float> weights = trainer.initial_weights();
  const std::vector<int64_t> own = one->SamplesOf(0);
  for (int64_t version = 0; version < 3; ++version) {
    training.Start({version, 0});
    training.Count({version, 0});
    training.Update();
    const LocalResult result = trainer.Train(
        {.version = version, .samples = own, .epochs = 2, .base = weights, .rate = [](int64_t) {
           return 0.05;
         }});
    for (size_t i = 0; i < weights.size(); ++i) weights[i] += result.update[i];
    EXPECT_LT(Distance({training.weights().begin(), training.weights().end()}, weights), 1e-6);
  }
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
  EXPECT_EQ(after("diloco:momentum=0,rate=1", Weighting::kUniform), plain);
  EXPECT_NE(after("fedavg", Weighting::kSamples), plain);
  // FedNova divides by the number of steps, which is the same for all, or not.
  FederatedOptions equal = Options();
  equal.steps = 2;
  const auto fednova = [&](const char* algorithm) {
    equal.algorithm = algorithm;
    const auto run = Make(equal);
    run->Rounds(3);
    return run->Weights();
  };
  EXPECT_LT(Distance(fednova("fednova"), fednova("fedavg")), 1e-6);
  equal.steps = 0;
  equal.local.batch_size = 4;
  EXPECT_GT(Distance(fednova("fednova"), fednova("fedavg")), 1e-5);
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

// The updates that clients computed add up to what the server got and what they hold; tasks that
// are lost move nothing.
TEST_F(Federated, ConservesWhatClientsCompute) {
  FederatedOptions options = Options();
  options.scheme = "topk";
  const auto run = Make(options, 0.05);
  LocalTrainer trainer(*task_, *samples_, task_->RequestFor("logistic", 1), options.local, {});
  const std::vector<float> start = run->Weights();
  std::vector<double> computed(start.size());
  for (const int64_t client : {3, 3, 1, 3, 1}) {
    const int64_t version = run->training.version();
    run->training.Start({version, 1 - client / 3});  // of client 0 or 1, and lost
    run->training.Abandon({version, 1 - client / 3});
    const std::vector<int64_t> own = partition_->SamplesOf(client);
    const std::vector<float> base = run->Weights();
    const LocalResult oracle = trainer.Train(
        {.version = version, .client = client, .samples = own, .base = base, .rate = [](int64_t) {
           return 0.05;
         }});
    for (size_t i = 0; i < computed.size(); ++i) computed[i] += oracle.update[i];
    run->Round({client});
  }
  std::vector<double> held(start.size());
  for (const int64_t client : {1, 3}) {
    const Bytes kept = run->store.Get(client, StateKind::kResidual).value();
    StateReader in(kept);
    in.Number();
    const std::vector<float> residual = run->training.uplink().ValuesOf(in.Blob());
    for (size_t i = 0; i < held.size(); ++i) held[i] += residual[i];
  }
  EXPECT_FALSE(run->store.Get(0, StateKind::kResidual));
  double most = 0, norm = 0;
  for (size_t i = 0; i < held.size(); ++i) {
    norm = std::max(norm, std::abs(held[i]));
    most = std::max(most, std::abs(run->Weights()[i] - start[i] + held[i] - computed[i]));
  }
  EXPECT_LT(most, 2e-6);
  EXPECT_GT(norm, 1e-3);
}

// With EF21 each version moves by the mean of what the server knows of all clients, including those
// that did not take part.
TEST_F(Federated, MovesByTheMeanOfWhatIsKnown) {
  for (const char* scheme : {"topk", "topk:vectors=off", "fp16"}) {
    FederatedOptions options = Options();
    options.scheme = scheme;
    options.memory = UplinkMemory::kEf21;
    options.weighting = Weighting::kUniform;
    const auto run = Make(options, 0.1);
    for (int round = 0; round < 4; ++round) {
      const std::vector<float> before = run->Weights();
      run->Rounds(1);
      std::vector<double> mean(before.size());
      for (int64_t client = 0; client < kClients; ++client) {
        const auto kept = run->store.Get(client, StateKind::kResidual);
        if (!kept) continue;
        StateReader in(*kept);
        in.Number();
        const std::vector<float> known = run->training.uplink().ValuesOf(in.Blob());
        for (size_t i = 0; i < mean.size(); ++i) mean[i] += known[i] / double{kClients};
      }
      for (size_t i = 0; i < mean.size(); ++i) {
        ASSERT_NEAR(run->Weights()[i] - before[i], mean[i], 1e-6) << scheme << " " << round;
      }
    }
  }
}

// A client's schedule counts its own steps, those of counted tasks.
TEST_F(Federated, RatesFollowTheStepsOfClients) {
  FederatedOptions options = Options();
  options.rate_over_steps = true;
  options.steps = 4;
  options.schedule.warmup_steps = 16;
  options.schedule.learning_rate = 0.16;
  const auto run = Make(options);
  FederatedTraining& training = run->training;
  const auto rate = [&](int64_t client) {
    training.Start({training.version(), client});
    return training.Finish({training.version(), client}).rate;
  };
  EXPECT_NEAR(rate(2), 0.025, 1e-12);  // the mean of .01, .02, .03 and .04
  training.Abandon({0, 2});
  EXPECT_NEAR(rate(2), 0.025, 1e-12);  // what is lost does not count
  training.Count({0, 2});
  training.Update();
  EXPECT_NEAR(rate(2), 0.065, 1e-12);
  EXPECT_NEAR(rate(1), 0.025, 1e-12);
  training.Count({1, 2});
  training.Abandon({1, 1});
  training.Update();
  StateWriter out;
  training.Save(out);
  const Bytes bytes = out.Take();
  const auto second = Make(options);
  StateReader in(bytes);
  second->training.Load(in);
  second->training.Start({2, 2});
  EXPECT_NEAR(second->training.Finish({2, 2}).rate, 0.105, 1e-12);
  // 8 versions of 3 of 6 clients with 4 steps each: a client expects 16 steps, over which a line
  // falls to 0.
  options.schedule.warmup_steps = 0;
  options.schedule.decay = Decay::kLinear;
  const auto falling = Make(options);
  falling->training.Start({0, 5});
  EXPECT_NEAR(falling->training.Finish({0, 5}).rate, 0.145, 1e-12);
  falling->training.Count({0, 5});
  falling->training.Update();
  falling->training.Start({1, 5});
  EXPECT_NEAR(falling->training.Finish({1, 5}).rate, 0.105, 1e-12);
}

// Masks take vectors that add up, and more bytes.
TEST_F(Federated, MasksTakeSumsAlone) {
  const auto message = [&](const FederatedOptions& options, double parameter) -> std::string {
    try {
      Make(options, parameter);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  FederatedOptions options = Options();
  for (const char* scheme : {"dense", "fp16", "randomk"}) {
    options.scheme = scheme;
    options.masked_bytes = 0;
    const int64_t plain = Make(options, 0.1)->training.UpBytes().value();
    options.masked_bytes = 1.73;
    const auto masked = Make(options, 0.1);
    const auto expected = static_cast<int64_t>(std::ceil(1.73 * static_cast<double>(plain)));
    EXPECT_EQ(masked->training.UpBytes(), expected) << scheme;
    masked->training.Start({0, 1});
    EXPECT_EQ(masked->training.Finish({0, 1}).up_bytes, expected);
  }
  for (const char* scheme : {"topk", "qsgd", "sign", "sidco", "terngrad"}) {
    options.scheme = scheme;
    const double parameter = std::string(scheme) == "qsgd" ? 4 : 0.1;
    EXPECT_NE(message(options, parameter).find(std::string("off with ") + scheme),
              std::string::npos)
        << message(options, parameter);
  }
  options.scheme = "dense";
  for (const char* algorithm : {"fedbuff", "fedasync", "scaffold"}) {
    options.algorithm = algorithm;
    EXPECT_NE(message(options, 1).find(std::string("off with algorithm ") + algorithm),
              std::string::npos);
  }
  for (const char* algorithm : {"scaffold:uplink=two", "fednova", "feddyn", "fedadam", "diloco"}) {
    options.algorithm = algorithm;
    EXPECT_EQ(message(options, 1), "no error") << algorithm;
  }
  options.drop_diverged = true;
  EXPECT_NE(message(options, 1).find("diverged=drop"), std::string::npos);
}

// A residual that is older than the limit counts as none.
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

// Age and norm are means over the clients that hold a residual, and are those of the residuals in
// the store.
TEST_F(Federated, SaysWhatClientsHold) {
  FederatedOptions options = Options();
  options.scheme = "topk";
  const auto run = Make(options, 0.05);
  EXPECT_EQ(run->training.Residuals().clients, 0);
  run->Round({0, 1});
  run->Round({1, 2});
  run->Round({1});
  const HeldResiduals held = run->training.Residuals();
  EXPECT_EQ(held.clients, 3);
  EXPECT_DOUBLE_EQ(held.age, (3 + 1 + 2) / 3.0);
  double norms = 0;
  for (int64_t client = 0; client < 3; ++client) {
    const Bytes kept = run->store.Get(client, StateKind::kResidual).value();
    StateReader in(kept);
    in.Number();
    double squares = 0;
    for (const float value : run->training.uplink().ValuesOf(in.Blob())) {
      squares += static_cast<double>(value) * value;
    }
    norms += std::sqrt(squares);
  }
  EXPECT_GT(norms, 0);
  EXPECT_DOUBLE_EQ(held.norm, norms / 3);
  // A residual that is too old to be added does not count as held.
  options.residual_age = 2;
  const auto young = Make(options, 0.05);
  young->Round({0, 1});
  young->Round({1, 2});
  young->Round({1});
  EXPECT_EQ(young->training.Residuals().clients, 2);
  EXPECT_DOUBLE_EQ(young->training.Residuals().age, 1.5);
  for (const UplinkMemory memory : {UplinkMemory::kOff, UplinkMemory::kEf21}) {
    options.memory = memory;
    options.weighting = Weighting::kUniform;
    const auto other = Make(options, 0.05);
    other->Round({0, 1});
    EXPECT_EQ(other->training.Residuals().clients, 0);
  }
}

// Clients of DiLoCo keep their optimizers, as published, and others begin again.
TEST_F(Federated, KeepsOptimizersAsTheAlgorithmHasIt) {
  const auto after = [&](const char* algorithm, std::optional<bool> keeps) {
    FederatedOptions options = Options();
    options.algorithm = algorithm;
    options.keep_optimizer = keeps;
    options.local.optimizer.kind = OptimizerKind::kAdamW;
    options.schedule.learning_rate = 0.002;
    const auto run = Make(options);
    for (int i = 0; i < 3; ++i) run->Round({0, 1});
    return run->Weights();
  };
  EXPECT_EQ(after("diloco", std::nullopt), after("diloco", true));
  EXPECT_NE(after("diloco", std::nullopt), after("diloco", false));
  EXPECT_EQ(after("fedavg", std::nullopt), after("fedavg", false));
  EXPECT_NE(after("fedavg", std::nullopt), after("fedavg", true));
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
    EXPECT_EQ(second->training.Residuals().age, whole->training.Residuals().age);
    EXPECT_EQ(second->training.Residuals().norm, whole->training.Residuals().norm);
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

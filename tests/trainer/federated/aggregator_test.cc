// Oracles are three clients with quadratic losses, whose models of one element are computed
// elsewhere in double.
#include "trainer/federated/aggregator.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "base/error.h"
#include "trainer/optimizer.h"

namespace legacy::aggregator_test {
namespace {

constexpr double kRate = 0.1;
constexpr int kClients = 3;
constexpr std::array<double, kClients> kSamples = {10, 20, 70};
constexpr std::array<float, kClients> kCurvature = {1, 2, 0.5};
constexpr std::array<float, kClients> kOptimum = {1, -1, 3};
constexpr std::array<int, kClients> kSteps = {2, 4, 8};

// A Federation trains a model of one element. Client k has the loss a_k / 2 (w - b_k)^2.
class Federation {
 public:
  explicit Federation(const std::string& algorithm, double momentum = 0)
      : momentum_(momentum),
        aggregator_(MakeAggregator(
            algorithm, {.numel = 1, .clients = kClients, .local_momentum = momentum})) {}

  // Returns the client's update from `base`.
  float Train(int client, float base) {
    const ClientRule& rule = aggregator_->Traits().client;
    const auto optimizer = MakeOptimizer(1, {.momentum = momentum_});
    const std::array<float, 1> start = {base}, state = {states_[client]};
    std::array<float, 1> y = start;
    for (int step = 0; step < kSteps[client]; ++step) {
      std::array<float, 1> gradient = {kCurvature[client] * (y[0] - kOptimum[client])};
      CorrectGradient(rule, y, start, state, gradient);
      optimizer->Update(y, gradient, {.learning_rate = kRate, .step = step});
      CorrectWeights(rule, aggregator_->Downlink(), state, kRate, y);
    }
    return y[0] - base;
  }

  void Count(int client, float update, float base, int64_t staleness, double weight) {
    const std::array<float, 1> updates = {update}, bases = {base};
    std::array<float, 1> state = {states_[client]};
    ClientUpdate counted = {.update = updates,
                            .base = bases,
                            .weight = weight,
                            .local_steps = kSteps[client],
                            .rate = kRate,
                            .staleness = staleness};
    std::array<float, 1> moved;
    if (aggregator_->Traits().up_vectors == 2) {
      moved = {-aggregator_->Downlink()[0] - update / static_cast<float>(kSteps[client] * kRate)};
      counted.control = moved;
    }
    if (aggregator_->Traits().client.HasState()) aggregator_->Advance(counted, state);
    aggregator_->Add(counted);
    states_[client] = state[0];
  }

  // Makes a version of all clients' updates. Returns the model.
  float Round(Weighting weighting) {
    std::array<float, kClients> updates;
    for (int k = 0; k < kClients; ++k) updates[k] = Train(k, model_[0]);
    for (int k = 0; k < kClients; ++k) {
      Count(k, updates[k], model_[0], 0, weighting == Weighting::kSamples ? kSamples[k] : 1);
    }
    aggregator_->Apply(model_);
    return model_[0];
  }
  float Round() { return Round(aggregator_->Traits().weighting); }

  Aggregator& aggregator() { return *aggregator_; }
  std::array<float, 1>& model() { return model_; }

 private:
  double momentum_;
  std::unique_ptr<Aggregator> aggregator_;
  std::array<float, 1> model_ = {0};
  std::array<float, kClients> states_ = {};
};

struct Vector {
  std::string algorithm;
  std::array<double, 3> models;
  double momentum = 0;
};

TEST(Aggregators, HitTheirVectors) {
  const std::vector<Vector> vectors = {
      {"fedavg", {0.607737094, 0.988979265, 1.228137932}},
      {"fedavg", {2.008106535, 1.933815606, 1.936564037}, 0.9},
      {"fedprox:mu=0.1", {0.585868798, 0.959104124, 1.196878536}},
      {"fedavgm:momentum=0.9", {0.607737094, 1.535942650, 2.406640886}},
      {"fedadagrad", {0.099508875, 0.162564412, 0.210156070}},
      {"fedadam", {0.095198851, 0.223679936, 0.369927633}},
      {"fedyogi", {0.095197754, 0.223308979, 0.368640165}},
      {"scaffold", {0.203112902, 0.227209053, 0.202019860}},
      {"scaffold:uplink=two", {0.203112902, 0.227209053, 0.202019860}},
      {"fednova", {0.450992103, 0.698177852, 0.833658705}},
      {"fednova", {1.304953087, 0.737489760, 0.984253134}, 0.9},
      {"feddyn:alpha=0.1", {0.389099902, 0.655046436, 0.742230458}},
      {"diloco", {0.270140160, 0.521673474, 0.695268389}}};
  for (const Vector& vector : vectors) {
    Federation federation(vector.algorithm, vector.momentum);
    for (const double expected : vector.models) {
      EXPECT_NEAR(federation.Round(), expected, 2e-6) << vector.algorithm << vector.momentum;
    }
  }
  Federation uniform("fedavg");
  for (const double expected : {0.203112902, 0.330601484, 0.410622685}) {
    EXPECT_NEAR(uniform.Round(Weighting::kUniform), expected, 1e-6);
  }
}

// Arrivals are (client, base version).
TEST(Aggregators, HitTheirVectorsAsynchronously) {
  constexpr std::array<std::array<int, 2>, 8> kArrivals = {
      {{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 0}, {2, 1}, {0, 2}, {1, 3}}};
  const std::map<std::string, std::vector<double>> vectors = {
      {"fedbuff:k=2", {-0.200200000, 0.270815543, 0.481201856, 0.092934139}},
      {"fedbuff:k=2,normalise=weights", {-0.200200000, 0.351629034, 0.679216964, 0.149489779}},
      {"fedasync",
       {0.113970000, -0.184677187, 0.228486313, 0.247118013, 0.022509587, 0.307256400, 0.235638500,
        0.039250345}}};
  for (const auto& [algorithm, expected] : vectors) {
    Federation federation(algorithm);
    std::vector<float> versions = {0};
    int64_t added = 0;
    for (const auto& [client, base] : kArrivals) {
      const float update = federation.Train(client, versions[base]);
      federation.Count(client, update, versions[base], std::ssize(versions) - 1 - base, 1);
      if (++added % federation.aggregator().Traits().buffer != 0) continue;
      federation.aggregator().Apply(federation.model());
      versions.push_back(federation.model()[0]);
      EXPECT_NEAR(versions.back(), expected[versions.size() - 2], 1e-6) << algorithm;
    }
    EXPECT_EQ(versions.size(), expected.size() + 1) << algorithm;
  }
}

// If clients' optima differ and they make several steps, FedAvg stops at the fixed point of the
// mean of the clients' maps, and SCAFFOLD at the optimum of the mean loss.
TEST(Aggregators, ScaffoldFindsTheOptimumThatFedAvgMisses) {
  double curvature = 0, pull = 0, kept = 0, moved = 0;
  for (int k = 0; k < kClients; ++k) {
    curvature += kCurvature[k];
    pull += kCurvature[k] * kOptimum[k];
    const double factor = std::pow(1 - kRate * kCurvature[k], kSteps[k]);
    kept += factor / kClients;
    moved += (1 - factor) * kOptimum[k] / kClients;
  }
  Federation scaffold("scaffold"), fedavg("fedavg");
  for (int round = 0; round < 2000; ++round) {
    scaffold.Round();
    fedavg.Round(Weighting::kUniform);
  }
  EXPECT_NEAR(scaffold.model()[0], pull / curvature, 1e-6);
  EXPECT_NEAR(fedavg.model()[0], moved / (1 - kept), 1e-6);
  EXPECT_GT(std::abs(fedavg.model()[0] - pull / curvature), 0.1);
}

TEST(Aggregators, EqualFedAvgAtTheirLimits) {
  const auto after = [](const std::string& algorithm, Weighting weighting) {
    Federation federation(algorithm);
    for (int round = 0; round < 4; ++round) federation.Round(weighting);
    return federation.model()[0];
  };
  for (const Weighting weighting : {Weighting::kSamples, Weighting::kUniform}) {
    const float plain = after("fedavg", weighting);
    EXPECT_EQ(after("fedprox:mu=0", weighting), plain);
    EXPECT_EQ(after("fedavgm:momentum=0", weighting), plain);
    EXPECT_EQ(after("diloco:momentum=0,rate=1", weighting), plain);
    EXPECT_EQ(after("fedbuff:alpha=3", weighting), plain);  // nothing is stale
  }
}

// FedNova equals FedAvg if all clients make equally many steps; here they make one.
TEST(Aggregators, FedNovaNormalisesByWhatStepsAmountTo) {
  std::array<float, 1> model = {0};
  const auto nova = MakeAggregator("fednova", {.numel = 1, .clients = 2});
  const std::array<float, 1> one = {1}, four = {4};
  nova->Add({.update = one, .weight = 1, .local_steps = 1, .rate = 0.1});
  nova->Add({.update = four, .weight = 1, .local_steps = 4, .rate = 0.1});
  nova->Apply(model);
  EXPECT_FLOAT_EQ(model[0], 2.5F);  // both moved by 1 a step; 2.5 steps on average
  // With a proximal term a step counts (1 - (1 - r mu)^t) / (r mu).
  const auto prox = MakeAggregator("fednova:mu=2", {.numel = 1, .clients = 1});
  model = {0};
  prox->Add({.update = one, .weight = 1, .local_steps = 3, .rate = 0.1});
  prox->Apply(model);
  EXPECT_FLOAT_EQ(model[0], 1);  // a single client keeps its update
}

// FedDyn's version is the mean of the clients' models, whatever they started from.
TEST(Aggregators, FedDynAveragesModels) {
  const auto dyn = MakeAggregator("feddyn:alpha=0.5", {.numel = 1, .clients = 4});
  const std::array<float, 1> base = {2}, one = {1}, three = {3};
  std::array<float, 1> model = {2.25F};  // clients decoded 2
  dyn->Add({.update = one, .base = base});
  dyn->Add({.update = three, .base = base});
  dyn->Apply(model);
  // h = -.5 / 4 x 4 = -.5, and the version is mean(3, 5) - h / .5.
  EXPECT_FLOAT_EQ(model[0], 5);
}

TEST(Aggregators, GoOnFromTheirState) {
  for (const AggregatorRow& row : AggregatorTable()) {
    if (row.info.name == "fedasync") continue;
    Federation whole(row.info.name), first(row.info.name), second(row.info.name);
    whole.Round();
    first.Round();
    StateWriter out;
    first.aggregator().Save(out);
    const Bytes bytes = out.Take();
    StateReader in(bytes);
    second.aggregator().Load(in);
    in.ExpectEnd();
    // Clients have states of their own here, so the versions are made of given updates.
    const std::array<float, 1> update = {0.25F};
    std::array<float, 1> expected = {1}, found = {1};
    for (auto [federation, model] : {std::pair{&whole, &expected}, std::pair{&second, &found}}) {
      const std::array<float, 1> control = {0.5F};
      federation->aggregator().Add(
          {.update = update, .base = update, .control = control, .rate = 0.1});
      federation->aggregator().Apply(*model);
    }
    EXPECT_EQ(found, expected) << row.info.name;
  }
}

TEST(Aggregators, SayWhatIsAllowed) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      MakeAggregator(text, {.numel = 1});
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_NE(message("fedavgg").find("fedavg"), std::string::npos);
  EXPECT_NE(message("fedavg:mu=1").find("mu"), std::string::npos);
  EXPECT_NE(message("fedavgm:momentum=1").find("momentum"), std::string::npos);
  EXPECT_NE(message("fedbuff:k=0").find("k"), std::string::npos);
  EXPECT_NE(message("fedasync:staleness=linear").find("poly, hinge, constant"), std::string::npos);
  EXPECT_THROW(MakeAggregator("scaffold", {.numel = 1})->ApplyMean({}, {}), Error);
}

}  // namespace
}  // namespace legacy::aggregator_test

// The policy's own collective calls in a step, and local SGD, both through Training.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "base/error.h"
#include "trainer/torch/models/model.h"
#include "trainer/torch/tasks/classification.h"
#include "trainer/torch/training.h"

namespace legacy::policy_calls_test {
namespace {

const Classification& Glyphs() {
  static const Classification task(LoadDataset({"glyphs", "", 256, 100}));
  return task;
}

ModelRequest SmallCnn() { return Glyphs().RequestFor("small-cnn", 5); }

TrainingOptions SmallOptions(int workers = 4) {
  TrainingOptions options;
  options.workers = workers;
  options.batch_size = 4;
  options.total_steps = 20;
  options.seed = 11;
  options.schedule.learning_rate = 0.05;
  return options;
}

Message Text(double number) {
  Message message;
  message.bytes.resize(sizeof number);
  std::memcpy(message.bytes.data(), &number, sizeof number);
  return message;
}

double Number(ByteSpan bytes) {
  if (bytes.size() != sizeof(double)) throw Error("number: 8 bytes");
  double number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

// A policy that sends everything if the gradients' kept share, averaged over the workers, is below
// a limit, and else takes the tighter of two densities. It announces a number that it must read
// back.
class Chooser : public Policy {
 public:
  explicit Chooser(double limit) : limit_(limit) {}
  std::string_view Name() const override { return "chooser"; }
  void Decide(const StepInfo& step, std::span<const Unit>, std::span<double> parameters) override {
    std::fill(parameters.begin(), parameters.end(), 0.1);
    link_ = step.link;
    shown_units_ = 0;
  }
  bool ReadsLocalGradient() const override { return true; }
  WorkList LocalWork() const override { return {{"copy", 1000, 1}}; }
  void OnLocalGradient(size_t unit, std::span<const float> gradient,
                       std::span<const float> error_fed) override {
    EXPECT_EQ(unit, shown_units_);
    EXPECT_EQ(gradient.size(), error_fed.size());
    ++shown_units_;
  }
  std::vector<double> Candidates() const override { return {1.0, 0.2, 0.05}; }
  std::optional<CollectiveCall> OpenCall(PolicyMoment moment) override {
    agreement_ = moment == PolicyMoment::kAgreement;
    sum_ = 0;
    CollectiveCall call;
    call.collective = agreement_ ? Collective::kAllReduce : Collective::kBroadcast;
    call.reduction = agreement_ ? Reduction::kSum : Reduction::kConcat;
    return call;
  }
  Message Encode(int worker, std::span<const Probe> probes) const override {
    if (!agreement_) return worker == 0 ? Text(42) : Message{};
    double kept = 0, all = 0;
    for (const Probe& probe : probes) {
      EXPECT_EQ(probe.kept.at(0), probe.squared);
      EXPECT_LE(probe.kept.at(1), probe.squared * (1 + 1e-9));
      EXPECT_LE(probe.kept.at(2), probe.kept.at(1) * (1 + 1e-9));
      kept += probe.kept.at(1);
      all += probe.squared;
    }
    return Text(kept / all);
  }
  void Accumulate(int worker, ByteSpan message) override {
    if (agreement_ || worker == 0) sum_ += Number(message);
  }
  void FinishCall() override {
    if (agreement_) {
      share_ = sum_ / senders_;
    } else {
      announced_ = sum_;
    }
  }
  size_t Chosen() const override { return share_ < limit_ ? 0 : 2; }
  void OnFeedback(const StepFeedback& feedback) override {
    seconds_ = feedback.simulated_seconds;
    for (const double seconds : feedback.unit_exposed_seconds) exposed_ += seconds;
  }

  double limit_;
  int senders_ = 4;  // messages of an agreement
  LinkEstimate link_;
  size_t shown_units_ = 0;
  bool agreement_ = false;
  double sum_ = 0, share_ = 0, announced_ = 0;
  double seconds_ = 0, exposed_ = 0;
};

TEST(PolicyCalls, AgreementComesFirstAndDecides) {
  for (const double limit : {0.0, 2.0}) {
    auto policy = std::make_unique<Chooser>(limit);
    Chooser& chooser = *policy;
    Training training(SmallOptions(), Glyphs(), SmallCnn(), std::move(policy), MakeScheme("topk"));
    training.SetLink({1e-3, 1e-9});
    const StepOutcome outcome = training.Step();
    EXPECT_EQ(chooser.link_.latency_seconds, 1e-3);
    EXPECT_EQ(chooser.shown_units_, training.Units().size());
    EXPECT_GT(chooser.share_, 0.1);
    EXPECT_EQ(chooser.announced_, 42);
    const double chosen = limit > 0 ? 1.0 : 0.05;
    for (const UnitOutcome& unit : outcome.units) EXPECT_EQ(unit.parameter, chosen);

    // One bucket has all layers, after the agreement; the other one has the announcement.
    ASSERT_EQ(outcome.work.buckets.size(), 2u);
    const BucketWork& all = outcome.work.buckets[0];
    EXPECT_EQ(all.layers.size(), training.Layers().size());
    EXPECT_EQ(all.calls[0].collective, Collective::kAllReduce);
    EXPECT_EQ(all.calls[0].bytes, std::vector<int64_t>(4, 8));
    EXPECT_EQ(all.calls[0].encode[0].kernel, "copy");
    EXPECT_EQ(all.calls[1].collective, limit > 0 ? Collective::kAllReduce : Collective::kAllGather);
    const BucketWork& announcement = outcome.work.buckets[1];
    EXPECT_TRUE(announcement.layers.empty());
    EXPECT_EQ(announcement.calls[0].bytes, (std::vector<int64_t>{8, 0, 0, 0}));

    training.OnFeedback({.simulated_seconds = 2, .bucket_exposed_seconds = {0.5, 0.1}});
    EXPECT_EQ(chooser.seconds_, 2);
    EXPECT_NEAR(chooser.exposed_, 0.5, 1e-9);  // the announcement belongs to no unit
  }
}

// All workers have the mean, so that they agree without a call; calls do not wait for it, and what
// is computed for the mean waits for the last of them.
TEST(PolicyCalls, AgreementOnTheMeanSendsNothing) {
  TrainingOptions options = SmallOptions();
  options.buckets = {.first_bytes = 10'000, .bucket_bytes = 100'000};
  const auto dense =
      Training(options, Glyphs(), SmallCnn(), MakeUniformPolicy(1), MakeScheme("dense")).Step();
  for (const double limit : {0.0, 2.0}) {
    auto policy = std::make_unique<Chooser>(limit);
    Chooser& chooser = *policy;
    chooser.senders_ = 1;
    Training training(options, Glyphs(), SmallCnn(), std::move(policy),
                      MakeScheme("topk:where=after-mean"));
    const StepOutcome outcome = training.Step();
    EXPECT_EQ(chooser.shown_units_, training.Units().size());
    EXPECT_GT(chooser.share_, 0.1);
    EXPECT_LT(chooser.share_, 1);
    for (const UnitOutcome& unit : outcome.units) {
      EXPECT_EQ(unit.parameter, limit > 0 ? 1.0 : 0.05);
    }
    ASSERT_EQ(outcome.work.buckets.size(), dense.work.buckets.size() + 1) << "the announcement";
    ASSERT_GT(dense.work.buckets.size(), 1u);
    for (size_t b = 0; b < dense.work.buckets.size(); ++b) {
      const BucketWork& bucket = outcome.work.buckets[b];
      EXPECT_EQ(bucket.layers, dense.work.buckets[b].layers);
      ASSERT_EQ(bucket.calls.size(), 1u);
      EXPECT_EQ(bucket.calls[0].bytes, dense.work.buckets[b].calls[0].bytes);
      EXPECT_EQ(bucket.calls[0].decode.empty(), b + 1 < dense.work.buckets.size());
    }
  }
}

// With one worker the mean is its gradient, and GraVAC takes the same branches.
TEST(PolicyCalls, GravacOnTheMeanOfOneWorkerIsGravacOfTheWorker) {
  const auto train = [](const std::string& scheme_text) {
    std::unique_ptr<Scheme> scheme = MakeScheme(scheme_text);
    const std::vector<Unit> units = LayersOf(SmallCnn());
    std::unique_ptr<Policy> policy =
        MakePolicy("gravac:eps=0.9,window=3,theta_min=2", {.scheme = scheme.get(),
                                                           .units = units,
                                                           .workers = 1,
                                                           .total_steps = 20,
                                                           .parameter = 0.1});
    Training training(SmallOptions(1), Glyphs(), SmallCnn(), std::move(policy), std::move(scheme));
    std::vector<double> trace;
    for (int64_t step = 0; step < 12; ++step) {
      const StepOutcome outcome = training.Step();
      trace.push_back(outcome.loss);
      for (const UnitOutcome& unit : outcome.units) trace.push_back(unit.parameter);
      training.OnFeedback({.simulated_seconds = 1.0 / static_cast<double>(1 + step % 4)});
    }
    return trace;
  };
  const std::vector<double> worker = train("topk");
  EXPECT_EQ(train("topk:where=after-mean"), worker);
  EXPECT_GT(std::set<double>(worker.begin(), worker.end()).size(), 12u + 1) << "branches differ";
}

// The bytes that workers exchange decide: a changed byte changes the decision.
TEST(PolicyCalls, DecisionsComeFromTheBytes) {
  auto policy = std::make_unique<Chooser>(2.0);
  Chooser& chooser = *policy;
  Training training(SmallOptions(), Glyphs(), SmallCnn(), std::move(policy), MakeScheme("topk"));
  training.SetMessageHook([](const MessageInfo& info, Bytes& message) {
    if (info.unit == -1 && !message.empty()) message = Text(7).bytes;
  });
  const StepOutcome outcome = training.Step();
  EXPECT_EQ(chooser.share_, 7);
  EXPECT_EQ(chooser.announced_, 7);
  EXPECT_EQ(outcome.units[0].parameter, 0.05);
  training.SetMessageHook([](const MessageInfo& info, Bytes& message) {
    if (info.unit == -1 && info.worker == 2) message.clear();
  });
  EXPECT_THROW(training.Step(), Error);
}

double Difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(double{a[i]} - b[i]));
  return largest;
}

std::vector<float> WeightsAfter(const TrainingOptions& options, int steps,
                                const char* scheme = "dense", bool error_feedback = false) {
  Training training(options, Glyphs(), SmallCnn(), MakeUniformPolicy(1),
                    MakeScheme(scheme, {.error_feedback = error_feedback}));
  for (int s = 0; s < steps; ++s) training.Step();
  return training.Weights();
}

// The local steps of a single worker are its plain steps; and with one step between exchanges local
// SGD equals plain SGD.
TEST(LocalSgd, OfOneWorkerIsPlainSgd) {
  TrainingOptions options = SmallOptions(1);
  const std::vector<float> plain = WeightsAfter(options, 8);
  options.local_steps = 4;
  EXPECT_LT(Difference(WeightsAfter(options, 8), plain), 1e-6);
}

TEST(LocalSgd, ExchangesEveryHSteps) {
  TrainingOptions options = SmallOptions();
  options.local_steps = 3;
  options.threads = 2;
  Training training(options, Glyphs(), SmallCnn(), MakeUniformPolicy(1),
                    MakeScheme("dense", {.error_feedback = false}));
  const std::vector<float> start = training.Weights();
  EXPECT_TRUE(training.Step().work.buckets.empty());
  const double before = training.Evaluate().loss;  // of the mean model, which has moved
  EXPECT_EQ(training.Weights(), start);
  EXPECT_TRUE(training.Step().work.buckets.empty());
  const StepOutcome third = training.Step();
  EXPECT_FALSE(third.work.buckets.empty());
  EXPECT_GT(third.units[0].elements, 0);
  EXPECT_GT(Difference(training.Weights(), start), 1e-4);
  EXPECT_NE(training.Evaluate().loss, before);
  EXPECT_EQ(training.Evaluate().loss, training.Evaluate().loss);  // evaluating changes nothing
  EXPECT_THROW(training.Step(std::vector<int>{0, 1}), Error);
}

TEST(LocalSgd, SameBitsWhateverTheThreads) {
  TrainingOptions options = SmallOptions();
  options.local_steps = 2;
  const auto one = WeightsAfter(options, 6);
  options.threads = 3;
  EXPECT_EQ(WeightsAfter(options, 6), one);
}

TEST(Momentum, IsAppliedOnce) {
  TrainingOptions options = SmallOptions();
  options.sgd.momentum = 0.9;
  EXPECT_THROW(Training(options, Glyphs(), SmallCnn(), MakeUniformPolicy(0.1),
                        MakeScheme("topk:memory=momentum")),
               Error);
  // At density 1 momentum correction is momentum SGD.
  const std::vector<float> plain = WeightsAfter(options, 8);
  options.sgd.momentum = 0;
  const auto corrected = WeightsAfter(options, 8, "topk:memory=momentum,momentum=0.9", true);
  EXPECT_LT(Difference(corrected, plain), 1e-6);
}

}  // namespace
}  // namespace legacy::policy_calls_test
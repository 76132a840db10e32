// A policy that is asked for several networks at once: which networks have the same decisions, and
// that the first decides as if it were alone.
#include "compress/policies/networks_policy.h"

#include <gtest/gtest.h>

#include "tests/compress/policy_driver.h"

namespace legacy::networks_policy_test {
namespace {

constexpr int kWorkers = 2;

class Networks {
 public:
  Networks(const std::string& policy, const std::string& scheme, size_t others)
      : context_{.units = test::MakeUnits({20000, 5000, 700}),
                 .workers = kWorkers,
                 .total_steps = 100,
                 .steps_per_epoch = 10,
                 .parameter = 0.01,
                 .seed = 1},
        scheme_(MakeScheme(scheme)) {
    std::vector<NetworksPolicy::Other> further;
    for (size_t i = 0; i < others; ++i) {
      auto own = MakeScheme(scheme);
      auto made = Make(policy, *own);
      further.push_back({std::move(own), std::move(made)});
    }
    policy_.emplace(Make(policy, *scheme_), *scheme_, std::move(further), kWorkers);
    alone_ = Make(policy, *scheme_);
    gradients_ = test::NormalGradients(context_.units);
  }

  // Makes a step whose transfers take seconds[network], and returns the parameters.
  std::vector<double> Step(const std::vector<double>& seconds) {
    const StepInfo info = {.step = step_, .total_steps = 100, .learning_rate = 1};
    for (size_t k = 1; k < seconds.size(); ++k) policy_->SetLink(k, {1e-5 * double(k + 1), 1e-9});
    const std::vector<double> chosen = Run(*policy_, info);
    EXPECT_EQ(Run(*alone_, info), chosen) << step_;
    for (size_t k = 0; k < seconds.size(); ++k) {
      policy_->Select(k);
      const StepFeedback feedback = {.step = step_,
                                     .loss = 1,
                                     .simulated_seconds = 1 + seconds[k],
                                     .communication_seconds = seconds[k],
                                     .message_bytes = 4000};
      policy_->OnFeedback(feedback);
      if (k == 0) alone_->OnFeedback(feedback);
    }
    policy_->Select(0);
    ++step_;
    return chosen;
  }
  bool Same(size_t network) const { return policy_->Same(network); }
  NetworksPolicy& policy() { return *policy_; }

 private:
  std::unique_ptr<Policy> Make(const std::string& policy, const Scheme& scheme) {
    context_.scheme = &scheme;
    return MakePolicy(policy, context_);
  }
  std::vector<double> Run(Policy& policy, const StepInfo& info) {
    std::vector<double> parameters(context_.units.size());
    policy.Decide(info, context_.units, parameters);
    const std::vector<float> gradient = gradients_(step_, 0);
    if (policy.ReadsLocalGradient()) {
      for (size_t u = 0; u < context_.units.size(); ++u) {
        const Unit& unit = context_.units[u];
        const auto part = std::span(gradient).subspan(unit.offset, unit.numel);
        policy.OnLocalGradient(u, part, part);
      }
    }
    const std::vector<double> candidates = policy.Candidates();
    if (!candidates.empty()) {
      std::vector<Probe> probes(context_.units.size());
      for (Probe& probe : probes) {
        probe.squared = 1;
        for (const double candidate : candidates) probe.kept.push_back(std::pow(candidate, 0.1));
      }
      Call(policy, PolicyMoment::kAgreement, probes);
      std::ranges::fill(parameters, candidates.at(policy.Chosen()));
    }
    Call(policy, PolicyMoment::kAnnouncement, {});
    return parameters;
  }
  static void Call(Policy& policy, PolicyMoment moment, std::span<const Probe> probes) {
    if (!policy.OpenCall(moment)) return;
    for (int w = 0; w < kWorkers; ++w) policy.Accumulate(w, policy.Encode(w, probes).bytes);
    policy.FinishCall();
  }

  PolicyContext context_;
  std::unique_ptr<Scheme> scheme_;
  std::optional<NetworksPolicy> policy_;
  std::unique_ptr<Policy> alone_;
  test::PolicyDriver::Gradients gradients_;
  int64_t step_ = 0;
};

TEST(NetworksPolicy, TellsWhichNetworksDecideTheSame) {
  Networks networks("kimad:budget=0.01,smoothing=1", "topk", 2);
  for (int step = 0; step < 20; ++step) networks.Step({0.01, 0.0101, step < 10 ? 0.0102 : 0.1});
  EXPECT_TRUE(networks.Same(1));
  EXPECT_FALSE(networks.Same(2));
  networks.Step({0.01, 0.0101, 0.0102});  // a network that differed is not asked again
  EXPECT_FALSE(networks.Same(2));
}

TEST(NetworksPolicy, AgreesForAllNetworks) {
  Networks networks("gravac:window=3,eps=0.5", "topk", 1);
  for (int step = 0; step < 40; ++step) networks.Step({0.01, 0.02});
  EXPECT_TRUE(networks.Same(1));
}

// An announcement on one network alone is another step, even if it changes no parameter.
TEST(NetworksPolicy, CountsCallsAsDecisions) {
  Networks networks("kimad", "topk", 1);
  networks.Step({0.01, 0.0});  // on the other network communication was hidden
  networks.Step({0.01, 0.0});
  EXPECT_FALSE(networks.Same(1));
}

TEST(NetworksPolicy, ComparesWhatASchemeChooses) {
  Networks networks("flexible:interval=5", "flexible-topk", 1);
  networks.Step({0.01, 0.01});
  EXPECT_TRUE(networks.Same(1));
}

TEST(NetworksPolicy, StateIsThatOfTheFirst) {
  Networks networks("kimad:budget=0.01", "topk", 1);
  for (int step = 0; step < 5; ++step) networks.Step({0.01, 0.01});
  const Bytes state = networks.policy().Save();
  EXPECT_TRUE(networks.Same(1));
  networks.policy().Load(state);
  EXPECT_EQ(networks.policy().Save(), state);
  EXPECT_FALSE(networks.Same(1));
}

}  // namespace
}  // namespace legacy::networks_policy_test

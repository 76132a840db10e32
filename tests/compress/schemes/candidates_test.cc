// Candidates within a step: the measurement, and that every choice conserves the gradient.
#include "compress/schemes/candidates.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "compress/cpu/vector.h"
#include "tests/compress/test_data.h"

namespace legacy::candidates_test {
namespace {

constexpr int64_t kNumel = 1000;
constexpr int kWorkers = 2;

std::vector<std::vector<float>> Gradients(uint64_t seed) {
  return {test::Normals(kNumel, seed), test::Normals(kNumel, seed + 100)};
}

// One step that takes candidates[chosen]; the probe of worker 0.
Probe RunCandidates(Exchange& exchange, const UnitStep& context, size_t chosen,
                    const std::vector<std::vector<float>>& gradients, std::vector<float>& mean) {
  exchange.Begin(context);
  std::vector<Probe> probes;
  const auto workers = static_cast<int>(gradients.size());
  for (int w = 0; w < workers; ++w) probes.push_back(exchange.Measure(w, gradients[w]));
  exchange.Choose(chosen);
  while (exchange.NextCall()) {
    std::vector<Message> messages;
    for (int w = 0; w < workers; ++w) messages.push_back(exchange.Encode(w, {}));
    for (int w = 0; w < workers; ++w) exchange.Accumulate(w, messages[w].bytes);
    exchange.FinishCall();
  }
  mean.assign(gradients[0].size(), 0.0f);
  exchange.Mean(mean);
  return probes[0];
}

TEST(Candidates, TopKOfTopKIsTopK) {
  const auto scheme = MakeScheme("topk");
  ASSERT_TRUE(scheme->Traits().takes_candidates);
  const UnitStep context{.parameter = 0, .candidates = {1, 0.1, 0.013, 0.002}};
  const std::vector<double> densities = context.candidates;
  for (size_t chosen = 0; chosen < densities.size(); ++chosen) {
    const auto candidates = scheme->Open(test::MakeUnit(kNumel), kWorkers);
    const auto direct = scheme->Open(test::MakeUnit(kNumel), kWorkers);
    for (int64_t step = 0; step < 4; ++step) {
      const auto gradients = Gradients(10 * step);
      std::vector<float> mean;
      UnitStep now = context;
      now.info.step = step;
      const Probe probe = RunCandidates(*candidates, now, chosen, gradients, mean);
      ASSERT_EQ(mean,
                test::RunStep(*direct, {.info = {.step = step}, .parameter = densities[chosen]},
                              gradients));
      ASSERT_EQ(candidates->Save(), direct->Save());
      ASSERT_EQ(candidates->ElementsSent(), direct->ElementsSent());
      ASSERT_EQ(probe.kept.size(), densities.size());
      EXPECT_EQ(probe.kept[0], probe.squared);
      for (size_t i = 1; i < densities.size(); ++i) EXPECT_LT(probe.kept[i], probe.kept[i - 1]);
    }
  }
}

// Messages and residuals are the same whether energies are estimated or measured.
TEST(Candidates, EstimatesSelectTheSame) {
  for (const char* name : {"topk", "randomk", "threshold", "sampled"}) {
    const auto scheme = MakeScheme(name);
    const bool threshold = scheme->Parameter().volume_falls;
    const std::vector<double> candidates =
        threshold ? std::vector<double>{0.1, 0.5, 1.5} : std::vector<double>{1, 0.2, 0.03};
    for (size_t chosen = 0; chosen < candidates.size(); ++chosen) {
      const auto estimating = scheme->Open(test::MakeUnit(kNumel), kWorkers);
      const auto direct = scheme->Open(test::MakeUnit(kNumel), kWorkers);
      for (int64_t step = 0; step < 3; ++step) {
        const auto gradients = Gradients(20 * step);
        UnitStep context{.info = {.step = step}, .parameter = 0, .candidates = candidates};
        std::vector<float> mean;
        const Probe exact = RunCandidates(*scheme->Open(test::MakeUnit(kNumel), kWorkers), context,
                                          0, gradients, mean);
        context.estimate = true;
        const Probe probe = RunCandidates(*estimating, context, chosen, gradients, mean);
        ASSERT_EQ(mean,
                  test::RunStep(*direct, {.info = {.step = step}, .parameter = candidates[chosen]},
                                gradients))
            << name << chosen;
        ASSERT_EQ(estimating->Save(), direct->Save()) << name;
        for (size_t i = 0; step == 0 && i < candidates.size(); ++i) {
          // Its estimate is an expectation.
          const double slack = name == std::string("randomk") ? 0.1 : 2e-3;
          EXPECT_NEAR(probe.kept[i], exact.kept[i], slack * exact.squared) << name << i;
        }
      }
    }
  }
}

// kept[i] is the energy of the values that the candidate sends.
TEST(Candidates, KeptIsWhatIsSent) {
  for (const char* name : {"topk", "randomk", "threshold", "sidco", "sampled"}) {
    const auto scheme = MakeScheme(name);
    const bool threshold = scheme->Parameter().name == "threshold";
    const std::vector<double> candidates =
        threshold ? std::vector<double>{0.5, 1.5} : std::vector<double>{0.2, 0.03};
    const auto exchange = scheme->Open(test::MakeUnit(kNumel), 1);
    std::vector<float> mean;
    const auto gradient = test::Normals(kNumel, 4);
    const Probe probe =
        RunCandidates(*exchange, {.parameter = 0, .candidates = candidates}, 1, {gradient}, mean);
    EXPECT_DOUBLE_EQ(probe.squared, cpu::SquaredNorm(gradient)) << name;
    EXPECT_NEAR(probe.kept[1], cpu::SquaredNorm(mean), 1e-6 * probe.squared) << name;
    EXPECT_GT(probe.kept[0], probe.kept[1]) << name;
  }
}

// e = sent + residual, bit for bit, in every branch and for every sparsifier, with and without
// momentum.
TEST(Candidates, EveryBranchConserves) {
  for (const SparsifierRow& row : SparsifierTable()) {
    for (const char* memory :
         {":memory=residual", ":memory=momentum", ":memory=momentum,vectors=off"}) {
      const auto scheme = MakeScheme(row.info.name + memory);
      if (!scheme->Traits().takes_candidates) continue;  // no parameter to choose from
      const bool threshold = scheme->Parameter().volume_falls;
      const std::vector<double> candidates =
          threshold ? std::vector<double>{0.5, 1, 1.5} : std::vector<double>{1, 0.1, 0.01};
      const auto exchange = scheme->Open(test::MakeUnit(kNumel), 1);
      for (int64_t step = 0; step < 9; ++step) {
        const auto gradient = test::Normals(kNumel, 7 + step);
        std::vector<float> mean;
        const UnitStep context{.info = {.step = step}, .parameter = 0, .candidates = candidates};
        std::vector<float> before(exchange->Residual(0).begin(), exchange->Residual(0).end());
        before.resize(kNumel);  // there is no residual before the first step
        const Probe probe = RunCandidates(*exchange, context, step % 3, {gradient}, mean);
        double squared = 0;
        for (int64_t i = 0; i < kNumel; ++i) {
          const float e = mean[i] + exchange->Residual(0)[i];
          ASSERT_TRUE(mean[i] == 0 || exchange->Residual(0)[i] == 0) << row.info.name << memory;
          squared += double{e} * e;
          if (std::string_view(memory).ends_with("residual")) {
            ASSERT_EQ(e, before[i] + gradient[i]) << row.info.name;
          }
        }
        ASSERT_NEAR(squared, probe.squared, 1e-9 * squared) << row.info.name << memory;
      }
    }
  }
}

TEST(Candidates, RoundingErrorsJoinTheResidual) {
  const auto exchange = MakeScheme("topk+bf16")->Open(test::MakeUnit(kNumel), 1);
  const auto gradient = test::Normals(kNumel, 3);
  std::vector<float> mean;
  RunCandidates(*exchange, {.parameter = 0, .candidates = {0.5, 0.1}}, 1, {gradient}, mean);
  for (int64_t i = 0; i < kNumel; ++i) {
    ASSERT_EQ(mean[i] + exchange->Residual(0)[i], gradient[i]);
  }
  EXPECT_GT(test::ResidualSquared(*exchange, 0), 0);
}

TEST(Candidates, RefusesSchemesWithoutCandidates) {
  const auto dense = MakeScheme("dense");
  EXPECT_FALSE(dense->Traits().takes_candidates);
  const auto exchange = dense->Open(test::MakeUnit(4), 1);
  EXPECT_THROW(exchange->Measure(0, std::vector<float>(4)), Error);
  EXPECT_THROW(exchange->Begin({.candidates = {1, 0.5}}), Error);
  const auto topk = MakeScheme("topk")->Open(test::MakeUnit(4), 1);
  EXPECT_THROW(topk->Begin({.candidates = {0.1, 0.5}}), Error);
  EXPECT_THROW(topk->Begin({.candidates = {2, 0.5}}), Error);
}

}  // namespace
}  // namespace legacy::candidates_test
// EF21 and EF21M, against equations in double precision.
#include "compress/schemes/ef21.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tests/compress/test_data.h"

namespace legacy::ef21_test {
namespace {

constexpr int64_t kNumel = 60;
constexpr int kWorkers = 4;

std::vector<std::vector<float>> Gradients(int64_t step, int workers = kWorkers) {
  std::vector<std::vector<float>> gradients;
  for (int w = 0; w < workers; ++w) gradients.push_back(test::Normals(kNumel, 100 * step + w));
  return gradients;
}

UnitStep StepOf(int64_t step, double parameter = 0.1) {
  return {.info = {.seed = 3, .step = step}, .parameter = parameter};
}

// The definition: estimates h_i of each worker and H, with Top-K.
struct Oracle {
  double eta;
  std::vector<std::vector<double>> m, h;
  std::vector<double> mean = std::vector<double>(kNumel);

  explicit Oracle(double share) : eta(share), m(kWorkers), h(kWorkers) {}

  void Step(bool first, const std::vector<std::vector<float>>& gradients,
            const std::vector<int>& active, int64_t k) {
    if (first) std::ranges::fill(mean, 0.0);
    for (const int w : active) {
      const auto& g = gradients[w];
      if (first || m[w].empty()) {
        m[w].assign(g.begin(), g.end());
      } else {
        for (int64_t i = 0; i < kNumel; ++i) m[w][i] = (1 - eta) * m[w][i] + eta * g[i];
      }
      if (first) {
        h[w] = m[w];
        for (int64_t i = 0; i < kNumel; ++i) mean[i] += h[w][i] / std::ssize(active);
        continue;
      }
      std::vector<float> left(kNumel);
      for (int64_t i = 0; i < kNumel; ++i) left[i] = static_cast<float>(m[w][i] - h[w][i]);
      for (const uint32_t i : test::SortedTopK(left, k)) {
        mean[i] += (m[w][i] - h[w][i]) / kWorkers;
        h[w][i] = m[w][i];
      }
    }
    for (int w = 0; first && w < kWorkers; ++w) {
      if (h[w].empty()) h[w] = mean;
    }
  }
};

TEST(Ef21, EqualsItsDefinition) {
  const std::vector<std::vector<int>> all = {{0, 1, 2, 3}}, some = {{0, 2}, {1, 2, 3}, {0, 1}, {3}};
  for (const auto& [text, eta] : {std::pair{"topk:memory=ef21", 1.0}, {"topk:memory=ef21m", 0.1}}) {
    for (const auto& active : {all, some}) {
      const auto exchange = MakeScheme(text)->Open(test::MakeUnit(kNumel), kWorkers);
      Oracle oracle(eta);
      for (int64_t step = 0; step < 40; ++step) {
        UnitStep context = StepOf(step);
        const std::vector<int>& now = active[step % active.size()];
        if (now.size() < kWorkers) context.info.active_workers = now;
        const auto gradients = Gradients(step);
        oracle.Step(step == 0, gradients, now, 6);
        const auto mean = test::RunStep(*exchange, context, gradients);
        for (int64_t i = 0; i < kNumel; ++i) {
          ASSERT_NEAR(mean[i], oracle.mean[i], 1e-5) << text << " " << step;
        }
        for (const int w : now) {
          for (int64_t i = 0; step > 0 && i < kNumel; ++i) {
            ASSERT_NEAR(exchange->Residual(w)[i], oracle.m[w][i] - oracle.h[w][i], 1e-5) << text;
          }
        }
        EXPECT_EQ(exchange->ElementsSent(), step == 0 ? kNumel : 6);
      }
    }
  }
}

TEST(Ef21, OfTheIdentityIsSgd) {
  const auto exchange = MakeScheme("dense:memory=ef21")->Open(test::MakeUnit(kNumel), kWorkers);
  const auto dense = MakeScheme("dense")->Open(test::MakeUnit(kNumel), kWorkers);
  for (int64_t step = 0; step < 20; ++step) {
    const auto mean = test::RunStep(*exchange, StepOf(step, 1), Gradients(step));
    const auto expected = test::RunStep(*dense, StepOf(step, 1), Gradients(step));
    for (int64_t i = 0; i < kNumel; ++i) ASSERT_NEAR(mean[i], expected[i], 1e-5);
  }
}

// A gradient that stays the same is known after ceil(n / k) steps, and not before. Whole numbers
// have no rounding.
TEST(Ef21, TopKTracksAConstantGradient) {
  for (const auto& [density, steps] : {std::pair{0.1, 10}, {0.15, 7}, {0.5, 2}, {1.0, 1}}) {
    const auto exchange = MakeScheme("topk:memory=ef21")->Open(test::MakeUnit(kNumel), 2);
    std::vector<std::vector<float>> first(2, std::vector<float>(kNumel)), then = first;
    for (int64_t i = 0; i < kNumel; ++i) {
      for (int w = 0; w < 2; ++w) {
        first[w][i] = static_cast<float>(i % 7);
        then[w][i] = static_cast<float>(20 + (i * 11 + w) % 41);
      }
    }
    std::vector<float> expected(kNumel);
    for (int64_t i = 0; i < kNumel; ++i) expected[i] = (then[0][i] + then[1][i]) / 2;
    test::RunStep(*exchange, StepOf(0, density), first);
    for (int64_t step = 1; step <= steps + 3; ++step) {
      EXPECT_EQ(test::RunStep(*exchange, StepOf(step, density), then) == expected, step >= steps)
          << density << " " << step;
    }
  }
}

// Over many steps the mean stays that of the workers' estimates, up to rounding, for every kind of
// contraction.
TEST(Ef21, KeepsTheMeanOfTheEstimates) {
  for (const char* text :
       {"topk:memory=ef21", "topk:memory=ef21m+bf16", "randomk:memory=ef21", "sign:memory=ef21m",
        "maxmin:bits=4,memory=ef21", "sidco:memory=ef21", "fft:memory=ef21m"}) {
    const auto scheme = MakeScheme(text);
    const auto exchange = scheme->Open(test::MakeUnit(kNumel), 1);
    for (int64_t step = 0; step < 2000; ++step) {
      const auto gradient = test::Normals(kNumel, step);
      const UnitStep context = StepOf(step, scheme->Parameter().fallback);
      const auto mean = test::RunStep(*exchange, context, {gradient});
      if (step % 100 != 99 || std::string_view(text).find("ef21m") != std::string_view::npos)
        continue;
      for (int64_t i = 0; i < kNumel; ++i) {
        ASSERT_NEAR(mean[i] + exchange->Residual(0)[i], gradient[i], 2e-4) << text << " " << step;
      }
    }
  }
}

// What is left belongs to an estimate, so that learning rates do not rescale it.
TEST(Ef21, IsNotRescaled) {
  const auto one = MakeScheme("topk:memory=ef21")->Open(test::MakeUnit(kNumel), kWorkers);
  const auto other = MakeScheme("topk:memory=ef21")->Open(test::MakeUnit(kNumel), kWorkers);
  for (int64_t step = 0; step < 5; ++step) {
    other->RescaleResiduals(0.1f);
    ASSERT_EQ(test::RunStep(*one, StepOf(step), Gradients(step)),
              test::RunStep(*other, StepOf(step), Gradients(step)));
    EXPECT_EQ(step > 0, test::ResidualSquared(*one, 0) > 0);
  }
}

// A unit that is sent whole has momentum, and no estimate.
TEST(Ef21, SendsUnitsWholeWithMomentum) {
  const auto exchange =
      MakeScheme("topk:memory=ef21m,eta=0.5,min_numel=100")->Open(test::MakeUnit(kNumel), 1);
  std::vector<double> m(kNumel);
  for (int64_t step = 0; step < 6; ++step) {
    const auto gradient = test::Normals(kNumel, step);
    const auto mean = test::RunStep(*exchange, StepOf(step), {gradient});
    for (int64_t i = 0; i < kNumel; ++i) {
      m[i] = step == 0 ? gradient[i] : (m[i] + gradient[i]) / 2;
      ASSERT_NEAR(mean[i], m[i], 1e-6);
    }
    EXPECT_TRUE(exchange->Known().empty());
  }
}

TEST(Ef21, StartsAfterADenseStart) {
  const auto scheme = MakeScheme("topk:memory=ef21,dense_start=3");
  EXPECT_EQ(scheme->Traits().dense_steps, 4);
  const auto exchange = scheme->Open(test::MakeUnit(kNumel), kWorkers);
  const auto dense = MakeScheme("dense")->Open(test::MakeUnit(kNumel), kWorkers);
  const auto late = MakeScheme("topk:memory=ef21")->Open(test::MakeUnit(kNumel), kWorkers);
  for (int64_t step = 0; step < 8; ++step) {
    const auto mean = test::RunStep(*exchange, StepOf(step), Gradients(step));
    if (step <= 3) {
      EXPECT_EQ(mean, test::RunStep(*dense, StepOf(step), Gradients(step)));
    }
    if (step < 3) continue;
    EXPECT_EQ(mean, test::RunStep(*late, StepOf(step - 3), Gradients(step))) << step;
  }
}

TEST(Ef21, RefusesWhatItCannotTakePartIn) {
  for (const char* text :
       {"topk:memory=ef21,where=after-mean", "maxmin:memory=ef21,reduction=requantise",
        "bf16:memory=ef21,reduction=hop", "topk:memory=ef21,decay=0.5", "topk:memory=ef21m,eta=0",
        "topk:memory=ef21m,eta=1.5", "topk:memory=ef22"}) {
    EXPECT_THROW(MakeScheme(text), Error) << text;
  }
  EXPECT_THROW(MakeScheme("topk:memory=ef21", {.error_feedback = false}), Error);
  // Not a contraction.
  const auto exchange = MakeScheme("qsgd:memory=ef21")->Open(test::MakeUnit(kNumel), 1);
  EXPECT_THROW(exchange->Begin(StepOf(0, 2)), Error);
  const auto scheme = MakeScheme("topk:memory=ef21");
  EXPECT_FALSE(scheme->Traits().takes_candidates);
  UnitStep measured = StepOf(0);
  measured.candidates = {1, 0.1};
  EXPECT_THROW(scheme->Open(test::MakeUnit(kNumel), 1)->Begin(measured), Error);
}

}  // namespace
}  // namespace legacy::ef21_test

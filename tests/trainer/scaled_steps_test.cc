// Steps in fp16: scaled gradients, overflows, and what exchanges keep.
#include "trainer/scaled_steps.h"

#include <gtest/gtest.h>

#include "tests/compress/test_data.h"
#include "trainer/host_exchange.h"

namespace legacy::scaled_steps_test {
namespace {

constexpr int kWorkers = 2;
constexpr int64_t kNumel = 100;
const std::vector<int> kAll = {0, 1};

// A few steps of one unit without a model.
class Steps {
 public:
  explicit Steps(const std::string& scheme, bool error_feedback = false)
      : scheme_(MakeScheme(scheme, {.error_feedback = error_feedback})),
        pool_(1),
        exchange_(*scheme_, std::vector<Unit>{test::MakeUnit(kNumel)}, kWorkers, pool_),
        scaled_(*scheme_, kWorkers, exchange_, OneProcess()) {}

  // Makes a step with the workers' scaled gradients, of which that of `overflows` does. Returns
  // whether it updates the weights; mean() is the mean gradient.
  bool Step(std::vector<std::vector<float>> gradients, int overflows = -1) {
    exchange_.Begin({.info = {.step = step_}, .parameters = parameters_});
    scaled_.Begin(kAll);
    for (const int w : kAll) {
      if (w == overflows) scaled_.Overflow(w);
      scaled_.Unscale(w, gradients[w]);
      scaled_.ForExchange(gradients[w]);
      exchange_.Encode(w, gradients[w].data());
    }
    exchange_.Finish(mean_.data());
    return scaled_.Finish(step_++, mean_);
  }

  const std::vector<float>& mean() const { return mean_; }
  const ScaledSteps& scaled() const { return scaled_; }
  std::vector<float> Residual(int worker) const { return exchange_.CopyResidual(0, worker); }

 private:
  std::unique_ptr<Scheme> scheme_;
  WorkerPool pool_;
  HostModelExchange exchange_;
  ScaledSteps scaled_;
  std::vector<double> parameters_ = {0.1};
  std::vector<float> mean_ = std::vector<float>(kNumel);
  int64_t step_ = 0;
};

std::vector<std::vector<float>> Constant(float first, float second) {
  return {std::vector<float>(kNumel, first), std::vector<float>(kNumel, second)};
}

// 2^-30 is no half. Scaled it is one, on the network, too.
TEST(ScaledSteps, SmallGradientsSurviveFp16) {
  for (const char* scheme : {"fp16", "fp16:reduction=hop", "dense", "bf16"}) {
    Steps steps(scheme);
    EXPECT_TRUE(steps.Step(Constant(0x1p-14f, 0x1p-14f)));
    EXPECT_EQ(steps.mean(), std::vector<float>(kNumel, 0x1p-30f)) << scheme;
  }
}

TEST(ScaledSteps, AnOverflowAtOneWorkerUpdatesNothing) {
  Steps steps("topk", true);
  EXPECT_TRUE(steps.Step({test::Normals(kNumel, 1), test::Normals(kNumel, 2)}));
  const std::vector<float> first = steps.Residual(0), second = steps.Residual(1);
  EXPECT_FALSE(steps.Step({test::Normals(kNumel, 3), test::Normals(kNumel, 4)}, 1));
  EXPECT_EQ(steps.Residual(0), first);
  EXPECT_EQ(steps.Residual(1), second);
  EXPECT_EQ(steps.scaled().Factor(), 0x1p15);
  EXPECT_EQ(steps.scaled().skipped(), 1);
  EXPECT_TRUE(steps.Step({test::Normals(kNumel, 3), test::Normals(kNumel, 4)}));
  EXPECT_NE(steps.Residual(0), first);
}

// Each gradient is a half, but their sum is none.
TEST(ScaledSteps, ASumInFp16MayOverflow) {
  for (const auto& [scheme, updates] :
       {std::pair{"fp16", false}, {"fp16:reduction=hop", false}, {"bf16", true}, {"dense", true}}) {
    Steps steps(scheme);
    EXPECT_EQ(steps.Step(Constant(40'000, 30'000)), updates) << scheme;
    EXPECT_EQ(steps.scaled().Factor(), updates ? 0x1p16 : 0x1p15) << scheme;
    EXPECT_TRUE(steps.Step(Constant(40'000, -30'000))) << scheme;
    EXPECT_TRUE(steps.Step(Constant(32'000, 32'000))) << scheme;
  }
}

}  // namespace
}  // namespace legacy::scaled_steps_test

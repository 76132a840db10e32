#include "compress/gradients/gradients.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "compress/codec.h"
#include "tests/message_of.h"

namespace legacy::gradients_test {
namespace {

double Share(const std::vector<float>& values, bool (*wanted)(float)) {
  return static_cast<double>(std::ranges::count_if(values, wanted)) /
         static_cast<double>(values.size());
}

TEST(Gradients, AreFiniteAndKeyedBySeedWorkerAndStep) {
  for (const GradientRow& row : GradientTable()) {
    const std::string text = row.info.name + ":n=5000";
    const std::vector<float> values = DrawGradient(text);
    ASSERT_EQ(values.size(), 5000u);
    for (const float x : values) ASSERT_TRUE(std::isfinite(x)) << text;
    EXPECT_EQ(values, DrawGradient(text + ",seed=1"));
    if (row.info.name == "constant") continue;
    EXPECT_NE(values, DrawGradient(text + ",seed=2")) << text;
    EXPECT_NE(values, DrawGradient(text, 1)) << text;
    EXPECT_NE(values, DrawGradient(text, 0, 1)) << text;
  }
}

TEST(Gradients, OfAnyLength) {
  for (const GradientRow& row : GradientTable()) {
    for (const int n : {0, 1, 2, 33}) {
      EXPECT_EQ(DrawGradient(row.info.name + ":n=" + std::to_string(n)).size(), size_t(n));
    }
  }
}

// Each generator has the property of its name. Bounds are five deviations of 100,000 draws and
// more.
TEST(Gradients, HaveTheStatisticsOfTheirNames) {
  const auto draw = [](const char* text) { return DrawGradient(std::string(text) + ",n=1e5"); };
  const auto beyond3 = [](float x) { return std::abs(x) > 3; };
  EXPECT_NEAR(Share(draw("gaussian:seed=1"), beyond3), 0.0027, 0.0009);
  EXPECT_NEAR(Share(draw("laplace:seed=1"), beyond3), std::exp(-3), 0.004);
  EXPECT_NEAR(Share(draw("student-t:freedom=3"), beyond3), 0.05767, 0.004);
  EXPECT_NEAR(Share(draw("lognormal:sigma=2"), beyond3), 0.29138, 0.008);
  EXPECT_NEAR(Share(draw("zeros:share=0.9"), [](float x) { return x == 0; }), 0.9, 0.005);
  EXPECT_EQ(Share(draw("constant:value=-2"), [](float x) { return x == -2; }), 1);
  EXPECT_EQ(Share(draw("denormals:seed=1"),
                  [](float x) { return !std::isnormal(x) && std::abs(x) < 1.2e-38f; }),
            1);
  const auto ties = draw("ties:levels=4");
  EXPECT_EQ(std::set<float>(ties.begin(), ties.end()).size(), 9u);
}

TEST(Gradients, MixedLayersDifferInScale) {
  const auto values = DrawGradient("mixed:n=20000,layers=20,decades=8");
  double smallest = 1e30;
  double largest = 0;
  for (int layer = 0; layer < 20; ++layer) {
    double sum = 0;
    for (int i = 0; i < 1000; ++i) sum += std::abs(values[layer * 1000 + i]);
    smallest = std::min(smallest, sum);
    largest = std::max(largest, sum);
  }
  EXPECT_GT(largest / smallest, 1e4);
}

// Neighbours of a smooth gradient are close.
TEST(Gradients, SmoothGradientsHaveCloseNeighbours) {
  const auto values = DrawGradient("smooth:n=10000,noise=0");
  double total = 0;
  double steps = 0;
  for (size_t i = 1; i < values.size(); ++i) {
    total += double{values[i]} * values[i];
    steps += std::pow(double{values[i]} - values[i - 1], 2);
  }
  EXPECT_LT(steps, 1e-4 * total);
}

TEST(Gradients, MistakesNameWhatIsAllowed) {
  EXPECT_NE(MessageOf([] { DrawGradient("cauchy"); }).find("student-t"), std::string::npos);
  EXPECT_NE(MessageOf([] { DrawGradient("gaussian:freedom=3"); }).find("n, seed"),
            std::string::npos);
  EXPECT_NE(MessageOf([] { DrawGradient("gaussian:n=1e12"); }).find("1073741824"),
            std::string::npos);
  EXPECT_NE(MessageOf([] { DrawGradient("gaussian+topk"); }).find("one name"), std::string::npos);
  EXPECT_NE(MessageOf([] { FindRealGradient("none"); }).find("gradient: got 'none'"),
            std::string::npos);
}

TEST(Gradients, RealGradientsAreWholeAndFinite) {
  for (const RealGradient& gradient : RealGradients()) {
    EXPECT_GT(gradient.values.size(), 0u) << gradient.name;
    EXPECT_FALSE(gradient.layers.empty()) << gradient.name;
    for (const float x : gradient.values) ASSERT_TRUE(std::isfinite(x)) << gradient.name;
  }
}

}  // namespace
}  // namespace legacy::gradients_test
#include <gtest/gtest.h>

#include <numeric>

#include "compress/density.h"
#include "tests/compress/sparsifiers/sparsifier_data.h"

namespace legacy::sidco_test {
namespace {

using test::ContextOf;
using test::SparsifierOf;

constexpr int64_t kNumel = 400000;

double Ratio(const char* text, const std::string& kind, double density) {
  const auto input = DrawGradient(kind + ":n=400000,seed=6");
  const int64_t k = KeptCount(kNumel, density);
  const auto selected = SparsifierOf(text)->Select(input, k, ContextOf(density)).positions.size();
  return static_cast<double>(selected) / static_cast<double>(k);
}

// Magnitudes of a Laplace distribution are exponential, so that every number of stages fits, within
// 5 deviations of the count and of the means.
TEST(Sidco, HitsTheDensityOfItsDistribution) {
  for (const char* text : {"sidco:stages=1", "sidco:stages=2", "sidco:stages=4", "sidco",
                           "sidco:fit=pareto,stages=1"}) {
    for (const double density : {0.5, 0.1, 0.01, 0.001}) {
      const double slack = 5 / std::sqrt(density * kNumel) + 0.05;
      EXPECT_NEAR(Ratio(text, "laplace", density), 1, slack) << text << " " << density;
    }
  }
}

// Fits sorted magnitudes one stage after the other, in double precision.
double ExactThreshold(std::vector<double> magnitudes, bool pareto, double delta, int stages) {
  double threshold = 0;
  for (int stage = 1; stage <= stages; ++stage) {
    std::erase_if(magnitudes, [&](double x) { return x < threshold; });
    double sum = 0, squares = 0;
    for (const double x : magnitudes) sum += x, squares += x * x;
    const auto count = static_cast<double>(magnitudes.size());
    const double mean = sum / count - threshold;
    const double ratio = mean * mean / (squares / count - sum / count * (sum / count));
    const double left = stages == 1  ? delta
                        : stage == 1 ? 0.25
                                     : std::pow(delta / 0.25, 1.0 / (stages - 1));
    const double a = mean * (ratio + 1) / 2, b = (ratio - 1) / 2;
    threshold += pareto ? a * (1 - std::pow(left, b)) / b : -mean * std::log(left);
  }
  return threshold;
}

TEST(Sidco, FitsAsSortedMagnitudesSay) {
  for (const int64_t numel : {300, 50000}) {
    for (const char* kind : {"laplace", "gaussian", "student-t", "zeros"}) {
      const auto input = DrawGradient(std::string(kind) + ":seed=9,n=" + std::to_string(numel));
      std::vector<double> magnitudes;
      for (const float x : input) magnitudes.push_back(std::abs(x));
      for (const bool pareto : {false, true}) {
        for (int stages = 1; stages <= 4; ++stages) {
          const double exact = ExactThreshold(magnitudes, pareto, 0.05, stages);
          const auto above = [&](double x) {
            return std::ranges::count_if(magnitudes, [x](double y) { return y >= x; });
          };
          const auto selected = std::ssize(
              SparsifierOf((std::string("sidco:fit=") + (pareto ? "pareto" : "exponential") +
                            ",stages=" + std::to_string(stages))
                               .c_str())
                  ->Select(input, numel / 20, ContextOf(0.05))
                  .positions);
          const double slack = numel < 512 ? 1e-6 : 0.005;  // sorted, or a fraction of a bin
          EXPECT_GE(selected, above(exact * (1 + slack))) << kind << pareto << stages;
          EXPECT_LE(selected, above(exact * (1 - slack))) << kind << pareto << stages;
        }
      }
    }
  }
}

TEST(Sidco, ClosedFormOfOneStage) {
  const std::vector<float> input = {1, -2, 3, -4, 10,
                                    0, 0,  0, 0,  0};  // mean 2, threshold 2 ln 5 = 3.2
  EXPECT_EQ(SparsifierOf("sidco:stages=1")->Select(input, 2, ContextOf(0.2)).positions,
            (std::vector<uint32_t>{3, 4}));
}

TEST(Sidco, ChoosesTheNumberOfStagesThatFits) {
  // The tail is light: the fit reaches too far.
  EXPECT_LT(Ratio("sidco:stages=1", "gaussian", 0.01), 0.1);
  EXPECT_GT(Ratio("sidco:stages=1", "student-t", 0.01), 1.2);  // heavy tail: not far enough
  for (const char* kind : {"gaussian", "student-t"}) {
    const double chosen = std::abs(std::log(Ratio("sidco", kind, 0.01)));
    for (const char* fixed :
         {"sidco:stages=1", "sidco:stages=2", "sidco:stages=3", "sidco:stages=4"}) {
      EXPECT_LE(chosen, std::abs(std::log(Ratio(fixed, kind, 0.01)))) << kind << " " << fixed;
    }
  }
}

TEST(Sidco, AdaptsAfterAWindowThatWasOff) {
  const auto sparsifier = SparsifierOf("sidco");
  const auto laplace = DrawGradient("laplace:n=100000");
  const auto gaussian = DrawGradient("gaussian:n=100000");
  CodecState state;
  const auto step = [&](const std::vector<float>& input) {
    sparsifier->Select(input, 1000, ContextOf(0.01, 0, &state));
    return state.numbers[0];
  };
  state.numbers = {1, 0, 0, 0.01};                           // one stage,
  for (int i = 0; i < 10; ++i) EXPECT_EQ(step(laplace), 1);  // which fits
  for (int i = 0; i < 4; ++i) EXPECT_EQ(step(gaussian), 1);
  EXPECT_EQ(step(gaussian), 0);  // the number is chosen again
  EXPECT_GT(step(gaussian), 1);
}

// Chooses stages, and chooses again after windows that were off, from sorted magnitudes.
class SortedSidco {
 public:
  explicit SortedSidco(bool pareto) : pareto_(pareto) {}
  // Returns the number of magnitudes that are sent for k requested ones.
  int64_t Step(std::span<const float> input, int64_t k) {
    std::vector<double> magnitudes;
    for (const float x : input) magnitudes.push_back(std::abs(x));
    const double delta = static_cast<double>(k) / static_cast<double>(input.size());
    const auto sent = [&](int stages) {
      const auto threshold = static_cast<float>(ExactThreshold(magnitudes, pareto_, delta, stages));
      return std::ranges::count_if(magnitudes, [&](double x) { return x >= threshold; });
    };
    if (stages_ == 0) {
      double least = 1e300;
      for (int stages = 1; stages <= 4; ++stages) {
        const double off =
            std::abs(std::log(static_cast<double>(sent(stages)) / static_cast<double>(k)));
        if (off < least) stages_ = stages;
        least = std::min(least, off);
      }
    }
    const int64_t count = sent(stages_);
    ratios_.push_back(static_cast<double>(count) / static_cast<double>(k));
    if (ratios_.size() == 5) {
      const double mean = std::accumulate(ratios_.begin(), ratios_.end(), 0.0) / 5;
      if (std::abs(mean - 1) > 0.2) stages_ = 0;
      ratios_.clear();
    }
    return count == 0 ? k : count;
  }
  int stages() const { return stages_; }

 private:
  bool pareto_;
  int stages_ = 0;  // 0: choose
  std::vector<double> ratios_;
};

// So few magnitudes are sorted by the method, too.
TEST(Sidco, ChoosesStagesOfAStreamAsSortedMagnitudesSay) {
  for (const bool pareto : {false, true}) {
    const auto sparsifier = SparsifierOf(pareto ? "sidco:fit=pareto" : "sidco");
    SortedSidco sorted(pareto);
    CodecState state;
    int changes = 0, last = 0;
    for (int step = 0; step < 120; ++step) {
      const char* const kinds[] = {"laplace", "gaussian", "student-t", "lognormal"};
      const auto input =
          DrawGradient(std::string(kinds[step / 15 % 4]) + ":n=300,seed=" + std::to_string(step));
      const auto selection = sparsifier->Select(input, 6, ContextOf(0.02, 0, &state));
      ASSERT_EQ(std::ssize(selection.positions), sorted.Step(input, 6)) << pareto << step;
      ASSERT_EQ(selection.positions, test::SortedTopK(input, std::ssize(selection.positions)));
      ASSERT_EQ(static_cast<int>(state.numbers[0]), sorted.stages());
      changes += state.numbers[0] != last;
      last = sorted.stages();
    }
    EXPECT_GT(changes, 5);
  }
}

TEST(Sidco, FallsBackToTheLargest) {
  for (const char* text : {"sidco", "sidco:stages=1", "sidco:stages=4", "sidco:fit=pareto"}) {
    for (const float value : {0.0f, -2.5f, 1e-44f}) {
      const std::vector<float> constant(1000, value);
      EXPECT_EQ(SparsifierOf(text)->Select(constant, 10, ContextOf(0.01)).positions,
                test::SortedTopK(constant, 10))
          << text << " " << value;
    }
  }
}

TEST(Gaussian, HitsTheDensityOfItsDistribution) {
  for (const double density : {0.5, 0.1, 0.01, 0.001}) {
    const double slack = 5 / std::sqrt(density * kNumel);
    EXPECT_NEAR(Ratio("gaussian", "gaussian", density), 1, slack) << density;
  }
  const std::vector<float> zeros(100);
  EXPECT_EQ(SparsifierOf("gaussian")->Select(zeros, 3, ContextOf(0.03)).positions.size(), 100u);
}

}  // namespace
}  // namespace legacy::sidco_test
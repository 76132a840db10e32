#include <gtest/gtest.h>

#include <bit>

#include "tests/compress/sparsifiers/sparsifier_data.h"

namespace legacy::cat_test {
namespace {

using test::ContextOf;
using test::SparsifierOf;

struct Best {
  double gain = 0;
  int64_t first = 0;  // least number of values that has it, up to rounding
};

// Computes energy over cost for every T.
Best SlowMaximum(std::vector<float> values, double c0, double c1, int64_t packet, bool first) {
  std::ranges::sort(values, {}, [](float x) { return -std::abs(x); });
  const auto n = static_cast<int64_t>(values.size());
  const int64_t bits = 32 + std::bit_width(static_cast<uint64_t>(n - 1));
  Best best;
  double energy = 0, at_end = 0;
  for (int64_t t = 1; t <= n; ++t) {
    energy += double{values[t - 1]} * values[t - 1];
    const int64_t packets = (t * bits + 8 * packet - 1) / (8 * packet);
    const double gain = energy / (c0 * static_cast<double>(packets) + c1);
    const bool last = t == n || ((t + 1) * bits + 8 * packet - 1) / (8 * packet) > packets;
    if (gain > best.gain * (1 + 1e-12)) best = {gain, t};
    if (last && first && gain < at_end * (1 - 1e-12)) return best;
    if (last) at_end = gain;
  }
  return best;
}

TEST(Cat, MaximumOfEnergyOverCost) {
  for (const char* kind : {"gaussian", "laplace", "student-t", "lognormal", "zeros", "mixed"}) {
    const auto input = DrawGradient(std::string(kind) + ":n=30000,seed=9");
    for (const auto& [text, c0, c1, packet, first] :
         {std::tuple("cat", 1.0, 60.0, 1460, true),
          {"cat:stop=maximum", 1.0, 60.0, 1460, false},
          {"cat:c0=2,c1=1,packet=100", 2.0, 1.0, 100, true},
          {"cat:c0=0.001,stop=maximum,c1=1", 0.001, 1.0, 1460, false}}) {
      const Best best = SlowMaximum(input, c0, c1, packet, first);
      const auto selection = SparsifierOf(text)->Select(input, 30000, ContextOf(1));
      EXPECT_EQ(static_cast<int64_t>(selection.positions.size()), best.first)
          << kind << " " << text;
      EXPECT_EQ(selection.positions, test::SortedTopK(input, best.first)) << kind << " " << text;
    }
  }
}

TEST(Cat, CostsDecide) {
  const auto input = DrawGradient("laplace:n=30000");
  const auto count = [&](const char* text) {
    return SparsifierOf(text)->Select(input, 30000, ContextOf(1)).positions.size();
  };
  EXPECT_EQ(count("cat:c0=0"), 30000u);  // values cost nothing
  // One packet holds 8 * 1460 / (32 + 15) values.
  EXPECT_EQ(count("cat:c1=1e-9"), 248u);
  EXPECT_GT(count("cat:c1=600"), count("cat:c1=60"));
  EXPECT_TRUE(
      SparsifierOf("cat")->Select(std::vector<float>(10), 10, ContextOf(1)).positions.empty());
}

}  // namespace
}  // namespace legacy::cat_test
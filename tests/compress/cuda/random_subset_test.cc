#include "compress/cpu/random_subset.h"

#include <cmath>
#include <limits>

#include "compress/cuda/kernels/selection/random_subset_kernels.h"
#include "tests/compress/cuda/device_under_test.h"
#include "tests/compress/test_data.h"

namespace legacy::cuda::random_subset_test {
namespace {

RandomKey Key(uint32_t unit) {
  return {.seed = 5, .step = 77, .worker = 3, .layer = unit, .purpose = Purpose::kRandomK};
}

// Returns units with gaps between their kept positions.
std::vector<SubsetUnit> Units(const std::vector<std::pair<int64_t, int64_t>>& sizes) {
  std::vector<SubsetUnit> units;
  int64_t out = 1, offset = 2;
  for (const auto& [n, k] : sizes) {
    units.push_back({n, k, out, offset});
    out += k + 5;
    offset += n + 3;
  }
  return units;
}

int64_t OutSize(const std::vector<SubsetUnit>& units) { return units.back().out + units.back().k; }

void ExpectTheCpusSubsets(const std::vector<SubsetUnit>& units,
                          int64_t last_draws = SubsetTable::kLastDraws) {
  const SubsetTable table(units, last_draws);
  const test::Tables copy(table);
  std::vector<RandomKey> keys;
  for (uint32_t u = 0; u < units.size(); ++u) keys.push_back(Key(u));
  std::vector<uint32_t> expected(OutSize(units), 0xA5A5A5A5);  // the rubbish of new memory
  for (uint32_t u = 0; u < units.size(); ++u) {
    const auto subset = cpu::RandomSubset(RandomStream(keys[u]), units[u].n, units[u].k);
    std::ranges::copy(subset, expected.begin() + units[u].out);
  }
  test::OnDevice([&](test::Device& device) {
    const test::Buffer<RandomKey> device_keys(keys);
    const test::Buffer<uint32_t> positions(OutSize(units));
    const test::Scratch scratch([&](Workspace& workspace) {
      LayOutSubsets(table, copy.view(), nullptr, nullptr, workspace);
    });
    Workspace workspace = scratch.workspace();
    LaunchSubsets(
        device, table,
        LayOutSubsets(table, copy.view(), device_keys.data(), positions.data(), workspace));
    EXPECT_EQ(positions.Get(), expected);
  });
}

TEST(CudaRandomSubset, IsTheCpusSubset) {
  std::vector<std::pair<int64_t, int64_t>> sizes = {{0, 0}};
  for (const int64_t n : {1, 2, 31, 32, 33, 1000, 32767, 32768, 32769, 100003, 300000}) {
    for (const double density : {0.0, 0.001, 0.01, 0.1, 0.5, 0.6, 0.99, 1.0}) {
      sizes.push_back({n, std::llround(density * static_cast<double>(n))});
    }
  }
  ExpectTheCpusSubsets(Units(sizes));
}

// Drawing in rounds with more and with less room than needed, down to one draw too few, gives the
// same subsets.
TEST(CudaRandomSubset, DoesNotDependOnTheRounds) {
  const auto units = Units({{5000, 2500}, {100000, 1000}, {77, 33}, {3, 1}, {20000, 13000}});
  for (const int64_t last_draws : {1, 7, 500, 1 << 20}) {
    SCOPED_TRACE(last_draws);
    ExpectTheCpusSubsets(units, last_draws);
  }
}

// The unit has more tiles than are added up at once.
TEST(CudaRandomSubset, OfAVeryLongUnitIsTheCpus) {
  ExpectTheCpusSubsets(Units({{40000001, 2000}}));
}

TEST(CudaRandomSubset, RoundsFollowFromTheDensity) {
  EXPECT_EQ(SubsetTable(Units({{1 << 20, 5000}})).rounds(), 0);
  EXPECT_EQ(SubsetTable(Units({{10000000, 100000}, {100, 7}})).rounds(), 1);
  EXPECT_EQ(SubsetTable(Units({{10000000, 1000000}})).rounds(), 2);
  EXPECT_EQ(SubsetTable(Units({{1 << 20, 1 << 19}})).rounds(), 5);
  EXPECT_EQ(SubsetTable(Units({{1 << 20, 1 << 20}})).rounds(), 0);
  // Half of the draws are refused.
  EXPECT_LE(SubsetTable(Units({{(1LL << 31) + 1, 1 << 30}})).rounds(), 44);
}

TEST(CudaRandomSubset, TakesScalesAndClearsWhatIsKept) {
  auto units = Units({{10000, 3000}, {0, 0}, {33, 33}, {5000, 1}, {90000, 9001}});
  units[0].factor = 10000.0f / 3000;
  units[3].factor = 1e30f;
  std::vector<uint32_t> positions(OutSize(units));
  auto flat = test::Normals(units.back().offset + units.back().n, 1);
  for (uint32_t u = 0; u < units.size(); ++u) {
    const auto subset = cpu::RandomSubset(RandomStream(Key(u)), units[u].n, units[u].k);
    std::ranges::copy(subset, positions.begin() + units[u].out);
  }
  flat[units[3].offset + positions[units[3].out]] = 1e30f;  // overflows
  flat[units[4].offset + positions[units[4].out]] = std::nanf("");
  flat[units[4].offset + positions[units[4].out + 9000]] = -std::numeric_limits<float>::infinity();
  const SubsetTable table(units);
  const test::Tables copy(table);
  for (const bool clear : {false, true}) {
    test::OnDevice([&](test::Device& device) {
      const test::Buffer<float> input(flat), values(OutSize(units));
      const test::Buffer<uint32_t> device_positions(positions), non_finite(table.count());
      LaunchTake(device, table, copy.view(), device_positions.data(), input.data(), clear,
                 values.data(), non_finite.data());
      EXPECT_EQ(non_finite.Get(), (std::vector<uint32_t>{0, 0, 0, 1, 2}));
      auto left = flat;
      const auto got = values.Get();
      for (const SubsetUnit& unit : units) {
        for (int64_t i = unit.out; i < unit.out + unit.k; ++i) {
          float& x = left[unit.offset + positions[i]];
          const float expected = x * unit.factor;
          // A GPU and a processor make different NaNs, but such a unit is refused.
          ASSERT_EQ(std::isnan(got[i]), std::isnan(expected));
          if (!std::isnan(expected)) {
            ASSERT_EQ(got[i], expected);
          }
          if (clear) x = 0;
        }
      }
      EXPECT_TRUE(test::SameBits(input.Get(), left));
    });
  }
}

}  // namespace
}  // namespace legacy::cuda::random_subset_test
#include "compress/cuda/kernels/selection/entries_kernels.h"
#include "compress/cuda/kernels/selection/sampled_kernels.h"
#include "compress/sparsifiers/cut.h"
#include "tests/compress/cuda/device_under_test.h"
#include "tests/compress/test_data.h"

namespace legacy::cuda::entries_test {
namespace {

const std::vector<int64_t> kLengths = {1, 0, 33, 9000, 4096, 31};

// Lists of every third element of each segment, with gaps between lists.
struct SomeLists {
  explicit SomeLists(const SegmentTable& table) {
    for (const Extent& extent : table.extents()) {
      begin.push_back((std::ssize(indices) + 7) / 8 * 8);
      indices.resize(begin.back(), 0xFFFFFFFF);
      for (int64_t i = 0; i < extent.length; i += 3) indices.push_back(static_cast<uint32_t>(i));
      count.push_back(static_cast<uint32_t>(std::ssize(indices) - begin.back()));
    }
    values = test::Normals(std::ssize(indices), 5);
  }
  std::vector<int64_t> begin;
  std::vector<uint32_t> count, indices;
  std::vector<float> values;
};

TEST(CudaEntries, AreWrittenAndMoved) {
  const SegmentTable table(test::Apart(kLengths), kTile);
  const SomeLists lists(table);
  std::vector<float> expected = test::Normals(test::FlatSize(table), 1);
  const std::vector<float> before = expected;
  std::vector<int64_t> to;
  int64_t next = 0;
  for (size_t s = 0; s < lists.begin.size(); ++s) {
    to.push_back(next);
    next += lists.count[s] + 2;
    for (uint32_t i = 0; i < lists.count[s]; ++i) {
      test::Part(expected, table, s)[lists.indices[lists.begin[s] + i]] =
          lists.values[lists.begin[s] + i];
    }
  }
  test::OnDevice([&](test::Device& device) {
    const test::Tables tables(table);
    const test::Buffer<int64_t> begin(lists.begin), to_begin(to);
    const test::Buffer<uint32_t> count(lists.count), indices(lists.indices);
    const test::Buffer<float> values(lists.values), flat(before);
    const PackedLists packed = {begin.data(), count.data(), indices.data(), values.data()};
    LaunchPutEntries(device, tables.view(), packed, std::ssize(lists.values), flat.data());
    EXPECT_TRUE(test::SameBits(flat.Get(), expected));

    const test::Buffer<uint32_t> moved_indices(std::vector<uint32_t>(next, 77));
    const test::Buffer<float> moved_values(std::vector<float>(next, 77));
    LaunchMoveEntries(device, table.count(), packed,
                      {to_begin.data(), moved_indices.data(), moved_values.data()}, next);
    std::vector<uint32_t> expected_indices(next, 77);
    std::vector<float> expected_values(next, 77);
    for (size_t s = 0; s < to.size(); ++s) {
      for (uint32_t i = 0; i < lists.count[s]; ++i) {
        expected_indices[to[s] + i] = lists.indices[lists.begin[s] + i];
        expected_values[to[s] + i] = lists.values[lists.begin[s] + i];
      }
    }
    EXPECT_EQ(moved_indices.Get(), expected_indices);
    EXPECT_EQ(moved_values.Get(), expected_values);
  });
}

TEST(CudaEntries, EnumerateAllPositions) {
  const SegmentTable table(test::Apart(kLengths), kTile);
  std::vector<uint32_t> expected(test::FlatSize(table), 9);
  for (const Extent& extent : table.extents()) {
    std::iota(expected.begin() + extent.offset, expected.begin() + extent.offset + extent.length,
              0u);
  }
  test::OnDevice([&](test::Device& device) {
    const test::Tables tables(table);
    const test::Buffer<uint32_t> positions(std::vector<uint32_t>(expected.size(), 9));
    LaunchEnumerate(device, table, tables.view(), positions.data());
    EXPECT_EQ(positions.Get(), expected);
  });
}

TEST(CudaSampled, SamplesThresholdsAndCounts) {
  const SegmentTable table(test::Apart(kLengths), kTile);
  for (const auto& values : test::HardInputs(test::FlatSize(table))) {
    std::vector<SampledElements> elements;
    std::vector<int64_t> sizes;
    std::vector<float> samples, smallest;
    for (const Extent& extent : table.extents()) {
      const SampledElements from = {extent.offset + extent.length / 7, 9};
      std::vector<float> sample;
      for (int64_t i = from.first; i < extent.offset + extent.length; i += from.stride) {
        sample.push_back(values[i]);
      }
      elements.push_back(from);
      sizes.push_back(std::ssize(sample));
      float least = sample.empty() ? 0 : std::abs(sample[0]);
      for (const float x : sample) least = std::min(least, std::abs(x));
      smallest.push_back(least);
      samples.insert(samples.end(), sample.begin(), sample.end());
      samples.insert(samples.end(), 3, 0.0f);
    }
    std::vector<uint32_t> counts;
    for (size_t s = 0; s < sizes.size(); ++s) {
      float threshold = smallest[s];
      for (int tried = 0; tried < kSampledThresholds; ++tried) {
        const Extent extent = table.extents()[s];
        counts.push_back(static_cast<uint32_t>(std::ssize(
            SelectAtLeast(std::span(values).subspan(extent.offset, extent.length), threshold, 0)
                .positions)));
        threshold *= SampledRule::kLower;
      }
    }
    const SegmentTable sampled(test::Apart(sizes), kTile);
    test::OnDevice([&](test::Device& device) {
      const test::Tables tables(table), sample_tables(sampled);
      const test::Buffer<SampledElements> from(elements);
      const test::Buffer<float> flat(values), taken(std::vector<float>(samples.size())),
          least(std::ssize(sizes));
      const test::Buffer<uint32_t> counted(std::vector<uint32_t>(counts.size())),
          bad(std::vector<uint32_t>(sizes.size()));
      LaunchTakeSamples(device, sampled, sample_tables.view(), from.data(), flat.data(),
                        taken.data());
      EXPECT_TRUE(test::SameBits(taken.Get(), samples));
      LaunchSmallestMagnitudes(device, sampled, sample_tables.view(), taken.data(), least.data());
      EXPECT_TRUE(test::SameBits(least.Get(), smallest));
      LaunchCountAtLeast(device, table, tables.view(), flat.data(), least.data(), counted.data(),
                         bad.data());
      EXPECT_EQ(counted.Get(), counts);
      EXPECT_EQ(bad.Get(), std::vector<uint32_t>(sizes.size()));
    });
  }
}

TEST(CudaSampled, CountsWhatIsNotFinite) {
  const SegmentTable table(test::Apart(kLengths), kTile);
  auto values = test::Normals(test::FlatSize(table), 1);
  for (const int64_t i : {0, 8000}) test::Part(values, table, 3)[i] = std::nanf("");
  test::Part(values, table, 5)[30] = -std::numeric_limits<float>::infinity();
  test::OnDevice([&](test::Device& device) {
    const test::Tables tables(table);
    const test::Buffer<float> flat(values), thresholds(std::vector<float>(kLengths.size(), 1e30f));
    const test::Buffer<uint32_t> counts(
        std::vector<uint32_t>(kLengths.size() * kSampledThresholds)),
        bad(std::vector<uint32_t>(kLengths.size()));
    LaunchCountAtLeast(device, table, tables.view(), flat.data(), thresholds.data(), counts.data(),
                       bad.data());
    EXPECT_EQ(bad.Get(), (std::vector<uint32_t>{0, 0, 0, 2, 0, 1}));
  });
}

}  // namespace
}  // namespace legacy::cuda::entries_test
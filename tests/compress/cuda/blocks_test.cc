#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "compress/cuda/kernels/selection/blocks_kernels.h"
#include "compress/schemes/sparse/omnireduce.h"
#include "tests/compress/cuda/device_under_test.h"
#include "tests/compress/test_data.h"

namespace legacy::cuda::blocks_test {
namespace {

using test::Buffer;

// Vectors of one worker with their messages, on a device.
struct Vectors {
  Vectors(test::Device& device, int64_t block, double density, const std::vector<int64_t>& lengths,
          const std::vector<float>& input)
      : layouts(LayoutsOf(block, density, lengths)),
        table(test::Apart(lengths), layouts, std::vector<bool>(lengths.size(), false)),
        view(table),
        ranks(table.blocks()),
        positions(table.sent()),
        sent(2 * table.count()),
        messages(table.stride()) {
    const Buffer<float> values(input);
    const Buffer<double> squares(table.blocks());
    const Buffer<uint32_t> non_finite(std::vector<uint32_t>(table.count()));
    LaunchBlocksEncode(device, table, view.view(),
                       {.values = values.data(),
                        .squares = squares.data(),
                        .ranks = ranks.data(),
                        .positions = positions.data(),
                        .sent = sent.data(),
                        .out = messages.data(),
                        .non_finite = non_finite.data()});
    device.Wait();  // before the values are freed
    EXPECT_EQ(non_finite.Get(), std::vector<uint32_t>(table.count()));
  }
  static std::vector<BlockLayout> LayoutsOf(int64_t block, double density,
                                            const std::vector<int64_t>& lengths) {
    std::vector<BlockLayout> layouts;
    for (const int64_t length : lengths) layouts.push_back(LayoutBlocks(length, block, density));
    return layouts;
  }
  // Returns the blocks of a unit that are sent.
  std::vector<uint32_t> Sent(size_t unit) const {
    const std::vector<uint32_t> all = positions.Get();
    const auto begin = all.begin() + table.units()[unit].first_sent;
    return {begin, begin + sent.Get()[2 * unit]};
  }

  std::vector<BlockLayout> layouts;
  BlocksTable table;
  test::Tables<BlocksTable> view;
  Buffer<uint32_t> ranks, positions, sent;
  Buffer<std::byte> messages;
};

// Blocks have few different norms, of which many are zero; there are more than a block's threads.
TEST(CudaBlocks, AreThoseThatTheCpuChooses) {
  const std::vector<int64_t> lengths = {0, 1, 3, 4, 5, 401, 4096, 13001};
  const SegmentTable segments(test::Apart(lengths), kTile);
  std::vector<float> values = test::Normals(test::FlatSize(segments), 3);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = i / 40 % 3 == 0 ? 0.0f : values[i / 100 % 7 * 40 + i % 4];
  }
  for (const double density : {0.01, 0.3, 0.7, 1.0}) {
    test::OnDevice([&](test::Device& device) {
      const Vectors vectors(device, 4, density, lengths, values);
      for (size_t u = 0; u < lengths.size(); ++u) {
        EXPECT_EQ(vectors.Sent(u), OmniBlocks(test::Part(values, segments, u), vectors.layouts[u]))
            << lengths[u] << " at " << density;
      }
    });
  }
}

TEST(CudaBlocks, NumbersInMessagesAreChecked) {
  const std::vector<int64_t> lengths = {900, 300};
  const SegmentTable segments(test::Apart(lengths), kTile);
  const std::vector<float> values = test::Normals(test::FlatSize(segments), 3);
  test::OnDevice([&](test::Device& device) {
    const Vectors vectors(device, 16, 0.3, lengths, values);
    const auto faults = [&](size_t unit, int64_t rank, uint32_t next) {
      std::vector<std::byte> changed = vectors.messages.Get();
      const BlocksUnit& of = vectors.table.units()[unit];
      if (rank >= 0) {
        std::memcpy(&changed[of.message + BlocksUnit::kBlocksAt + rank * of.BlockBytes()], &next,
                    sizeof next);
      }
      const Buffer<std::byte> in(changed);
      const Buffer<float> sums(test::FlatSize(segments)), mean(test::FlatSize(segments));
      const Buffer<uint32_t> all(std::vector<uint32_t>(4)), malformed(std::vector<uint32_t>(2));
      LaunchBlocksDecode(device, vectors.table, vectors.view.view(),
                         {.in = in.data(),
                          .stride = vectors.table.stride(),
                          .ranks = vectors.ranks.data(),
                          .positions = vectors.positions.data(),
                          .sent = vectors.sent.data(),
                          .blocks = vectors.table.blocks(),
                          .most_sent = vectors.table.sent(),
                          .slots = 1,
                          .sums = sums.data(),
                          .union_of = all.data(),
                          .mean = mean.data(),
                          .malformed = malformed.data()});
      device.Wait();
      EXPECT_EQ(all.Get(), vectors.sent.Get()) << "of one worker";
      return malformed.Get();
    };
    EXPECT_EQ(faults(0, -1, 0), (std::vector<uint32_t>{0, 0}));
    EXPECT_EQ(faults(0, 2, vectors.Sent(0)[3] + 1), (std::vector<uint32_t>{1, 0}));
    EXPECT_EQ(faults(1, std::ssize(vectors.Sent(1)) - 1, 3), (std::vector<uint32_t>{0, 1}));
  });
}

}  // namespace
}  // namespace legacy::cuda::blocks_test

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "compress/checks.h"
#include "compress/codecs/eden_codec.h"
#include "compress/cuda/kernels/transforms/eden_kernels.h"
#include "tests/compress/cuda/device_under_test.h"
#include "tests/compress/test_data.h"

namespace legacy::cuda::eden_test {
namespace {

using test::Buffer;

constexpr RandomKey kKey = {.seed = 3, .step = 5, .worker = 0, .layer = 0};

CodecContext ContextOf(uint32_t unit, int bits) {
  CodecContext context;
  context.unit = unit;
  context.parameter = bits;
  context.random = kKey;
  context.random.layer = unit;
  return context;
}

// Vectors with their table, on a device.
struct Vectors {
  Vectors(int64_t block, const std::vector<int64_t>& lengths, const std::vector<int>& bits)
      : segments(test::Apart(lengths), kTile),
        table(block, segments.extents(), bits),
        view(table),
        segment_view(segments) {
    std::vector<StreamKey> keys;
    for (size_t u = 0; u < lengths.size(); ++u) {
      keys.push_back(StreamKeyOf(cpu::RotationKey(ContextOf(u, 1).random)));
    }
    signs.emplace(keys);
  }
  // Returns the messages of values at the segments, each with its header.
  std::vector<std::byte> Encode(test::Device& device, const EdenCodec& codec,
                                const std::vector<float>& values, bool unbiased) const {
    const Buffer<float> input(values);
    const Buffer<uint32_t> largest(table.count()), first(table.count());
    const Buffer<uint32_t> done(std::vector<uint32_t>(2 * table.count()));
    std::vector<std::byte> messages(table.stride());
    for (size_t u = 0; u < table.units().size(); ++u) {
      const EdenUnit& unit = table.units()[u];
      const auto header =
          StartMessage(codec.HeaderOf(unit.extent.length, ContextOf(u, unit.bits)), 0);
      std::ranges::copy(header.bytes, messages.begin() + unit.message);
    }
    const Buffer<std::byte> out(messages);
    LaunchExtremes(device, segments, segment_view.view(), input.data(),
                   {largest.data(), first.data()});
    const EdenArrays arrays = {.values = input.data(),
                               .largest = largest.data(),
                               .signs = signs->data(),
                               .out = out.data(),
                               .unbiased = unbiased};
    const auto layout = [&](Workspace& workspace) {
      return LayOutEden(table, view.view(), arrays, done.data(), workspace);
    };
    const test::Scratch scratch(layout);
    Workspace workspace = scratch.workspace();
    LaunchEden(device, table, layout(workspace));
    EXPECT_EQ(done.Get(), std::vector<uint32_t>(2 * table.count())) << "as before";
    return out.Get();
  }
  // Returns the flags of malformed messages, of each unit of each worker.
  std::vector<uint32_t> Faults(test::Device& device, const std::vector<std::byte>& messages,
                               int workers) const {
    const Buffer<std::byte> in(messages);
    const Buffer<float> mean(test::FlatSize(segments));
    const Buffer<uint32_t> malformed(std::vector<uint32_t>(workers * table.count()));
    LaunchEdenDecode(device, table, view.view(),
                     {.in = in.data(),
                      .signs = signs->data(),
                      .stride = table.stride(),
                      .workers = workers,
                      .divisor = static_cast<float>(workers),
                      .out = mean.data(),
                      .malformed = malformed.data()});
    return malformed.Get();
  }

  SegmentTable segments;
  EdenTable table;
  test::Tables<EdenTable> view;
  test::Tables<SegmentTable> segment_view;
  std::optional<Buffer<StreamKey>> signs;
};

// Lengths end within words, draws, sums and pieces.
TEST(CudaEden, WritesTheCpusMessages) {
  const std::vector<int64_t> lengths = {0,    1,    2,    31,   33,   127,  129,   1000,
                                        1025, 4095, 4097, 8191, 8192, 8193, 12289, 20000};
  for (const int64_t block : {1, 32, 4096, 8192}) {
    std::vector<int> bits;
    for (size_t u = 0; u < lengths.size(); ++u) bits.push_back(1 + static_cast<int>(u + block) % 4);
    const Vectors vectors(block, lengths, bits);
    std::vector<float> values = test::Normals(test::FlatSize(vectors.segments), 7);
    for (size_t i = 0; i < values.size(); i += 5) values[i] *= 1e-3f;
    for (const bool unbiased : {false, true}) {
      const EdenCodec codec(1, block, unbiased ? EdenScale::kUnbiased : EdenScale::kLeast);
      test::OnDevice([&](test::Device& device) {
        const auto messages = vectors.Encode(device, codec, values, unbiased);
        for (size_t u = 0; u < lengths.size(); ++u) {
          if (lengths[u] == 0) continue;  // nothing is written
          const EdenUnit& unit = vectors.table.units()[u];
          const Message expected = codec.Encode(test::Part(values, vectors.segments, u),
                                                ContextOf(static_cast<uint32_t>(u), bits[u]));
          const auto begin = messages.begin() + unit.message;
          ASSERT_EQ(unit.MessageBytes(), expected.size());
          ASSERT_TRUE(std::ranges::equal(expected.bytes, std::span(begin, expected.size())))
              << "block " << block << ", length " << lengths[u];
        }
      });
    }
  }
}

TEST(CudaEden, NoticesWhatNoEncoderWrites) {
  const Vectors vectors(64, {37, 300, 5}, {3, 2, 4});
  const EdenCodec codec(1, 64, EdenScale::kLeast);
  const std::vector<float> values = test::Normals(test::FlatSize(vectors.segments), 7);
  test::OnDevice([&](test::Device& device) {
    const auto honest = vectors.Encode(device, codec, values, false);
    std::vector<std::byte> both = honest;
    both.insert(both.end(), honest.begin(), honest.end());
    EXPECT_EQ(vectors.Faults(device, both, 2), std::vector<uint32_t>(6));
    const auto expect = [&](size_t unit, int64_t at, std::vector<std::byte> bytes) {
      std::vector<std::byte> changed = both;
      std::ranges::copy(bytes, changed.begin() + vectors.table.stride() +
                                   vectors.table.units()[unit].message + at);
      std::vector<uint32_t> expected(6);
      expected[3 + unit] = 1;
      EXPECT_EQ(vectors.Faults(device, changed, 2), expected) << unit << " at " << at;
    };
    const auto bytes_of = [](float scale) {
      const auto raw = std::bit_cast<std::array<std::byte, 4>>(scale);
      return std::vector(raw.begin(), raw.end());
    };
    for (const float scale :
         {-1.0f, -0.0f, std::nanf(""), 0x1p113f, std::numeric_limits<float>::infinity(), 0.0f}) {
      expect(1, EdenUnit::kScaleAt, bytes_of(scale));  // not the codes of a zero either
    }
    // 37 codes of 3 bits leave a bit of the last byte.
    const int64_t last = vectors.table.units()[0].MessageBytes() - 1;
    expect(0, last, {honest[vectors.table.units()[0].message + last] | std::byte{0x80}});
  });
}

TEST(CudaEden, HasKernelsForBlocksThatFit) {
  EXPECT_EQ(EdenTable::LacksKernels(8192), "");
  EXPECT_NE(EdenTable::LacksKernels(16384).find("block=16384"), std::string::npos);
}

}  // namespace
}  // namespace legacy::cuda::eden_test

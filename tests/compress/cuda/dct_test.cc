#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <memory>
#include <optional>

#include "compress/checks.h"
#include "compress/codecs/dct_codec.h"
#include "compress/cuda/kernels/transforms/dct_kernels.h"
#include "tests/compress/cuda/device_under_test.h"
#include "tests/compress/test_data.h"

namespace legacy::cuda::dct_test {
namespace {

using test::Buffer;

// Returns the codec of each matrix.
std::vector<std::unique_ptr<Codec>> CodecsOf(const std::vector<Unit>& units,
                                             const std::string& text) {
  std::vector<std::unique_ptr<Codec>> codecs;
  for (const Unit& unit : units) {
    auto codec = MakeCodec(text);
    auto own = codec->ForUnit(unit);
    codecs.push_back(own ? std::move(own) : std::move(codec));
  }
  return codecs;
}

// Matrices with their table, on a device.
struct Matrices {
  Matrices(const std::string& text, const std::vector<std::vector<int64_t>>& shapes,
           double density) {
    std::vector<DctTable::Unit> of;
    for (const auto& shape : shapes) {
      Unit& unit = units.emplace_back(test::MakeUnit(1, static_cast<uint32_t>(units.size())));
      unit.shape = shape;
      unit.numel = 1;
      for (const int64_t side : shape) unit.numel *= side;
      unit.offset = size;
      size += unit.numel + 3;
    }
    codecs = CodecsOf(units, text);
    for (size_t u = 0; u < units.size(); ++u) {
      const auto& codec = dynamic_cast<const DctCodec&>(*codecs[u]);
      const cpu::ChunkGrid grid = codec.GridOf(units[u].numel);
      of.push_back({units[u].offset, grid, codec.KeptOf(grid, density)});
      contexts.push_back({.unit = units[u].id, .parameter = density, .random = {}});
      headers.push_back(StartMessage(codec.HeaderOf(grid, contexts.back()), 0).bytes);
    }
    table.emplace(of);
    view.emplace(*table);
  }

  std::vector<std::byte> Encode(test::Device& device, const std::vector<float>& values) const {
    std::vector<std::byte> messages(table->stride());
    for (size_t u = 0; u < units.size(); ++u) {
      std::ranges::copy(headers[u], messages.begin() + table->units()[u].message);
    }
    const Buffer<float> input(values);
    const Buffer<std::byte> out(messages);
    const auto layout = [&](Workspace& workspace) {
      return LayOutDct(*table, view->view(), input.data(), out.data(), workspace);
    };
    const test::Scratch scratch(layout);
    Workspace workspace = scratch.workspace();
    LaunchDct(device, *table, layout(workspace));
    return out.Get();
  }
  std::vector<uint32_t> Faults(test::Device& device, const std::vector<std::byte>& messages,
                               int workers) const {
    const Buffer<std::byte> in(messages);
    const Buffer<float> mean(size);
    const Buffer<uint32_t> malformed(std::vector<uint32_t>(workers * table->count()));
    LaunchDctDecode(device, *table, view->view(),
                    {.in = in.data(),
                     .stride = table->stride(),
                     .workers = workers,
                     .out = mean.data(),
                     .malformed = malformed.data()});
    return malformed.Get();
  }

  std::vector<Unit> units;
  int64_t size = 0;
  std::vector<std::unique_ptr<Codec>> codecs;
  std::vector<CodecContext> contexts;
  std::vector<Bytes> headers;
  std::optional<DctTable> table;
  std::optional<test::Tables<DctTable>> view;
};

// Sides divide by the chunk, have no divisor but 1, or are shorter; magnitudes repeat.
TEST(CudaDct, WritesTheCpusMessages) {
  const std::vector<std::vector<int64_t>> shapes = {{128, 192}, {60, 100}, {1, 1},    {67, 5},
                                                    {4097},     {64},      {2, 3, 35}};
  for (const char* text : {"dct", "dct:chunk=16", "dct:shape=line", "dct:chunk=1"}) {
    for (const double density : {0.0078125, 0.2, 0.9, 1.0}) {
      const Matrices matrices(text, shapes, density);
      std::vector<float> values = test::Normals(matrices.size, 7);
      for (size_t i = 0; i < values.size() / 3; ++i) values[i] = std::round(values[i]);
      test::OnDevice([&](test::Device& device) {
        const auto messages = matrices.Encode(device, values);
        for (size_t u = 0; u < shapes.size(); ++u) {
          const Unit& unit = matrices.units[u];
          const Message expected = matrices.codecs[u]->Encode(
              std::span(values).subspan(unit.offset, unit.numel), matrices.contexts[u]);
          const auto begin = messages.begin() + matrices.table->units()[u].message;
          ASSERT_EQ(matrices.table->units()[u].MessageBytes(), expected.size());
          ASSERT_TRUE(std::ranges::equal(expected.bytes, std::span(begin, expected.size())))
              << text << " of " << density << ", unit " << u;
        }
      });
    }
  }
}

TEST(CudaDct, NoticesWhatNoEncoderWrites) {
  // 25 chunks of 4 x 4 have 75 positions of 4 bits, and 4 of the last byte are not used.
  const Matrices matrices("dct:chunk=4", {{20, 20}, {64, 64}}, 3.0 / 16);
  const std::vector<float> values = test::Normals(matrices.size, 7);
  const DctUnit& unit = matrices.table->units()[0];
  ASSERT_EQ(unit.position_bytes, 38);
  test::OnDevice([&](test::Device& device) {
    const auto honest = matrices.Encode(device, values);
    std::vector<std::byte> both = honest;
    both.insert(both.end(), honest.begin(), honest.end());
    EXPECT_EQ(matrices.Faults(device, both, 2), std::vector<uint32_t>(4));
    const auto expect = [&](int64_t at, std::vector<std::byte> bytes, const char* what) {
      std::vector<std::byte> changed = both;
      std::ranges::copy(bytes, changed.begin() + matrices.table->stride() + unit.message +
                                   kExtendedHeaderBytes + at);
      EXPECT_EQ(matrices.Faults(device, changed, 2), (std::vector<uint32_t>{0, 0, 1, 0})) << what;
    };
    expect(0, {std::byte{0x11}}, "a position twice");
    expect(0, {std::byte{0x12}}, "a position before");
    expect(37, {honest[unit.message + kExtendedHeaderBytes + 37] | std::byte{0x80}}, "padding");
    for (const float value : {std::nanf(""), -0x1p112f}) {
      const auto raw = std::bit_cast<std::array<std::byte, 4>>(value);
      expect(unit.position_bytes + 4 * 70, {raw.begin(), raw.end()}, "a value");
    }
  });
}

// Chunks of 3 x 5 have positions that no element has.
TEST(CudaDct, NoticesPositionsAfterTheChunk) {
  const Matrices matrices("dct:chunk=5", {{3, 5}}, 2.0 / 15);
  test::OnDevice([&](test::Device& device) {
    std::vector<std::byte> message = matrices.Encode(device, test::Normals(matrices.size, 7));
    EXPECT_EQ(matrices.Faults(device, message, 1), std::vector<uint32_t>(1));
    message[kExtendedHeaderBytes] = std::byte{0xF1};
    EXPECT_EQ(matrices.Faults(device, message, 1), std::vector<uint32_t>(1, 1));
  });
}

TEST(CudaDct, HasKernelsForChunksThatFit) {
  EXPECT_EQ(DctTable::LacksKernels(64), "");
  EXPECT_NE(DctTable::LacksKernels(65).find("chunk=65"), std::string::npos);
}

}  // namespace
}  // namespace legacy::cuda::dct_test

// The codec `blocks`: whole blocks with the largest norms.
#include "compress/codecs/blocks_codec.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "base/error.h"
#include "compress/cpu/vector.h"
#include "compress/exchange.h"
#include "tests/compress/test_data.h"

namespace legacy::blocks_codec_test {
namespace {

CodecContext Context(double density) { return {.unit = 3, .parameter = density, .random = {}}; }

std::vector<float> Decoded(const Codec& codec, const Message& message, int64_t numel,
                           double density) {
  std::vector<float> values(numel);
  codec.DecodeAdd(message.bytes, Context(density), values);
  return values;
}

TEST(Blocks, TheirNumberIsRoundedUp) {
  EXPECT_EQ(KeptBlocks(0, 0.5), 0);
  EXPECT_EQ(KeptBlocks(700, 0.01), 7);
  EXPECT_EQ(KeptBlocks(701, 0.01), 8);
  EXPECT_EQ(KeptBlocks(10, 0), 1);
  EXPECT_EQ(KeptBlocks(10, 1), 10);
  for (int64_t blocks = 1; blocks < 300; ++blocks) {
    for (int64_t kept = 1; kept <= blocks; ++kept) {
      const double density = static_cast<double>(kept) / static_cast<double>(blocks);
      ASSERT_EQ(KeptBlocks(blocks, density), kept) << blocks;
    }
  }
}

// Two of three blocks of 2; the last has one element.
TEST(Blocks, KnownBytes) {
  const auto codec = MakeCodec("blocks:block=2");
  const std::vector<float> values = {3, -1, 1, 2, -4};
  const Message message = codec->Encode(values, Context(0.5));
  ASSERT_EQ(message.size(), 20 + 1 + 16);
  EXPECT_EQ(codec->MessageBytes(test::MakeUnit(5, 3), 0.5), message.size());
  EXPECT_EQ(codec->ElementsSent(5, 0.5), 4);
  const ExtendedHeader header = ReadExtendedHeader(message.bytes);
  EXPECT_EQ(header.method, ExtendedMethod::kOmniBlocks);
  EXPECT_EQ(header.header.count, 2u);
  EXPECT_EQ(header.header.numel, 5u);
  EXPECT_EQ(message.bytes[20], std::byte{0b101});  // a bitmap of blocks 0 and 2
  EXPECT_EQ(Decoded(*codec, message, 5, 0.5), (std::vector<float>{3, -1, 0, 0, -4}));
}

// The blocks with the largest norms, found slowly; what is left is the residual.
TEST(Blocks, KeepsTheLargestNorms) {
  for (const int64_t numel : {0, 1, 7, 64, 100, 1000, 1023}) {
    for (const int64_t block : {1, 7, 64, 2000}) {
      const auto codec = MakeCodec("blocks:block=" + std::to_string(block));
      for (const auto& values : test::HardInputs(numel)) {
        for (const double density : {0.001, 0.3, 1.0}) {
          const int64_t size = std::max<int64_t>(1, std::min(block, numel));
          const int64_t blocks = (numel + size - 1) / size;
          std::vector<std::pair<double, int64_t>> norms;
          for (int64_t b = 0; b < blocks; ++b) {
            const int64_t length = std::min(size, numel - b * size);
            const double square = cpu::SquaredNorm(std::span(values).subspan(b * size, length));
            norms.emplace_back(-square, b);
          }
          std::ranges::sort(norms);
          std::vector<float> expected(numel);
          for (int64_t kept = 0; kept < KeptBlocks(blocks, density); ++kept) {
            const int64_t b = norms[kept].second;
            for (int64_t i = b * size; i < std::min(numel, (b + 1) * size); ++i) {
              expected[i] = values[i];
            }
          }
          const Message message = codec->Encode(values, Context(density));
          ASSERT_EQ(message.size(), codec->MessageBytes(test::MakeUnit(numel, 3), density));
          ASSERT_EQ(Decoded(*codec, message, numel, density), expected);
          std::vector<float> residual(numel);
          std::vector<uint32_t> sent;
          const Message fed = codec->EncodeWithFeedback(values, residual, Context(density), &sent);
          ASSERT_EQ(Decoded(*codec, fed, numel, density), expected);
          double error = 0;
          for (int64_t i = 0; i < numel; ++i) {
            ASSERT_EQ(residual[i] + expected[i], values[i]);
            error += double{residual[i]} * residual[i];
          }
          for (const uint32_t i : sent) ASSERT_EQ(residual[i], 0);
          EXPECT_NEAR(codec->SquaredErrors(values, std::vector{density}, Context(density))[0],
                      error, 1e-6 * error);
        }
      }
    }
  }
}

TEST(Blocks, MalformedMessages) {
  const auto codec = MakeCodec("blocks:block=4");
  const auto values = test::Normals(10, 1);
  // All values but those of the last block are small, so that it is sent.
  std::vector<float> last(10);
  last[9] = 5;
  const Bytes good = codec->Encode(last, Context(0.3)).bytes;
  std::vector<float> sum(10);
  const auto refused = [&](const Bytes& bytes) {
    EXPECT_THROW(codec->DecodeAdd(bytes, Context(0.3), sum), Error);
    EXPECT_EQ(sum, std::vector<float>(10));
  };
  for (size_t length = 0; length < good.size(); ++length) {
    refused(Bytes(good.begin(), good.begin() + static_cast<int64_t>(length)));
  }
  Bytes longer = good;
  longer.push_back({});
  refused(longer);
  Bytes rest = good;
  rest.back() = std::byte{0x80};  // -0 after the last element
  refused(rest);
  Bytes outside = good;
  outside[20] = std::byte{0b1000};  // there are three blocks
  refused(outside);
  Bytes infinite = good;
  infinite[good.size() - 10] = std::byte{0x80};
  infinite[good.size() - 9] = std::byte{0x7F};
  refused(infinite);
  Bytes method = good;
  method[16] ^= std::byte{1};
  refused(method);
  EXPECT_THROW(codec->Encode(std::vector<float>{NAN}, Context(0.3)), Error);
  EXPECT_THROW(codec->Encode(values, Context(1.5)), Error);
  for (const char* text : {"blocks:block=0", "blocks:block=2000000", "blocks:size=4"}) {
    EXPECT_THROW(MakeCodec(text), Error) << text;
  }
  EXPECT_THROW(MakeCodec("blocks+fp16"), Error);
}

// Dense values cost a header and positions at most: nothing is sent twice.
TEST(Blocks, AllOfThemAreDense) {
  const auto codec = MakeCodec("blocks");
  EXPECT_EQ(codec->MessageBytes(test::MakeUnit(100000), 1), 20 + 400000);
  const auto scheme = MakeScheme("blocks");
  const Unit unit = test::MakeUnit(1000);
  const auto gradient = test::Normals(1000, 4);
  EXPECT_EQ(test::RunStep(*scheme->Open(unit, 1), {.parameter = 1}, {gradient}), gradient);
}

}  // namespace
}  // namespace legacy::blocks_codec_test

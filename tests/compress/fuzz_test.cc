// Decoders treat every message as hostile: they add its values or throw Error, whatever its bytes,
// and touch no other memory. The tests find most if they run under the address and
// undefined-behaviour sanitizers.
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/compress/test_data.h"

namespace legacy::fuzz_test {
namespace {

constexpr int kRounds = 4000;

Bytes Mutate(Bytes bytes, RandomStream& stream) {
  const uint32_t flips = stream.Below(4);
  for (uint32_t i = 0; i < flips && !bytes.empty(); ++i) {
    bytes[stream.Below(static_cast<uint32_t>(bytes.size()))] ^=
        static_cast<std::byte>(1u << stream.Below(8));
  }
  if (stream.Below(3) == 0) bytes.resize(stream.Below(static_cast<uint32_t>(bytes.size()) + 8));
  if (stream.Below(8) == 0) {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(stream.Below(256));
  }
  return bytes;
}

TEST(Fuzz, CodecsSurviveAnyMessage) {
  RandomStream stream({.seed = 77});
  std::vector<std::unique_ptr<Codec>> codecs;
  for (const std::string& name : CodecNames()) codecs.push_back(MakeCodec(name));
  for (const char* coding : {"u16", "u32", "bitmap", "packed", "delta"}) {
    codecs.push_back(MakeCodec(std::string("topk:index=") + coding));
  }
  for (const auto& codec : codecs) {
    int refused = 0;
    for (int round = 0; round < kRounds; ++round) {
      const int64_t numel = 1 + stream.Below(200);
      CodecContext context;
      const auto parameters = test::SomeParameters(codec->Parameter());
      context.parameter = parameters[stream.Below(static_cast<uint32_t>(parameters.size()))];
      const Bytes good = codec->Encode(test::Normals(numel, round), context).bytes;
      std::vector<float> sum(numel, 1.0f);
      try {
        codec->DecodeAdd(Mutate(good, stream), context, sum);
      } catch (const Error&) {
        ++refused;
        ASSERT_EQ(sum, std::vector<float>(numel, 1.0f));  // refused before anything was added
      }
    }
    EXPECT_GT(refused, kRounds / 4) << codec->Name();
    EXPECT_LT(refused, kRounds) << codec->Name();
  }
}

TEST(Fuzz, PositionsAreAscendingAndInside) {
  RandomStream stream({.seed = 78});
  using enum IndexCoding;
  for (const IndexCoding coding : {kU16, kU32, kBitmap, kPacked, kDelta}) {
    int accepted = 0;
    for (int round = 0; round < kRounds; ++round) {
      const int64_t numel = 1 + stream.Below(1000);
      const int64_t count = stream.Below(4);
      Bytes bytes(stream.Below(1 + 4 * 4));
      if (coding == kBitmap) bytes.resize((numel + 7) / 8);
      for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(stream.Below(256) & stream.Below(256) & stream.Below(256));
      }
      ByteSpan rest = bytes;
      try {
        const auto indices = ReadIndices(coding, numel, count, rest);
        ++accepted;
        ASSERT_EQ(static_cast<int64_t>(indices.size()), count);
        for (int64_t i = 0; i < count; ++i) {
          ASSERT_LT(indices[i], numel);
          ASSERT_TRUE(i == 0 || indices[i - 1] < indices[i]);
        }
      } catch (const Error&) {
        ASSERT_EQ(rest.size(), bytes.size());
      }
    }
    EXPECT_GT(accepted, 0);
  }
}

TEST(Fuzz, StateSurvivesAnyBytes) {
  RandomStream stream({.seed = 79});
  const auto scheme = MakeScheme("topk", {});
  const auto exchange = scheme->Open(test::MakeUnit(20), 2);
  const Bytes good = exchange->Save();
  for (int round = 0; round < kRounds; ++round) {
    try {
      exchange->Load(Mutate(good, stream));
    } catch (const Error&) {
    }
  }
  EXPECT_EQ(exchange->Save().size(), good.size());
}

}  // namespace
}  // namespace legacy::fuzz_test
// The quantisers mx and fp8: exact bytes, identities, errors, hostile segments. The rounding of
// their formats is tested in cpu/element_format_test.cc.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "compress/codec.h"
#include "compress/exchange.h"
#include "tests/compress/quantisers/quantiser_data.h"

namespace legacy::mx_test {
namespace {

using test::QuantiserOf;

const std::string kFormats[] = {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"};

std::string Hex(const Bytes& bytes) {
  std::string text;
  for (const std::byte b : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += {kDigits[std::to_integer<int>(b) >> 4], kDigits[std::to_integer<int>(b) & 15]};
  }
  return text;
}

// Computed by an independent implementation in double precision.
TEST(Mx, SegmentsOfKnownValues) {
  const float one = std::bit_cast<float>(0x3f090c60u);
  const float most = std::numeric_limits<float>::max();
  const std::pair<std::vector<float>, std::vector<std::string>> kKnown[] = {
      {{one}, {"7679", "6f78", "7a1c", "7c19", "7c06"}},
      {{most, -most, 1}, {"f67efe00", "ef7bfb00", "fadf0f00", "fcdf0f00", "fcf700"}}};
  for (const auto& [values, segments] : kKnown) {
    for (size_t f = 0; f < std::size(kFormats); ++f) {
      const auto quantiser = QuantiserOf("mx:format=" + kFormats[f]);
      EXPECT_EQ(Hex(test::EncodeSegment(*quantiser, values, 0)), segments[f]) << kFormats[f];
    }
  }
}

TEST(Mx, LengthsOfMessages) {
  const std::pair<std::string, int64_t> kLengths[] = {{"mx", 1031270},
                                                      {"mx:format=e5m2", 1031270},
                                                      {"mx:format=e2m3", 781270},
                                                      {"mx:format=e3m2", 781270},
                                                      {"mx:format=e2m1", 531270},
                                                      {"mx:block=1024", 1000020 + 977},
                                                      {"fp8", 1000021}};
  for (const auto& [text, bytes] : kLengths) {
    const Unit unit = test::MakeUnit(1000 * 1000);
    EXPECT_EQ(MakeCodec(text)->MessageBytes(unit, 0), bytes) << text;
    EXPECT_EQ(MakeScheme(text)->MessageBytes(unit, 0), bytes) << text;
  }
}

// A block is as if it were alone, and values that are codes times a scale are kept.
TEST(Mx, BlocksStandAloneAndKeepWhatTheySent) {
  for (const std::string& format : kFormats) {
    for (const std::string scale : {"floor", "up"}) {
      const std::string options = "format=" + format + ",scale=" + scale;
      const auto quantiser = QuantiserOf("mx:" + options);
      const auto alone = QuantiserOf("mx:block=96," + options);
      for (const auto& values : test::HardInputs(96)) {
        const auto decoded = test::RoundTrip(*quantiser, values, 0);
        EXPECT_TRUE(test::SameBits(test::RoundTrip(*quantiser, decoded, 0), decoded)) << options;
        for (int64_t begin = 0; begin < 96; begin += 32) {
          const auto block = std::span(values).subspan(begin, 32);
          const auto own = test::RoundTrip(*alone, block, 0);
          EXPECT_TRUE(test::SameBits(own, std::span(decoded).subspan(begin, 32))) << options;
        }
      }
    }
  }
  for (const std::string name : {"fp8", "fp8:format=e5m2,scale=up"}) {
    const auto quantiser = QuantiserOf(name);
    const auto values = test::Normals(5000, 4);
    const auto decoded = test::RoundTrip(*quantiser, values, 0);
    EXPECT_TRUE(test::SameBits(test::RoundTrip(*quantiser, decoded, 0), decoded)) << name;
  }
}

// Errors of one encoding of normal values, relative to their energy.
TEST(Mx, ErrorsOfNormalValues) {
  const std::pair<std::string, double> kErrors[] = {{"mx", 8.7e-4},
                                                    {"mx:scale=up", 7.0e-4},
                                                    {"mx:format=e5m2", 2.9e-3},
                                                    {"mx:format=e2m3", 8.0e-4},
                                                    {"mx:format=e2m1", 1.3e-2}};
  const auto values = test::Normals(1 << 18, 3);
  for (const auto& [text, error] : kErrors) {
    const double found =
        test::SquaredDistance(values, test::RoundTrip(*QuantiserOf(text), values, 0));
    EXPECT_NEAR(found / test::SquaredNorm(values), error, 0.05 * error) << text;
  }
}

void ExpectRefused(const Quantiser& quantiser, Bytes segment, int64_t count, const char* why) {
  std::vector<float> values(count);
  try {
    quantiser.Decode(segment, 0, values);
    ADD_FAILURE() << "not refused: " << why;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  }
}

TEST(Mx, RefusesWhatNoEncoderWrites) {
  const auto values = test::Normals(33, 2);
  const auto e4m3 = QuantiserOf("mx");
  const Bytes good = test::EncodeSegment(*e4m3, values, 0);
  const auto changed = [&](size_t at, int byte) {
    Bytes bytes = good;
    bytes[at] = static_cast<std::byte>(byte);
    return bytes;
  };
  ExpectRefused(*e4m3, changed(0, 247), 33, "scale of a block: got '247'; allowed: at most 246");
  ExpectRefused(*e4m3, changed(0, 255), 33, "scale of a block");
  ExpectRefused(*e4m3, changed(2, 0x7F), 33, "not a finite number");
  ExpectRefused(*e4m3, changed(2, 0xFF), 33, "not a finite number");
  ExpectRefused(*e4m3, changed(34, 0), 33, "larger than its values need");
  ExpectRefused(*e4m3, changed(34, 0x77), 33, "larger than its values need");
  ExpectRefused(*e4m3, Bytes(good.begin(), good.end() - 1), 33, "bytes of the last segment");
  const auto e5m2 = QuantiserOf("fp8:format=e5m2");
  Bytes infinite = test::EncodeSegment(*e5m2, values, 0);
  infinite[5] = std::byte{0x7C};
  ExpectRefused(*e5m2, infinite, 33, "not a finite number");
  const auto e2m1 = QuantiserOf("mx:format=e2m1");
  Bytes padded = test::EncodeSegment(*e2m1, values, 0);
  padded.back() |= std::byte{0x80};
  ExpectRefused(*e2m1, padded, 33, "padding bits");
  ExpectRefused(*QuantiserOf("fp8"), Bytes{std::byte{1}}, 0, "larger than its values need");
}

// The header says which format, and which sparsifier.
TEST(Mx, MessagesNameFormatAndCodec) {
  const auto values = test::Normals(1000, 6);
  const CodecContext context = {.unit = 3, .parameter = 0.1, .random = {.seed = 1}};
  const Message mx = MakeCodec("mx:format=e2m3")->Encode(values, context);
  const ExtendedHeader header = ReadExtendedHeader(mx.bytes);
  EXPECT_EQ(header.method, ExtendedMethod::kMx);
  EXPECT_EQ(header.values, static_cast<uint8_t>(ElementFormat::kE2M3));
  EXPECT_EQ(header.parameter, static_cast<uint16_t>(CodecId::kDense));
  EXPECT_EQ(header.header.count, 1000u);
  const auto topk = MakeCodec("topk+mx");
  const Message sparse = topk->Encode(values, context);
  EXPECT_EQ(ReadExtendedHeader(sparse.bytes).parameter, static_cast<uint16_t>(CodecId::kTopK));
  EXPECT_EQ(ReadHeader(sparse.bytes).count, 100u);
  EXPECT_EQ(sparse.size(), topk->MessageBytes(test::MakeUnit(1000), 0.1));
  // A decoder takes its own format and codec alone.
  std::vector<float> sum(1000);
  EXPECT_THROW(MakeCodec("mx")->DecodeAdd(mx.bytes, context, sum), Error);
  EXPECT_THROW(MakeCodec("topk+mx:format=e5m2")->DecodeAdd(sparse.bytes, context, sum), Error);
  EXPECT_THROW(MakeCodec("threshold+mx")->DecodeAdd(sparse.bytes, context, sum), Error);
  for (const size_t at : {16, 17, 18, 19}) {
    Bytes wrong = mx.bytes;
    wrong[at] ^= std::byte{64};
    EXPECT_THROW(MakeCodec("mx:format=e2m3")->DecodeAdd(wrong, context, sum), Error) << at;
  }
  EXPECT_EQ(sum, std::vector<float>(1000));
  topk->DecodeAdd(sparse.bytes, context, sum);
  EXPECT_EQ(std::ranges::count_if(sum, [](float x) { return x != 0; }), 100);
}

TEST(Mx, Options) {
  for (const char* text : {"mx:format=e3m3", "mx:block=33", "mx:block=0", "mx:scale=down",
                           "fp8:format=e2m1", "fp8:block=32", "mx:bits=8"}) {
    EXPECT_THROW(QuantiserOf(text), Error) << text;
  }
}

}  // namespace
}  // namespace legacy::mx_test

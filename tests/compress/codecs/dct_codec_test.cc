#include "compress/codecs/dct_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "compress/cpu/bitpack.h"
#include "tests/compress/test_data.h"

namespace legacy::dct_codec_test {
namespace {

CodecContext Context(double density) {
  CodecContext context;
  context.parameter = density;
  return context;
}

Unit Shaped(std::vector<int64_t> shape) {
  int64_t numel = 1;
  for (const int64_t length : shape) numel *= length;
  Unit unit = test::MakeUnit(numel);
  unit.shape = std::move(shape);
  return unit;
}

// Returns the codec that serves a unit of that shape.
std::unique_ptr<Codec> CodecOf(const std::string& text, const Unit& unit) {
  auto codec = MakeCodec(text);
  if (auto own = codec->ForUnit(unit)) return own;
  return codec;
}

cpu::ChunkGrid GridOf(const std::string& text, const Unit& unit) {
  const auto codec = CodecOf(text, unit);
  return dynamic_cast<const DctCodec&>(*codec).GridOf(unit.numel);
}

void ExpectGrid(const std::string& text, const Unit& unit, const cpu::ChunkGrid& expected) {
  const cpu::ChunkGrid grid = GridOf(text, unit);
  EXPECT_EQ(grid.rows, expected.rows) << text;
  EXPECT_EQ(grid.columns, expected.columns) << text;
  EXPECT_EQ(grid.height, expected.height) << text;
  EXPECT_EQ(grid.width, expected.width) << text;
}

TEST(Dct, CutsAUnitByItsShape) {
  ExpectGrid("dct", Shaped({1000, 1000}), {1000, 1000, 50, 50});
  ExpectGrid("dct", Shaped({64, 3, 3, 3}), {64, 27, 64, 27});
  ExpectGrid("dct", Shaped({128}), {2, 64, 1, 64});
  ExpectGrid("dct:shape=line", Shaped({16, 16}), {4, 64, 1, 64});
  ExpectGrid("dct:shape=line,chunk=10", Shaped({5, 6}), {3, 10, 1, 10});
  ExpectGrid("dct:shape=matrix", Shaped({6000}), {75, 80, 25, 40});
  ExpectGrid("dct:shape=matrix", Shaped({97}), {1, 97, 1, 1});
}

// Coefficients and positions by an oracle that sorts fully.
TEST(Dct, SendsTheLargestOfEachChunk) {
  const Unit unit = Shaped({24, 30});
  const auto codec = CodecOf("dct:chunk=12,k=5", unit);
  const auto& dct = dynamic_cast<const DctCodec&>(*codec);
  const cpu::ChunkGrid grid = dct.GridOf(unit.numel);
  ASSERT_EQ(grid.size(), 12 * 10);
  const auto x = test::Normals(unit.numel, 1);
  std::vector<float> coefficients(x.size());
  cpu::ChunkDct(grid).Forward(x, coefficients);
  const DctCodec::Kept kept = dct.Read(codec->Encode(x, Context(1)).bytes, unit.numel, Context(1));
  std::vector<uint32_t> expected;
  for (int64_t c = 0; c < grid.chunks(); ++c) {
    const auto first = static_cast<uint32_t>(c * grid.size());
    for (const uint32_t i :
         test::SortedTopK(std::span(coefficients).subspan(first, grid.size()), 5)) {
      expected.push_back(first + i);
    }
  }
  EXPECT_EQ(kept.positions, expected);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(kept.values[i], coefficients[expected[i]]);
  }
}

TEST(Dct, HasTheBytesThatItSays) {
  const Unit large = Shaped({1000, 1000});
  // 400 chunks of 50 x 50 with 32 coefficients of 12 + 32 bits.
  EXPECT_EQ(CodecOf("dct:k=32", large)->MessageBytes(large, 1), 70420);
  const Unit square = Shaped({4096, 4096});
  EXPECT_EQ(CodecOf("dct:k=32", square)->MessageBytes(square, 1), 720916);
  EXPECT_EQ(CodecOf("dct", square)->MessageBytes(square, 32.0 / 4096), 720916);
  // A vector of prime length has chunks of 1, and is sent whole.
  EXPECT_EQ(CodecOf("dct:k=32", Shaped({97}))->MessageBytes(Shaped({97}), 1), 20 + 4 * 97);
  // 55 positions of 6 bits and as many floats would take more than 64 floats.
  EXPECT_EQ(CodecOf("dct:k=53", Shaped({128}))->ElementsSent(128, 1), 106);
  EXPECT_EQ(CodecOf("dct:k=54", Shaped({128}))->ElementsSent(128, 1), 128);
  for (const char* text :
       {"dct", "dct:k=3", "dct+fp16", "dct+mx", "dct:chunk=5+qsgd", "dct:shape=matrix"}) {
    for (const auto& shape : std::vector<std::vector<int64_t>>{
             {0}, {1}, {97}, {128}, {6, 10}, {30, 7, 3}, {1, 60}, {60, 1}}) {
      const Unit unit = Shaped(shape);
      const auto codec = CodecOf(text, unit);
      for (const double density : {0.0, 0.01, 0.5, 1.0}) {
        const Message message = codec->Encode(test::Normals(unit.numel, 2), Context(density));
        EXPECT_EQ(message.size(), codec->MessageBytes(unit, density)) << text;
        EXPECT_EQ(ReadHeader(message.bytes).count, codec->ElementsSent(unit.numel, density));
      }
    }
  }
}

TEST(Dct, IsTheIdentityIfEverythingIsSent) {
  for (const auto& shape : std::vector<std::vector<int64_t>>{{97}, {128}, {24, 36}, {7, 97}}) {
    const Unit unit = Shaped(shape);
    const auto codec = CodecOf("dct", unit);
    EXPECT_TRUE(codec->Linear(unit.numel, 1));
    EXPECT_FALSE(unit.numel > 97 && codec->Linear(unit.numel, 0.1));
    const auto x = test::Normals(unit.numel, 3);
    std::vector<float> decoded(x.size());
    codec->DecodeAdd(codec->Encode(x, Context(1)).bytes, Context(1), decoded);
    for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(decoded[i], x[i], 1e-5);
  }
}

TEST(Dct, HasErrorFeedbackAsAScheme) {
  for (const char* text : {"dct", "dct:k=32", "dct+fp16"}) {
    const auto scheme = MakeScheme(text);
    EXPECT_TRUE(scheme->UsesErrorFeedback(0.01)) << text;
    EXPECT_FALSE(MakeScheme(text, {.error_feedback = false})->Traits().sends_values) << text;
  }
}

TEST(Dct, AddsCoefficientsAndTransformsOnce) {
  const Unit unit = Shaped({48, 50});
  const auto codec = CodecOf("dct:chunk=16+fp16", unit);
  std::vector<float> sum(codec->SumSize(unit.numel)), mean(unit.numel), expected(unit.numel);
  for (int worker = 0; worker < 4; ++worker) {
    const Message message = codec->Encode(test::Normals(unit.numel, worker), Context(0.1));
    codec->Accumulate(message.bytes, unit.numel, Context(0.1), sum);
    codec->DecodeAdd(message.bytes, Context(0.1), expected);
  }
  codec->MeanOf(sum, 4, Context(0.1), mean);
  for (size_t i = 0; i < mean.size(); ++i) ASSERT_NEAR(mean[i], expected[i] / 4, 1e-5);
}

TEST(Dct, ResidualsAreThoseOfADecodedMessage) {
  for (const char* text : {"dct:chunk=16", "dct+qsgd:bits=8"}) {
    const Unit unit = Shaped({32, 48});
    const auto codec = CodecOf(text, unit);
    const auto gradient = test::Normals(unit.numel, 1);
    auto residual = test::Normals(unit.numel, 2), expected = residual;
    const Message message = codec->EncodeWithFeedback(gradient, residual, Context(0.05));
    EXPECT_EQ(message.bytes,
              codec->Codec::EncodeWithFeedback(gradient, expected, Context(0.05)).bytes);
    EXPECT_TRUE(test::SameBits(residual, expected)) << text;
  }
}

double Squared(std::span<const float> x) {
  double sum = 0;
  for (const float v : x) sum += double{v} * v;
  return sum;
}

TEST(Dct, ErrorTablesAreThoseOfMessages) {
  const Unit unit = Shaped({32, 48});
  for (const char* text : {"dct", "dct:shape=line+fp16"}) {
    const auto codec = CodecOf(text, unit);
    const auto x = test::Normals(unit.numel, 1);
    const std::vector<double> densities = {0.01, 0.1, 0.5};
    const auto errors = codec->SquaredErrors(x, densities, Context(1));
    for (size_t i = 0; i < densities.size(); ++i) {
      auto residual = x;
      codec->EncodeWithFeedback({}, residual, Context(densities[i]));
      EXPECT_NEAR(errors[i], Squared(residual), 1e-4 * errors[i]) << text;
    }
  }
}

// Energy that is lost of an AR(1) process at equal counts of numbers, where white noise loses what
// Top-K does, and correlated values less.
TEST(Dct, LosesLessOfCorrelatedValues) {
  constexpr int64_t kNumel = 100000;
  const auto lost = [&](double rho) {
    auto x = test::Normals(kNumel, 5);
    for (int64_t i = 1; i < kNumel; ++i) {
      x[i] = static_cast<float>(rho * x[i - 1] + std::sqrt(1 - rho * rho) * x[i]);
    }
    const std::vector<double> density = {0.15};
    return MakeCodec("dct:chunk=100")->SquaredErrors(x, density, Context(1))[0] / Squared(x);
  };
  EXPECT_NEAR(lost(0), .443, .015);
  EXPECT_NEAR(lost(0.5), .335, .015);
  EXPECT_NEAR(lost(0.9), .086, .015);
}

TEST(Dct, ChargesItsProducts) {
  const Unit unit = Shaped({1000, 1000});
  const auto codec = CodecOf("dct:k=32", unit);
  for (const WorkList& work :
       {codec->EncodeWork(unit.numel, Context(1)), codec->FinishWork(unit.numel, 1),
        codec->FeedbackWork(unit.numel, 1, Feeding::kGradient)}) {
    const auto products = std::ranges::find(work, "dct.multiply", &Work::kernel);
    ASSERT_NE(products, work.end());
    EXPECT_EQ(products->elements, unit.numel * (50 + 50));
  }
  // Encoding looks for the largest magnitude first.
  EXPECT_EQ(codec->EncodeWork(unit.numel, Context(1)).front().kernel, "norm");
  EXPECT_EQ(MakeCodec("dct")->FinishWork(6400, 1).front().elements, 6400 * 64);
}

TEST(Dct, RefusesWhatNoEncoderWrites) {
  const Unit unit = Shaped({10, 12});
  const auto codec = CodecOf("dct:k=3", unit);  // one chunk of 120: positions of 7 bits
  const CodecContext context = Context(1);
  const Message good = codec->Encode(test::Normals(unit.numel, 1), context);
  ASSERT_EQ(good.size(), 20 + 3 + 12);
  const auto refuses = [&](const Bytes& bytes, const std::string& what) {
    std::vector<float> sum(unit.numel, 1.0f);
    try {
      codec->DecodeAdd(bytes, context, sum);
      ADD_FAILURE() << what;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
    EXPECT_EQ(sum, std::vector<float>(unit.numel, 1.0f));
  };
  const auto with = [&](std::vector<uint32_t> positions) {
    Bytes bytes = good.bytes;
    cpu::PackCodes(positions, 7, std::span(bytes).subspan(20, 3));
    return bytes;
  };
  std::vector<float> sum(unit.numel);
  EXPECT_NO_THROW(codec->DecodeAdd(with({0, 5, 119}), context, sum));
  refuses(with({0, 5, 120}), "position");
  refuses(with({0, 5, 5}), "repeats or goes back");
  refuses(with({9, 5, 7}), "repeats or goes back");
  Bytes bytes = good.bytes;
  bytes[22] |= std::byte{0x80};
  refuses(bytes, "padding bits");
  bytes = good.bytes;
  const float large = 0x1p115f;
  std::memcpy(bytes.data() + 23, &large, sizeof large);
  refuses(bytes, "message: coefficient");
  bytes = good.bytes;
  bytes.resize(21);
  refuses(bytes, "positions end early");
  bytes = good.bytes;
  bytes[18] = std::byte{1};
  refuses(bytes, "message: parameter");
  bytes = good.bytes;
  bytes[16] = static_cast<std::byte>(ExtendedMethod::kEden);
  refuses(bytes, "message: method");
  EXPECT_THROW(codec->Encode(std::vector<float>(120, 0x1p101f), context), Error);
}

TEST(Dct, TakesADensityOrAFixedNumber) {
  EXPECT_EQ(MakeCodec("dct")->Parameter().name, "density");
  EXPECT_EQ(MakeCodec("dct")->Parameter().fallback, 32.0 / 4096);
  EXPECT_EQ(MakeCodec("dct:k=32")->Parameter().name, "");
  EXPECT_EQ(MakeCodec("dct+rbf")->Name(), "dct+rbf");
  for (const char* bad : {"dct:chunk=0", "dct:chunk=1025", "dct:shape=cube", "dct:k=-1", "dct+topk",
                          "dct:index=u32"}) {
    EXPECT_THROW(MakeCodec(bad), Error) << bad;
  }
}

}  // namespace
}  // namespace legacy::dct_codec_test

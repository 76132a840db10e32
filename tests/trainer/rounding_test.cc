// Rounding to 16 bits, and the loss scale of fp16.
#include "trainer/rounding.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "compress/cpu/cast.h"
#include "tests/compress/test_data.h"
#include "tests/message_of.h"
#include "trainer/loss_scale.h"

namespace legacy::rounding_test {
namespace {

TEST(Rounding, IsToNearestEven) {
  std::vector<float> values = test::Normals(10'001, 3);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::ldexp(values[i], int(i % 60) - 40);
  std::vector<float> bf16 = values, fp16 = values, fp32 = values, tf32 = values;
  RoundTo(Precision::kBf16, bf16);
  RoundTo(Precision::kFp16, fp16);
  RoundTo(Precision::kFp32, fp32);
  RoundTo(Precision::kTf32, tf32);
  EXPECT_EQ(fp32, values);
  EXPECT_EQ(tf32, values);
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(bf16[i], cpu::Bfloat16ToFloat(cpu::FloatToBfloat16(values[i]))) << i;
    ASSERT_EQ(fp16[i], cpu::HalfToFloat(cpu::FloatToHalf(values[i]))) << i;
  }
  // 1 + 2^-8 lies between two bfloat16 numbers, and so does 1 + 3 x 2^-8.
  std::vector<float> ties = {1 + 0x1p-8f, 1 + 0x3p-8f};
  RoundTo(Precision::kBf16, ties);
  EXPECT_EQ(ties, (std::vector<float>{1, 1 + 0x1p-6f}));
}

TEST(Rounding, OfAGradientFindsWhatHasNoPlace) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto rounds = [](Precision precision, float value) {
    std::vector<float> values = {1.001f, value};
    const bool rounded = RoundGradient(precision, values);
    EXPECT_EQ(values[0] == 1.001f, !rounded || precision == Precision::kFp32);
    return rounded;
  };
  EXPECT_TRUE(rounds(Precision::kFp16, -65519));  // rounds to 65504
  EXPECT_FALSE(rounds(Precision::kFp16, -65520));
  EXPECT_TRUE(rounds(Precision::kBf16, -65520));
  EXPECT_TRUE(rounds(Precision::kBf16, 3e38f));
  for (const float bad : {kInfinity, -kInfinity, std::nanf("")}) {
    EXPECT_FALSE(rounds(Precision::kFp16, bad));
    EXPECT_FALSE(rounds(Precision::kBf16, bad));
    EXPECT_TRUE(rounds(Precision::kFp32, bad));
  }
}

TEST(LossScale, HalvesAtOverflowsAndDoublesAfterGoodSteps) {
  LossScale scale;
  EXPECT_EQ(scale.value(), 65536);
  for (int64_t step = 0; step < LossScale::kGoodSteps - 1; ++step) scale.Updated();
  scale.Overflowed(1999);
  EXPECT_EQ(scale.value(), 32768);
  EXPECT_EQ(scale.skipped(), 1);
  for (int64_t step = 0; step < LossScale::kGoodSteps - 1; ++step) scale.Updated();
  EXPECT_EQ(scale.value(), 32768) << "good steps are counted from the overflow on";

  StateWriter out;
  scale.Save(out);
  const Bytes bytes = out.Take();
  LossScale loaded;
  StateReader in(bytes);
  loaded.Load(in);
  loaded.Updated();
  EXPECT_EQ(loaded.value(), 65536);
  EXPECT_EQ(loaded.skipped(), 1);
}

TEST(LossScale, HasEnds) {
  LossScale scale;
  for (int64_t step = 0; step < 10 * LossScale::kGoodSteps; ++step) scale.Updated();
  EXPECT_EQ(scale.value(), LossScale::kLargest);
  for (int halving = 0; halving < 24; ++halving) scale.Overflowed(halving);
  EXPECT_EQ(scale.value(), 1);
  const std::string message = MessageOf([&] { scale.Overflowed(77); });
  EXPECT_NE(message.find("step 77: gradient in fp16: got 'an overflow'"), std::string::npos)
      << message;
}

TEST(LossScale, RefusesStatesOfOthers) {
  for (const double bad : {0.5, 3.0, 0x1p25}) {
    StateWriter out;
    out.Real(bad);
    out.Number(0);
    out.Number(0);
    const Bytes bytes = out.Take();
    StateReader in(bytes);
    LossScale scale;
    EXPECT_THROW(scale.Load(in), Error) << bad;
  }
}

}  // namespace
}  // namespace legacy::rounding_test

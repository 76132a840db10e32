// These tests check what workers gather of each other's weights.
#include "trainer/weight_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "tests/compress/test_data.h"
#include "tests/message_of.h"

namespace legacy::weight_codec_test {
namespace {

constexpr int64_t kRows = 10, kColumns = 70, kNumel = kRows * kColumns;

Unit Matrix() {
  Unit unit = test::MakeUnit(kNumel, 2);
  unit.shape = {kRows, kColumns};
  return unit;
}

WeightCodec Make(const std::string& text, int owners = 4) {
  return WeightCodec(text, {.owners = owners, .by_rows = true}, 5, "weights");
}

// Each slice has scales of its own.
TEST(WeightCodec, SendsEachSliceByItself) {
  std::vector<float> weights = test::Normals(kNumel, 1);
  const int64_t slice = 3 * kColumns;
  for (int64_t i = 0; i < slice; ++i) weights[i] *= 100;
  std::vector<float> known = weights;
  Make("int:bits=8,bucket=unit").Send(Matrix(), 0, weights, known);
  double large = 0, small = 0;
  for (int64_t i = 0; i < kNumel; ++i) {
    double& error = i < slice ? large : small;
    error = std::max(error, std::abs(double{known[i]} - weights[i]));
  }
  EXPECT_GT(large, 1) << "about 400 / 127 / 2";
  EXPECT_LT(small, 0.05);
}

// What differences leave out is in the next one, so that it never grows.
TEST(WeightCodec, DifferencesDoNotAddUpErrors) {
  const WeightCodec codec = Make("delta:int:bits=4,bucket=64");
  EXPECT_TRUE(codec.SendsDifferences());
  std::vector<float> weights = test::Normals(kNumel, 1), known = weights;
  for (int64_t step = 0; step < 500; ++step) {
    const std::vector<float> move = test::Normals(kNumel, 10 + step);
    double largest = 0;
    for (int64_t i = 0; i < kNumel; ++i) {
      weights[i] += 0.01f * move[i];
      largest = std::max(largest, std::abs(double{weights[i]} - known[i]));
    }
    codec.Send(Matrix(), step, weights, known);
    for (int64_t i = 0; i < kNumel; ++i) {
      ASSERT_LE(std::abs(double{weights[i]} - known[i]), largest / 8 + 1e-6) << step;
    }
  }
  // Without differences 4 bits are those of the weights.
  std::vector<float> whole(kNumel);
  Make("int:bits=4,bucket=64").Send(Matrix(), 0, weights, whole);
  double difference = 0, plain = 0;
  for (int64_t i = 0; i < kNumel; ++i) {
    difference += std::pow(double{weights[i]} - known[i], 2);
    plain += std::pow(double{weights[i]} - whole[i], 2);
  }
  EXPECT_LT(difference, plain / 100);
}

TEST(WeightCodec, SendsSparseDifferences) {
  const WeightCodec codec = Make("delta:topk@10%", 2);
  std::vector<float> weights = test::Normals(kNumel, 1), known(kNumel);
  codec.Send(Matrix(), 0, weights, known);
  EXPECT_EQ(std::ranges::count_if(known, [](float x) { return x != 0; }), 2 * (kNumel / 2 / 10));
}

TEST(WeightCodec, SaysWhatTravels) {
  const std::vector<Unit> layers = {Matrix(), test::MakeUnit(3, 3)};
  const std::vector<WeightWork> work = Make("int:bits=8,bucket=64").WorkOf(layers);
  ASSERT_EQ(work.size(), 2U);
  // 210, 210, 210 and 70 values: a header of 20 bytes, scales of 64 values, a byte each.
  EXPECT_EQ(work[0].slices.bytes,
            (std::vector<int64_t>{20 + 16 + 210, 20 + 16 + 210, 20 + 16 + 210, 20 + 8 + 70}));
  EXPECT_EQ(work[1].slices.bytes, (std::vector<int64_t>{25, 25, 25, 0}));
  int64_t encoded = 0, decoded = 0;
  for (const Work& entry : work[0].encode) {
    if (entry.kernel == "maxmin.encode") encoded += entry.elements;
  }
  for (const Work& entry : work[0].decode) {
    if (entry.kernel == "maxmin.decode") decoded += entry.elements;
  }
  EXPECT_EQ(encoded, 210) << "an owner's slice";
  EXPECT_EQ(decoded, kNumel) << "all slices at each worker";
}

TEST(WeightCodec, RefusesWhatDoesNotFit) {
  const auto complaint = [](const std::string& text) { return MessageOf([&] { Make(text); }); };
  EXPECT_NE(complaint("topk@1%").find("or delta:topk@1%"), std::string::npos);
  EXPECT_NE(complaint("delta:threshold").find("known beforehand"), std::string::npos);
  EXPECT_NE(complaint("delta:qsgd@2").find("error feedback"), std::string::npos);
  EXPECT_NE(complaint("delta:").find("as in delta:int:bits=4"), std::string::npos);
  EXPECT_NE(complaint("int8").find("weights: "), std::string::npos);
  EXPECT_THROW(Make("int@12"), Error);
}

}  // namespace
}  // namespace legacy::weight_codec_test

#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "compress/quantiser.h"
#include "tests/compress/test_data.h"

namespace legacy::mean_test {
namespace {

TEST(Mean, OneNumberAndItsError) {
  const auto mean = MakeQuantiser({"mean"});
  for (const int64_t n : {1, 2, 33, 1000}) {
    const auto values = test::Normals(n, 1);
    Bytes segment;
    mean->Encode(values, 1, {}, segment);
    ASSERT_EQ(static_cast<int64_t>(segment.size()), 4);
    ASSERT_EQ(mean->SegmentBytes(n, 1), 4);
    std::vector<float> decoded(n);
    mean->Decode(segment, 1, decoded);
    double sum = 0, error = 0;
    for (int64_t i = 0; i < n; ++i) {
      sum += double{values[i]} - decoded[i];
      error += (double{values[i]} - decoded[i]) * (double{values[i]} - decoded[i]);
    }
    EXPECT_NEAR(sum, 0, 1e-6 * static_cast<double>(n));
    EXPECT_NEAR(mean->SquaredError(values, 1), error, 1e-9 * error + 1e-12);
  }
}

TEST(Mean, EmptySelectionsAndBadBytes) {
  const auto mean = MakeQuantiser({"mean"});
  Bytes segment;
  mean->Encode({}, 1, {}, segment);
  EXPECT_TRUE(segment.empty());
  std::vector<float> values(3);
  EXPECT_THROW(mean->Decode(segment, 1, values), Error);
  EXPECT_THROW(mean->Decode(Bytes(5), 1, values), Error);
  EXPECT_THROW(mean->Decode(Bytes(4), 1, {}), Error);
  const float infinity = std::numeric_limits<float>::infinity();
  const auto bytes = std::as_bytes(std::span(&infinity, 1));
  EXPECT_THROW(mean->Decode(Bytes(bytes.begin(), bytes.end()), 1, values), Error);
}

}  // namespace
}  // namespace legacy::mean_test
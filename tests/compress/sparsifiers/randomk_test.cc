#include <gtest/gtest.h>

#include "tests/compress/sparsifiers/sparsifier_data.h"

namespace legacy::randomk_test {
namespace {

using test::ContextOf;

TEST(RandomK, WorkersMayHaveTheirOwnSeeds) {
  const auto codec = MakeCodec("randomk:seed=worker,index=u32");
  const auto input = test::Normals(400, 1);
  CodecContext first = ContextOf(0.1), second = ContextOf(0.1), receiver = ContextOf(0.1);
  second.random.worker = 2;
  receiver.random.worker = 0;
  std::vector<float> a(400), b(400);
  const Message message = codec->Encode(input, first);
  EXPECT_EQ(message.size(), 16 + 8 * 40);
  EXPECT_EQ(codec->MessageBytes(test::MakeUnit(400), 0.1), message.size());
  codec->DecodeAdd(message.bytes, receiver, a);
  codec->DecodeAdd(codec->Encode(input, second).bytes, receiver, b);
  EXPECT_NE(a, b);
  EXPECT_FALSE(codec->Linear(400, 0.1));
  EXPECT_TRUE(MakeCodec("randomk")->Linear(400, 0.1));
  for (size_t i = 0; i < 400; ++i) EXPECT_TRUE(a[i] == 0 || a[i] == input[i]);
}

// The expected errors are (1 - k/n) ||x||^2, and (n/k - 1) ||x||^2 if scaled.
TEST(RandomK, ExpectedErrors) {
  const auto input = test::Normals(1000, 2);
  const std::vector<double> densities = {0.01, 0.25, 1};
  const double squared = test::SquaredOf(input);
  const auto plain = MakeCodec("randomk")->SquaredErrors(input, densities, ContextOf(0.1));
  const auto scaled =
      MakeCodec("randomk:unbiased=on")->SquaredErrors(input, densities, ContextOf(0.1));
  const std::vector<double> shares = {0.99, 0.75, 0}, factors = {99, 3, 0};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(plain[i], shares[i] * squared, 1e-9 * squared);
    EXPECT_NEAR(scaled[i], factors[i] * squared, 1e-6 * squared);
  }
}

}  // namespace
}  // namespace legacy::randomk_test
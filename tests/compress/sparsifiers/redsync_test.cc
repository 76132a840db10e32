#include <gtest/gtest.h>

#include "base/error.h"
#include "compress/density.h"
#include "tests/compress/sparsifiers/sparsifier_data.h"

namespace legacy::redsync_test {
namespace {

using test::ContextOf;
using test::SparsifierOf;

constexpr int64_t kNumel = 200000;

std::vector<float> Draw(const char* kind) {
  return DrawGradient(std::string(kind) + ":n=200000,seed=2");
}

TEST(RedSync, BetweenKAndTwoK) {
  const auto sparsifier = SparsifierOf("redsync:small=0,large=0");
  for (const char* kind : {"gaussian", "laplace", "student-t", "lognormal", "lognormal:sigma=1"}) {
    const auto input = DrawGradient(std::string(kind) +
                                    (std::string(kind).find(':') == std::string::npos ? ":" : ",") +
                                    "n=200000,seed=2");
    for (const double density : {0.1, 0.01, 0.001}) {
      const int64_t k = KeptCount(kNumel, density);
      const Selection selection = sparsifier->Select(input, k, ContextOf(density));
      const auto count = static_cast<int64_t>(selection.positions.size());
      EXPECT_GE(count, k) << kind << " " << density;
      EXPECT_LT(count, 2 * k) << kind << " " << density;
      EXPECT_EQ(selection.positions, test::SortedTopK(input, count));
    }
  }
}

// The branch rule of public copies and their eps make three probes, whatever these select.
TEST(RedSync, CompatibleSelectsFarFromK) {
  const auto sparsifier = SparsifierOf("redsync:small=0,large=0,compatible=on,eps=0.2");
  const auto ratio = [&](const char* kind, double density) {
    const int64_t k = KeptCount(kNumel, density);
    const auto count = sparsifier->Select(Draw(kind), k, ContextOf(density)).positions.size();
    return static_cast<double>(count) / static_cast<double>(k);
  };
  EXPECT_LT(ratio("gaussian", 0.1), 0.5);
  EXPECT_LT(ratio("student-t", 0.1), 0.05);
  EXPECT_LT(ratio("student-t", 0.01), 0.2);
  EXPECT_TRUE(
      sparsifier->Select(std::vector<float>(1000, 2.0f), 10, ContextOf(0.01)).positions.empty());
}

// Computes the same by probing one by one.
TEST(RedSync, CompatibleEqualsProbing) {
  const auto sparsifier = SparsifierOf("redsync:small=0,large=0,compatible=on,eps=0.01");
  for (const char* kind : {"gaussian", "laplace", "student-t", "zeros", "ties"}) {
    const auto input = Draw(kind);
    double sum = 0, max = 0;
    for (const float x : input) {
      sum += std::abs(x);
      max = std::max(max, double{std::abs(x)});
    }
    for (const int64_t k : {1, 7, 200, 2000, 20001}) {
      double low = 0, high = 1, mean = sum / kNumel;
      std::vector<uint32_t> selected;
      while (high - low > 0.01) {
        const double t = (low + high) / 2;
        const auto threshold = static_cast<float>(mean + t * (max - mean));
        selected = test::SlowAtLeast(input, std::nextafter(threshold, 1e30f));
        const auto count = static_cast<int64_t>(selected.size());
        if (count > k && count < 2 * k) break;
        (2 * count < k ? high : low) = t;
      }
      const double density = static_cast<double>(k) / kNumel;
      EXPECT_EQ(sparsifier->Select(input, k, ContextOf(density)).positions, selected)
          << kind << " " << k;
    }
  }
}

TEST(RedSync, ExactTopKWhereNoThresholdIs) {
  const auto sparsifier = SparsifierOf("redsync:small=0,large=0");
  auto zeros = Draw("zeros");  // fewer than 20 % are above the mean
  std::vector<float> constant(1000, -3.0f);
  for (const auto& [input, k] : {std::pair(zeros, int64_t{40000}),
                                 {constant, 10},
                                 {std::vector<float>(100), 5},
                                 {Draw("gaussian"), 150000}}) {
    const double density = static_cast<double>(k) / static_cast<double>(input.size());
    EXPECT_EQ(sparsifier->Select(input, k, ContextOf(density)).positions,
              test::SortedTopK(input, k));
  }
}

TEST(RedSync, ClassesBySize) {
  const auto codec = MakeCodec("redsync");
  const auto bytes = [&](int64_t n) { return codec->MessageBytes(test::MakeUnit(n), 0.01); };
  EXPECT_EQ(bytes(32767), 16 + 4 * 32767);  // whole, of known length, summable
  EXPECT_TRUE(codec->Linear(32767, 0.01));
  EXPECT_EQ(codec->ElementsSent(32767, 0.01), 32767);
  EXPECT_FALSE(bytes(32768));
  EXPECT_FALSE(codec->Linear(32768, 0.01));
  const auto input = DrawGradient("laplace:n=40000");
  EXPECT_EQ(SparsifierOf("redsync")->Select(input, 400, ContextOf(0.01)).positions,
            test::SortedTopK(input, 400));
  std::vector<float> sum(1000);
  const auto small = test::Normals(1000, 1);
  codec->DecodeAdd(codec->Encode(small, ContextOf(0.01)).bytes, ContextOf(0.01), sum);
  EXPECT_EQ(sum, small);
}

TEST(RedSync, ReusesItsThreshold) {
  const auto sparsifier = SparsifierOf("redsync:small=0,large=0,reuse=3");
  const auto input = Draw("laplace");
  auto louder = input;
  for (float& x : louder) x *= 2;
  CodecState state;
  const auto count = [&](const std::vector<float>& values, double density) {
    const int64_t k = KeptCount(kNumel, density);
    return sparsifier->Select(values, k, ContextOf(density, 0, &state)).positions.size();
  };
  const size_t first = count(input, 0.01);
  const double threshold = state.numbers[0];
  EXPECT_EQ(count(louder, 0.01), test::SlowAtLeast(louder, threshold).size());
  EXPECT_GT(count(louder, 0.01), 4 * first);  // still with the old threshold
  EXPECT_LT(count(louder, 0.01), 4000u);      // with a new search
  EXPECT_LT(count(louder, 0.001), 400u);      // searched at once for another density
}

// Each step sends one sign and one mean of 4 bytes; the rest stays in the residual.
TEST(RedSync, QuantisedSendsOneSignAndMean) {
  const auto codec = MakeCodec("redsync:quantised=on,small=0,large=0,index=u32");
  EXPECT_EQ(codec->Name(), "redsync+mean");
  EXPECT_TRUE(codec->AllowsErrorFeedback(0.01));
  std::vector<float> residual(kNumel);
  const auto gradient = Draw("laplace");
  CodecState state;
  for (uint64_t step = 0; step < 6; ++step) {
    std::vector<float> e = residual, decoded(kNumel);
    for (int64_t i = 0; i < kNumel; ++i) e[i] += gradient[i];
    const auto context = ContextOf(0.01, step, &state);
    std::vector<uint32_t> sent;
    const Message message = codec->EncodeWithFeedback(gradient, residual, context, &sent);
    EXPECT_EQ(message.size(), 16 + 4 * static_cast<int64_t>(sent.size()) + 4);
    codec->DecodeAdd(message.bytes, ContextOf(0.01, step), decoded);
    double mass = 0;
    for (const uint32_t i : sent) {
      ASSERT_TRUE(step % 2 == 0 ? e[i] > 0 : e[i] < 0);
      ASSERT_EQ(decoded[i], decoded[sent[0]]);
      mass += residual[i];  // sum of value - mean
    }
    EXPECT_GE(sent.size(), 2000u);
    EXPECT_NEAR(mass, 0, 1e-6 * std::abs(double{decoded[sent[0]]}) * sent.size());
    for (int64_t i = 0; i < kNumel; ++i) {
      ASSERT_NEAR(double{decoded[i]} + residual[i], e[i],
                  4 * 0x1p-23 * std::abs(double{e[i]}) + 1e-7);
    }
  }
}

TEST(RedSync, QuantisedWholeUnitsAndOptions) {
  const auto codec = MakeCodec("redsync:quantised=on");
  const auto small = test::Normals(100, 1);
  std::vector<float> sum(100);
  codec->DecodeAdd(codec->Encode(small, ContextOf(0.01)).bytes, ContextOf(0.01), sum);
  EXPECT_EQ(sum, small);  // whole units are sent in fp32
  EXPECT_EQ(MakeCodec("redsync:quantised=on+mean")->Name(), "redsync+mean");
  EXPECT_THROW(MakeCodec("redsync:quantised=on+fp16"), Error);
  EXPECT_FALSE(MakeCodec("topk+mean")->AllowsErrorFeedback(0.1));
  // No element has the step's sign, so that nothing is sent, in no bytes.
  const auto medium = MakeCodec("redsync:quantised=on,small=0");
  const std::vector<float> negative(50, -1.0f);
  EXPECT_EQ(medium->Encode(negative, ContextOf(0.1, 0)).size(), 16);
  EXPECT_GT(medium->Encode(negative, ContextOf(0.1, 1)).size(), 16 + 4);
}

}  // namespace
}  // namespace legacy::redsync_test
// Sums that a ring rounds at every hop (schemes/hops/ring_sum.h).
#include "compress/schemes/hops/ring_sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/error.h"
#include "compress/cpu/cast.h"
#include "tests/compress/test_data.h"

namespace legacy::ring_sum_test {
namespace {

float Rounded(float x, bool bfloat16) {
  return bfloat16 ? cpu::Bfloat16ToFloat(cpu::FloatToBfloat16(x))
                  : cpu::HalfToFloat(cpu::FloatToHalf(x));
}

// Sends N chunks round the ring, step by step: in step t, worker w passes on the chunk that its
// right neighbour adds to. Afterwards worker w holds the sum of chunk w.
std::vector<float> Emulated(std::vector<std::vector<float>> held, bool bfloat16) {
  const auto workers = static_cast<int64_t>(held.size());
  const auto numel = static_cast<int64_t>(held[0].size());
  for (auto& values : held) {
    for (float& x : values) x = Rounded(x, bfloat16);
  }
  const auto begin = [&](int64_t chunk) { return chunk * numel / workers; };
  for (int64_t step = 0; step < workers - 1; ++step) {
    const auto before = held;
    for (int64_t from = 0; from < workers; ++from) {
      const int64_t to = (from + 1) % workers;
      const int64_t chunk = (from - 1 - step + 2 * workers) % workers;
      for (int64_t i = begin(chunk); i < begin(chunk + 1); ++i) {
        held[to][i] = Rounded(before[from][i] + before[to][i], bfloat16);
      }
    }
  }
  std::vector<float> sum(held[0].size());
  for (int64_t w = 0; w < workers; ++w) {
    std::copy(held[w].begin() + begin(w), held[w].begin() + begin(w + 1), sum.begin() + begin(w));
  }
  return sum;
}

std::vector<std::vector<float>> Gradients(int64_t numel, int workers, uint64_t seed = 40) {
  std::vector<std::vector<float>> gradients;
  for (int w = 0; w < workers; ++w) gradients.push_back(test::Normals(numel, seed + w));
  return gradients;
}

TEST(RingSum, EqualsARing) {
  for (const bool bfloat16 : {true, false}) {
    const auto scheme = MakeScheme(bfloat16 ? "bf16:reduction=hop" : "fp16:reduction=hop",
                                   {.error_feedback = false});
    for (const int64_t numel : {0, 1, 2, 7, 100, 40'000}) {
      for (const int workers : {1, 2, 3, 5, 8}) {
        const auto gradients = Gradients(numel, workers);
        const auto exchange = scheme->Open(test::MakeUnit(numel), workers);
        std::vector<float> expected = Emulated(gradients, bfloat16);
        for (float& x : expected) x /= static_cast<float>(workers);
        for (int64_t step = 0; step < 2; ++step) {  // nothing is left of the step before
          EXPECT_EQ(test::RunStep(*exchange, {.info = {.step = step}}, gradients), expected)
              << scheme->Name() << " " << numel << " " << workers;
        }
      }
    }
  }
}

// Workers that are left out leave the ring.
TEST(RingSum, IsThatOfActiveWorkers) {
  const auto scheme = MakeScheme("bf16:reduction=hop", {.error_feedback = false});
  const auto gradients = Gradients(1000, 4);
  const auto exchange = scheme->Open(test::MakeUnit(1000), 4);
  const auto mean = test::RunStep(*exchange, {.info = {.active_workers = {0, 3}}}, gradients);
  const auto two = scheme->Open(test::MakeUnit(1000), 2);
  EXPECT_EQ(mean, test::RunStep(*two, {}, {gradients[0], gradients[3]}));
}

// Returns the squared error of the mean relative to that of the exact mean of what was sent.
double RelativeError(const std::string& scheme, int workers) {
  constexpr int64_t kNumel = 1 << 16;
  std::vector<std::vector<float>> gradients = Gradients(kNumel, workers);
  for (auto& values : gradients) {
    for (float& x : values) x = Rounded(x, true);
  }
  const auto exchange =
      MakeScheme(scheme, {.error_feedback = false})->Open(test::MakeUnit(kNumel), workers);
  const auto mean = test::RunStep(*exchange, {}, gradients);
  double error = 0, squares = 0;
  for (int64_t i = 0; i < kNumel; ++i) {
    double exact = 0;
    for (const auto& values : gradients) exact += double{values[i]} / workers;
    error += std::pow(exact - double{mean[i]}, 2);
    squares += exact * exact;
  }
  return error / squares;
}

// The partial sum of j workers has j/N of the energy of the whole, and is rounded with the same
// relative error q, which is about 2.8e-6 for normal values. The sum of q j/N over j = 2 to N is
// q ((N-1)/2 + 1 - 1/N): half a rounding for each hop of the reduction, and that of the result,
// which all workers receive in 16 bits.
TEST(RingSum, ErrsByHalfARoundingForEachHop) {
  constexpr double kRounding = 2.8e-6;
  for (const int workers : {2, 3, 4, 8, 16, 32}) {
    const double n = workers;
    const double expected = kRounding * ((n - 1) / 2 + 1 - 1 / n);
    EXPECT_NEAR(RelativeError("bf16:reduction=hop", workers) / expected, 1, 0.15) << workers;
    EXPECT_LT(RelativeError("bf16", workers), 1e-12) << workers;
  }
}

TEST(RingSum, IsSentAsOthersAre) {
  const Unit unit = test::MakeUnit(1000);
  const auto hop = MakeScheme("bf16:reduction=hop"), plain = MakeScheme("bf16");
  EXPECT_EQ(hop->MessageBytes(unit, 1), plain->MessageBytes(unit, 1));
  EXPECT_FALSE(hop->Traits().depends_on_collective);
  const auto planned = hop->Plan(unit, 1, 4);
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->front().call.reduction, Reduction::kSum);
  EXPECT_EQ(planned->front().call.collective, Collective::kAllReduce);
}

TEST(RingSum, ChecksMessages) {
  const auto scheme = MakeScheme("fp16:reduction=hop", {.error_feedback = false});
  const auto exchange = scheme->Open(test::MakeUnit(10), 1);
  exchange->Begin({});
  exchange->NextCall();
  Message message = exchange->Encode(0, test::Normals(10, 1));
  message.bytes.pop_back();
  EXPECT_THROW(exchange->Accumulate(0, message.bytes), Error);
}

TEST(RingSum, OnlyOfWholeUnitsInSixteenBits) {
  for (const char* bad : {"dense:reduction=hop", "qsgd:reduction=hop", "topk:reduction=hop",
                          "topk:reduction=hop+bf16", "uniform:reduction=hop"}) {
    try {
      MakeScheme(bad, {.error_feedback = false});
      ADD_FAILURE() << bad;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("fp16 and bf16"), std::string::npos) << bad;
    }
  }
}

}  // namespace
}  // namespace legacy::ring_sum_test

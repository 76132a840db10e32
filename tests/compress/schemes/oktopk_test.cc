// Ok-Topk: thresholds, regions, volume, and what becomes of values that are not sent.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/error.h"
#include "tests/compress/test_data.h"

namespace legacy::oktopk_test {
namespace {

constexpr int64_t kNumel = 4000;
constexpr double kDensity = 0.02;
constexpr int64_t kCount = 80;

std::vector<std::vector<float>> Gradients(int64_t step, int workers, int64_t numel = kNumel) {
  std::vector<std::vector<float>> gradients;
  for (int w = 0; w < workers; ++w) {
    auto& gradient = gradients.emplace_back(test::Normals(numel, 100 * step + w));
    // Large values lie together, and workers have some of them in common.
    for (int64_t i = 0; i < numel; ++i) gradient[i] *= i % 40 < 4 ? 4 : i < numel / 4 ? 2 : 1;
  }
  return gradients;
}

UnitStep StepOf(int64_t step, double density = kDensity) {
  return {.info = {.seed = 7, .step = step}, .parameter = density};
}

// What one step sent: by call, its collective and the messages and parts of all workers.
struct Sent {
  Collective collective = Collective::kAllGather;
  std::vector<Message> messages;
  std::vector<std::vector<int64_t>> parts;
};

struct Result {
  std::vector<float> mean;
  std::vector<Sent> calls;
  // Returns the bytes that worker w sends to others and gets from them.
  int64_t Volume(size_t w) const {
    int64_t bytes = 0;
    for (const Sent& call : calls) {
      for (size_t other = 0; other < call.messages.size(); ++other) {
        if (other == w) continue;
        if (call.collective == Collective::kAllToAll) bytes += call.parts[other][w];
        if (call.collective == Collective::kAllGather) bytes += call.messages[other].size();
      }
    }
    return bytes;
  }
};

Result RunCalls(Exchange& exchange, const UnitStep& context,
                const std::vector<std::vector<float>>& gradients) {
  Result result;
  exchange.Begin(context);
  for (bool first = true; const auto call = exchange.NextCall(); first = false) {
    Sent& sent = result.calls.emplace_back();
    sent.collective = call->collective;
    for (size_t w = 0; w < gradients.size(); ++w) {
      sent.messages.push_back(
          exchange.Encode(static_cast<int>(w), first ? gradients[w] : std::span<const float>()));
    }
    for (size_t w = 0; w < gradients.size(); ++w) {
      sent.parts.push_back(exchange.PartBytes(static_cast<int>(w), sent.messages[w].bytes));
      if (call->collective == Collective::kAllToAll) {
        EXPECT_EQ(std::accumulate(sent.parts[w].begin(), sent.parts[w].end(), int64_t{0}),
                  sent.messages[w].size());
      } else {
        EXPECT_TRUE(sent.parts[w].empty());
      }
    }
    for (size_t w = 0; w < gradients.size(); ++w) {
      exchange.Accumulate(static_cast<int>(w), sent.messages[w].bytes);
    }
    exchange.FinishCall();
  }
  result.mean.resize(gradients[0].size());
  exchange.Mean(result.mean);
  return result;
}

std::vector<uint32_t> NonZeros(const std::vector<float>& values) {
  std::vector<uint32_t> positions;
  for (uint32_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) positions.push_back(i);
  }
  return positions;
}

// Where thresholds are exact: the k largest of the sums of the workers' own Top-K, computed slowly.
TEST(OkTopK, ExactThresholdsSelectTheLargestSums) {
  for (const int workers : {1, 2, 5}) {
    const auto exchange = MakeScheme("oktopk:thresholds=1")->Open(test::MakeUnit(kNumel), workers);
    std::vector<std::vector<double>> e(workers, std::vector<double>(kNumel));
    for (int64_t step = 0; step < 6; ++step) {
      const auto gradients = Gradients(step, workers);
      const auto mean = RunCalls(*exchange, StepOf(step), gradients).mean;
      std::vector<double> sums(kNumel);
      std::vector<std::vector<uint32_t>> sets;
      for (int w = 0; w < workers; ++w) {
        std::vector<float> values(kNumel);
        for (int64_t i = 0; i < kNumel; ++i) {
          e[w][i] += gradients[w][i];
          values[i] = static_cast<float>(e[w][i]);
        }
        for (const uint32_t i : sets.emplace_back(test::SortedTopK(values, kCount))) {
          sums[i] += e[w][i];
        }
      }
      const auto kept = test::SortedTopK(std::vector<float>(sums.begin(), sums.end()), kCount);
      EXPECT_EQ(NonZeros(mean), kept) << workers << " " << step;
      for (const uint32_t i : kept) ASSERT_NEAR(mean[i], sums[i] / workers, 1e-4);
      for (int w = 0; w < workers; ++w) {
        for (const uint32_t i : sets[w]) {
          if (mean[i] != 0) e[w][i] = 0;
        }
        for (int64_t i = 0; i < kNumel; ++i) {
          ASSERT_NEAR(exchange->Residual(w)[i], e[w][i], 1e-4);
        }
      }
    }
  }
}

// Nothing is lost: means times workers, and residuals, are the sum of all gradients.
TEST(OkTopK, KeepsTheMass) {
  constexpr int kWorkers = 4;
  const auto exchange = MakeScheme("oktopk")->Open(test::MakeUnit(kNumel), kWorkers);
  std::vector<double> given(kNumel), arrived(kNumel);
  for (int64_t step = 0; step < 80; ++step) {
    const auto gradients = Gradients(step, kWorkers);
    const auto mean = RunCalls(*exchange, StepOf(step), gradients).mean;
    for (int64_t i = 0; i < kNumel; ++i) {
      for (int w = 0; w < kWorkers; ++w) given[i] += gradients[w][i];
      arrived[i] += double{mean[i]} * kWorkers;
    }
  }
  for (int64_t i = 0; i < kNumel; ++i) {
    double left = 0;
    for (int w = 0; w < kWorkers; ++w) left += exchange->Residual(w)[i];
    ASSERT_NEAR(arrived[i] + left, given[i], 2e-3) << i;
  }
}

// Where what is compressed is stationary, as without residuals, counts stay near k between exact
// thresholds, and a worker's volume within the paper's bound: it does not grow with the number of
// workers.
TEST(OkTopK, VolumesDoNotGrowWithWorkers) {
  for (const int workers : {2, 4, 8}) {
    const auto exchange =
        MakeScheme("oktopk", {.error_feedback = false})->Open(test::MakeUnit(kNumel), workers);
    for (int64_t step = 0; step < 100; ++step) {
      const Result result = RunCalls(*exchange, StepOf(step), Gradients(step, workers));
      const auto count = std::ssize(NonZeros(result.mean));
      if (step > 0) {
        EXPECT_GE(count, kCount / 2) << workers << " " << step;
        EXPECT_LE(count, 2 * kCount) << workers << " " << step;
      }
      if (step % 32 == 0) continue;  // thresholds
      const int64_t headers = 20 * 3 * (workers - 1) + 8 * (workers - 1);
      for (int w = 0; w < workers; ++w) {
        EXPECT_LE(result.Volume(w), 6 * kCount * (workers - 1) / workers * 8 + headers)
            << workers << " " << step;
      }
    }
  }
}

// Each value in a set belongs to one region, and regions cover the unit, whatever the sets are.
TEST(OkTopK, TakesSetsThatDifferStrongly) {
  constexpr int kWorkers = 4;
  const auto exchange =
      MakeScheme("oktopk:thresholds=3,regions=2")->Open(test::MakeUnit(kNumel), kWorkers);
  for (int64_t step = 0; step < 12; ++step) {
    std::vector<std::vector<float>> gradients(kWorkers, std::vector<float>(kNumel));
    // One worker has values at the end alone, one at the beginning, one none, one equal ones.
    for (int64_t i = 0; i < 100; ++i) {
      gradients[0][kNumel - 1 - i] = static_cast<float>(1 + i + step);
      gradients[1][i] = static_cast<float>(-1 - i);
    }
    std::ranges::fill(gradients[3], 0.25f);
    const auto mean = RunCalls(*exchange, StepOf(step), gradients).mean;
    for (const float x : mean) ASSERT_TRUE(std::isfinite(x));
    EXPECT_FALSE(NonZeros(mean).empty());
  }
}

TEST(OkTopK, HandlesZerosAndEmptyUnits) {
  for (const int64_t numel : {0, 1, 3}) {
    const auto exchange = MakeScheme("oktopk")->Open(test::MakeUnit(numel), 3);
    for (int64_t step = 0; step < 3; ++step) {
      const std::vector<std::vector<float>> zeros(3, std::vector<float>(numel));
      EXPECT_EQ(RunCalls(*exchange, StepOf(step), zeros).mean, zeros[0]);
    }
    const auto gradients = Gradients(0, 3, numel);
    const auto mean = RunCalls(*exchange, StepOf(3), gradients).mean;
    EXPECT_EQ(NonZeros(mean).empty(), numel == 0);
  }
}

// Values are spread evenly before they are gathered where one worker has too many.
TEST(OkTopK, BalancesWhatIsGathered) {
  constexpr int kWorkers = 4;
  std::map<std::string, int64_t> largest;
  std::vector<std::vector<float>> means;
  for (const std::string balance : {"1", "1000000"}) {
    const auto exchange = MakeScheme("oktopk:regions=1000,balance=" + balance)
                              ->Open(test::MakeUnit(kNumel), kWorkers);
    RunCalls(*exchange, StepOf(0), Gradients(0, kWorkers));
    // The bounds of the first step do not fit the second one.
    std::vector<std::vector<float>> skewed(kWorkers, std::vector<float>(kNumel));
    for (int w = 0; w < kWorkers; ++w) {
      for (int64_t i = 0; i < 90; ++i) skewed[w][i] = static_cast<float>(1000 + i + w);
    }
    const Result result = RunCalls(*exchange, StepOf(1), skewed);
    for (const Message& message : result.calls.back().messages) {
      largest[balance] = std::max(largest[balance], message.size());
    }
    int exchanges = 0;
    for (const Sent& call : result.calls) exchanges += call.collective == Collective::kAllToAll;
    EXPECT_EQ(exchanges, balance == "1" ? 3 : 2);
    means.push_back(result.mean);
  }
  EXPECT_LT(largest["1"], largest["1000000"] / 2);
  EXPECT_EQ(means[0], means[1]);
}

TEST(OkTopK, OneWorkerSendsTopKByThreshold) {
  const auto exchange = MakeScheme("oktopk")->Open(test::MakeUnit(kNumel), 1);
  const auto gradients = Gradients(0, 1);
  const Result result = RunCalls(*exchange, StepOf(0), gradients);
  EXPECT_EQ(NonZeros(result.mean), test::SortedTopK(gradients[0], kCount));
  EXPECT_EQ(exchange->ElementsSent(), kCount);
}

TEST(OkTopK, RefusesWrongOptions) {
  for (const char* text :
       {"oktopk:thresholds=0", "oktopk:regions=0", "oktopk:balance=0.5", "oktopk+fp16"}) {
    EXPECT_THROW(MakeScheme(text), Error) << text;
  }
  EXPECT_THROW(MakeScheme("oktopk")->Open(test::MakeUnit(9), 2)->Begin(StepOf(0, 1.5)), Error);
}

}  // namespace
}  // namespace legacy::oktopk_test

#include "compress/schemes/hops/hop_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "compress/quantiser.h"
#include "tests/compress/quantisers/quantiser_data.h"

namespace legacy::hop_sum_test {
namespace {

using Values = std::vector<float>;

std::vector<Values> Gradients(int workers, int64_t numel, uint64_t seed = 1) {
  std::vector<Values> gradients;
  for (int w = 0; w < workers; ++w) gradients.push_back(test::Normals(numel, seed * 1000 + w));
  return gradients;
}

struct Step {
  Values mean;
  CollectiveCall call;
  std::vector<Message> messages;
};

Step RunStep(Exchange& exchange, const std::vector<Values>& gradients, int64_t step = 0,
             std::vector<int> active = {}) {
  Step result;
  exchange.Begin({.info = {.seed = 7, .step = step, .active_workers = active}, .parameter = 4});
  result.call = *exchange.NextCall();
  const auto workers = static_cast<int>(gradients.size());
  for (int w = 0; w < workers; ++w) {
    const bool takes_part = active.empty() || std::ranges::count(active, w) > 0;
    result.messages.push_back(takes_part ? exchange.Encode(w, gradients[w]) : Message());
  }
  for (int w = 0; w < workers; ++w) {
    if (result.messages[w].size() > 0) exchange.Accumulate(w, result.messages[w].bytes);
  }
  exchange.FinishCall();
  EXPECT_FALSE(exchange.NextCall());
  result.mean.resize(gradients[0].size());
  exchange.Mean(result.mean);
  return result;
}

Step RunStep(const std::string& text, const std::vector<Values>& gradients) {
  const auto scheme = MakeScheme(text);
  const auto workers = static_cast<int>(gradients.size());
  const auto exchange = scheme->Open(test::MakeUnit(std::ssize(gradients[0])), workers);
  return RunStep(*exchange, gradients);
}

Values Rounded(const std::string& quantiser, const Values& values) {
  return test::RoundTrip(*test::QuantiserOf(quantiser), values, 0);
}

void AddTo(const Values& values, Values& sum) {
  for (size_t i = 0; i < sum.size(); ++i) sum[i] = values[i] + sum[i];
}

// The sums of whole vectors, block by block: what a worker sends is rounded, and nothing else is.
Values SlowRing(const std::string& quantiser, const std::vector<Values>& gradients, int64_t block) {
  const auto workers = static_cast<int64_t>(gradients.size());
  const auto numel = std::ssize(gradients[0]);
  const int64_t blocks = (numel + block - 1) / block;
  Values result(numel);
  for (int64_t p = 0, begin = 0; p < workers; ++p) {
    const int64_t size = (blocks / workers + (p < blocks % workers ? 1 : 0)) * block;
    const int64_t end = std::min(numel, begin + size);
    Values sum = gradients[p];
    for (int64_t hop = 1; hop < workers; ++hop) {
      sum = Rounded(quantiser, sum);
      AddTo(gradients[(p + hop) % workers], sum);
    }
    sum = Rounded(quantiser, sum);
    std::copy(sum.begin() + begin, sum.begin() + end, result.begin() + begin);
    begin = end;
  }
  return result;
}

// Workers from P on are added to others first; then neighbours at distance P / 2 .. 1 exchange
// what they have, so that afterwards all of them would have the same sum but for rounding.
Values SlowButterfly(const std::string& quantiser, std::vector<Values> have, int64_t block) {
  const auto workers = static_cast<int64_t>(have.size());
  const auto numel = std::ssize(have[0]);
  int64_t core = 1;
  while (2 * core <= workers) core *= 2;
  for (int64_t w = core; w < workers; ++w) AddTo(Rounded(quantiser, have[w]), have[w - core]);
  for (int64_t distance = core / 2; distance >= 1; distance /= 2) {
    std::vector<Values> next = have;
    for (int64_t w = 0; w < core; ++w) AddTo(Rounded(quantiser, have[w ^ distance]), next[w]);
    have = next;
  }
  const int64_t blocks = (numel + block - 1) / block;
  Values result(numel);
  for (int64_t p = 0, begin = 0; p < core; ++p) {
    const int64_t size = (blocks / core + (p < blocks % core ? 1 : 0)) * block;
    const int64_t end = std::min(numel, begin + size);
    const Values sum = Rounded(quantiser, have[p]);
    std::copy(sum.begin() + begin, sum.begin() + end, result.begin() + begin);
    begin = end;
  }
  return result;
}

TEST(HopSum, IsThatOfWholeVectorsRoundedAtEveryHop) {
  for (const std::string quantiser : {"mx", "mx:format=e2m1", "mx:format=e5m2,block=64"}) {
    const int64_t block = quantiser.ends_with("64") ? 64 : 32;
    for (const int workers : {1, 2, 3, 4, 5, 6, 8}) {
      for (const int64_t numel : {1, 31, 33, 200, 1000}) {
        const auto gradients = Gradients(workers, numel);
        const std::string base = quantiser + (quantiser.find(':') == quantiser.npos ? ":" : ",");
        for (const bool ring : {true, false}) {
          Values sum = ring ? SlowRing(quantiser, gradients, block)
                            : SlowButterfly(quantiser, gradients, block);
          for (float& x : sum) x /= static_cast<float>(workers);
          const Step step =
              RunStep(base + (ring ? "reduction=ring" : "reduction=butterfly"), gradients);
          ASSERT_TRUE(test::SameBits(step.mean, sum))
              << quantiser << " " << workers << " " << numel << " " << ring;
        }
      }
    }
  }
}

// A single worker's sum is what its one message says.
TEST(HopSum, OfOneWorkerIsOneEncoding) {
  const auto gradients = Gradients(1, 500);
  for (const std::string reduction : {"ring", "butterfly"}) {
    EXPECT_TRUE(test::SameBits(RunStep("mx:reduction=" + reduction, gradients).mean,
                               Rounded("mx", gradients[0])));
  }
}

// Returns the error of the mean, relative to the mean's energy.
double RelativeError(const Step& step, const std::vector<Values>& gradients) {
  double error = 0, energy = 0;
  for (size_t i = 0; i < step.mean.size(); ++i) {
    double mean = 0;
    for (const Values& gradient : gradients) mean += gradient[i];
    mean /= static_cast<double>(gradients.size());
    error += (mean - step.mean[i]) * (mean - step.mean[i]);
    energy += mean * mean;
  }
  return error / energy;
}

// Of independent normal values, an encoding of a sum of k adds k times the error of one. A ring of
// N therefore has (N + 1) / 2 times the error of one encoding, and a butterfly log2(N) / 2 + 1.
TEST(HopSum, ErrorsGrowWithTheOrderOfAddition) {
  constexpr int64_t kNumel = 1 << 14;
  for (const std::string format : {"e4m3,scale=up", "e5m2", "e2m3", "e2m1", "e4m3"}) {
    // What the floor of a scale clips is biased, and adds up.
    const double tolerance = format == "e4m3" ? 0.4 : 0.15;
    const double once =
        RelativeError(RunStep("mx:format=" + format, Gradients(1, kNumel)), Gradients(1, kNumel));
    for (const int workers : {2, 4, 8, 16}) {
      const auto gradients = Gradients(workers, kNumel);
      const double ring = (workers + 1) / 2.0;
      const double butterfly = std::log2(workers) / 2 + 1;
      const auto error = [&](const std::string& reduction) {
        return RelativeError(RunStep("mx:format=" + format + ",reduction=" + reduction, gradients),
                             gradients) /
               once;
      };
      EXPECT_NEAR(error("ring"), ring, tolerance * ring) << format << " " << workers;
      EXPECT_NEAR(error("butterfly"), butterfly, tolerance * butterfly) << format << workers;
    }
  }
}

// Another order of workers gives other bits and the same error.
TEST(HopSum, PermutedWorkersHaveOtherBitsAndTheSameError) {
  constexpr int64_t kNumel = 1 << 14;
  auto gradients = Gradients(6, kNumel);
  for (const std::string reduction : {"ring", "butterfly"}) {
    const Step step = RunStep("mx:format=e2m3,reduction=" + reduction, gradients);
    auto other = gradients;
    std::rotate(other.begin(), other.begin() + 1, other.end());
    std::swap(other[2], other[4]);
    const Step permuted = RunStep("mx:format=e2m3,reduction=" + reduction, other);
    EXPECT_FALSE(test::SameBits(step.mean, permuted.mean));
    EXPECT_NEAR(RelativeError(permuted, other) / RelativeError(step, gradients), 1, 0.15)
        << reduction;
  }
}

// Draws of qsgd differ from worker to worker and from piece to piece, so means over steps are those
// of the gradients.
TEST(HopSum, OfUnbiasedQuantisersIsUnbiased) {
  const auto gradients = Gradients(3, 256);
  const auto scheme = MakeScheme("qsgd:bucket=64,reduction=ring", {.error_feedback = false});
  const auto exchange = scheme->Open(test::MakeUnit(256), 3);
  constexpr int64_t kSteps = 2000;
  std::vector<double> sums(256), squares(256);
  for (int64_t step = 0; step < kSteps; ++step) {
    const Values mean = RunStep(*exchange, gradients, step).mean;
    for (size_t i = 0; i < mean.size(); ++i) {
      const double error =
          mean[i] - (double{gradients[0][i]} + gradients[1][i] + gradients[2][i]) / 3;
      sums[i] += error;
      squares[i] += error * error;
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    EXPECT_NEAR(sums[i] / kSteps, 0, 5 * std::sqrt(squares[i] / kSteps / kSteps)) << i;
  }
}

TEST(HopSum, BytesOfPieces) {
  const auto scheme = MakeScheme("mx:reduction=ring");
  const auto sent = [&](const std::string& text, int worker) {
    const auto calls = MakeScheme(text)->Plan(test::MakeUnit(1000 * 1000), 0, 8);
    const HopSlice& slice = calls->at(0).call.hops->slices.at(0);
    int64_t bytes = 0;
    for (int r = 0; r < 14; ++r) {
      const int piece = ((worker - r) % 8 + 8) % 8;
      bytes += slice.payload[piece] + slice.headers[piece];
    }
    return bytes;
  };
  EXPECT_EQ(sent("mx:reduction=ring", 0), 1804951);
  EXPECT_EQ(sent("mx:reduction=ring,format=e2m3", 0), 1367455);
  EXPECT_EQ(sent("mx:reduction=ring,format=e2m1", 0), 929959);
  // A unit of one value is one piece: the others are not sent.
  const auto calls = scheme->Plan(test::MakeUnit(1), 0, 4);
  const HopSlice& slice = calls->at(0).call.hops->slices.at(0);
  EXPECT_EQ(slice.payload, (std::vector<int64_t>{2, 0, 0, 0}));
  EXPECT_EQ(slice.headers, (std::vector<int64_t>{20, 0, 0, 0}));
  // A butterfly of five has four pieces.
  EXPECT_EQ(MakeScheme("mx:reduction=butterfly")
                ->Plan(test::MakeUnit(1000), 0, 5)
                ->at(0)
                .call.hops->slices.at(0)
                .payload,
            (std::vector<int64_t>{264, 264, 264, 240}));
}

// Pieces are cut into messages of at most slice= bytes; the sum has the same bits.
TEST(HopSum, SlicesCutPiecesAndChangeNoBit) {
  const auto gradients = Gradients(4, 40000);
  for (const std::string reduction : {"ring", "butterfly"}) {
    const Step whole = RunStep("mx:reduction=" + reduction, gradients);
    const Step cut = RunStep("mx:slice=2048,reduction=" + reduction, gradients);
    EXPECT_TRUE(test::SameBits(whole.mean, cut.mean));
    EXPECT_EQ(whole.call.hops->slices.size(), 1u);
    const auto& slices = cut.call.hops->slices;
    EXPECT_EQ(slices.size(), reduction == "ring" ? 6u : 11u);
    for (size_t piece = 0; piece < 4; ++piece) {
      int64_t bytes = 0;
      for (const HopSlice& slice : slices) bytes += slice.payload[piece];
      EXPECT_EQ(bytes, whole.call.hops->slices[0].payload[piece]);
    }
  }
}

// Residuals are what the first message leaves of the values that it has; all others are 0.
TEST(HopSum, FeedbackOfTheFirstMessage) {
  const auto gradients = Gradients(4, 1024);
  for (const std::string reduction : {"ring", "butterfly"}) {
    const auto scheme = MakeScheme("mx:format=e2m1,feedback=first,reduction=" + reduction);
    const auto exchange = scheme->Open(test::MakeUnit(1024), 4);
    RunStep(*exchange, gradients);
    for (int w = 0; w < 4; ++w) {
      const Values rounded = Rounded("mx:format=e2m1", gradients[w]);
      const int64_t begin = reduction == "ring" ? w * 256 : w < 2 ? 512 : 0;
      const int64_t end = begin + (reduction == "ring" ? 256 : 512);
      for (int64_t i = 0; i < 1024; ++i) {
        const float wanted = i >= begin && i < end ? gradients[w][i] - rounded[i] : 0;
        ASSERT_EQ(exchange->Residual(w)[i], wanted) << reduction << " " << w << " " << i;
      }
    }
  }
  const auto none = MakeScheme("mx:reduction=ring");
  EXPECT_FALSE(none->UsesErrorFeedback(0));
  const auto exchange = none->Open(test::MakeUnit(64), 2);
  RunStep(*exchange, Gradients(2, 64));
  EXPECT_TRUE(exchange->Residual(0).empty());
}

// Workers that are left out add zeros, and the mean is that of the others.
TEST(HopSum, WorkersThatAreLeftOutAddZeros) {
  auto gradients = Gradients(4, 300);
  const auto scheme = MakeScheme("mx:reduction=ring");
  const auto exchange = scheme->Open(test::MakeUnit(300), 4);
  const Values mean = RunStep(*exchange, gradients, 0, {0, 1, 3}).mean;
  gradients[2].assign(300, 0.0f);
  Values sum = SlowRing("mx", gradients, 32);
  for (float& x : sum) x /= 3;
  EXPECT_TRUE(test::SameBits(mean, sum));
}

// The first hop decodes what was sent.
TEST(HopSum, AChangedByteChangesTheSum) {
  const auto gradients = Gradients(2, 64);
  const auto scheme = MakeScheme("mx:reduction=ring");
  const auto exchange = scheme->Open(test::MakeUnit(64), 2);
  const Values mean = RunStep(*exchange, gradients).mean;
  exchange->Begin({.info = {.seed = 7}, .parameter = 4});
  exchange->NextCall();
  std::vector<Message> messages = {exchange->Encode(0, gradients[0]),
                                   exchange->Encode(1, gradients[1])};
  messages[0].bytes[20 + 2 + 3] ^= std::byte{0x80};
  for (int w = 0; w < 2; ++w) exchange->Accumulate(w, messages[w].bytes);
  exchange->FinishCall();
  Values changed(64);
  exchange->Mean(changed);
  EXPECT_NE(changed[3], mean[3]);
  EXPECT_THROW(
      {
        exchange->Begin({.info = {.seed = 7}, .parameter = 4});
        exchange->NextCall();
        Message bad = exchange->Encode(0, gradients[0]);
        bad.bytes[20] = std::byte{255};
        exchange->Accumulate(0, bad.bytes);
      },
      Error);
}

TEST(HopSum, WhatCannotBeEncodedAgainIsRefused) {
  for (const char* bad :
       {"topk:reduction=ring", "dense:reduction=ring", "fp16:reduction=butterfly",
        "fp8:reduction=ring", "uniform:reduction=ring", "qsgd:reduction=ring,code=elias",
        "mx:feedback=first", "mx:reduction=ring,memory=momentum", "mx:reduction=ring,slice=0",
        "mx:reduction=ring,where=after-mean"}) {
    EXPECT_THROW(MakeScheme(bad), Error) << bad;
  }
}

}  // namespace
}  // namespace legacy::hop_sum_test

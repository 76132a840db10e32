// OmniReduce: the dense sum in fewer bytes, blocks of the largest norms, and hostile messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include "base/error.h"
#include "tests/compress/test_data.h"
#include "tests/message_of.h"

namespace legacy::omnireduce_test {
namespace {

constexpr int64_t kHeader = 20;
constexpr int64_t kBlock = 256;

using Gradients = std::vector<std::vector<float>>;

UnitStep StepOf(int64_t step, double density) {
  return {.info = {.seed = 7, .step = step}, .parameter = density};
}

struct Result {
  std::vector<float> mean;
  std::vector<int64_t> bytes;  // of each worker's message
  CollectiveCall call;         // after its completion
  int64_t elements = 0;
};

Result RunCall(Exchange& exchange, const UnitStep& context, const Gradients& gradients) {
  Result result;
  exchange.Begin(context);
  result.call = exchange.NextCall().value();
  std::vector<Message> messages;
  for (size_t w = 0; w < gradients.size(); ++w) {
    messages.push_back(exchange.Encode(static_cast<int>(w), gradients[w]));
    result.bytes.push_back(messages.back().size());
  }
  for (size_t w = 0; w < gradients.size(); ++w) {
    exchange.Accumulate(static_cast<int>(w), messages[w].bytes);
  }
  exchange.Complete(result.call);
  exchange.FinishCall();
  EXPECT_FALSE(exchange.NextCall());
  result.mean.resize(gradients.front().size());
  exchange.Mean(result.mean);
  result.elements = exchange.ElementsSent();
  return result;
}

// Each block of each worker has values with that probability, and is zero otherwise.
Gradients SparseGradients(int workers, int64_t numel, double density, uint64_t seed) {
  std::mt19937_64 random(seed);
  Gradients gradients;
  for (int w = 0; w < workers; ++w) {
    auto& gradient = gradients.emplace_back(test::Normals(numel, seed + static_cast<uint64_t>(w)));
    for (int64_t begin = 0; begin < numel; begin += kBlock) {
      if (std::uniform_real_distribution<>()(random) < density) continue;
      const auto end = std::min(numel, begin + kBlock);
      std::fill(gradient.begin() + begin, gradient.begin() + end, 0.0f);
    }
  }
  return gradients;
}

// Returns the numbers of the blocks of a gradient that are not zero, found slowly, and block 0.
std::set<int64_t> BlocksOf(const std::vector<float>& gradient) {
  std::set<int64_t> blocks = {0};
  for (size_t i = 0; i < gradient.size(); ++i) {
    if (gradient[i] != 0) blocks.insert(static_cast<int64_t>(i) / kBlock);
  }
  return blocks;
}

int64_t BytesOf(const std::set<int64_t>& blocks, int64_t numel) {
  int64_t bytes = kHeader;
  for (const int64_t b : blocks) bytes += 4 + 4 * std::min(kBlock, numel - b * kBlock);
  return bytes;
}

// The mean has the bits of the dense sum in the order of the workers, and messages and sum have the
// bytes of the blocks that are not zero.
TEST(OmniReduce, IsTheDenseSumInTheBytesOfItsBlocks) {
  for (const int workers : {1, 3, 8}) {
    for (const int64_t numel : {1, 255, 256, 257, 5000, 40'000}) {
      for (const double density : {0.0, 0.03, 0.4, 1.0}) {
        const auto gradients = SparseGradients(workers, numel, density, 11);
        const auto exchange = MakeScheme("omnireduce")->Open(test::MakeUnit(numel, 5), workers);
        const Result result = RunCall(*exchange, StepOf(0, 1), gradients);
        std::set<int64_t> all;
        int64_t values = 0;
        for (int w = 0; w < workers; ++w) {
          const std::set<int64_t> blocks = BlocksOf(gradients[w]);
          EXPECT_EQ(result.bytes[w], BytesOf(blocks, numel)) << numel << " " << density;
          all.insert(blocks.begin(), blocks.end());
          values += (result.bytes[w] - kHeader) / 4 - static_cast<int64_t>(blocks.size());
        }
        EXPECT_EQ(result.call.pull, BytesOf(all, numel));
        EXPECT_NEAR(static_cast<double>(result.elements), static_cast<double>(values) / workers,
                    0.51);
        for (int64_t i = 0; i < numel; ++i) {
          float sum = 0;
          for (int w = 0; w < workers; ++w) sum += gradients[w][i];
          ASSERT_EQ(result.mean[i], sum / static_cast<float>(workers)) << i;
        }
        EXPECT_TRUE(exchange->Residual(0).empty()) << "nothing is left";
      }
    }
  }
}

// The least values that fp32 has count as values, and zeros of either sign do not.
TEST(OmniReduce, DropsZerosAlone) {
  std::vector<float> gradient(4 * kBlock, -0.0f);
  gradient[3 * kBlock + 17] = -std::numeric_limits<float>::denorm_min();
  const auto exchange = MakeScheme("omnireduce")->Open(test::MakeUnit(std::ssize(gradient), 5), 1);
  const Result result = RunCall(*exchange, StepOf(0, 1), {gradient});
  EXPECT_EQ(result.bytes[0], kHeader + 2 * (4 + 4 * kBlock));
  EXPECT_EQ(result.mean, gradient);
}

TEST(OmniReduce, DenseInputCostsAWordForEachBlock) {
  for (const int64_t numel : {kBlock, 100 * kBlock}) {
    const Gradients gradients = {test::Normals(numel, 1), test::Normals(numel, 2)};
    const auto exchange = MakeScheme("omnireduce")->Open(test::MakeUnit(numel, 5), 2);
    const Result result = RunCall(*exchange, StepOf(0, 1), gradients);
    const auto dense = static_cast<double>(4 * numel);
    EXPECT_LE(static_cast<double>(result.bytes[0] - kHeader), dense * (1 + 1.0 / kBlock));
    EXPECT_EQ(*result.call.pull, result.bytes[0]);
  }
}

// For independent blocks of density d, N workers have a part 1 - (1 - d)^N of all.
TEST(OmniReduce, UnionsGrowAsIndependentBlocksDo) {
  constexpr int64_t kBlocks = 4000;
  for (const int workers : {2, 4, 16}) {
    for (const double density : {0.01, 0.1}) {
      std::mt19937_64 random(static_cast<uint64_t>(workers));
      Gradients gradients(static_cast<size_t>(workers), std::vector<float>(2 * kBlocks));
      for (auto& gradient : gradients) {
        for (int64_t b = 0; b < kBlocks; ++b) {
          if (std::uniform_real_distribution<>()(random) < density) gradient[2 * b + 1] = 1;
        }
      }
      const auto exchange =
          MakeScheme("omnireduce:block=2")->Open(test::MakeUnit(2 * kBlocks, 5), workers);
      const Result result = RunCall(*exchange, StepOf(0, 1), gradients);
      const double part = 1 - std::pow(1 - density, workers);
      const double blocks = static_cast<double>(*result.call.pull - kHeader) / 12;
      EXPECT_NEAR(blocks, kBlocks * part, 4 * std::sqrt(kBlocks * part * (1 - part)) + 1);
      // The same is expected where blocks are chosen.
      const auto expected = MakeScheme("omnireduce:block=2")
                                ->ExpectedCalls(test::MakeUnit(2 * kBlocks), density, workers, {});
      const double of_plan = static_cast<double>(*expected->front().call.pull - kHeader) / 12;
      EXPECT_NEAR(of_plan, kBlocks * part, 1);
    }
  }
}

// Below density 1 the blocks with the largest norms travel, and the first; what is left stays.
TEST(OmniReduce, KeepsTheLargestBlocksAndTheRestInResiduals) {
  constexpr int kWorkers = 3;
  constexpr int64_t kNumel = 20 * kBlock + 7;
  const auto exchange = MakeScheme("omnireduce")->Open(test::MakeUnit(kNumel, 5), kWorkers);
  std::vector<std::vector<double>> e(kWorkers, std::vector<double>(kNumel));
  const auto density_of = [](int64_t step) { return step == 0 ? 1 : step == 5 ? 1 : 0.1; };
  for (int64_t step = 0; step < 8; ++step) {
    const auto gradients = SparseGradients(kWorkers, kNumel, 0.5, 100 + 10 * step);
    const Result result = RunCall(*exchange, StepOf(step, density_of(step)), gradients);
    std::vector<double> sum(kNumel);
    for (int w = 0; w < kWorkers; ++w) {
      std::vector<std::pair<double, int64_t>> norms(21);
      for (int64_t i = 0; i < kNumel; ++i) {
        e[w][i] = static_cast<double>(static_cast<float>(e[w][i]) + gradients[w][i]);
        norms[i / kBlock].first -= e[w][i] * e[w][i];
        norms[i / kBlock].second = i / kBlock;
      }
      std::ranges::sort(norms);
      std::set<int64_t> kept = {0};
      const size_t count = density_of(step) == 1 ? 21 : 3;  // ceil(.1 x 21)
      for (size_t i = 0; i < count && norms[i].first < 0; ++i) kept.insert(norms[i].second);
      EXPECT_EQ(result.bytes[w], BytesOf(kept, kNumel)) << step;
      for (int64_t i = 0; i < kNumel; ++i) {
        if (kept.contains(i / kBlock)) sum[i] += std::exchange(e[w][i], 0);
      }
      const auto residual = exchange->Residual(w);
      ASSERT_EQ(residual.empty(), step == 0);
      for (int64_t i = 0; i < kNumel && step > 0; ++i) ASSERT_EQ(residual[i], e[w][i]);
    }
    for (int64_t i = 0; i < kNumel; ++i) ASSERT_NEAR(result.mean[i], sum[i] / kWorkers, 1e-5);
  }
}

TEST(OmniReduce, ChargesWhatMessagesHave) {
  const auto gradients = SparseGradients(4, 100 * kBlock, 0.05, 3);
  const auto exchange = MakeScheme("omnireduce")->Open(test::MakeUnit(100 * kBlock, 5), 4);
  const Result result = RunCall(*exchange, StepOf(0, 1), gradients);
  const auto elements = [](const WorkList& list, const char* kernel) {
    int64_t sum = 0;
    for (const Work& work : list) sum += work.kernel == kernel ? work.elements : 0;
    return sum;
  };
  EXPECT_EQ(elements(result.call.encode, "blocks.norm"), 100 * kBlock);
  EXPECT_EQ(elements(result.call.encode, "copy"), result.elements);
  EXPECT_EQ(elements(result.call.encode, "accumulate"), 0);
  EXPECT_EQ(elements(result.call.decode, "accumulate"), result.elements);
  const int64_t sum = (*result.call.pull - kHeader) / (4 + 4 * kBlock) * kBlock;
  EXPECT_EQ(elements(result.call.decode, "copy"), sum);
  EXPECT_EQ(elements(result.call.decode, "moved"), 4 * (100 * kBlock - sum));
  EXPECT_EQ(result.call.blocks, (BlockStream{.bytes = 1028, .slots = 256}));
  const auto other = MakeScheme("omnireduce:block=8,slots=3")->Open(test::MakeUnit(5), 4);
  other->Begin(StepOf(0, 1));
  EXPECT_EQ(other->NextCall()->blocks, (BlockStream{.bytes = 36, .slots = 3}));
}

// Bytes that no encoder writes change nothing.
TEST(OmniReduce, RefusesWhatNoWorkerSends) {
  constexpr int64_t kNumel = 10;  // blocks of 4, 4 and 2
  std::vector<float> gradient(kNumel);
  gradient[1] = gradient[8] = 2;
  const auto exchange = MakeScheme("omnireduce:block=4")->Open(test::MakeUnit(kNumel, 5), 2);
  const auto refuse = [&](auto change) {
    exchange->Begin(StepOf(0, 1));
    exchange->NextCall();
    Bytes bytes = exchange->Encode(0, gradient).bytes;
    EXPECT_EQ(bytes.size(), 20u + 20 + 12);
    change(bytes);
    const std::string message = MessageOf([&] { exchange->Accumulate(0, bytes); });
    std::vector<float> mean(kNumel);
    exchange->Mean(mean);
    EXPECT_EQ(mean, std::vector<float>(kNumel)) << message;
    return message;
  };
  const auto write = [](Bytes& bytes, size_t at, auto value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
  };
  EXPECT_EQ(refuse([&](Bytes& b) { write(b, 20, uint32_t{3}); }),
            "message: block after block 0: got '3'; allowed: 1 to 2");
  EXPECT_EQ(refuse([&](Bytes& b) { write(b, 20, uint32_t{0}); }),
            "message: block after block 0: got '0'; allowed: 1 to 2");
  EXPECT_NE(refuse([&](Bytes& b) { write(b, 20, uint32_t{1}); }), "") << "a longer block";
  EXPECT_EQ(refuse([&](Bytes& b) { write(b, 40, uint32_t{2}); }),
            "message: block after block 2: got '2'; allowed: 4294967295, as it is the last");
  EXPECT_EQ(refuse([&](Bytes& b) { write(b, 44, 0.0f); }), "message: block 2 has zeros only");
  EXPECT_NE(refuse([&](Bytes& b) { write(b, 48, std::nanf("")); }), "");
  EXPECT_EQ(refuse([&](Bytes& b) { write(b, 12, uint32_t{4}); }),
            "message: blocks: got '4'; allowed: 1 to 3");
  EXPECT_EQ(refuse([&](Bytes& b) { write(b, 12, uint32_t{0}); }),
            "message: blocks: got '0'; allowed: 1 to 3");
  EXPECT_NE(refuse([&](Bytes& b) { write(b, 18, uint16_t{0}); }), "") << "of codec blocks";
  EXPECT_NE(refuse([](Bytes& b) { b.resize(20 + 20); }), "");
  EXPECT_NE(refuse([](Bytes& b) { b.resize(b.size() - 1); }), "");
  EXPECT_NE(refuse([](Bytes& b) { b.push_back({}); }), "");
  EXPECT_NE(refuse([](Bytes& b) { b.clear(); }), "");
  exchange->Begin(StepOf(0, 1));
  exchange->Accumulate(0, exchange->Encode(0, gradient).bytes);  // as it was
}

TEST(OmniReduce, NamesWhatItDoesNotTake) {
  EXPECT_NE(MessageOf([] { MakeScheme("omnireduce+fp16"); }).find("no second stage"),
            std::string::npos);
  EXPECT_NE(MessageOf([] { MakeScheme("omnireduce:slots=0"); }), "");
  EXPECT_NE(MessageOf([] { MakeScheme("omnireduce:block=0"); }), "");
  const auto exchange = MakeScheme("omnireduce")->Open(test::MakeUnit(8), 1);
  EXPECT_THROW(exchange->Begin(StepOf(0, 2)), Error);
}

}  // namespace
}  // namespace legacy::omnireduce_test

// The memory of a rank against closed forms.
#include "trainer/clock/rank_memory.h"

#include <gtest/gtest.h>

#include "scenarios/options/divided_shape.h"

namespace legacy::rank_memory_test {
namespace {

// Returns the operations of one block of a shape that tensors divide.
std::vector<OperationCost> BlockOf(const std::string& name, const ParallelLayout& layout = {}) {
  std::vector<OperationCost> block;
  for (const OperationCost& cost : DivideTensors(LoadModelShape(name), layout).costs) {
    if (cost.block == 0) block.push_back(cost);
  }
  return block;
}

double BlockBytes(const std::string& name, const ComputeOptions& compute,
                  const ParallelLayout& layout = {}) {
  return BytesKeptByPass(BlockOf(name, layout), compute, layout, 1);
}

const ComputeOptions kHalf{.precision = Precision::kBf16};
constexpr double kSbh = 2048.0 * 12288;  // of GPT-3: one sample

// s b h (34 + 5 a s / h) bytes a block, without the scores where attention is fused, and 2 s b h
// with full recomputation (Korthikanti et al., MLSys 2023, section 4).
TEST(BytesKeptByPass, OfABlockOfGpt3) {
  ComputeOptions compute{.precision = Precision::kFp16, .kernels = KernelEra::k2020};
  EXPECT_EQ(BlockBytes("gpt3-175b", compute), 2'868'903'936);
  compute.recompute = Recompute::kSelective;
  EXPECT_EQ(BlockBytes("gpt3-175b", compute), 855'638'016);
  EXPECT_EQ(BlockBytes("gpt3-175b", kHalf), 855'638'016);
  compute.recompute = Recompute::kFull;
  EXPECT_EQ(BlockBytes("gpt3-175b", compute), 50'331'648);
  EXPECT_EQ(BytesKeptByPass(BlockOf("gpt3-175b"), kHalf, {}, 3), 3.0 * 855'638'016);
}

// s b h (10 + 24 / t) with tensors alone, and all of it / t with positions divided as well.
TEST(BytesKeptByPass, OfPartsOfTensors) {
  EXPECT_EQ(BlockBytes("gpt3-175b", kHalf, {.tensor = 8, .sequence = false}), kSbh * (10 + 3));
  EXPECT_EQ(BlockBytes("gpt3-175b", kHalf, {.tensor = 8}), kSbh * 34 / 8);
  ComputeOptions full = kHalf;
  full.recompute = Recompute::kFull;
  EXPECT_EQ(BlockBytes("gpt3-175b", full, {.tensor = 8}), kSbh * 2 / 8);
}

// Inputs of two norms, of q, k and v together, of attention (q, k, v), of o, of gate and up
// together, of the activation (2 f) and of down (f); no dropout.
TEST(BytesKeptByPass, OfAGatedBlock) {
  constexpr double kTokens = 8192, kWidth = 4096, kKeys = 1024, kInner = 14336;
  const double attention = kWidth + 2 * kKeys;
  EXPECT_EQ(BlockBytes("llama3-8b", kHalf),
            2 * kTokens * (2 * kWidth + kWidth + attention + kWidth + kWidth + 3 * kInner));
  // Kept are the block's input, and the results of q, v, attention, gate and down.
  ComputeOptions operations = kHalf;
  operations.recompute = Recompute::kOperations;
  EXPECT_EQ(BlockBytes("llama3-8b", operations),
            2 * kTokens * (kWidth + kWidth + kKeys + kWidth + kInner + kWidth));
}

// A model of four equal blocks, and an optimizer such as Adam.
struct Case {
  std::string sharding = "none";
  std::string parallel = "none";
  std::string order = "1f1b";
  Precision precision = Precision::kBf16;
  RecomputeRule recompute = {};
  int workers = 8;
  int64_t passes = 1;
};

std::vector<RankMemory> MemoryOf(const Case& one, const ModelShape& whole) {
  RankMemoryOptions options{.workers = one.workers, .passes = one.passes, .optimizer_floats = 2};
  options.sharding.sharding = ParseSharding(one.sharding, "s");
  options.sharding.layout = ParseParallel(one.parallel, "p");
  options.sharding.order = ParseStageOrder(one.order, "o");
  options.compute.precision = one.precision;
  options.compute.recompute = one.recompute;
  const ModelShape shape = DivideTensors(whole, options.sharding.layout);
  return MemoryOfStages(options, shape.costs, shape.layers);
}

const ModelShape& Llama() {
  static const ModelShape shape = LoadModelShape("llama3-8b:tokens=128");
  return shape;
}

double StateOf(const RankMemory& memory) {
  return memory.weights + memory.gradients + memory.optimizer;
}

// Bytes of an element by Megatron-LM's documentation of its distributed optimizer with Adam.
TEST(MemoryOfStages, HasTheStateOfEachElement) {
  const auto elements = static_cast<double>(Llama().Elements());
  const auto state = [&](const std::string& sharding, Precision precision) {
    return StateOf(MemoryOf({.sharding = sharding, .precision = precision}, Llama()).front()) /
           elements;
  };
  EXPECT_DOUBLE_EQ(state("none", Precision::kFp16), 20);
  EXPECT_DOUBLE_EQ(state("none", Precision::kBf16), 18);
  EXPECT_DOUBLE_EQ(state("none", Precision::kFp32), 16);
  EXPECT_NEAR(state("megatron", Precision::kFp16), 4 + 16.0 / 8, 1e-6);
  EXPECT_NEAR(state("megatron", Precision::kBf16), 6 + 12.0 / 8, 1e-6);
  EXPECT_NEAR(state("megatron", Precision::kFp32), 8 + 8.0 / 8, 1e-6);
}

// Masters, gradients and moments are shards; of gradients one unit, the root, is whole, and of
// weights the root, the last block, and two more blocks.
TEST(MemoryOfStages, OfFsdpHasShardsAndLiveUnits) {
  constexpr double kBlock = 218'112'000, kRoot = 1'050'677'248;
  const RankMemory memory = MemoryOf({.sharding = "fsdp"}, Llama()).front();
  const auto shard = static_cast<double>(Llama().Elements()) / 8;
  EXPECT_EQ(memory.weights, 4 * shard);
  EXPECT_EQ(memory.gradients, 4 * (shard + kRoot));
  EXPECT_EQ(memory.optimizer, 8 * shard);
  EXPECT_EQ(memory.gathered, 2 * (kRoot + 3 * kBlock));
}

// Stage r of 1f1b has min(m, p - r) microbatches in flight, and all m with GPipe. Interleaved
// chunks are 2 (p - r - 1) + (v - 1) p + 1 (Narayanan et al., SC'21).
TEST(MemoryOfStages, CountsMicrobatchesInFlight) {
  const auto in_flight = [](const std::string& order, int64_t passes, int stage) {
    Case one{.parallel = "pp=4", .order = order, .passes = passes};
    const auto of = [&](int64_t m) {
      one.passes = m;
      return MemoryOf(one, Llama())[static_cast<size_t>(stage)].activations;
    };
    const double several = of(passes);
    one.order = "1f1b";
    return several / of(1);
  };
  for (int stage = 0; stage < 4; ++stage) {
    EXPECT_DOUBLE_EQ(in_flight("1f1b", 8, stage), 4 - stage);
    EXPECT_DOUBLE_EQ(in_flight("1f1b", 2, stage), std::min(2, 4 - stage));
    EXPECT_DOUBLE_EQ(in_flight("gpipe", 8, stage), 8);
  }
  EXPECT_DOUBLE_EQ(in_flight("zb-h1", 8, 0), 4);
  EXPECT_DOUBLE_EQ(in_flight("interleaved:2", 8, 1), (2 * 2 + 4 + 1) / 2.0);
}

TEST(MemoryOfStages, RunsOneBlockAtATimeAgain) {
  const double block = BytesKeptByPass(BlockOf("llama3-8b:tokens=128"), kHalf, {}, 1);
  const double input = 2.0 * 128 * 4096;
  const Case none{.precision = Precision::kBf16};
  Case full = none;
  full.recompute = Recompute::kFull;
  const double saved =
      MemoryOf(none, Llama()).front().activations - MemoryOf(full, Llama()).front().activations;
  EXPECT_EQ(saved, 31 * (block - input));
  full.recompute = {Recompute::kFull, 2};  // every second block
  EXPECT_EQ(
      MemoryOf(none, Llama()).front().activations - MemoryOf(full, Llama()).front().activations,
      15 * (block - input));
}

TEST(MemoryOfStages, ShardsNeverTakeMoreAndNeverLessThanTheirPart) {
  constexpr double kState = 16;  // bytes of an element: masters or weights, gradients, moments
  for (const char* sharding : {"zero1", "zero2", "zero3", "fsdp", "megatron"}) {
    for (const char* parallel : {"none", "tp=4", "pp=4", "tp=8,pp=2"}) {
      const ParallelLayout layout = ParseParallel(parallel, "p");
      double before = 1e30;
      for (const int workers : {1, 2, 3, 8, 64, 1000}) {
        double sum = 0;
        const auto stages =
            MemoryOf({.sharding = sharding, .parallel = parallel, .workers = workers}, Llama());
        for (const RankMemory& memory : stages) sum += StateOf(memory) * layout.tensor * workers;
        EXPECT_GE(sum, kState * static_cast<double>(Llama().Elements()))
            << sharding << " " << parallel << " " << workers;
        // One worker has nothing of others to gather.
        const double total = LargestOf(stages).Total();
        if (workers == 1) continue;
        EXPECT_LE(total, before) << sharding << " " << parallel << " " << workers;
        before = total;
      }
    }
  }
}

// Llama-3 8B with 8192 tokens: products of 57,912,852,480 FLOPs a token, and 61,066,469,376 by the
// form 6 N + 12 L h s, as TorchTitan counts.
TEST(FlopsOf, CountsProductsAndFormulas) {
  const ModelShape shape = LoadModelShape("llama3-8b");
  const StepFlops flops = FlopsOf(shape.costs, {}, shape.Elements(), shape.tokens);
  EXPECT_EQ(flops.model / 8192, 57'912'852'480);
  EXPECT_EQ(flops.hardware, flops.model);
  EXPECT_EQ(flops.six_n / 8192, 61'066'469'376);
}

// 72 B s L h^2 (1 + s / 6h + V / 12 L h), and 96 B s L h^2 (1 + s / 6h + V / 16 L h) with full
// recomputation (Narayanan et al., SC'21, appendix).
TEST(FlopsOf, AgreesWithMegatronsForms) {
  const ModelShape shape = LoadModelShape("gpt3-175b");
  const double s = 2048, layers = 96, h = 12288, words = 50257;
  const StepFlops flops = FlopsOf(shape.costs, Recompute::kFull, shape.Elements(), shape.tokens);
  const double model = 72 * s * layers * h * h * (1 + s / (6 * h) + words / (12 * layers * h));
  const double hardware = 96 * s * layers * h * h * (1 + s / (6 * h) + words / (16 * layers * h));
  EXPECT_NEAR(flops.model / model, 1, 1e-12);
  EXPECT_NEAR(flops.hardware / hardware, 1, 1e-12);
}

}  // namespace
}  // namespace legacy::rank_memory_test

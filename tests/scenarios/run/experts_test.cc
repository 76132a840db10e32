// Steps of models whose positions or experts are divided among ranks.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "base/error.h"
#include "scenarios/options/divided_shape.h"
#include "scenarios/run/one_step.h"
#include "tests/message_of.h"

namespace legacy::experts_test {
namespace {

// Mixtral 8x7B.
constexpr double kTokens = 4096, kWidth = 4096, kBlocks = 32, kInner = 14336, kExperts = 8,
                 kUsed = 2;
constexpr double kOfExperts = kBlocks * kExperts * 3 * kWidth * kInner;  // elements
constexpr double kAll = 46'702'792'704;
constexpr double kBf16 = 2, kFp32 = 4;
constexpr double kRate = 400e9 / 8;  // bytes a second of a worker

Scenario Divided(const std::string& parallel, int workers, const std::string& shape) {
  Scenario scenario;
  scenario.layers = shape;
  scenario.workers = workers;
  scenario.topology = "star";
  scenario.placement = "packed";
  scenario.bandwidth = "400Gbps";
  scenario.delay = "0ns";
  scenario.mtu = 65535;  // headers are a thousandth
  scenario.batch = 1;
  scenario.steps = 1;
  scenario.stragglers = "none";
  scenario.policies = {"dense"};
  scenario.precision = "bf16";
  scenario.device_profile = "h100-sxm";
  scenario.fidelity = "analytic";
  SetOption(scenario, "clock.parallel", parallel);
  return scenario;
}

analysis::StepRow StepOf(const std::string& parallel, int workers, const std::string& shape,
                         std::initializer_list<std::pair<const char*, const char*>> options = {}) {
  Scenario scenario = Divided(parallel, workers, shape);
  for (const auto& [key, value] : options) SetOption(scenario, key, value);
  ValidateScenario(scenario);
  return TimeOneStep(scenario);
}

// Of a ring of `ranks` ranks.
double Ring(double ranks) { return (ranks - 1) / ranks; }

TEST(ContextParallelism, DividesPositions) {
  const ModelShape whole = LoadModelShape("llama3-8b:tokens=8192");
  const ModelShape part = DivideContext(whole, {.context = 4});
  EXPECT_EQ(part.Elements(), whole.Elements());
  EXPECT_DOUBLE_EQ(part.MultiplyAdds(), whole.MultiplyAdds() / 4);
  // Products have the sizes of a sample of a fourth of the tokens, but for attention, which has as
  // many of them as there are parts.
  const ModelShape small = LoadModelShape("llama3-8b:tokens=2048");
  for (size_t i = 0; i < part.costs.size(); ++i) {
    const OperationCost &cost = part.costs[i], &like = small.costs[i];
    const double times = cost.kind == "attention" ? 4 : 1;
    EXPECT_DOUBLE_EQ(cost.forward_flops, times * like.forward_flops) << i;
    EXPECT_DOUBLE_EQ(cost.forward_bytes, times * like.forward_bytes) << i;
    for (size_t p = 0; p < cost.products.size(); ++p) {
      EXPECT_EQ(cost.products[p].rows, like.products[p].rows) << i;
      EXPECT_EQ(cost.products[p].columns, like.products[p].columns) << i;
      EXPECT_EQ(cost.products[p].count, times * like.products[p].count) << i;
    }
  }
}

// Each rank of a context sends keys and values (c - 1) times forward, twice as often backward, once
// more with recomputation, and waits for them. All ranks reduce gradients together.
TEST(ContextParallelism, PassesKeysAndValuesOn) {
  constexpr double kContext = 4, kKeys = 1024, kLlamaBlocks = 32;
  const double block = (kContext - 1) * 2 * (8192 / kContext) * kKeys * kBf16;
  const double reduced = 2 * Ring(8) * kFp32 * 8'030'261'248.0;
  for (const auto& [recompute, times] : {std::pair{"none", 3.0}, {"full", 4.0}}) {
    const analysis::StepRow row =
        StepOf("cp=4", 8, "llama3-8b:tokens=8192",
               {{"clock.recompute", recompute}, {"clock.collectives", "alone"}});
    const double keys = kLlamaBlocks * times * block;
    EXPECT_NEAR(row.nic_bytes, keys + reduced, 1e-4 * reduced);
    EXPECT_NEAR(*row.context_seconds, keys / kRate, 0.01 * keys / kRate);
    EXPECT_NEAR(row.step_seconds, row.compute_seconds + row.communication_seconds, 1e-6);
    EXPECT_EQ(*row.expert_seconds, 0);
  }
  // Ranks of a tensor have a part of the heads each.
  const analysis::StepRow row =
      StepOf("tp=2,cp=4", 8, "llama3-8b:tokens=8192", {{"clock.collectives", "alone"}});
  EXPECT_NEAR(*row.context_seconds, kLlamaBlocks * 3 * block / 2 / kRate,
              0.02 * kLlamaBlocks * 3 * block / 2 / kRate);
}

TEST(Experts, AreThoseOfMixtral) {
  const ModelShape shape = LoadModelShape("mixtral-8x7b");
  double of_experts = 0, active = static_cast<double>(shape.Elements()), block = 0;
  for (const OperationCost& cost : shape.costs) {
    for (const int layer : cost.parameters) {
      const auto numel = static_cast<double>(shape.layers[layer].numel);
      if (cost.block == 0) block += numel;
      if (cost.experts == 0) continue;
      of_experts += numel;
      active -= numel * (1 - static_cast<double>(cost.used) / cost.experts);
    }
  }
  EXPECT_EQ(of_experts, kOfExperts);
  EXPECT_EQ(static_cast<double>(shape.Elements()), kAll);
  EXPECT_EQ(active, 12'879'925'248);
  EXPECT_EQ(block, 1'451'270'144);
}

TEST(Experts, AreDividedAmongRanks) {
  const ModelShape whole = LoadModelShape("mixtral-8x7b");
  const ModelShape part = DivideExperts(whole, {.expert = 4}, {}, 1);
  EXPECT_EQ(static_cast<double>(part.Elements()), kAll - kOfExperts * 3 / 4);
  EXPECT_DOUBLE_EQ(part.MultiplyAdds(), whole.MultiplyAdds());
  for (const OperationCost& cost : part.costs) {
    if (cost.experts == 0) continue;
    for (const MatrixProduct& product : cost.products) {
      EXPECT_EQ(product.rows, 4 * kTokens * kUsed / kExperts);
      EXPECT_EQ(product.count, 2);
    }
  }
}

// Without expert parallelism every rank has all experts.
TEST(Experts, AreTimedInDataParallelism) {
  const analysis::StepRow row = StepOf("none", 8, "mixtral-8x7b");
  EXPECT_NEAR(row.nic_bytes, 2 * Ring(8) * kFp32 * kAll, 1e-4 * kFp32 * kAll);
  EXPECT_FALSE(row.expert_seconds.has_value());
  const analysis::StepRow full =
      StepOf("none", 8, "mixtral-8x7b", {{"clock.experts", "capacity:2"}});
  EXPECT_GT(full.compute_seconds, 1.3 * row.compute_seconds);
  const analysis::StepRow uneven = StepOf("none", 8, "mixtral-8x7b", {{"clock.experts", "zipf:1"}});
  EXPECT_EQ(uneven.compute_seconds, row.compute_seconds);
}

// Two all-to-alls forward, two backward, and two more with recomputation, of k h numbers a token.
// Each rank of eight reduces the gradients that it has in common with others.
TEST(ExpertParallelism, SendsTokensToExpertsAndBack) {
  const double all_to_all = Ring(8) * kTokens * kUsed * kWidth * kBf16;
  for (const auto& [workers, recompute, times] :
       {std::tuple{8, "none", 4.0}, {8, "full", 6.0}, {16, "none", 4.0}}) {
    const analysis::StepRow row =
        StepOf("ep=8", workers, "mixtral-8x7b",
               {{"clock.recompute", recompute}, {"clock.collectives", "alone"}});
    const double tokens = kBlocks * times * all_to_all;
    const double gradients =
        2 * kFp32 * (Ring(workers) * (kAll - kOfExperts) + Ring(workers / 8.0) * kOfExperts / 8);
    EXPECT_NEAR(row.nic_bytes, tokens + gradients, 1e-4 * gradients);
    EXPECT_NEAR(*row.expert_seconds, tokens / kRate, 0.01 * tokens / kRate);
    EXPECT_NEAR(row.step_seconds, row.compute_seconds + row.communication_seconds, 1e-6);
  }
}

// With FSDP the experts of a block are a unit of their own, in larger shards of fewer ranks.
// Weights are gathered before the forward and the backward pass, but for those of the root and the
// last block.
TEST(ExpertParallelism, ShardsExpertsAmongFewerRanks) {
  const analysis::StepRow row = StepOf("ep=4", 16, "mixtral-8x7b", {{"clock.sharding", "fsdp"}});
  const double all_to_all = Ring(4) * kTokens * kUsed * kWidth * kBf16;
  // Elements of a block, without experts and of a rank's experts; all sizes divide.
  const double experts = kOfExperts / kBlocks / 4;
  const double block = 1'451'270'144 - kOfExperts / kBlocks;
  const double dense = kAll - kOfExperts;
  const double gathers = Ring(16) * (2 * dense - (dense - kBlocks * block) - block) +
                         Ring(4) * (2 * kBlocks - 1) * experts;
  const double reduced = Ring(16) * dense + Ring(4) * kBlocks * experts;
  const double bytes = kBlocks * 4 * all_to_all + kBf16 * gathers + kFp32 * reduced;
  EXPECT_NEAR(row.nic_bytes, bytes, 1e-4 * bytes);
}

// Returns the bytes that a rank sends in dense reductions among `workers` ranks, and of experts
// among those that have the same ones.
double Reduced(double workers, double ranks, double others, double experts) {
  return kFp32 * (Ring(workers) * others + Ring(workers / ranks) * experts / ranks);
}

// Messages go to the owners in a tensor's own group: of experts those who have the same ones. They
// are the same part of dense sums in every group.
TEST(ExpertParallelism, MessagesGoToTheOwnersOfEachExpert) {
  for (const char* sharding : {"megatron", "zero2", "hsdp:8"}) {
    const double shards = sharding[0] == 'h' ? 8 : 16;
    std::map<int, double> parts;  // of the dense sums, by ranks that divide experts
    for (const int ranks : {1, 2, 4}) {
      const auto bytes = [&](const char* method) {
        return StepOf("ep=" + std::to_string(ranks), 16, "mixtral-8x7b",
                      {{"clock.sharding", sharding}, {"compression.policies", method}})
            .nic_bytes;
      };
      const double dense = Reduced(shards, ranks, kAll - kOfExperts, kOfExperts);
      parts[ranks] = 1 - (bytes("dense") - bytes("topk")) / dense;
    }
    EXPECT_NEAR(parts[1], 0.018, 0.001) << sharding << ": 1 %, with short positions";
    EXPECT_NEAR(parts[2], parts[1], 0.001) << sharding;
    EXPECT_NEAR(parts[4], parts[1], 0.001) << sharding;
  }
}

// Lengths that depend on the data, and messages that cross nodes once.
TEST(ExpertParallelism, TakesMessagesOfAnyLengths) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("little-" + std::to_string(getpid()) + ".yaml"))
          .string();
  std::ofstream(path) << "name: little\ntokens: 64\noperations:\n"
                         "  - {kind: elementwise, bytes: 8, parameters: {wte.weight: 1000x256}}\n"
                         "  - blocks: 2\n    prefix: 'h.'\n    operations:\n"
                         "      - {kind: linear, parameters: {mix.weight: 256x256}}\n"
                         "      - {kind: linear, experts: 8, used: 2, parameters: {up.weight: "
                         "4096x256}}\n";
  const double others = 1000 * 256 + 2 * 256 * 256, experts = 2.0 * 4096 * 256;
  const auto bytes = [&](int ranks, const char* method) {
    return StepOf("ep=" + std::to_string(ranks), 16, path,
                  {{"network.topology", "nodes:nodes=4,gpus=4,node.rate=400Gbps"},
                   {"clock.sharding", "zero2"},
                   {"compression.policies", method}})
        .nic_bytes;
  };
  const auto part = [&](int ranks, const char* method) {
    const double dense = Reduced(16, ranks, others, experts);
    return 1 - (bytes(ranks, "dense") - bytes(ranks, method)) / dense;
  };
  const double whole = part(1, "dgc");
  EXPECT_GT(whole, 0.003);
  for (const int ranks : {2, 4}) EXPECT_NEAR(part(ranks, "dgc"), whole, 0.2 * whole);
  // Of four workers in each of four nodes two have the same experts with ep=2: messages of 4 bits
  // inside, and across. With ep=4 there is nothing to sum inside.
  for (const int ranks : {1, 2, 4}) {
    EXPECT_GT(part(ranks, "loco"), 0.1) << ranks;
    EXPECT_LT(part(ranks, "loco"), 0.2) << ranks;
  }
  std::filesystem::remove(path);
}

TEST(ExpertParallelism, BuffersAndSharesChangeWhatTravels) {
  const auto step = [](const char* load) {
    return StepOf("ep=4", 4, "mixtral-8x7b",
                  {{"clock.experts", load}, {"clock.collectives", "alone"}});
  };
  const analysis::StepRow even = step("balanced"), full = step("capacity:1.5"),
                          half = step("capacity:0.5"), uneven = step("zipf:1");
  const double tokens = kBlocks * 4 * kTokens * kUsed * kWidth * kBf16;
  EXPECT_NEAR(full.nic_bytes - even.nic_bytes, 0.5 * Ring(4) * tokens, 1e-3 * tokens);
  EXPECT_NEAR(half.nic_bytes - even.nic_bytes, -0.5 * Ring(4) * tokens, 1e-3 * tokens);
  EXPECT_LT(half.compute_seconds, even.compute_seconds);
  // Every rank sends what is not its own, of all ranks together as before.
  EXPECT_NEAR(uneven.nic_bytes, even.nic_bytes, 1e-3 * tokens);
  EXPECT_GT(uneven.compute_seconds, even.compute_seconds);
  // The rank that has experts 1 and 2 gets (1 + 1/2) / H(8) of all tokens, but one expert at most
  // half of them, and sends as many back: it bounds each all-to-all.
  double sum = 0;
  for (int i = 1; i <= 8; ++i) sum += 1.0 / i;
  const double first = 1.5 / sum;
  const double longest = 3 * first * tokens / kRate;
  EXPECT_NEAR(*uneven.expert_seconds, longest, 0.02 * longest);
  EXPECT_EQ(step("zipf:0").step_seconds, even.step_seconds);
}

TEST(ExpertParallelism, TakesCountsOfAFile) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("experts-" + std::to_string(getpid()) + ".txt"))
          .string();
  const auto step = [&](const std::string& text) {
    std::ofstream(path) << text;
    return StepOf("ep=2", 2, "mixtral-8x7b", {{"clock.experts", path.c_str()}});
  };
  const auto complaint = [&](const std::string& text) { return MessageOf([&] { step(text); }); };
  const analysis::StepRow even = StepOf("ep=2", 2, "mixtral-8x7b");
  EXPECT_EQ(step("7 7 7 7 7 7 7 7\n").step_seconds, even.step_seconds);
  // Each rank's tokens stay where they are: nothing travels.
  const double tokens = kBlocks * 4 * kTokens * kUsed * kWidth * kBf16;
  const analysis::StepRow own = step("1,1,1,1,0,0,0,0\n0,0,0,0,1,1,1,1\n");
  EXPECT_NEAR(even.nic_bytes - own.nic_bytes, Ring(2) * tokens, 1e-3 * tokens);
  EXPECT_EQ(*own.expert_seconds, 0);
  EXPECT_EQ(own.compute_seconds, even.compute_seconds);
  EXPECT_NE(complaint("1 2 3\n").find("with 3 counts'; allowed: one for each of the 8 experts"),
            std::string::npos);
  EXPECT_NE(complaint("1 2 3 4 5 6 7 8\n1 2 3\n").find(":2: got '3 counts'; allowed: 8"),
            std::string::npos);
  const std::string row = "1 2 3 4 5 6 7 8\n";
  EXPECT_NE(
      complaint(row + row + row).find("with 3 lines'; allowed: one, or one for each of the 2"),
      std::string::npos);
  EXPECT_NE(complaint("0 0 0 0 0 0 0 0\n").find(":1: got '0 tokens'"), std::string::npos);
  EXPECT_NE(complaint("1 2 3 -4 5 6 7 8\n").find(":1"), std::string::npos);
  EXPECT_NE(complaint("").find("has no counts"), std::string::npos);
  std::filesystem::remove(path);
}

// Everything at once, at flow fidelity, with all flows together or each collective by itself.
TEST(ExpertParallelism, IsTimedTogetherOrAlone) {
  const auto step = [](const char* collectives) {
    return StepOf("tp=2,cp=2,ep=4,pp=2", 16, "mixtral-8x7b:tokens=512",
                  {{"network.fidelity", "flow"},
                   {"training.accumulate", "2"},
                   {"clock.units", "model"},  // gradients travel when all else has
                   {"clock.collectives", collectives}});
  };
  const analysis::StepRow together = step("together"), alone = step("alone");
  EXPECT_NEAR(together.step_seconds, alone.step_seconds, 0.01 * alone.step_seconds);
  EXPECT_EQ(together.nic_bytes, alone.nic_bytes);
  for (const analysis::StepRow& row : {together, alone}) {
    EXPECT_GT(*row.context_seconds, 0);
    EXPECT_GT(*row.expert_seconds, 0);
    EXPECT_GT(*row.tensor_seconds, 0);
  }
}

TEST(ExpertParallelism, RefusesWhatCannotBeDivided) {
  const auto complaint = [](const std::string& parallel, const std::string& key,
                            const std::string& value) {
    return MessageOf([&] {
      Scenario scenario = Divided(parallel, 16, "mixtral-8x7b");
      SetOption(scenario, key, value);
      ValidateScenario(scenario);
      TimeOneStep(scenario);
    });
  };
  EXPECT_EQ(complaint("ep=16", "training.batch", "1"),
            "clock.parallel: got 'ep=16'; allowed: a divisor of the 8 experts of mixtral-8x7b");
  EXPECT_EQ(complaint("ep=8", "training.workers", "12"),
            "clock.parallel: got 'ep=8'; allowed: a divisor of the 12 ranks that tp and pp leave");
  EXPECT_EQ(complaint("tp=4,cp=8", "training.batch", "1"),
            "clock.parallel: got 'cp=8'; allowed: a divisor of the 4 ranks that tp and pp leave");
  EXPECT_EQ(complaint("cp=16", "training.layers", "llama3-8b:tokens=8200"),
            "clock.parallel: got 'cp=16'; allowed: a divisor of the 8200 tokens of a sample of "
            "llama3-8b");
  EXPECT_EQ(complaint("cp=2", "training.layers", "resnet50"),
            "clock.parallel: got 'cp=2'; allowed: cp=1: samples of resnet50 have no tokens");
  EXPECT_NE(complaint("ep=2", "training.layers", "llama3-8b").find("has no experts"),
            std::string::npos);
  EXPECT_NE(complaint("none", "clock.experts", "sometimes").find("balanced, capacity:F, zipf:A"),
            std::string::npos);
  EXPECT_NE(complaint("none", "clock.experts", "capacity:0").find("clock.experts"),
            std::string::npos);
  const auto sharded = [&](const char* sharding, const char* key, const char* value) {
    return MessageOf([&] {
      StepOf("ep=8", 16, "mixtral-8x7b", {{"clock.sharding", sharding}, {key, value}});
    });
  };
  EXPECT_NE(sharded("hsdp:4", "clock.units", "auto").find("a multiple of the ranks that divide"),
            std::string::npos);
  EXPECT_NE(sharded("fsdp", "clock.units", "model").find("gathers experts apart"),
            std::string::npos);
  EXPECT_NE(sharded("fsdp", "compression.policies", "zeropp").find("experts have fewer owners"),
            std::string::npos);
  EXPECT_NE(sharded("none", "compression.policies", "topk").find("with sharding messages to the"),
            std::string::npos);
}

}  // namespace
}  // namespace legacy::experts_test

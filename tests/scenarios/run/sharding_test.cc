// Sharded steps: their bytes by a second implementation, what is learnt in them, and replays.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "analysis/run_directory.h"
#include "base/error.h"
#include "base/files/whole_file.h"
#include "compress/schemes/owners/owned_slices.h"
#include "scenarios/options/model_shape.h"
#include "scenarios/replay/replay.h"
#include "scenarios/run/one_step.h"
#include "scenarios/run/workers/comparison.h"
#include "tests/message_of.h"

namespace legacy::sharding_test {
namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t never = 0;

Scenario ShapeOn(const std::string& shape, int workers, const std::string& sharding) {
  Scenario scenario;
  scenario.layers = shape;
  scenario.workers = workers;
  scenario.topology = "star";
  scenario.placement = "packed";
  scenario.bandwidth = "400Gbps";
  scenario.batch = 1;
  scenario.steps = 1;
  scenario.stragglers = "none";
  scenario.policies = {"dense"};
  scenario.precision = "bf16";
  scenario.device_profile = "h100-sxm";
  scenario.fidelity = "analytic";
  SetOption(scenario, "clock.sharding", sharding);
  return scenario;
}

// Counted has the elements that the collectives of a step carry.
struct Counted {
  double gathered = 0;  // elements, with padding
  double reduced = 0;
  double copies = 0;  // all-reduced over copies
};

// Counts elements of a step by themselves: tensors of one block are a unit, all others the root's.
// Returns what all workers of a copy send together in gathers and reductions.
double NicBytes(const ModelShape& shape, const std::string& kind, int shards, int copies,
                bool keeps_last) {
  Counted all;
  std::map<int, int> block_of;
  int last = -1;
  for (const OperationCost& cost : shape.costs) {
    for (const int layer : cost.parameters) block_of[layer] = cost.block;
    last = std::max(last, cost.block);
  }
  for (size_t l = 0; l < shape.layers.size(); ++l) {
    const Unit& tensor = shape.layers[l];
    const bool by_rows = kind == "fsdp2";
    const int64_t rows = by_rows ? tensor.shape.at(0) : tensor.numel;
    const int64_t columns = tensor.numel / rows;
    const auto shard = static_cast<double>((rows + shards - 1) / shards * columns);
    const int block = block_of.at(static_cast<int>(l));
    const bool once =
        kind == "zero1" || (kind == "fsdp2" && (block < 0 || (block == last && keeps_last)));
    all.gathered += (once ? 1 : 2) * shard;
    all.reduced += shard;
    all.copies += copies > 1 ? shard : 0;
  }
  // bf16 weights, fp32 gradients.
  return (shards - 1) * (2 * all.gathered + 4 * all.reduced) +
         2.0 * (copies - 1) / copies * 4 * all.copies;
}

TEST(Sharding, SendsTheBytesOfASecondCount) {
  const ModelShape llama = LoadModelShape("llama3-8b");
  EXPECT_EQ(NicBytes(llama, "fsdp2", 64, 1, true) * 64 / 63, 61'704'511'488.0)
      << "a rank's bytes in the documentation";
  for (const int workers : {8, 64}) {
    const auto nic = [&](const std::string& sharding) {
      return TimeOneStep(ShapeOn("llama3-8b", workers, sharding)).nic_bytes;
    };
    EXPECT_EQ(nic("fsdp"), NicBytes(llama, "fsdp2", workers, 1, true));
    EXPECT_EQ(nic("zero3"), NicBytes(llama, "zero3", workers, 1, false));
    EXPECT_EQ(nic("zero1"), NicBytes(llama, "zero1", workers, 1, false));
    EXPECT_EQ(nic("zero2"), nic("zero1"));
    EXPECT_EQ(nic("megatron"), nic("zero1"));
    EXPECT_EQ(nic("hsdp:4"), NicBytes(llama, "fsdp2", 4, workers / 4, true));
  }
  // 50,257 words are 786 rows a worker among 64.
  const ModelShape gpt = LoadModelShape("gpt2-xl");
  EXPECT_EQ(TimeOneStep(ShapeOn("gpt2-xl", 64, "fsdp")).nic_bytes,
            NicBytes(gpt, "fsdp2", 64, 1, true));
}

// A share of the optimizer's work, and none of the network: the step of free links.
TEST(Sharding, OnFreeLinksAStepIsItsComputing) {
  const auto step = [](const std::string& sharding) {
    Scenario scenario = ShapeOn("gpt2-xl", 8, sharding);
    scenario.bandwidth = "900000Gbps";
    scenario.delay = "0ns";
    return TimeOneStep(scenario);
  };
  const analysis::StepRow plain = step("none"), zero = step("zero1"), fsdp = step("fsdp");
  EXPECT_LT(zero.compute_seconds, plain.compute_seconds) << "an eighth of the update";
  EXPECT_GT(fsdp.compute_seconds, zero.compute_seconds) << "copies into and out of buffers";
  for (const analysis::StepRow& row : {zero, fsdp}) {
    EXPECT_NEAR(row.step_seconds, row.compute_seconds, 0.01 * row.step_seconds);
  }
}

TEST(Sharding, CopiesInsideNodesSpareTheBackwardPassTheNetwork) {
  const auto step = [](const std::string& sharding, const std::string& reshard) {
    Scenario scenario = ShapeOn("gpt2-xl", 16, sharding);
    scenario.topology = "nodes:nodes=2,gpus=8,node.rate=2400Gbps,network.rate=50Gbps";
    scenario.group = 8;
    SetOption(scenario, "clock.reshard", reshard);
    return TimeOneStep(scenario);
  };
  const analysis::StepRow on = step("zero3", "on"), node = step("zero3", "node");
  EXPECT_NEAR(node.nic_bytes / on.nic_bytes, 1 - (1.0 / 4) * (1 - (7.0 / 8) / (15.0 / 16)), 1e-9)
      << "a quarter of the bytes are gathered among 8 in the place of 16";
  EXPECT_LT(node.step_seconds, on.step_seconds);
  EXPECT_LT(step("fsdp", "off").nic_bytes, step("fsdp", "on").nic_bytes);
  EXPECT_LT(step("hsdp:8", "on").step_seconds, step("fsdp", "on").step_seconds)
      << "weights do not leave the node";
}

TEST(Sharding, TimedTogetherOrAloneAStepTakesTheSameTime) {
  Scenario scenario = ShapeOn("gpt2-small", 8, "fsdp");
  scenario.connections = "cold";
  scenario.collective_times = "together";
  const analysis::StepRow together = TimeOneStep(scenario);
  scenario.collective_times = "alone";
  const analysis::StepRow alone = TimeOneStep(scenario);
  EXPECT_NEAR(alone.step_seconds / together.step_seconds, 1, 0.002);
  EXPECT_EQ(alone.nic_bytes, together.nic_bytes);
}

// Groups of workers with one place in their nodes share the links of the nodes.
TEST(Sharding, TimedAloneGroupsShareLinks) {
  Scenario scenario = ShapeOn("gpt2-small", 8, "hsdp:4");
  scenario.topology = "nodes:nodes=2,gpus=4,node.rate=2400Gbps,network.rate=10Gbps";
  scenario.connections = "cold";
  scenario.fidelity = "flow";
  scenario.collective_times = "together";
  const analysis::StepRow together = TimeOneStep(scenario);
  scenario.collective_times = "alone";
  EXPECT_NEAR(TimeOneStep(scenario).step_seconds / together.step_seconds, 1, 0.02);
  // A fourth of the gradient crosses nodes for each of four workers: 124 M values of 4 bytes.
  EXPECT_GT(together.step_seconds, 0.39);
}

// One training, timed under several shardings: what is learnt is the same to the bit, and a replay
// gives the files of the run.
TEST(Sharding, ChangesTimesAndNothingElse) {
  const fs::path folder = fs::path(::testing::TempDir()) / ("sharding-" + std::to_string(getpid()));
  fs::remove_all(folder);
  Scenario scenario;
  for (const auto& [key, value] : std::map<std::string, std::string>{
           {"training.workers", "4"},
           {"training.batch", "4"},
           {"training.steps", "4"},
           {"training.evaluate_every", "2"},
           {"training.warmup_steps", "1"},
           {"training.train_limit", "200"},
           {"training.test_limit", "40"},
           {"training.accumulate", "2"},
           {"training.optimizer", "adam"},
           {"training.clip_mean", "1"},
           {"compression.policies", "dense,fp16"},
           {"run.pictures", "off"},
           {"run.record", "on"},
           {"network.fidelity", "flow"},
           {"network.topology", "star"},
           {"network.further",
            "z1:sharding=zero1;z2:sharding=zero2;z3:sharding=zero3;"
            "f:sharding=fsdp,units=100kB;h:sharding=hsdp:2;m:sharding=megatron"},
       }) {
    SetOption(scenario, key, value);
  }
  scenario.out = (folder / "run").string();
  RunComparison(scenario, "legacy-scenario", "test", never);
  const analysis::RunDirectory plain = analysis::ReadRunDirectory(folder / "run");
  std::map<std::string, double> step;
  for (const char* name : {"z1", "z2", "z3", "f", "h", "m"}) {
    const analysis::RunDirectory run = analysis::ReadRunDirectory(folder / "run/networks" / name);
    ASSERT_EQ(run.steps.size(), plain.steps.size()) << name;
    for (size_t i = 0; i < run.steps.size(); ++i) {
      EXPECT_EQ(run.steps[i].training_loss, plain.steps[i].training_loss) << name;
      EXPECT_NE(run.steps[i].step_seconds, plain.steps[i].step_seconds) << name;
      const analysis::StepRow& s = run.steps[i];
      EXPECT_NEAR(s.compute_seconds + s.encode_seconds + s.communication_seconds +
                      s.decode_seconds + s.wait_seconds,
                  s.step_seconds, 1e-12)
          << name;
      EXPECT_NEAR(*s.gather_seconds + *s.reduce_seconds + *s.replica_seconds,
                  s.communication_seconds, 1e-8)
          << name;
      EXPECT_EQ(*s.replica_seconds > 0, name == std::string("h")) << name;
      EXPECT_FALSE(plain.steps[i].gather_seconds);
    }
    ASSERT_EQ(run.evaluations.size(), plain.evaluations.size());
    for (size_t i = 0; i < run.evaluations.size(); ++i) {
      EXPECT_EQ(run.evaluations[i].metrics, plain.evaluations[i].metrics) << name;
    }
    step[name] = run.steps.back().nic_bytes;
  }
  EXPECT_GT(step["z2"], step["z1"]) << "gradients of each pass are reduced";
  EXPECT_GT(step["z3"], step["z2"]) << "and weights gathered twice in each";
  const Recording recording = ReadRecording((folder / "run").string());
  Scenario replayed = ReplayDefaults(recording);
  SetOption(replayed, "clock.sharding", "fsdp");
  SetOption(replayed, "clock.units", "100kB");
  replayed.out = (folder / "replay").string();
  Replay(recording, replayed, "legacy-replay", "test", never);
  EXPECT_EQ(ReadWholeFile(folder / "replay/steps.csv"),
            ReadWholeFile(folder / "run/networks/f/steps.csv"));
  fs::remove_all(folder);
}

// Workers of a copy send each other their messages, and keep what they own.
TEST(Sharding, SendsEachOwnerItsPartOfMessages) {
  const ModelShape gpt = LoadModelShape("gpt2-small");
  const auto nic = [](const std::string& sharding, const std::string& policy) {
    Scenario scenario = ShapeOn("gpt2-small", 8, sharding);
    scenario.policies = {policy};
    return TimeOneStep(scenario).nic_bytes;
  };
  const auto counted = [&](const std::string& scheme, double parameter, int owners, bool rows) {
    double sum = 0;
    for (const Unit& layer : gpt.layers) {
      for (const Unit& slice : CutUnit(layer, {owners, rows})) {
        sum += static_cast<double>(*MakeScheme(scheme)->MessageBytes(slice, parameter));
      }
    }
    return sum * (owners - 1) / owners;
  };
  for (const bool rows : {true, false}) {
    const std::string sharding = rows ? "fsdp" : "zero3";
    // Dense sums have 4 bytes a value and no headers; their padding is that of gathers.
    const auto gathers = [&](int owners) {
      return nic(sharding, "dense") - [&] {
        double padded = 0;
        for (const Unit& layer : gpt.layers) {
          padded += static_cast<double>(CutUnit(layer, {owners, rows}).front().numel);
        }
        return 4 * padded * (owners - 1);
      }();
    };
    EXPECT_NEAR(nic(sharding, "topk@1%"), gathers(8) + counted("topk", 0.01, 8, rows), 1) << rows;
    EXPECT_NEAR(nic(sharding, "qsgd@4"), gathers(8) + counted("qsgd", 4, 8, rows), 1) << rows;
    // Each slice leaves every worker but its owner once in a ring, too.
    const double hops = gathers(8) + counted("mx", 0, 8, rows);
    EXPECT_NEAR(nic(sharding, "mx:reduction=ring"), hops, 1) << rows;
    // Halves are one message with one header.
    const double halves = nic(sharding, "mx:reduction=butterfly");
    EXPECT_LT(halves, hops);
    EXPECT_GE(halves, hops - 4.0 * 20 * static_cast<double>(gpt.layers.size()));
  }
  // Sums over two copies are dense, of a fourth of the model each.
  double shard = 0;
  for (const Unit& layer : gpt.layers) {
    shard += static_cast<double>(CutUnit(layer, {4, true}).front().numel);
  }
  EXPECT_NEAR(nic("hsdp:4", "topk@1%") - nic("hsdp:4", "dense"),
              counted("topk", 0.01, 4, true) - 4 * 3 * shard, 1);
  // A fourth of the embeddings is longer than 8 MiB, and travels in two messages with headers.
  EXPECT_NEAR(nic("hsdp:4", "mx:reduction=ring") - nic("hsdp:4", "dense"),
              counted("mx", 0, 4, true) + 3 * 20 - 4 * 3 * shard, 1);
}

// On free links a sum by hops takes what workers compute between its messages, which other methods
// do not wait for.
TEST(Sharding, HopsComputeBetweenMessages) {
  const auto step = [](const std::string& policy, const std::string& times) {
    Scenario scenario = ShapeOn("gpt2-small", 8, "fsdp");
    scenario.policies = {policy};
    scenario.bandwidth = "900000Gbps";
    scenario.delay = "0ns";
    scenario.fidelity = "flow";
    scenario.connections = "cold";
    SetOption(scenario, "clock.collectives", times);
    return TimeOneStep(scenario);
  };
  const auto busy = [](const analysis::StepRow& row) {
    return *row.reduce_seconds + row.hidden_seconds.value_or(0);
  };
  const analysis::StepRow ring = step("mx:reduction=ring", "together");
  const analysis::StepRow halving = step("mx:reduction=butterfly", "together");
  const analysis::StepRow direct = step("mx", "together");
  EXPECT_GT(busy(ring), 3 * busy(direct));
  EXPECT_GT(busy(halving), 2 * busy(direct));
  // Six hops of an eighth of the values, or hops of a half and a quarter of them: equal, but for
  // what each launch takes.
  EXPECT_NEAR(busy(halving) / busy(ring), 1, 0.2);
  EXPECT_LT(ring.encode_seconds, 0.5 * direct.encode_seconds) << "an eighth of the values";
  EXPECT_LT(ring.decode_seconds, 0.5 * direct.decode_seconds) << "one message of eight";
  EXPECT_NEAR(step("mx:reduction=ring", "alone").step_seconds / ring.step_seconds, 1, 0.002);
}

// ZeRO++, SDP4Bit and LoCo by name have the nodes of the network.
TEST(Sharding, BuiltInMethodsHaveTheNodesOfTheNetwork) {
  Scenario scenario = ShapeOn("gpt2-small", 16, "zero1");
  const auto scheme = [&](const char* name) { return FindMethod(scenario, name).scheme; };
  EXPECT_EQ(scheme("loco"), "int:bucket=2048,memory=loco,node=16") << "all on one switch";
  scenario.topology = "nodes:nodes=4,gpus=4,node.rate=2400Gbps,network.rate=100Gbps";
  EXPECT_EQ(scheme("loco"), "int:bucket=2048,memory=loco,node=4");
  SetOption(scenario, "clock.parallel", "tp=2");
  EXPECT_EQ(scheme("loco"), "int:bucket=2048,memory=loco,node=2") << "two workers a model";
  SetOption(scenario, "clock.parallel", "tp=1");
  scenario.group = 8;
  EXPECT_EQ(scheme("loco"), "int:bucket=2048,memory=loco,node=8");
  scenario.group = 4;
  // By a second count: slices of rows or values in both exchanges, and one gather of weights.
  const auto nic = [&](const char* policy) {
    scenario.policies = {policy};
    return TimeOneStep(scenario).nic_bytes;
  };
  const ModelShape gpt = LoadModelShape("gpt2-small");
  double dense = 0, weights = 0, inner = 0, outer = 0;  // bytes of all slices
  for (const Unit& layer : gpt.layers) {
    const std::vector<Unit> slices = CutUnit(layer, {.owners = 16, .by_rows = false});
    dense += 16.0 * static_cast<double>(slices.front().numel);
    for (const Unit& slice : slices) {
      const auto bytes = [&](const char* text, double bits) {
        return static_cast<double>(*MakeScheme(text)->MessageBytes(slice, bits));
      };
      weights += bytes("int:bucket=2048", 8);
      inner += bytes("int:bucket=2048", 4);
    }
  }
  outer = inner / 4;
  // The dense step gathers 2 bytes and reduces 4, each (S-1)/S.
  EXPECT_NEAR(nic("dense"), 15.0 / 16 * 6 * dense, 1);
  EXPECT_NEAR(nic("zeropp"), 15.0 / 16 * weights + 3.0 / 4 * inner + 3.0 / 4 * outer,
              0.001 * weights);
  EXPECT_LT(nic("sdp4bit"), nic("zeropp")) << "differences of 4 bits in place of weights of 8";
  EXPECT_LT(nic("fp8-weights"), nic("dense"));
  const auto complaint = [&](const char* sharding, const char* policy) {
    return MessageOf([&] {
      SetOption(scenario, "clock.sharding", sharding);
      scenario.policies = {policy};
      ValidateScenario(scenario);
      TimeOneStep(scenario);
    });
  };
  for (const char* name : {"zeropp", "sdp4bit", "loco", "fp8-weights"}) {
    EXPECT_NE(complaint("none", name).find("others, or clock.sharding (--sharding)"),
              std::string::npos);
  }
  EXPECT_NE(complaint("fsdp", "sdp4bit").find("zero1, zero2 or megatron"), std::string::npos);
}

// Policies choose for layers as without sharding; what is sent whole is learnt as dense is.
TEST(Sharding, TrainsWithMessagesToOwners) {
  const fs::path folder = fs::path(::testing::TempDir()) / ("owners-" + std::to_string(getpid()));
  fs::remove_all(folder);
  Scenario scenario;
  for (const auto& [key, value] : std::map<std::string, std::string>{
           {"training.workers", "4"},
           {"training.batch", "4"},
           {"training.steps", "8"},
           {"training.evaluate_every", "4"},
           {"training.warmup_steps", "1"},
           {"training.train_limit", "200"},
           {"training.test_limit", "40"},
           {"compression.policies",
            "dense,topk@100%,topk,topk:select=unit,legacy-both,lgreco,accordion,sidco,dgc,weights,"
            "both,mx:reduction=ring,qsgd:reduction=butterfly"},
           {"run.pictures", "off"},
           {"run.record", "on"},
           {"network.fidelity", "flow"},
           {"network.topology", "star"},
           {"clock.sharding", "fsdp"},
           {"network.further", "slow:bandwidth=10Mbps;blocks:units=100kB"},
       }) {
    if (key == "compression.policies") {
      Method& weights = scenario.methods["weights"];
      weights.name = "weights";
      weights.scheme = "dense";
      weights.weights = "int:bits=4";
      Method& both = scenario.methods["both"] = weights;
      both.name = "both";
      both.scheme = "int:node=2";
    }
    SetOption(scenario, key, value);
  }
  scenario.out = (folder / "run").string();
  RunComparison(scenario, "legacy-scenario", "test", never);
  const analysis::RunDirectory run = analysis::ReadRunDirectory(folder / "run");
  std::map<std::string, std::vector<double>> losses, bytes;
  for (const analysis::StepRow& row : run.steps) {
    losses[row.policy].push_back(row.training_loss);
    bytes[row.policy].push_back(row.nic_bytes);
    EXPECT_GE(row.decode_seconds, 0);
    EXPECT_GT(*row.reduce_seconds + row.hidden_seconds.value_or(0), 0) << row.policy;
  }
  ASSERT_EQ(losses.size(), 13U);
  EXPECT_NE(losses["weights"], losses["dense"]);
  EXPECT_LT(bytes["weights"].back(), bytes["topk"].back()) << "4 bits of two payloads in three";
  EXPECT_EQ(losses["topk@100%"], losses["dense"]);
  EXPECT_LT(bytes["topk"].back(), 0.7 * bytes["dense"].back()) << "weights are gathered as before";
  // Selections from whole layers are those of plain data parallelism, as are their means.
  Scenario plain = scenario;
  SetOption(plain, "compression.policies", "topk");
  SetOption(plain, "clock.sharding", "none");
  SetOption(plain, "network.further", "");
  plain.methods.clear();
  plain.out = (folder / "plain").string();
  RunComparison(plain, "legacy-scenario", "test", never);
  std::vector<double> learnt;
  for (const analysis::StepRow& row : analysis::ReadRunDirectory(folder / "plain").steps) {
    learnt.push_back(row.training_loss);
  }
  EXPECT_EQ(losses["topk:select=unit"], learnt);
  EXPECT_NE(losses["topk"], learnt);
  const Recording recording = ReadRecording((folder / "run").string());
  Scenario replayed = ReplayDefaults(recording);
  SetOption(replayed, "clock.units", "100kB");
  replayed.out = (folder / "replay").string();
  Replay(recording, replayed, "legacy-replay", "test", never);
  EXPECT_EQ(ReadWholeFile(folder / "replay/steps.csv"),
            ReadWholeFile(folder / "run/networks/blocks/steps.csv"));
  const auto complaint = [&](const std::string& sharding) {
    return MessageOf([&] {
      Scenario other = ReplayDefaults(recording);
      SetOption(other, "clock.sharding", sharding);
      other.out = (folder / "refused").string();
      Replay(recording, other, "legacy-replay", "test", never);
    });
  };
  EXPECT_NE(complaint("hsdp:2").find("allowed: 4 owners of slices of rows"), std::string::npos);
  EXPECT_NE(complaint("zero3").find("got '4 owners of slices of values'"), std::string::npos);
  EXPECT_NE(complaint("none").find("one with 4 owners"), std::string::npos);
  fs::remove_all(folder);
}

// GraVAC's workers agree on what they send when the backward pass has ended, and no message hides
// behind it.
TEST(Sharding, AgreementsDelayAllMessages) {
  const fs::path folder = fs::path(::testing::TempDir()) / ("agreed-" + std::to_string(getpid()));
  for (const char* sharding : {"zero1", "fsdp"}) {
    fs::remove_all(folder);
    Scenario scenario;
    Method& whole = scenario.methods["whole"];
    whole.name = "whole";
    whole.policy = "gravac:eps=1";
    for (const auto& [key, value] : std::map<std::string, std::string>{
             {"training.workers", "4"},
             {"training.batch", "4"},
             {"training.steps", "4"},
             {"training.evaluate_every", "4"},
             {"training.train_limit", "200"},
             {"training.test_limit", "40"},
             {"training.warmup_steps", "0"},
             {"compression.policies", "topk,gravac,whole"},
             {"run.pictures", "off"},
             {"network.fidelity", "flow"},
             {"network.topology", "star"},
             {"clock.units", "100kB"},
             {"clock.sharding", sharding},
             {"clock.rules", "fsdp2"},
         }) {
      SetOption(scenario, key, value);
    }
    scenario.out = folder.string();
    RunComparison(scenario, "legacy-scenario", "test", never);
    std::map<std::string, double> hidden, bytes;
    for (const analysis::StepRow& row : analysis::ReadRunDirectory(folder).steps) {
      hidden[row.policy] += row.hidden_seconds.value_or(0);
      bytes[row.policy] = row.nic_bytes;
      EXPECT_NEAR(row.compute_seconds + row.encode_seconds + row.communication_seconds +
                      row.decode_seconds + row.wait_seconds,
                  row.step_seconds, 1e-12);
    }
    ASSERT_EQ(hidden.size(), 3U);
    EXPECT_GT(hidden["topk"], hidden["gravac"]) << sharding;
    if (sharding == std::string("zero1")) {
      EXPECT_EQ(hidden["gravac"], 0);
    }
    // All is sent if all energy is to be kept.
    EXPECT_GT(bytes["whole"], bytes["gravac"]);
  }
  fs::remove_all(folder);
}

TEST(Sharding, RefusesWhatHasNoMeaning) {
  const auto complaint = [](const std::string& sharding, const std::string& key,
                            const std::string& value) {
    return MessageOf([&] {
      Scenario scenario = ShapeOn("gpt2-small", 8, sharding);
      SetOption(scenario, key, value);
      ValidateScenario(scenario);
      TimeOneStep(scenario);
    });
  };
  for (const auto& [name, reason] : {std::pair{"powersgd", "need the sums of whole units"},
                                     {"dynamiq", "need more than the messages of a slice"},
                                     {"topk-global", "layer with clock.sharding"}}) {
    const std::string message = complaint("zero1", "compression.policies", name);
    EXPECT_NE(message.find(reason), std::string::npos) << message;
  }
  EXPECT_NE(complaint("fsdp", "compression.policies", "qsgd:select=unit")
                .find("it does not select values by their positions"),
            std::string::npos);
  EXPECT_NE(complaint("zero1", "clock.reshard", "off").find("only zero3, fsdp and hsdp"),
            std::string::npos);
  EXPECT_NE(complaint("hsdp:3", "training.workers", "8").find("a divisor of the 8 workers"),
            std::string::npos);
  EXPECT_NE(complaint("hsdp:8", "training.workers", "8").find("that is smaller"),
            std::string::npos);
  EXPECT_NE(complaint("fsdp", "clock.rules", "megatron").find("megatron for megatron"),
            std::string::npos);
  EXPECT_NE(complaint("none", "clock.prefetch", "2").find("clock.sharding: got 'none'"),
            std::string::npos);
  EXPECT_NE(
      complaint("fsdp", "network.aggregation", "parameter-server").find("own parts of the model"),
      std::string::npos);
  EXPECT_NE(complaint("fsdp", "network.sync", "backup:k=1").find("barrier with clock.sharding"),
            std::string::npos);
  EXPECT_NE(complaint("hsdp", "training.workers", "8").find("as in hsdp:8"), std::string::npos);
  EXPECT_NE(complaint("fsdp", "clock.units", "some").find("auto, block, model, or a size"),
            std::string::npos);
}

}  // namespace
}  // namespace legacy::sharding_test

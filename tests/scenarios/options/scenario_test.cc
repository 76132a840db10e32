// Scenario options: one table serves YAML, --set and the command line, and every mistake is named.
#include "scenarios/options/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/error.h"
#include "base/parse.h"
#include "scenarios/options/methods.h"
#include "scenarios/programs/command_line.h"
#include "scenarios/run/manifest.h"
#include "tests/arguments.h"
#include "tests/message_of.h"

namespace legacy::scenario_test {
namespace {

class ScenarioFile : public ::testing::Test {
 protected:
  std::string Write(const std::string& text) {
    std::ofstream(path_) << text;
    return path_;
  }
  std::string Load(const std::string& text) {
    return MessageOf([&] {
      Scenario scenario;
      LoadScenario(Write(text), scenario);
    });
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::string path_ = ::testing::TempDir() + "scenario-" +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".yaml";
};

CommandLine Parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "legacy-scenario");
  Arguments line(std::move(arguments));
  return ParseCommandLine(line.count(), line.values(), "legacy-scenario", "test");
}

TEST(ScenarioOptions, ChannelsNeedARing) {
  Scenario scenario;
  SetOption(scenario, "network.channels", "8");
  ValidateScenario(scenario);
  SetOption(scenario, "network.allreduce", "direct-allreduce");
  ValidateScenario(scenario);
  SetOption(scenario, "network.allgather", "direct-allgather");
  EXPECT_NE(MessageOf([&] { ValidateScenario(scenario); }).find("network.channels: got '8'"),
            std::string::npos);
  EXPECT_NE(MessageOf([&] { SetOption(scenario, "network.channels", "-1"); }), "no error");
  SetOption(scenario, "network.channels", "1");
  SetOption(scenario, "network.protocol", "ll128");
  EXPECT_NE(MessageOf([&] { ValidateScenario(scenario); }).find("network.protocol: got 'll128'"),
            std::string::npos);
  SetOption(scenario, "network.allgather", "auto");
  ValidateScenario(scenario);
  SetOption(scenario, "network.allreduce", "nvls-allreduce");
  EXPECT_NE(MessageOf([&] {
              ValidateScenario(scenario);
            }).find("got 'll128'; allowed: none, simple or auto beside network.allreduce"),
            std::string::npos);
  for (const char* protocol : {"simple", "auto"}) {
    SetOption(scenario, "network.protocol", protocol);
    ValidateScenario(scenario);
  }
}

TEST(ScenarioOptions, CollectivesMustCarryTheirCalls) {
  Scenario scenario;
  SetOption(scenario, "network.allreduce", "auto");
  SetOption(scenario, "network.allgather", "hierarchical-allgather");
  ValidateScenario(scenario);
  EXPECT_NE(MessageOf([&] {
              SetOption(scenario, "network.allgather", "ring-allreduce");
            }).find("allowed: auto, ring-allgather, direct-allgather, hierarchical-allgather"),
            std::string::npos);
  SetOption(scenario, "network.allgather", "recursive-doubling-allgather");
  scenario.workers = 6;
  EXPECT_NE(MessageOf([&] { ValidateScenario(scenario); }).find("takes 6 workers"),
            std::string::npos);
  scenario.workers = 8;
  ValidateScenario(scenario);
  EXPECT_NE(MessageOf([&] {
              SetOption(scenario, "network.allgather", "sparse-tree");
            }).find("change what is trained"),
            std::string::npos);
  SetOption(scenario, "network.aggregation", "sharded-parameter-server");
  EXPECT_NE(MessageOf([&] { ValidateScenario(scenario); }).find("network.aggregation"),
            std::string::npos);
}

TEST(ScenarioOptions, KeysAndFlagsAreUniqueAndDefaultsReadBack) {
  std::set<std::string> keys, flags;
  for (const ScenarioOption& option : ScenarioOptions()) {
    EXPECT_TRUE(keys.insert(option.key).second) << option.key;
    EXPECT_TRUE(flags.insert(option.flag).second) << option.flag;
    EXPECT_FALSE(option.help.empty()) << option.key;
    Scenario scenario;
    const std::string text = option.get(scenario);
    if (text.empty()) continue;
    SetOption(scenario, option.key, text);
    EXPECT_EQ(option.get(scenario), text) << option.key;
  }
}

TEST(ScenarioOptions, DefaultsAreValid) { EXPECT_NO_THROW(ValidateScenario(Scenario())); }

TEST(ScenarioOptions, DensityTakesPercentAndFraction) {
  Scenario scenario;
  SetOption(scenario, "compression.density", "0.5%");
  EXPECT_DOUBLE_EQ(scenario.density, 0.005);
  SetOption(scenario, "compression.density", "0.02");
  EXPECT_DOUBLE_EQ(scenario.density, 0.02);
  for (const char* wrong : {"0", "0%", "101%", "-1%", "1%%", "nan", "", "1 %", "abc"}) {
    EXPECT_NE(MessageOf([&] { SetOption(scenario, "compression.density", wrong); }), "no error")
        << wrong;
  }
  EXPECT_NE(MessageOf([&] { SetOption(scenario, "compression.density", "5"); }).find("5%"),
            std::string::npos);
}

TEST(ScenarioOptions, TheTargetIsOfAMetricOfTheTask) {
  const auto target = [](const std::string& text) {
    Scenario scenario;
    SetOption(scenario, "training.target", text);
    return TargetOf(scenario);
  };
  const auto refusal = [&](const std::string& text) { return MessageOf([&] { target(text); }); };
  EXPECT_EQ(target("auto"), (Target{"accuracy", 0.85}));
  EXPECT_EQ(target("none"), std::nullopt);
  EXPECT_EQ(target("70%"), (Target{"accuracy", 0.7}));
  EXPECT_EQ(target("top5=0.9"), (Target{"top5", 0.9}));
  EXPECT_NE(refusal("perplexity=120")
                .find("training.target: got 'perplexity'; allowed: a metric of "
                      "the task: accuracy, top5"),
            std::string::npos)
      << refusal("perplexity=120");
  EXPECT_NE(refusal("120").find("training.target: got '120'"), std::string::npos);
  EXPECT_NE(refusal("soon").find("training.target: got 'soon'; allowed: 85%, 0.85, METRIC=VALUE"),
            std::string::npos);
}

TEST(ScenarioOptions, TheTargetIsTakenAmongTheMetricsThatThereAre) {
  const std::vector<Metric> words = {{"perplexity", "perplexity", Metric::Better::kLower, false}};
  Scenario scenario;
  EXPECT_EQ(TargetAmong(scenario, words), std::nullopt);  // the default is an accuracy
  EXPECT_EQ(TargetAmong(scenario, {}), std::nullopt);
  scenario.target = "120";
  EXPECT_EQ(TargetAmong(scenario, words), (Target{"perplexity", 120}));
  EXPECT_EQ(TargetAmong(scenario, {}), std::nullopt);  // a shape has no target
  scenario.layers = "resnet50";
  EXPECT_EQ(TargetOf(scenario), std::nullopt);
  scenario.target = "85%";
  EXPECT_NE(MessageOf([&] { TargetAmong(scenario, words); }).find("for perplexity, a number"),
            std::string::npos);
}

TEST_F(ScenarioFile, ATransportIsATextOrAMapOfItsOptions) {
  const auto transport = [&](const std::string& text) {
    Scenario scenario;
    LoadScenario(Write("network: {transport: " + text + "}\n"), scenario);
    // The printed text reads back to the same scenario.
    Scenario read;
    LoadScenario(Write(PrintScenario(scenario)), read);
    EXPECT_EQ(read.transport.text(), scenario.transport.text());
    return scenario.transport.text();
  };
  EXPECT_EQ(transport("\"roce:cc=hpcc,pfc=on\""), "roce:cc=hpcc,pfc=on");
  EXPECT_EQ(transport("{roce: {cc: hpcc, pfc: on}}"), "roce:cc=hpcc,pfc=on");
  EXPECT_EQ(transport("{roce: {cc: {hpcc: {eta: 0.9, stages: 0}}, mtu: 1024}}"),
            "roce:cc=hpcc:eta=0.9+stages=0,mtu=1024");
  EXPECT_EQ(transport("{roce: }"), "roce");
  EXPECT_EQ(transport("{roce: {egress-alpha: 2, pfc: off}}"), "roce:egress-alpha=2,pfc=off");
  EXPECT_EQ(transport("wan"), "wan");
}

// Mistakes are where the option is without which there would be none.
TEST_F(ScenarioFile, MistakesOfATransportHaveFileLineAndColumn) {
  const auto finds = [&](const std::string& text, const std::string& what) {
    const std::string message = Load(text);
    EXPECT_NE(message.find(what), std::string::npos) << message;
  };
  const std::string map = "network:\n  transport:\n    roce:\n      pfc: off\n      ";
  finds(map + "mtu: 10\n",
        ":5:12: network.transport: mtu: got '10'; allowed: an integer from 64 to 9000");
  finds(map + "mut: 1024\n", ":5:12: ");
  finds(map + "cc: {hpcc: {eta: 2}}\n", ":5:11: ");
  finds(map + "cc: {hpcc: {}, swift: {}}\n", ":5:11: network.transport.roce.cc: got '2 names'");
  finds("network:\n  transport: {roce: {}, wan: {}}\n", ":2:14: network.transport: got '2 names'");
  finds("network:\n  transport: \"roce:cc=hpc\"\n", ":2:3: network.transport: cc: got 'hpc'");
}

TEST_F(ScenarioFile, ATargetIsATextOrAMapOfOneMetric) {
  const auto target = [&](const std::string& text) {
    Scenario scenario;
    LoadScenario(Write("training: {target: " + text + "}\n"), scenario);
    return scenario.target.text();
  };
  EXPECT_EQ(target("{perplexity: 120}"), "perplexity=120");
  EXPECT_EQ(target("{top5: 90%}"), "top5=90%");
  EXPECT_EQ(target("top5=90%"), "top5=90%");
  EXPECT_EQ(target("0.85"), "0.85");
  EXPECT_NE(Load("training:\n  target: {a: 1, b: 2}\n")
                .find(":2:11: training.target: got '2 metrics'; "
                      "allowed: one, as in {perplexity: 120}"),
            std::string::npos)
      << Load("training:\n  target: {a: 1, b: 2}\n");
  EXPECT_NE(Load("training: {target: {}}\n").find("0 metrics"), std::string::npos);
  EXPECT_NE(Load("training: {target: {top5: high}}\n").find("training.target: got 'top5=high'"),
            std::string::npos);
  // The printed text reads back to the same scenario.
  Scenario scenario;
  scenario.target = "top5=90%";
  Scenario read;
  LoadScenario(Write(PrintScenario(scenario)), read);
  EXPECT_EQ(read.target.text(), "top5=90%");
}

TEST(ScenarioOptions, TheDeviceBelongsToTheTrainingUnlessItIsTheHost) {
  Scenario scenario;
  EXPECT_EQ(scenario.device.text(), "cpu");
  EXPECT_FALSE(TrainingDocument(scenario)["training"].contains("device")) << "as before the option";
  const CommandLine line = Parse({"--device=cuda"});
  EXPECT_EQ(line.scenario.device.text(), "cuda");
  EXPECT_NO_THROW(ValidateScenario(line.scenario)) << "a replay needs no GPU";
  EXPECT_EQ(TrainingDocument(line.scenario)["training"]["device"], "cuda");
  EXPECT_EQ(MessageOf([&] { SetOption(scenario, "training.device", "gpu"); }),
            "training.device: got 'gpu'; did you mean cuda?; allowed: cpu, cuda, auto");
}

TEST(ScenarioOptions, UnknownKeyNamesTheNearest) {
  Scenario scenario;
  const std::string message = MessageOf([&] { SetOption(scenario, "network.bandwith", "1Gbps"); });
  EXPECT_NE(message.find("did you mean network.bandwidth?"), std::string::npos) << message;
}

TEST(ScenarioOptions, UnknownPolicyAndPolicyTwiceAreRefused) {
  Scenario scenario;
  scenario.policies = {"dense", "topkk"};
  const std::string message = MessageOf([&] { ValidateScenario(scenario); });
  EXPECT_THAT(message, ::testing::MatchesRegex(
                           "compression\\.policies: got 'topkk'; did you mean topk\\?; .*"
                           "legacy-scenario --policies=list prints all [0-9]+, or a scheme with "
                           "its parameter, as in topk\\+fp16@5%"));
  scenario.policies = {"dense", "dense"};
  EXPECT_NE(MessageOf([&] { ValidateScenario(scenario); }).find("once"), std::string::npos);
}

// Returns two matrices and a vector.
std::vector<Unit> SomeUnits() {
  std::vector<Unit> units;
  int64_t offset = 0;
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{64, 32}, {64}, {128, 64}}) {
    int64_t numel = 1;
    for (const int64_t size : shape) numel *= size;
    const auto id = static_cast<uint32_t>(units.size());
    units.push_back({.id = id, .name = "any", .shape = shape, .offset = offset, .numel = numel});
    offset += numel;
  }
  return units;
}

TEST(Methods, BuiltInMethodsDecideInShortRuns) {
  Scenario scenario;
  scenario.steps = 60;
  const std::vector<Unit> units = SomeUnits();
  for (const std::string& name : BuiltInMethods()) {
    const Method method = FindMethod(scenario, name);
    const BuiltMethod built = BuildMethod(method, scenario, units, 234);
    EXPECT_EQ(FewDecisions(method, *built.policy, scenario.steps), "");
  }
}

TEST(Methods, MethodsThatCannotDecideSaySo) {
  const Scenario scenario;
  Method method;
  method.name = "mine";
  method.policy = "accordion";  // ten epochs of 31 steps
  const BuiltMethod built = BuildMethod(method, scenario, SomeUnits(), 31);
  EXPECT_EQ(
      FewDecisions(method, *built.policy, scenario.steps),
      "mine: its policy accordion never decides in 300 steps; a part of the run makes it act: "
      "accordion:interval=10%");
  method.policy = "gravac:window=120";
  EXPECT_NE(FewDecisions(method, *BuildMethod(method, scenario, SomeUnits(), 31).policy, 300)
                .find("decides twice in 300 steps"),
            std::string::npos);
}

TEST(Methods, MethodsThatNeverCompressSaySo) {
  const Scenario scenario;
  Method method;
  method.name = "mine";
  const auto says = [&](const std::string& scheme, int64_t steps) {
    method.scheme = scheme;
    return NeverCompresses(method, *MakeScheme(scheme), SomeUnits(), steps);
  };
  EXPECT_EQ(
      says("onebit-adam", 60),
      "mine: its scheme sends everything whole in its first 100 steps, so that this run of 60 "
      "never compresses; a smaller number makes it: onebit-adam:warmup=12");
  EXPECT_NE(says("topk:dense_start=60", 60).find("topk:dense_start=12"), std::string::npos);
  EXPECT_EQ(says("onebit-adam", 101), "");
  EXPECT_EQ(says("topk:dense_start=59", 60), "");
  EXPECT_EQ(says("topk", 1), "");
  EXPECT_EQ(says("powersgd", 1), "");
  std::vector<Unit> vectors = SomeUnits();
  for (Unit& unit : vectors) unit.shape = {unit.numel};
  EXPECT_EQ(NeverCompresses(method, *MakeScheme("powersgd"), vectors, 9),
            "mine: its scheme sends everything whole, as it compresses matrices and none of these "
            "layers has the shape of one");
}

TEST(Methods, SchedulesThatEndUniformSaySo) {
  Scenario scenario;
  scenario.legacy.volume = "bytes";
  scenario.steps = 100;
  const auto says = [&](const std::string& name) {
    const Method method = FindMethod(scenario, name);
    return EndsUniform(method, BuildMethod(method, scenario, SomeUnits(), 31), SomeUnits(),
                       scenario);
  };
  EXPECT_EQ(says("legacy-both"), "");
  EXPECT_EQ(says("topk"), "");
  EXPECT_EQ(says("lgreco"), "");
  bool uniform = false;
  for (const char* name : {"legacy-layer-qsgd", "legacy-phase-qsgd", "legacy-both-qsgd",
                           "legacy-auto-qsgd", "legacy-both-powersgd"}) {
    const std::string said = says(name);
    uniform = uniform || !said.empty();
    if (said.empty()) continue;
    EXPECT_NE(said.find("the same for all layers and phases"), std::string::npos) << said;
    EXPECT_NE(said.find("whole numbers"), std::string::npos) << said;
  }
  EXPECT_TRUE(uniform);
}

TEST(Methods, LocalStepsAndOuterOptimizersAreThoseOfTheScenario) {
  Scenario scenario;
  EXPECT_EQ(FindMethod(scenario, "diloco").local_steps, 50);
  EXPECT_EQ(FindMethod(scenario, "diloco").outer->value().momentum, 0.9);
  SetOption(scenario, "training.local_steps", "7");
  SetOption(scenario, "training.outer", "momentum:rate=0.5,momentum=0.25");
  const std::vector<std::string> local = {"local-sgd", "diloco", "sparseloco"};
  for (const std::string& name : local) EXPECT_EQ(FindMethod(scenario, name).local_steps, 7);
  EXPECT_EQ(FindMethod(scenario, "diloco").outer->value().rate, 0.5);
  EXPECT_EQ(FindMethod(scenario, "sparseloco").outer->value().momentum, 0.25);
  EXPECT_FALSE(FindMethod(scenario, "local-sgd").outer->has_value());
  EXPECT_EQ(FindMethod(scenario, "dense").local_steps, 1);
  EXPECT_EQ(BuildMethod(FindMethod(scenario, "diloco"), scenario, SomeUnits()).description,
            "dense by layer, every 7 steps, outer momentum:rate=0.5,momentum=0.25");
  scenario.policies = {"dense", "diloco"};
  EXPECT_NO_THROW(ValidateScenario(scenario));
  scenario.policies = {"dense", "local-sgd"};
  EXPECT_NE(MessageOf([&] { ValidateScenario(scenario); }).find("training.outer"),
            std::string::npos);
  scenario.policies = {"dense"};
  EXPECT_NE(MessageOf([&] { ValidateScenario(scenario); }).find("training.local_steps: got '7'"),
            std::string::npos);
}

TEST(Methods, DenseGradientsHaveTheFormatOfTheScenario) {
  const auto scheme = [](const std::string& method, const std::string& reduce,
                         const std::string& sum) {
    Scenario scenario;
    SetOption(scenario, "training.reduce", reduce);
    SetOption(scenario, "training.sum", sum);
    return SchemeText(FindMethod(scenario, method), scenario);
  };
  EXPECT_EQ(scheme("dense", "fp32", "exact"), "dense");
  EXPECT_EQ(scheme("dense", "fp32", "hop"), "dense");
  EXPECT_EQ(scheme("dense", "bf16", "exact"), "bf16");
  EXPECT_EQ(scheme("dense", "fp16", "hop"), "fp16:reduction=hop");
  EXPECT_EQ(scheme("local-sgd", "bf16", "hop"), "bf16:reduction=hop");
  EXPECT_EQ(scheme("bf16", "fp16", "hop"), "bf16:reduction=hop");
  EXPECT_EQ(scheme("topk", "bf16", "hop"), "topk");
  EXPECT_EQ(scheme("topk+bf16@5%", "bf16", "hop"), "topk+bf16");

  Scenario scenario;
  scenario.reduce = "bf16";
  scenario.sum = "hop";
  const Method dense = FindMethod(scenario, "dense");
  const BuiltMethod built = BuildMethod(dense, scenario, SomeUnits());
  EXPECT_EQ(built.description, "bf16:reduction=hop by layer");
  for (const Unit& unit : SomeUnits()) {
    EXPECT_EQ(built.scheme->MessageBytes(unit, 1), kHeaderBytes + 2 * unit.numel);
  }
  EXPECT_EQ(
      FormatOf(dense, scenario),
      "dense: its gradients travel in bf16, 2 bytes each, and a ring rounds every partial sum "
      "(training.reduce, training.sum)");
  EXPECT_EQ(FormatOf(FindMethod(scenario, "topk"), scenario), "");
  EXPECT_EQ(FormatOf(dense, Scenario()), "");
  EXPECT_EQ(NetworkDependence(dense, scenario), "");
}

TEST(Methods, FormatsThatNoMethodReadsAreRefused) {
  const std::string kFine = "no error";
  const auto says = [](const std::string& policies, const std::string& reduce,
                       const std::string& sum, const std::string& key = "",
                       const std::string& value = "") {
    Scenario scenario;
    SetOption(scenario, "compression.policies", policies);
    SetOption(scenario, "training.reduce", reduce);
    SetOption(scenario, "training.sum", sum);
    if (!key.empty()) SetOption(scenario, key, value);
    return MessageOf([&] { ValidateScenario(scenario); });
  };
  EXPECT_EQ(says("dense,topk", "bf16", "hop"), kFine);
  EXPECT_EQ(says("fp16,topk", "fp32", "hop"), kFine);
  EXPECT_NE(says("topk,fp16", "bf16", "exact").find("training.reduce: got 'bf16'"),
            std::string::npos);
  for (const char* policies : {"dense", "topk,qsgd", "topk+bf16@5%"}) {
    const std::string message = says(policies, "fp32", "hop");
    EXPECT_NE(message.find("training.sum: got 'hop'"), std::string::npos) << message;
    EXPECT_NE(message.find("not added on the way"), std::string::npos) << message;
  }
  for (const auto& [key, value] : {std::pair{"network.allreduce", "direct-allreduce"},
                                   {"network.aggregation", "parameter-server"}}) {
    const std::string message = says("dense", "bf16", "hop", key, value);
    EXPECT_NE(message.find("those of a ring"), std::string::npos) << key << ": " << message;
    EXPECT_EQ(says("dense", "bf16", "exact", key, value), kFine);
  }
  Scenario scenario;
  EXPECT_NE(MessageOf([&] { SetOption(scenario, "training.reduce", "tf32"); }).find("bf16"),
            std::string::npos);

  // Points of a study have one policy each, and options that those of others read.
  SetOption(scenario, "training.reduce", "bf16");
  SetOption(scenario, "training.sum", "hop");
  scenario.policies = {"topk"};
  EXPECT_NO_THROW(ValidatePoint(scenario));
  scenario.policies = {"dense"};
  EXPECT_NO_THROW(ValidatePoint(scenario));
  scenario.reduce = "fp32";
  EXPECT_NO_THROW(ValidatePoint(scenario)) << "exact and hop are the same for fp32";
}

TEST(ScenarioOptions, StepsMayBeEpochs) {
  Scenario scenario;
  SetOption(scenario, "training.steps", "30ep");
  SetOption(scenario, "training.warmup_steps", "0.5ep");
  SetOption(scenario, "training.decay_steps", "5ep,900,12.5ep");
  EXPECT_TRUE(scenario.steps.InEpochs());
  EXPECT_EQ(scenario.steps.InSteps(196), 5880);
  EXPECT_EQ(scenario.warmup_steps.InSteps(196), 98);
  EXPECT_EQ(scenario.warmup_steps.InSteps(1), 1) << "rounded, and at least one";
  EXPECT_EQ(scenario.decay_steps[1].InSteps(196), 900);
  EXPECT_NO_THROW(ValidateScenario(scenario));
  const auto read = [&](const char* key) {
    return std::ranges::find(ScenarioOptions(), key, &ScenarioOption::key)->get(scenario);
  };
  EXPECT_EQ(read("training.steps"), "30ep");
  EXPECT_EQ(read("training.decay_steps"), "5ep,900,12.5ep");
  EXPECT_NE(MessageOf([&] { return int64_t{scenario.steps}; }).find("steps: got '30ep'"),
            std::string::npos);
  for (const char* wrong : {"ep", "0ep", "-1ep", "5epochs", "nanep", "0", "1.5"}) {
    EXPECT_NE(MessageOf([&] { SetOption(scenario, "training.steps", wrong); }), "no error")
        << wrong;
  }
  SetOption(scenario, "training.decay_steps", "5ep,4ep");
  EXPECT_NE(MessageOf([&] { ValidateScenario(scenario); }).find("decay_steps"), std::string::npos);
}

// Earlier versions trained with the instructions that each library found.
TEST(ScenarioOptions, ATrainingWithoutAProcessorIsNative) {
  Scenario scenario;
  EXPECT_EQ(scenario.processor.text(), "portable");
  EXPECT_EQ(TrainingDocument(scenario)["training"]["processor"], "portable");
  nlohmann::json document = ScenarioDocument(scenario);
  EXPECT_EQ(ReadScenarioDocument(document, "here").processor.text(), "portable");
  document["training"].erase("processor");
  const Scenario earlier = ReadScenarioDocument(document, "here");
  EXPECT_EQ(earlier.processor.text(), "native");
  EXPECT_FALSE(TrainingDocument(earlier)["training"].contains("processor")) << "the same hash";
  EXPECT_THROW(CheckResume(scenario, {{"configuration", document}}), Error);

  scenario = ShapeDefaults();
  scenario.layers = "resnet18";
  TakeUsualBatch(scenario);
  document = ScenarioDocument(scenario);
  document["training"].erase("processor");
  EXPECT_NO_THROW(ValidateScenario(ReadScenarioDocument(document, "here"))) << "nothing trains";
  EXPECT_EQ(MessageOf([&] { SetOption(scenario, "training.processor", "avx2"); }),
            "training.processor: got 'avx2'; allowed: portable, native");
}

TEST(ScenarioOptions, Fp8IsForShapes) {
  Scenario scenario;
  SetOption(scenario, "training.precision", "bf16-fp8");
  EXPECT_THAT(
      MessageOf([&] { ValidateScenario(scenario); }),
      testing::HasSubstr("training.precision: got 'bf16-fp8'; allowed: fp32, tf32, bf16 or fp16"));
  SetOption(scenario, "training.layers", "resnet50");
  EXPECT_NO_THROW(ValidateScenario(scenario));
}

// Recordings of versions without these options have the same hash.
TEST(ScenarioOptions, OptionsThatSayNothingAreNotInTheTraining) {
  Scenario scenario;
  const std::vector<std::pair<std::string, std::string>> changed = {
      {"accumulate", "2"},   {"loss", "sum"},         {"local_steps", "3"},
      {"outer", "nesterov"}, {"warmup_from", "0.01"}, {"scale_learning_rate", "on"},
      {"precision", "tf32"}, {"reduce", "bf16"},      {"sum", "hop"}};
  for (const auto& [key, text] : changed) {
    EXPECT_FALSE(TrainingDocument(scenario)["training"].contains(key)) << key;
  }
  scenario.policies = {"diloco"};
  for (const auto& [key, text] : changed) {
    SetOption(scenario, "training." + key, text);
    EXPECT_EQ(TrainingDocument(scenario)["training"][key], text);
  }
  EXPECT_EQ(TrainingDocument(scenario)["methods"]["diloco"]["outer"], "nesterov");
  const nlohmann::json document = ScenarioDocument(scenario);
  EXPECT_EQ(ScenarioDocument(ReadScenarioDocument(document, "here")), document);
}

// Those that stand over another file have its name, and a word more.
TEST(FederatedFiles, AreScenarios) {
  const std::filesystem::path folder = LEGACY_SOURCE_DIR "/scenarios/federated";
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".yaml") || name.ends_with(".population.yaml")) continue;
    const std::string stem = entry.path().stem().string();
    const std::filesystem::path base = folder / (stem.substr(0, stem.rfind('-')) + ".yaml");
    Scenario scenario;
    scenario.federated.emplace();
    EXPECT_EQ(MessageOf([&] {
                if (base != entry.path() && std::filesystem::exists(base)) {
                  LoadScenario(base.string(), scenario);
                }
                LoadScenario(entry.path().string(), scenario);
              }),
              "no error")
        << stem;
    ++files;
  }
  EXPECT_GE(files, 8) << "those of populations are no scenarios";
}

TEST(Recipes, AreScenarios) {
  int recipes = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(LEGACY_SOURCE_DIR "/scenarios/recipes")) {
    const std::string path = entry.path().string();
    Scenario scenario;
    EXPECT_EQ(MessageOf([&] {
                LoadScenario(path, scenario);
                ValidateScenario(scenario);
                const int64_t steps = scenario.steps.InSteps(100);
                EXPECT_GT(steps, scenario.warmup_steps.InSteps(100)) << path;
                for (const StepCount& decay : scenario.decay_steps) {
                  EXPECT_LT(decay.InSteps(100), steps) << path;
                }
              }),
              "no error")
        << path;
    // Each recipe has a small form, too.
    const bool small = path.ends_with("-small.yaml");
    EXPECT_TRUE(small || std::filesystem::exists(path.substr(0, path.size() - 5) + "-small.yaml"))
        << path;
    ++recipes;
  }
  EXPECT_EQ(recipes, 20);
}

TEST_F(ScenarioFile, PrintedScenarioReadsBackToTheSame) {
  Scenario scenario;
  SetOption(scenario, "network.delay", "7ms");
  SetOption(scenario, "compression.splits", "100,2000");
  scenario.ns3["ns3::TcpSocket::SegmentSize"] = "1000";
  Method method;
  method.name = "mine";
  method.scheme = "randomk";
  method.parameter = 0.125;
  method.outer = "nesterov:rate=0.5";
  scenario.methods["mine"] = method;
  scenario.policies = {"dense", "mine"};
  const std::string text = PrintScenario(scenario);
  Scenario back;
  LoadScenario(Write(text), back);
  EXPECT_EQ(PrintScenario(back), text);
  EXPECT_EQ(back.legacy.splits, scenario.legacy.splits);
  EXPECT_EQ(back.ns3, scenario.ns3);
  EXPECT_EQ(FindMethod(back, "mine").scheme, "randomk");
  EXPECT_EQ(FindMethod(back, "mine").outer->value().rate, 0.5);
}

TEST_F(ScenarioFile, ErrorsNameFileLineColumnValueAndWhatIsAllowed) {
  EXPECT_EQ(Load("training:\n  workers: none\n"),
            path_ + ":2:3: training.workers: got 'none'; allowed: an integer >= 1 and <= 65536");
  EXPECT_NE(Load("network:\n  fidelity: exact\n")
                .find(":2:3: network.fidelity: got 'exact'; "
                      "allowed: packet, flow, analytic, auto"),
            std::string::npos);
  EXPECT_NE(Load("netwrk:\n  delay: 1ms\n").find(":1:1: unknown section 'netwrk'"),
            std::string::npos);
  EXPECT_NE(
      Load("training:\n  steps: 3\n  steps: 4\n").find(":3:3: training.steps: is given twice"),
      std::string::npos);
  EXPECT_NE(Load("training: [1, 2\n").find(path_ + ":"), std::string::npos);
  EXPECT_NE(Load("training:\n  steps: {a: 1}\n").find("expected a value"), std::string::npos);
  EXPECT_NE(Load("methods:\n  mine:\n    scheme: zip\n")
                .find(":3:5: methods.mine.scheme: scheme: got 'zip'"),
            std::string::npos);
  EXPECT_NE(Load("methods:\n  mine:\n    colour: red\n").find("unknown key"), std::string::npos);
  EXPECT_NE(Load("methods:\n  mine:\n    outer: adam\n")
                .find(":3:5: methods.mine.outer: got 'adam'; allowed: sgd, momentum, nesterov"),
            std::string::npos);
  EXPECT_NE(Load("network:\n  bandwidth: fast\n").find("network.bandwidth"), std::string::npos);
}

TEST_F(ScenarioFile, LayersAreReadInTheirOrder) {
  const std::string base = ::testing::TempDir() + "scenario-base.yaml";
  std::ofstream(base) << "training: {steps: 7, batch: 3}\n";
  Scenario scenario;
  LoadScenario(Write("training: {batch: 4}\ninclude: scenario-base.yaml\n"), scenario);
  EXPECT_EQ(scenario.steps, 7);
  EXPECT_EQ(scenario.batch, 4);  // the including file wins, wherever the line is
  // On a command line the last file wins over the others, and options over files.
  const CommandLine line = Parse({"--scenario=" + path_, "--scenario=" + base, "--steps=9"});
  EXPECT_EQ(line.scenario.batch, 3);
  EXPECT_EQ(line.scenario.steps, 9);

  EXPECT_EQ(Load("include: nothing.yaml\n"),
            path_ +
                ":1:10: include: got 'nothing.yaml'; allowed: scenario files, beside this one "
                "or by whole paths");
  std::ofstream(base) << "include: scenario-base.yaml\n";
  EXPECT_NE(Load("include: scenario-base.yaml\n").find("none that includes itself"),
            std::string::npos);
  EXPECT_NE(Load("include: /dev/zero\n").find("include: got '/dev/zero'"), std::string::npos);
  std::filesystem::remove(base);
}

TEST_F(ScenarioFile, TakesTheAliasesOfOptions) {
  Scenario scenario;
  LoadScenario(Write("compression: {methods: 'dense,topk'}\n"), scenario);
  EXPECT_EQ(scenario.policies, (std::vector<std::string>{"dense", "topk"}));
  SetOption(scenario, "compression.methods", "fp16");
  EXPECT_EQ(scenario.policies, std::vector<std::string>{"fp16"});
  EXPECT_NE(Load("compression:\n  policies: [dense]\n  methods: [topk]\n")
                .find(":3:3: compression.policies: is given twice"),
            std::string::npos);
}

TEST(ScenarioOptions, UnknownKeysListTheirNeighbours) {
  Scenario scenario;
  const auto message = [&](const char* key) {
    return MessageOf([&] { SetOption(scenario, key, "1"); });
  };
  EXPECT_NE(message("clock.bukket").find("did you mean clock.bucket?"), std::string::npos);
  EXPECT_NE(message("clock.bukket").find("allowed: clock.device_profile, "), std::string::npos);
  EXPECT_EQ(message("clock.bukket").find("training."), std::string::npos);
  EXPECT_NE(message("nothing").find("allowed: training.*, compression.*"), std::string::npos);
}

TEST_F(ScenarioFile, BytesThatAreNotUtf8AreRefused) {
  EXPECT_EQ(Load("training: {workers: 4}\nmethods: {\xc3\xa9: {bytes_of: dense}}\n"), "no error");
  EXPECT_EQ(Load("training: {workers: 4}\nmethods: {\xff: {bytes_of: dense}}\n"),
            path_ + ":2: bytes that are no text; allowed: UTF-8");
}

TEST_F(ScenarioFile, ControlCharactersAreRefused) {
  for (const char* const text :
       {"methods: {mine: {levels: [3, 4\r]}}\n", "methods: {mine: {levels: \"3\\r\"}}\n",
        "methods: {\"mi\\x01ne\": {levels: 3}}\n"}) {
    EXPECT_NE(Load(text).find("has control characters; allowed: text"), std::string::npos) << text;
  }
  EXPECT_EQ(Load("training:\r\n  workers: 4\r\n"), "no error");
}

TEST(ScenarioCommandLine, LaterWins) {
  const std::string path = ::testing::TempDir() + "later-wins.yaml";
  std::ofstream(path) << "network: {bandwidth: 5Gbps, delay: 1ms}\ntraining: {steps: 7}\n";
  const CommandLine line =
      Parse({"--scenario=" + path, "--set", "network.delay=2ms", "--set", "training.steps=9",
             "--steps", "11", "--ns3::TcpSocket::SegmentSize=1000"});
  EXPECT_FALSE(line.exit);
  EXPECT_EQ(line.scenario.bandwidth.text(), "5Gbps");
  EXPECT_EQ(line.scenario.delay.text(), "2ms");
  EXPECT_EQ(line.scenario.steps, 11);
  EXPECT_EQ(line.scenario.ns3.at("ns3::TcpSocket::SegmentSize"), "1000");
  std::filesystem::remove(path);
}

TEST(ScenarioCommandLine, SwitchesStandAloneAndTheLastOfSeveralCounts) {
  EXPECT_TRUE(Parse({"--record"}).scenario.record);
  EXPECT_TRUE(Parse({"--record", "--out=x"}).scenario.record);
  EXPECT_FALSE(Parse({"--record=off"}).scenario.record);
  EXPECT_FALSE(Parse({"--error-feedback", "off"}).scenario.error_feedback);
  EXPECT_EQ(Parse({"--steps=5", "--steps=6"}).scenario.steps, 6);
}

TEST(ScenarioCommandLine, MistakesNameTheOption) {
  EXPECT_NE(MessageOf([] { Parse({"--workers=0"}); }).find("--workers: got '0'"),
            std::string::npos);
  EXPECT_NE(MessageOf([] { Parse({"--set", "steps"}); }).find("KEY=VALUE"), std::string::npos);
  EXPECT_NE(MessageOf([] { Parse({"--ns3::TcpSocket::SegmentSize"}); }).find("=VALUE"),
            std::string::npos);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(Parse({"--wrokers=3"}).exit, 2);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("wrokers"), std::string::npos);
}

TEST(ScenarioCommandLine, HelpEndsWithoutFailure) {
  for (const char* flag : {"--help", "--PrintHelp", "--help=all"}) {
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(Parse({flag}).exit, 0);
    const std::string help = ::testing::internal::GetCapturedStdout();
    const bool all = std::string(flag) == "--help=all";
    for (const ScenarioOption& option : ScenarioOptions()) {
      const std::string flags = option.flag + (option.alias.empty() ? "" : "," + option.alias);
      EXPECT_EQ(help.find("  " + flags + " ") != std::string::npos, all || option.Has(kUsual))
          << flag << ": " << option.flag;
    }
  }
}

}  // namespace
}  // namespace legacy::scenario_test
// Presets: the settings of a paper, and options that override them.
#include "scenarios/options/presets.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "scenarios/options/methods.h"
#include "scenarios/options/scenario_yaml.h"
#include "scenarios/study/grid.h"
#include "tests/compress/model_shapes.h"
#include "tests/message_of.h"

namespace legacy::presets_test {
namespace {

Scenario ReadText(const std::string& text) {
  Scenario scenario;
  ReadScenario(ParseYaml(text, "test"), "test", scenario);
  return scenario;
}

std::string Described(const Scenario& scenario, const std::string& policy) {
  const auto units = test::ResNet18(10);
  return BuildMethod(FindMethod(scenario, policy), scenario, units, 100).description;
}

TEST(Presets, EveryMethodCanBeBuiltAndReadBack) {
  for (const Preset& preset : Presets()) {
    Scenario scenario;
    ApplyPreset(preset.name, scenario);
    ValidateScenario(scenario);
    for (const std::string& policy : scenario.policies) {
      EXPECT_FALSE(Described(scenario, policy).empty()) << preset.name << " " << policy;
    }
    EXPECT_EQ(PrintScenario(ReadText(PrintScenario(scenario))), PrintScenario(scenario));
    for (const auto& setting : preset.settings) {
      EXPECT_NE(PresetText(scenario).find(setting.first), std::string::npos);
    }
    EXPECT_EQ(PresetText(scenario).find("instead of"), std::string::npos);
  }
}

TEST(Presets, LegacyAsPublished) {
  Scenario scenario;
  ApplyPreset("paper-legacy", scenario);
  EXPECT_FALSE(scenario.error_feedback);
  EXPECT_TRUE(scenario.legacy.closed_right);
  EXPECT_EQ(scenario.density, 0.001);
  EXPECT_NE(Described(scenario, "legacy-layer").find("1 % below 10000 elements, 0.1 %"),
            std::string::npos)
      << Described(scenario, "legacy-layer");
}

TEST(Presets, OptionsOverrideThem) {
  // The preset may be anywhere in the file.
  const Scenario scenario = ReadText("compression: {splits: 500}\npreset: paper-legacy\n");
  EXPECT_EQ(scenario.legacy.splits, std::vector<int64_t>{500});
  EXPECT_FALSE(scenario.error_feedback);
  EXPECT_NE(PresetText(scenario).find("compression.splits: 500  (instead of 10000)"),
            std::string::npos)
      << PresetText(scenario);
  EXPECT_EQ(PresetText(Scenario()), "");
}

// A method may have the bytes of another scheme, as FFT's control has, or so many bits a value.
TEST(Methods, OfEqualBytes) {
  const auto units = test::ResNet18(10);
  const Scenario scenario = ReadText("methods: {signs: {scheme: topk, bytes_of: onebit}}\n");
  const auto bytes = [&](const std::string& name) {
    const BuiltMethod built = BuildMethod(FindMethod(scenario, name), scenario, units, 100);
    double sum = 0;
    for (const Unit& unit : units) {
      sum += static_cast<double>(built.scheme->MessageBytes(unit, built.parameter).value());
    }
    return sum;
  };
  EXPECT_NEAR(bytes("topk-rbf"), bytes("fft"), 1e-3 * bytes("fft"));
  double values = 0;
  for (const Unit& unit : units) values += static_cast<double>(unit.numel);
  for (const char* scheme : {"topk", "dct", "fft", "topk+qsgd"}) {
    EXPECT_NEAR(bytes(scheme + std::string("@2bit")), values / 4, 2e-3 * values / 4) << scheme;
  }
  EXPECT_NEAR(bytes("signs"), bytes("onebit"), 1e-3 * bytes("onebit"));
  Scenario bad = ReadText("methods: {m: {scheme: topk+rbf, bytes_of: \"redsync\"}}\n");
  EXPECT_THROW(BuildMethod(FindMethod(bad, "m"), bad, units, 100), Error);
  for (const char* name : {"topk@33bit", "topk@bit", "sign@1bit"}) {
    EXPECT_THROW(FindMethod(scenario, name), Error) << name;
  }
  EXPECT_THROW(ReadText("methods: {m: {scheme: topk, bytes_of: 33bit}}\n"), Error);
}

TEST(Presets, WorkInStudies) {
  const StudyDefinition study = ParseStudy(
      "scenario: {preset: paper-fft, compression: {error_feedback: on}}\n"
      "grid: {bandwidth: [1Gbps, 2Gbps]}\n",
      "test.yaml");
  EXPECT_EQ(study.scenario.preset, "paper-fft");
  EXPECT_TRUE(study.scenario.error_feedback);
  EXPECT_EQ(study.scenario.policies.size(), 4u);
}

TEST(Presets, UnknownOnesAreListed) {
  Scenario scenario;
  const std::string message = MessageOf([&] { ApplyPreset("paper", scenario); });
  EXPECT_NE(message.find("paper-accordion"), std::string::npos) << message;
}

}  // namespace
}  // namespace legacy::presets_test
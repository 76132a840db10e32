#include "analysis/policy_style.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace legacy::analysis {
namespace {

const std::vector<std::string> kDefaultRun = {
    "dense",       "fp16",   "topk",      "topk-global", "legacy-layer", "legacy-phase",
    "legacy-both", "lgreco", "accordion", "gravac",      "powersgd",     "fft"};

std::tuple<std::string, std::string, int> LookOf(const PolicyStyle& style) {
  return {style.colour, style.mark, style.dashes};
}

TEST(PolicyStyle, BelongsToTheNameWhateverTheListIs) {
  std::vector<std::string> turned(kDefaultRun.rbegin(), kDefaultRun.rend());
  turned.insert(turned.begin(), "redsync");
  const auto styles = StylesOf(kDefaultRun), others = StylesOf(turned);
  for (size_t i = 0; i < kDefaultRun.size(); ++i) {
    EXPECT_EQ(LookOf(styles[i]), LookOf(others[kDefaultRun.size() - i])) << kDefaultRun[i];
    EXPECT_EQ(LookOf(styles[i]), LookOf(StylesOf({kDefaultRun[i]})[0])) << kDefaultRun[i];
  }
}

TEST(PolicyStyle, TellsListsApart) {
  std::vector<std::string> unknown, alike;
  for (int i = 0; i < 40; ++i) {
    unknown.push_back("mine " + std::to_string(i));
    alike.push_back("topk-" + std::to_string(i));
  }
  for (const auto& names : {kDefaultRun, unknown, alike}) {
    std::set<std::tuple<std::string, std::string, int>> seen;
    for (const PolicyStyle& style : StylesOf(names)) seen.insert(LookOf(style));
    EXPECT_EQ(seen.size(), names.size());
  }
}

TEST(PolicyStyle, ColoursSayThePolicyAndDashesTheFamily) {
  const auto styles =
      StylesOf({"legacy-layer", "legacy-layer-qsgd", "qsgd", "legacy-layer-reversed"});
  EXPECT_STREQ(styles[0].colour, styles[1].colour);
  EXPECT_STREQ(styles[0].mark, styles[1].mark);
  EXPECT_NE(styles[0].dashes, styles[1].dashes);
  EXPECT_EQ(styles[1].dashes, styles[2].dashes);
  EXPECT_STRNE(styles[1].colour, styles[2].colour);
  EXPECT_NE(styles[0].dashes, styles[3].dashes);
}

TEST(FamilyOf, RecognisesPolicyNames) {
  const auto family = [](const char* name) { return std::string(kFamilies[FamilyOf(name)]); };
  for (const char* name : {"dense", "fp16", "local-sgd"}) EXPECT_EQ(family(name), "baselines");
  for (const char* name : {"topk", "topk-global", "topk-as-fft", "ar-topk", "dgc", "topk@0.1%"}) {
    EXPECT_EQ(family(name), "sparsifiers") << name;
  }
  for (const char* name : {"legacy-both", "lgreco", "gravac-dgc", "randomk-layer", "kimad"}) {
    EXPECT_EQ(family(name), "adaptive sparsifiers") << name;
  }
  for (const char* name : {"qsgd", "legacy-layer-qsgd", "signsgd", "ef-sign", "terngrad-shared"}) {
    EXPECT_EQ(family(name), "quantisers") << name;
  }
  for (const char* name : {"powersgd", "lgreco-powersgd"}) EXPECT_EQ(family(name), "low rank");
  for (const char* name : {"fft", "fft-fp16", "theta-95"}) EXPECT_EQ(family(name), "frequency");
  for (const char* name : {"", "-", "mine", "densely", "topkk"}) EXPECT_EQ(family(name), "others");
}

// Colours as colour-blind people see them, by Machado, Oliveira and Fernandes, "A
// Physiologically-based Model for Simulation of Color Vision Deficiency" (2009), table 1, severity
// 1: computed in linear RGB, compared in CIELAB.
using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;

Vector Times(const Matrix& matrix, const Vector& vector) {
  Vector product{};
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 3; ++j) product[i] += matrix[i][j] * vector[j];
  }
  return product;
}

Vector LabOf(const std::string& colour, const Matrix& sight) {
  Vector rgb;
  for (size_t i = 0; i < 3; ++i) {
    const double part = std::stoi(colour.substr(1 + 2 * i, 2), nullptr, 16) / 255.0;
    rgb[i] = part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
  }
  rgb = Times(sight, rgb);
  for (double& part : rgb) part = std::clamp(part, 0.0, 1.0);
  const Matrix to_xyz = {{{0.4124564 / 0.95047, 0.3575761 / 0.95047, 0.1804375 / 0.95047},
                          {0.2126729, 0.7151522, 0.0721750},
                          {0.0193339 / 1.08883, 0.1191920 / 1.08883, 0.9503041 / 1.08883}}};
  Vector xyz = Times(to_xyz, rgb);
  for (double& t : xyz) t = t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116;
  return {116 * xyz[1] - 16, 500 * (xyz[0] - xyz[1]), 200 * (xyz[1] - xyz[2])};
}

TEST(PolicyColours, AreToldApartByColourBlindReaders) {
  const std::array<Matrix, 3> sights = {{{{{0.152286, 1.052583, -0.204868},
                                           {0.114503, 0.786281, 0.099216},
                                           {-0.003882, -0.048116, 1.051998}}},  // protanopia
                                         {{{0.367322, 0.860646, -0.227968},
                                           {0.280085, 0.672501, 0.047413},
                                           {-0.011820, 0.042940, 0.968881}}},  // deuteranopia
                                         {{{1.255528, -0.076749, -0.178779},
                                           {-0.078411, 0.930809, 0.147602},
                                           {0.004733, 0.691367, 0.303900}}}}};  // tritanopia
  constexpr double kLeastDistance = 15;  // CIELAB distance; 2.3 is just noticeable side by side
  for (const Matrix& sight : sights) {
    for (const char* one : kPolicyColours) {
      for (const char* other : kPolicyColours) {
        if (one == other) continue;
        const Vector a = LabOf(one, sight), b = LabOf(other, sight);
        EXPECT_GT(std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]), kLeastDistance)
            << one << " and " << other;
      }
    }
  }
}

}  // namespace
}  // namespace legacy::analysis

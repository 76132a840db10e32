// Anchors of adaptive policies for a given number of bytes, with formulas in place of pilots.
#include "scenarios/run/workers/equal_bytes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "compress/exchange.h"
#include "compress/policies/equal_volume.h"
#include "scenarios/options/methods.h"

namespace legacy::equal_bytes_test {
namespace {

Method MethodOf(const std::string& policy, const std::string& scheme = "topk") {
  Method method;
  method.name = "mine";
  method.scheme = scheme;
  method.policy = policy;
  return method;
}

std::vector<Unit> SomeUnits() {
  return {{.id = 0, .name = "a", .shape = {100, 80}, .offset = 0, .numel = 8000},
          {.id = 1, .name = "b", .shape = {80}, .offset = 8000, .numel = 80}};
}

EqualBytes Solve(const Method& method, double anchor, double requested, const PilotBytes& pilot) {
  const auto scheme = MakeScheme(method.scheme);
  return SolveEqualBytes(method, scheme->Parameter(), anchor, requested, pilot);
}

TEST(EqualBytes, BytesInProportionNeedTwoPilots) {
  const auto pilot = [](const Method& method) { return 2.4e4 * method.parameter; };
  const EqualBytes found = Solve(MethodOf("lgreco"), 0.01, 640, pilot);
  EXPECT_EQ(found.pilots, 2);
  EXPECT_TRUE(found.Reached());
  EXPECT_NEAR(found.method.parameter, 640 / 2.4e4, 1e-9);
  EXPECT_NEAR(found.piloted, 640, 1e-6);
}

TEST(EqualBytes, AnchorsThatSendTheRightAmountAreKept) {
  const EqualBytes found =
      Solve(MethodOf("lgreco"), 0.01, 640, [](const Method&) { return 645.0; });
  EXPECT_EQ(found.pilots, 1);
  EXPECT_EQ(found.method.parameter, 0.01);
  EXPECT_EQ(found.method.policy, "lgreco");
}

// Curves have headers that do not scale, saturate, grow with the cube, or fall as the parameter
// rises.
TEST(EqualBytes, CurvesThatAreNotProportionalAreSolved) {
  const PilotBytes curves[] = {
      [](const Method& method) { return 500 + 1e4 * method.parameter; },
      [](const Method& method) { return 4000 * std::sqrt(method.parameter); },
      [](const Method& method) { return 1e8 * std::pow(method.parameter, 3); },
      [](const Method& method) { return 6.4 / method.parameter; }};
  for (const PilotBytes& pilot : curves) {
    const EqualBytes found = Solve(MethodOf("accordion"), 0.01, 700, pilot);
    EXPECT_TRUE(found.Reached()) << found.piloted;
    EXPECT_LE(found.pilots, kMostPilots);
    EXPECT_EQ(found.piloted, pilot(found.method));
  }
}

TEST(EqualBytes, BytesOutOfReachTakeTheNearestAnchor) {
  const auto pilot = [](const Method& method) { return method.parameter < 0.05 ? 100.0 : 900.0; };
  const EqualBytes found = Solve(MethodOf("lgreco"), 0.01, 700, pilot);
  EXPECT_FALSE(found.Reached());
  EXPECT_EQ(found.piloted, 900);
}

TEST(EqualBytes, SaysHowManyPilotsMissedTheBytes) {
  const auto gap = [](const Method& method) { return method.parameter < 0.05 ? 100.0 : 900.0; };
  EXPECT_NE(Solve(MethodOf("lgreco"), 0.01, 700, gap).reason.find("the nearest of"),
            std::string::npos);
}

TEST(EqualBytes, RanksAreWholeAndNoneIsTriedTwice) {
  std::multiset<double> tried;
  const auto pilot = [&](const Method& method) {
    tried.insert(method.parameter);
    return 1000 * method.parameter;
  };
  const EqualBytes found = Solve(MethodOf("lgreco", "powersgd"), 4, 2400, pilot);
  EXPECT_EQ(found.method.parameter, 2);
  EXPECT_NE(found.reason.find("as rank is a whole number"), std::string::npos) << found.reason;
  for (const double rank : tried) EXPECT_EQ(tried.count(rank), 1u) << rank;
}

TEST(EqualBytes, EveryPolicysAmountsFollowTheFactor) {
  const auto topk = MakeScheme("topk");
  const ParameterSpec& density = topk->Parameter();
  const auto scaled = [&](const char* policy) {
    return ScaledMethod(MethodOf(policy), density, 0.01, 2);
  };
  EXPECT_EQ(scaled("lgreco:period=10%").parameter, 0.02);
  EXPECT_EQ(scaled("lgreco:period=10%").policy, "lgreco:period=10%");
  EXPECT_EQ(scaled("accordion:high=0.1%,interval=10%").policy, "accordion:high=0.002,interval=10%");
  EXPECT_EQ(scaled("gravac:window=5%").policy, "gravac:theta_max=500,theta_min=5,window=5%");
  EXPECT_EQ(scaled("gravac:theta_min=1").policy, "gravac:theta_max=500,theta_min=1");
  EXPECT_EQ(scaled("kimad:budget=0.02").policy, "kimad:budget=0.04");
  EXPECT_EQ(scaled("kimad:budget=0.02").parameter, 0.01);
  EXPECT_EQ(scaled("kimad").policy, "kimad");
  EXPECT_EQ(scaled("kimad").parameter, 0.02);
  EXPECT_EQ(scaled("flexible").policy, "flexible:scale=2");
  const auto fft = MakeScheme("fft");
  const Method theta = ScaledMethod(MethodOf("theta", "fft"), fft->Parameter(), 0.85, 2);
  EXPECT_NEAR(theta.parameter, 0.7, 1e-12);  // keeps twice as much
  // Scaling by one gives the same method, however it is written.
  for (const char* policy :
       {"accordion:interval=10%", "gravac:window=5%", "kimad", "kimad:budget=0.02"}) {
    const auto made = [&](const Method& method) {
      Scenario scenario;
      scenario.density = 0.01;
      return BuildMethod(method, scenario, SomeUnits()).policy->Save();
    };
    EXPECT_EQ(made(ScaledMethod(MethodOf(policy), density, 0.01, 1)), made(MethodOf(policy)));
  }
}

TEST(EqualBytes, VolumeInBytesRequestsTheSchemesBytes) {
  Scenario scenario;
  scenario.density = 0.01;
  const std::vector<Unit> units = SomeUnits();
  EXPECT_FALSE(RequestedBytes(MethodOf("lgreco"), scenario, units));
  scenario.legacy.volume = "bytes";
  const auto topk = MakeScheme("topk");
  const double bytes = static_cast<double>(*topk->MessageBytes(units[0], 0.01) +
                                           *topk->MessageBytes(units[1], 0.01));
  EXPECT_EQ(RequestedBytes(MethodOf("lgreco"), scenario, units), bytes);
  Method rare = MethodOf("lgreco");
  rare.local_steps = 4;
  EXPECT_EQ(RequestedBytes(rare, scenario, units), bytes / 4);
  EXPECT_FALSE(RequestedBytes(MethodOf("uniform", "dense"), scenario, units));
  EXPECT_FALSE(RequestedBytes(MethodOf("lgreco", "sidco"), scenario, units)) << "data decide";

  const auto pilot = [](const Method& method) { return 1e4 * method.parameter; };
  EXPECT_TRUE(EqualBytesOf(MethodOf("lgreco"), scenario, units, bytes, pilot));
  for (const char* known : {"uniform", "legacy-both", "legacy-auto"}) {
    EXPECT_FALSE(EqualBytesOf(MethodOf(known), scenario, units, bytes, pilot)) << known;
  }
}

// legacy-auto solves for elements by itself; if asked in bytes, it sends the bytes of the uniform
// density.
TEST(EqualBytes, LegacyAutoIsSolvedInBytes) {
  Scenario scenario;
  scenario.density = 0.01;
  scenario.legacy.volume = "bytes";
  scenario.steps = 100;
  const std::vector<Unit> units = SomeUnits();
  const BuiltMethod built = BuildMethod(MethodOf("legacy-auto"), scenario, units);
  double sent = 0;
  for (int64_t step = 0; step < scenario.steps; ++step) {
    std::vector<double> parameters(units.size());
    built.policy->Decide({.step = step, .total_steps = scenario.steps}, units, parameters);
    for (size_t u = 0; u < units.size(); ++u) {
      sent += static_cast<double>(*built.scheme->MessageBytes(units[u], parameters[u]));
    }
  }
  const double requested = *RequestedBytes(MethodOf("legacy-auto"), scenario, units);
  EXPECT_NEAR(sent / 100, requested, 0.02 * requested);
}

}  // namespace
}  // namespace legacy::equal_bytes_test
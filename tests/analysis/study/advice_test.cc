#include "analysis/study/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tests/analysis/study/study_testing.h"

namespace legacy::analysis::advice_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Returns a study along bandwidth alone, from 10 Mbit/s to 100 Gbit/s. A step of dense computes for
// 10 ms and sends 14 Mbit.
Study MakeBandwidthStudy(const std::vector<MadeUpPolicy>& policies,
                         const std::vector<uint64_t>& seeds = {1, 2, 3}) {
  MadeUpStudy made;
  made.policies = policies;
  made.seeds = seeds;
  made.workers = {8};
  Study study = MakeStudy(made);
  study.axes.pop_back();
  for (StudyPoint& point : study.points) point.values.pop_back();
  return study;
}

Study MakeSimpleStudy() {
  return MakeBandwidthStudy({{"dense"}, {"small", 0.02, false, 2e-3}, {"slow", 1, false, 5e-2}});
}

// Returns the bandwidth at which that study's `small` breaks even: the logarithm of the ratio of
// step times is interpolated over the logarithm of the bandwidth between the two values around it.
double BreakEvenOfSmall() {
  const auto log_ratio = [](double x) {
    return std::log((0.01 + 14e6 / x) / (0.012 + 0.02 * 14e6 / x));
  };
  const double below = 1e7 * std::pow(10, 8 / 3.0);
  const double above = 1e10;
  const double part = log_ratio(below) / (log_ratio(below) - log_ratio(above));
  return below * std::pow(above / below, part);
}

constexpr size_t kSlowLink = 3;   // 100 Mbit/s
constexpr size_t kFastLink = 12;  // 100 Gbit/s

Advice Ask(const Study& study, size_t value, double guessing = 0) {
  AdviceQuestion question;
  question.value = value;
  question.guessing = guessing;
  question.setting = "a network";
  question.command = "legacy-study run study.yaml";
  return AdviceOf(study, question);
}

// Multiplies the times of one policy's points with one seed.
void Slow(Study& study, const std::string& policy, uint64_t seed, double factor) {
  for (StudyPoint& point : study.points) {
    if (point.policy == policy && point.seed == seed) *point.figures.time_to_target *= factor;
  }
}

TEST(Standing, IsWhereTheIntervalLies) {
  Speedup speedup;
  EXPECT_EQ(StandingOf(speedup), Standing::kUnknown);
  speedup.ratio = 1.5;
  speedup.pairs = {{.seed = 1, .ratio = 1.5, .range = {1.2, 1.9}}};
  EXPECT_EQ(StandingOf(speedup), Standing::kSooner);  // one seed: no interval
  speedup.pairs.front().range.low = 0.9;              // both may have reached it at the same time
  EXPECT_EQ(StandingOf(speedup), Standing::kSame);
  speedup.interval = {1.01, 2};
  EXPECT_EQ(StandingOf(speedup), Standing::kSooner);
  speedup.interval = {1, 2};
  EXPECT_EQ(StandingOf(speedup), Standing::kSame);
  speedup.interval = {0.5, 0.99};
  EXPECT_EQ(StandingOf(speedup), Standing::kLater);
  speedup.interval.reset();
  speedup.pairs.clear();
  for (const double ratio : {0.5, 1.0, 2.0}) {
    speedup.ratio = ratio;
    speedup.bound = Bound::kAtLeast;
    EXPECT_EQ(StandingOf(speedup), ratio > 1 ? Standing::kSooner : Standing::kUnknown);
    speedup.bound = Bound::kAtMost;
    EXPECT_EQ(StandingOf(speedup), ratio < 1 ? Standing::kLater : Standing::kUnknown);
  }
}

TEST(Advice, CompressOnASlowLink) {
  const Study study = MakeSimpleStudy();
  const Advice advice = Ask(study, kSlowLink);
  EXPECT_EQ(advice.verdict, AdviceVerdict::kCompress);
  EXPECT_EQ(advice.policy, 1u);
  const double ratio = (0.01 + 0.14) / (0.01 + 0.002 + 0.0028);
  EXPECT_NEAR(advice.place.outcomes[1].speedup.ratio, ratio, 1e-9);
  const std::string text = AdviceText(study, advice);
  EXPECT_THAT(text, StartsWith("Compress: small reaches 80 % accuracy 10.1 [9.79, 10.5] times "
                               "sooner than dense (95 % interval, 3 seeds), after "));
  EXPECT_THAT(text,
              HasSubstr("small breaks even with dense at 7.28 [6.07, 9.87] Gbit/s: on slower links "
                        "compress with it, on faster ones do not.\n"));
  EXPECT_THAT(text, HasSubstr("% communication"));
  EXPECT_THAT(text, HasSubstr("A full study: legacy-study run study.yaml\n"));
  EXPECT_THAT(text, Not(HasSubstr("egress")));
}

TEST(Advice, NoVerdictWhereAccuracyIsNearChance) {
  Study study = MakeSimpleStudy();
  for (StudyPoint& point : study.points) point.figures.final_metric = 0.166;
  const Advice advice = Ask(study, kSlowLink, 0.1);
  EXPECT_EQ(advice.verdict, AdviceVerdict::kUndecided);
  EXPECT_EQ(advice.policy, std::nullopt);
  EXPECT_THAT(VerdictText(study, advice),
              StartsWith("Nothing can be told: dense has accuracy 16.6 % after 400 steps"));
  EXPECT_THAT(VerdictText(study, advice), HasSubstr("guessing 10 %. Train longer"));
  EXPECT_EQ(Ask(study, kSlowLink, 0.08).verdict, AdviceVerdict::kCompress);
}

TEST(Advice, IsTheSameForAMetricOfTheOtherDirection) {
  const Study study = InPerplexity(MakeSimpleStudy());
  const Advice advice = Ask(study, kSlowLink);
  EXPECT_EQ(advice.verdict, AdviceVerdict::kCompress);
  const std::string text = AdviceText(study, advice);
  EXPECT_THAT(text, StartsWith("Compress: small reaches perplexity 7.39 10.1 [9.79, 10.5] times "
                               "sooner than dense (95 % interval, 3 seeds), after "));
  EXPECT_THAT(text, HasSubstr("Its final perplexity is +0"));
  EXPECT_THAT(text, HasSubstr("time to 7.39   times sooner          final  from dense"));
  EXPECT_THAT(text, Not(HasSubstr("accura")));
  EXPECT_THAT(text, Not(HasSubstr("points")));
  const nlohmann::json json = AdviceJson(study, advice);
  EXPECT_EQ(json["metric"]["better"], "lower");
  EXPECT_EQ(json["target"]["value"], 7.39);
}

TEST(Advice, NoVerdictWherePerplexityIsNearGuessing) {
  Study study = InPerplexity(MakeSimpleStudy());
  for (StudyPoint& point : study.points) point.figures.final_metric = 40;
  const Advice advice = Ask(study, kSlowLink, 65);  // of 65 characters
  EXPECT_EQ(advice.verdict, AdviceVerdict::kUndecided);
  EXPECT_THAT(
      VerdictText(study, advice),
      StartsWith("Nothing can be told: dense has perplexity 40 after 400 steps, and guessing "
                 "65."));
  EXPECT_EQ(Ask(study, kSlowLink, 81).verdict, AdviceVerdict::kCompress);
  EXPECT_EQ(Ask(study, kSlowLink, 0).verdict, AdviceVerdict::kCompress);  // not known
}

TEST(Advice, MarksPoliciesThatDecidedTooSeldom) {
  Study study = MakeSimpleStudy();
  EXPECT_THAT(AdviceText(study, Ask(study, kSlowLink)), Not(HasSubstr("†")));
  for (StudyPoint& point : study.points) {
    if (point.policy == "small") point.figures.decisions = 1;
  }
  const std::string text = AdviceText(study, Ask(study, kSlowLink));
  EXPECT_THAT(text, HasSubstr("  small †  "));
  EXPECT_THAT(text, HasSubstr("* †: its policy decided less than three times.\n"));
}

TEST(Advice, DoNotCompressOnAFastLink) {
  const Study study = MakeSimpleStudy();
  const Advice advice = Ask(study, kFastLink);
  EXPECT_EQ(advice.verdict, AdviceVerdict::kDoNot);
  EXPECT_FALSE(advice.policy);
  // A step of small takes 12.0028 ms, one of dense 10.14 ms.
  EXPECT_THAT(VerdictText(study, advice),
              StartsWith("Do not compress: dense reaches 80 % accuracy before all others. The "
                         "next, small, takes 1.18 [1.14, 1.23] times as long"));
  EXPECT_EQ(BoundOf(advice.place.outcomes[1].step), "compute");
}

TEST(Advice, UndecidedWhereTheIntervalContainsOne) {
  Study study = MakeBandwidthStudy(
      {{"dense"}, {"same"}, {"slow", 1, false, 5e-2}, {"small", 0.02, false, 0}});
  Slow(study, "same", 1, 0.8);
  Slow(study, "same", 2, 1.25);
  for (StudyPoint& point : study.points) {
    if (point.policy == "small" && point.seed == 3) point.figures.time_to_target.reset();
  }
  const Advice advice = Ask(study, kSlowLink);
  EXPECT_EQ(advice.verdict, AdviceVerdict::kUndecided);
  const std::string text = VerdictText(study, advice);
  EXPECT_THAT(text, StartsWith("Compressing cannot be told apart from dense: "));
  EXPECT_THAT(text, HasSubstr("of 3 seeds: same 1.00 [0."));
  EXPECT_THAT(text, HasSubstr("Later than dense: slow."));
  EXPECT_THAT(text, HasSubstr("Not known, as seeds miss the target: small."));
}

TEST(Advice, CensoredTimesDecideOnlyIfAllSeedsAgree) {
  Study study = MakeBandwidthStudy({{"dense"}, {"small", 0.02, false, 2e-3}});
  for (StudyPoint& point : study.points) {
    if (point.policy == "dense" && point.seed == 3) point.figures.time_to_target.reset();
  }
  EXPECT_EQ(Ask(study, kSlowLink).verdict, AdviceVerdict::kCompress);
  Slow(study, "small", 1, 11);  // later with that seed, sooner on average
  EXPECT_GT(Ask(study, kSlowLink).place.outcomes[1].speedup.ratio, 1);
  EXPECT_EQ(Ask(study, kSlowLink).verdict, AdviceVerdict::kUndecided);
}

TEST(Advice, OneSeedSaysSo) {
  const Study study = MakeBandwidthStudy({{"dense"}, {"small", 0.02, false, 2e-3}}, {7});
  EXPECT_THAT(VerdictText(study, Ask(study, kSlowLink)),
              HasSubstr("10.1 times sooner than dense (one seed: nothing says how sure that is)"));
}

TEST(Advice, MissedTargetsGiveBoundsOrNoVerdict) {
  const MadeUpPolicy never{"never", 0.02, false, 2e-3, 700};
  const Study slow = MakeBandwidthStudy({{"dense"}, never});
  EXPECT_EQ(Ask(slow, kFastLink).verdict, AdviceVerdict::kDoNot);
  EXPECT_THAT(VerdictText(slow, Ask(slow, kFastLink)), HasSubstr("misses it with 3 of 3 seeds"));

  const Study fast =
      MakeBandwidthStudy({{"dense", 1, false, 0, 700}, {"small", 0.02, false, 2e-3}});
  const Advice advice = Ask(fast, kSlowLink);
  EXPECT_EQ(advice.verdict, AdviceVerdict::kCompress);
  EXPECT_THAT(VerdictText(fast, advice), HasSubstr("at least "));
  EXPECT_THAT(VerdictText(fast, advice), HasSubstr("dense, which misses it with 3 of 3 seeds"));

  const Study none = MakeBandwidthStudy({{"dense", 1, false, 0, 700}, never});
  EXPECT_EQ(Ask(none, kSlowLink).verdict, AdviceVerdict::kUndecided);
  EXPECT_THAT(VerdictText(none, Ask(none, kSlowLink)), StartsWith("Nothing can be told: "));
}

TEST(Advice, FailuresAreErrorsAtTheAskedValueAndGapsElsewhere) {
  Study study = MakeSimpleStudy();
  Forget(study.points.front(), "no such host");  // the point at 10 Mbit/s
  EXPECT_EQ(Ask(study, kSlowLink).verdict, AdviceVerdict::kCompress);
  try {
    Ask(study, 0);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "dense, seed 1: no such host");
  }
  study.target.reset();
  EXPECT_THROW(Ask(study, kSlowLink), Error);
}

TEST(Advice, JsonHasWhatTheTextSays) {
  Study study = MakeSimpleStudy();
  for (StudyPoint& point : study.points) point.figures.egress_usd = 0.5;
  const Advice advice = Ask(study, kSlowLink);
  const nlohmann::json json = AdviceJson(study, advice);
  EXPECT_EQ(json["verdict"], "compress");
  EXPECT_EQ(json["policy"], "small");
  EXPECT_EQ(json["words"], VerdictText(study, advice));
  EXPECT_EQ(json["metric"]["name"], "accuracy");
  EXPECT_EQ(json["target"]["value"], 0.8);
  EXPECT_EQ(json["target_chosen"], false);
  ASSERT_EQ(json["policies"].size(), 3u);
  EXPECT_TRUE(json["policies"][0]["speedup"].is_null());
  EXPECT_EQ(json["policies"][1]["speedup"]["standing"], "sooner");
  EXPECT_EQ(json["policies"][2]["speedup"]["standing"], "later");
  EXPECT_EQ(json["policies"][1]["egress_usd"]["mean"], 0.5);
  EXPECT_EQ(json["policies"][0]["bound"], "communication");
  ASSERT_EQ(json["break_even"].size(), 2u);
  EXPECT_EQ(json["break_even"][0]["pays"], "below");
  EXPECT_NEAR(json["break_even"][0]["bandwidth_bits_per_second"].get<double>() / BreakEvenOfSmall(),
              1, 1e-9);
  EXPECT_TRUE(json["break_even"][1]["bandwidth_bits_per_second"].is_null());
  EXPECT_EQ(json["break_even"][1]["seeds"]["behind"], 3);
  EXPECT_THAT(AdviceText(study, advice), HasSubstr("egress USD"));
}

TEST(Advice, WhatCannotBeToldApartFromTheBestIsNamed) {
  Study study = MakeBandwidthStudy(
      {{"dense"}, {"small", 0.02, false, 2e-3}, {"near", 0.02, false, 2e-3}, {"slow", 1}});
  Slow(study, "near", 1, 1.1);
  Slow(study, "near", 2, 0.95);
  const Advice advice = Ask(study, kSlowLink);
  EXPECT_EQ(TiesOf(study, advice), (std::vector<std::string>{"near"}));
  EXPECT_THAT(VerdictText(study, advice),
              HasSubstr(" Not to be told apart from it with 3 seeds: near."));
  EXPECT_EQ(AdviceJson(study, advice)["ties"], (std::vector<std::string>{"near"}));
  EXPECT_THAT(VerdictText(study, advice), Not(HasSubstr("Of these")));
  for (StudyPoint& point : study.points) {
    point.figures.final_metric = 0.9 + 0.001 * static_cast<double>(point.seed);
    if (point.policy == "small") point.figures.final_metric -= 0.05;
  }
  EXPECT_THAT(VerdictText(study, Ask(study, kSlowLink)),
              HasSubstr(" Of these, near loses no accuracy that shows with 3 seeds."));
  EXPECT_TRUE(TiesOf(study, Ask(study, kFastLink)).empty());  // none is to be taken
}

TEST(Advice, FinalValuesSayWhatLosesAccuracy) {
  Study study = MakeSimpleStudy();
  for (StudyPoint& point : study.points) {
    point.figures.final_metric = 0.9 + 0.001 * static_cast<double>(point.seed);
    if (point.policy == "small") point.figures.final_metric -= 0.05;
  }
  EXPECT_THAT(
      AdviceText(study, Ask(study, kSlowLink)),
      HasSubstr("Final accuracy: dense ends at 90.20 ± 0.10 %; small ends 5.00 points "
                "below it [-5.00, -5.00]; slow cannot be told apart from it with 3 seeds."));
}

// Returns advice about that study where its policies are rows of federated clients.
Advice AskOfClients(const Study& study, std::vector<AdviceRow> rows) {
  AdviceQuestion question;
  question.value = kSlowLink;
  question.quick = "--quick-rounds";
  question.clients = {.rows = std::move(rows)};
  return AdviceOf(study, question);
}

TEST(Advice, ClientsCompressUpdatesModelsOrBoth) {
  const Study study = MakeSimpleStudy();
  const Spread hours = SpreadOf({0.10, 0.11, 0.12}), usd = SpreadOf({1, 1, 1});
  const auto of = [&](AdviceWay way) {
    return AskOfClients(study, {{.client_hours_to_target = hours, .waits = "Rounds wait."},
                                {.way = way, .usd_to_target = usd, .client_hours_to_target = hours},
                                {.waits = "Nobody asked."}});
  };
  EXPECT_THAT(VerdictText(study, of(AdviceWay::kUp)), StartsWith("Compress the uplink: small "));
  EXPECT_THAT(VerdictText(study, of(AdviceWay::kDown)), StartsWith("Compress the downlink: small"));
  EXPECT_THAT(
      VerdictText(study, of(AdviceWay::kNone)),
      StartsWith("Do not compress, but change the algorithm: small reaches 80 % accuracy "));
  EXPECT_EQ(of(AdviceWay::kNone).verdict, AdviceVerdict::kDoNot);
  const Advice advice = of(AdviceWay::kBoth);
  EXPECT_EQ(advice.verdict, AdviceVerdict::kCompress);
  const std::string text = AdviceText(study, advice);
  EXPECT_THAT(text, StartsWith("Compress both ways: small reaches 80 % accuracy 10.1 "));
  EXPECT_THAT(text, HasSubstr("client hours"));
  EXPECT_THAT(text,
              HasSubstr("0.110 [0.0852, 0.135]"));  // t-interval of two degrees: 4.30 / sqrt 3
  EXPECT_THAT(text, HasSubstr("1.00 [1.00, 1.00]"));
  EXPECT_EQ(CostInterval(SpreadOf({1, 9}))->low, 0);  // nothing costs less than nothing
  EXPECT_THAT(text, HasSubstr("a round, most of it"));
  EXPECT_THAT(text, HasSubstr("dense: Rounds wait.\n"));
  EXPECT_THAT(text, Not(HasSubstr("Nobody asked")));
  EXPECT_THAT(text, HasSubstr("on slower lines take it, on faster ones do not"));
  EXPECT_THAT(text, Not(HasSubstr("worker")));
  const nlohmann::json json = AdviceJson(study, advice);
  EXPECT_EQ(json["policies"][1]["compresses"], "both");
  EXPECT_EQ(json["policies"][0]["client_hours_to_target"]["mean"], hours.mean);
  EXPECT_TRUE(json["policies"][0]["usd_to_target"].is_null());
  EXPECT_EQ(json["policies"][0]["waits"], "Rounds wait.");
  EXPECT_FALSE(AdviceJson(study, Ask(study, kSlowLink))["policies"][0].contains("compresses"));
}

TEST(Advice, ClientsPayMoney) {
  const Study study = MakeSimpleStudy();
  const auto priced = [&](std::vector<double> dear, std::vector<double> cheap) {
    std::vector<double> ratios;
    for (size_t i = 0; i < dear.size(); ++i) ratios.push_back(dear[i] / cheap[i]);
    return AskOfClients(study, {{.usd_to_target = SpreadOf(dear)},
                                {.way = AdviceWay::kUp,
                                 .usd_to_target = SpreadOf(cheap),
                                 .cheaper = GeometricMeanOf(ratios)},
                                {}});
  };
  const Advice cheaper = priced({8, 4, 6}, {2, 1, 1.5});
  EXPECT_THAT(
      VerdictText(study, cheaper),
      HasSubstr(" small is the cheapest: 1.50 USD to the target instead of 6.00, 4.00 [4.00, "
                "4.00] times cheaper (95 % interval)."));
  EXPECT_EQ(AdviceJson(study, cheaper)["policies"][1]["times_cheaper"]["mean"], 4);
  EXPECT_TRUE(AdviceJson(study, cheaper)["policies"][0]["times_cheaper"].is_null());
  EXPECT_THAT(VerdictText(study, priced({8, 1}, {2, 2})),
              HasSubstr("not to be told apart from that of dense"));
  EXPECT_THAT(VerdictText(study, priced({1, 1}, {2, 2})), HasSubstr(" dense is the cheapest."));
}

TEST(Advice, AnAxisOfOneValueHasNoBreakEven) {
  Study study = MakeSimpleStudy();
  study.axes[0].values = {study.axes[0].values[kSlowLink]};
  study.axes[0].numbers = {study.axes[0].numbers[kSlowLink]};
  std::erase_if(study.points,
                [&](const StudyPoint& p) { return p.values[0] != study.axes[0].values[0]; });
  for (size_t p = 0; p < study.points.size(); ++p) study.points[p].id = static_cast<int64_t>(p);
  const Advice advice = Ask(study, 0);
  EXPECT_EQ(advice.verdict, AdviceVerdict::kCompress);
  EXPECT_THAT(AdviceText(study, advice), Not(HasSubstr("Break-even")));
  EXPECT_TRUE(AdviceJson(study, advice)["break_even"].empty());
}

}  // namespace
}  // namespace legacy::analysis::advice_test
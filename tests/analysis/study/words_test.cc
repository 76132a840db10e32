#include "analysis/study/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/study/quantities.h"
#include "tests/analysis/study/small_study.h"
#include "tests/analysis/study/study_testing.h"

namespace legacy::analysis::words_test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Quantities, AreInHumanUnits) {
  EXPECT_EQ(ShowQuantity(4.64e7, "bit/s"), "46.4 Mbit/s");
  EXPECT_EQ(ShowQuantity(1e9, "bit/s"), "1 Gbit/s");
  EXPECT_EQ(ShowQuantity(1e-5, "s"), "10 µs");
  EXPECT_EQ(ShowQuantity(0, "s"), "0 s");
  EXPECT_EQ(ShowQuantity(0.001, "fraction"), "0.1 %");
  EXPECT_EQ(ShowQuantity(1500, "B"), "1.5 kB");
  EXPECT_EQ(ShowQuantity(100, ""), "100");
  EXPECT_EQ(ShowQuantity(kUnknown, "s"), "-");
  EXPECT_EQ(ShowSpread({3, 0.0123, 0.0004}, "s"), "12.3 ± 0.4 ms");
  EXPECT_EQ(ShowSpread({1, 2, kUnknown}, "s"), "2.00 s");
  EXPECT_EQ(ShowSpread({}, "s"), "-");
  EXPECT_EQ(ShowEstimate(4.12e8, Interval{3.8e8, 4.5e9}, "bit/s"), "412 [380, 4500] Mbit/s");
  EXPECT_EQ(ShowCount(1, "seed"), "1 seed");
  EXPECT_EQ(ShowCount(0, "seed"), "0 seeds");
}

// Returns a study of dense and topk at three bandwidths with 8 workers: dense takes 8, 2.2 and 1 s,
// topk 2 s. `noise` moves the times of the seeds in opposite directions.
Study ThreeBandwidths(std::vector<uint64_t> seeds, double noise) {
  Study study = PendingStudy({"dense", "topk"}, std::move(seeds),
                             {Bandwidths({1e8, 1e9, 1e10}), {"workers", "", {"8"}, {8}}});
  const auto& values = study.axes[0].values;
  FinishAll(study, [&](const StudyPoint& point) -> std::optional<double> {
    const auto at = std::ranges::find(values, point.values[0]) - values.begin();
    const double time = point.policy == "topk" ? 2 : (at == 0 ? 8 : at == 1 ? 2.2 : 1);
    const bool up = (point.seed % 2 == 0) == (point.policy == "topk");
    return time * (1 + (up ? noise : -noise));
  });
  return study;
}

std::string Time(const Study& study) { return TimeWords(study, FacetsOf(study, 0)[0]); }
std::string Even(const Study& study) { return BreakEvenWords(study, FacetsOf(study, 0)[0]); }

TEST(TimeWords, NameTheFastestPolicyOnEachNetwork) {
  EXPECT_EQ(Time(ThreeBandwidths({1, 2, 3}, 0)),
            "For 8 workers: topk is the fastest from 100 Mbit/s to 1 Gbit/s (TTA 2.00 s at "
            "100 Mbit/s, 4.00 [4.00, 4.00] times sooner than dense). dense is the fastest at "
            "10 Gbit/s (TTA 1.00 s, 2.00 [2.00, 2.00] times sooner than the next, topk). "
            "Break-even with dense: topk at 1.32 [1.32, 1.32] Gbit/s.");
}

// Gives the steps of a study 1 ms of computing, and to topk 1 ms of its codec and 1 ms of
// communication; dense communicates for 8 ms at the first place and 0.5 ms at the others.
void FillSteps(Study& study) {
  for (StudyPoint& point : study.points) {
    const bool topk = point.policy == "topk";
    const bool first = point.values[0] == study.axes[0].values[0];
    PointFigures& figures = point.figures;
    figures.compute_seconds = 1e-3;
    figures.encode_seconds = topk ? 1e-3 : 0;
    figures.communication_seconds = topk ? 1e-3 : first ? 8e-3 : 0.5e-3;
    figures.step_seconds =
        figures.compute_seconds + figures.encode_seconds + figures.communication_seconds;
  }
}

TEST(StudyVerdict, SaysWhyAndWhatWouldTurnTheOrder) {
  Study study = ThreeBandwidths({1, 2, 3}, 0);
  FillSteps(study);
  EXPECT_THAT(
      StudyVerdict(study),
      HasSubstr(
          "the next, topk). Why: at 100 Mbit/s a step of topk takes 3 ms and one of "
          "dense 9 ms, of which communication is 1 ms and 8 ms; at 10 Gbit/s a "
          "step of dense takes 1.5 ms and one of topk 3 ms, of which encoding and decoding are 0 s "
          "and 1 ms. Break-even with dense: topk at 1.32 "));
  study = PendingStudy({"dense", "topk"}, {1, 2}, {Bandwidths({1e8, 1e9})});
  FinishAll(study, [](const StudyPoint& point) { return point.policy == "topk" ? 3. : 9.; });
  FillSteps(study);
  for (StudyPoint& point : study.points) {
    if (point.values[0] != study.axes[0].values[0]) Finish(point, std::nullopt);
  }
  // With 1000 steps each, links 7 times as fast make dense 1 + 8 / 7 ms and topk 2 + 1 / 7 ms.
  EXPECT_THAT(StudyVerdict(study), HasSubstr(" ms. On links 7.00 times as fast dense would be "
                                             "level, if communication shrinks in proportion."));
}

TEST(StudyVerdict, TellsTheLongestAxisAtTheFirstPlace) {
  Study wide = PendingStudy({"dense", "topk"}, {1, 2},
                            {Bandwidths({1e8, 1e9, 1e10}), {"workers", "", {"8", "16"}, {8, 16}}});
  FinishAll(wide, [](const StudyPoint& point) { return point.policy == "topk" ? 1. : 2.; });
  EXPECT_THAT(StudyVerdict(wide), StartsWith(Time(wide) + " Why: at 100 Mbit/s topk needs "));
  EXPECT_THAT(StudyVerdict(wide), EndsWith(" The report has 1 other place along that axis."));
  FinishAll(wide, [](const StudyPoint&) { return std::optional<double>(); });
  EXPECT_EQ(StudyVerdict(wide), MissedWords(wide));
  EXPECT_THAT(StudyVerdict(wide), StartsWith("No training reached the target"));
}

TEST(StudyVerdict, TellsOfTheFirstPlaceWhereNoAxisHasNumbers) {
  Study study =
      PendingStudy({"dense", "topk"}, {1, 2, 3}, {{"topology", "", {"star", "fat-tree"}, {}}});
  FinishAll(study, [](const StudyPoint& point) -> std::optional<double> {
    return point.policy == "topk" ? std::optional<double>() : 2.;
  });
  const Place first = PlacesOf(study)[0];
  EXPECT_EQ(
      StudyVerdict(study),
      "For topology star: dense is the fastest (TTA 2.00 s). topk never reaches the target. " +
          DifferenceWords(study, first) + " The report has 1 other place.");
  study.target.reset();  // as in a study of shapes
  EXPECT_EQ(StudyVerdict(study), StepWords(study, first) + " The report has 1 other place.");
  EXPECT_THAT(StepWords(study, first),
              StartsWith("For topology star: a step is the shortest with "));
  Study single = PendingStudy({"dense", "topk"}, {1, 2, 3}, {});
  EXPECT_EQ(StudyVerdict(single), "");
  FinishAll(single, [](const StudyPoint& point) { return point.policy == "topk" ? 1. : 2.; });
  for (StudyPoint& point : single.points) {
    const bool topk = point.policy == "topk";
    point.figures.step_seconds = topk ? 3e-3 : 6e-3;
    point.figures.communication_seconds = topk ? 1e-3 : 5e-3;
  }
  EXPECT_EQ(StudyVerdict(single),
            "topk is the fastest (TTA 1.00 s, 2.00 [2.00, 2.00] times sooner than dense). Why: a "
            "step of topk takes 3 ms and one of dense 6 ms, of which communication is 1 ms and "
            "5 ms. On links 4.00 times as fast dense would be level, if communication shrinks in "
            "proportion. " +
                DifferenceWords(single, PlacesOf(single)[0]));
  single.target.reset();
  EXPECT_THAT(StudyVerdict(single), StartsWith("A step is the shortest with "));
}

TEST(TimeWords, SayWhichPoliciesCannotBeDistinguished) {
  const std::string words = Time(ThreeBandwidths({1, 2, 3}, 0.1));
  EXPECT_THAT(words, StartsWith("For 8 workers: topk is the fastest at 100 Mbit/s (TTA "));
  EXPECT_THAT(words,
              HasSubstr("). 3 seeds cannot tell which method is the fastest at 1 Gbit/s: topk (TTA "
                        "1.93 ± 0.23 s) and dense (1.18 [0.661, 2.09] times as long). dense is the "
                        "fastest at 10 Gbit/s (TTA "));
  EXPECT_THAT(words, HasSubstr("). More seeds, or more frequent evaluations, may tell. Break-even "
                               "with dense: topk at "));
  EXPECT_THAT(words, Not(HasSubstr("one seed")));
}

TEST(TimeWords, NameTheAxisOnce) {
  Study study =
      PendingStudy({"dense", "topk"}, {1, 2}, {{"delay", "s", {"10us", "1ms"}, {1e-5, 1e-3}}});
  FinishAll(study, [](const StudyPoint& point) {
    return (point.policy == "topk" ? 2.0 : 2.1) *
           (1 + (point.seed == 1 ? 0.1 : -0.1) * (point.policy == "topk" ? 1 : -1));
  });
  EXPECT_EQ(Time(study),
            "2 seeds cannot tell which method is the fastest from delay 10 µs to 1 ms: topk (TTA "
            "2.00 ± 0.28 s at delay 10 µs) and dense (1.05 [0.0820, 13.4] times as long). More "
            "seeds, or more frequent evaluations, may tell.");
  EXPECT_EQ(StudyVerdict(study), Time(study));  // no policy is first, so there is no reason
}

TEST(TimeWords, NameAFewOfManyThatCannotBeToldApart) {
  Study study = PendingStudy({"a", "b", "c", "d", "e"}, {1}, {Bandwidths({1e8, 1e9})});
  FinishAll(study, [](const StudyPoint&) { return 3.0; });
  EXPECT_THAT(Time(study), StartsWith("1 seed cannot tell which method is the fastest from 100 "
                                      "Mbit/s to 1 Gbit/s: a (TTA 3.00 s at 100 Mbit/s), b (1.00 "
                                      "times as long), c (1.00 times as long) and 2 others. "));
  study = PendingStudy({"a", "b", "c", "d"}, {1}, {Bandwidths({1e8, 1e9})});
  FinishAll(study, [](const StudyPoint&) { return 3.0; });
  EXPECT_THAT(Time(study), HasSubstr("), c (1.00 times as long) and d (1.00 times as long). "));
}

TEST(TimeWords, OfOneSeedHaveNoIntervals) {
  const std::string words = Time(ThreeBandwidths({1}, 0));
  EXPECT_THAT(words, HasSubstr("4.00 times sooner than dense)."));
  EXPECT_THAT(words, HasSubstr("There is one seed, so there are no intervals."));
  EXPECT_THAT(words, Not(HasSubstr("[")));
}

TEST(TimeWords, NameThoseThatMissTheTarget) {
  Study study = ThreeBandwidths({1, 2}, 0);
  for (StudyPoint& point : study.points) {
    if (point.policy == "topk") Finish(point, std::nullopt);
  }
  EXPECT_THAT(Time(study), HasSubstr("dense is the fastest from 100 Mbit/s to 10 Gbit/s"));
  EXPECT_THAT(Time(study), HasSubstr(" topk never reaches the target."));
  study.baseline = "topk";
  EXPECT_THAT(Time(study), HasSubstr("(TTA 8.00 s at 100 Mbit/s, ≥ 125 times sooner than topk)"));
  for (StudyPoint& point : study.points) {
    if (point.policy == "topk") Finish(point, std::nullopt, 0.5);
  }
  EXPECT_THAT(Time(study), HasSubstr("(TTA 8.00 s at 100 Mbit/s)"));  // it had ended before
  study.baseline = "dense";
  Finish(study.points[2], 2);
  EXPECT_THAT(Time(study), HasSubstr(" topk misses the target in 5 of 6 trainings."));
  for (StudyPoint& point : study.points) Finish(point, std::nullopt);
  EXPECT_EQ(Time(study), "");
}

TEST(MissedWords, AreSaidWhereNoTrainingReachedTheTarget) {
  Study study = ThreeBandwidths({1, 2}, 0);
  EXPECT_EQ(MissedWords(study), "");
  for (StudyPoint& point : study.points) {
    Finish(point, std::nullopt);
    point.figures.best_metric = 0.5 + 0.01 * static_cast<double>(point.id);
  }
  const StudyPoint& last = study.points.back();
  EXPECT_EQ(MissedWords(study),
            "No training reached the target accuracy of 80 %. The best that was reached is " +
                ShowQuantity(last.figures.best_metric, "fraction") + ": " + last.policy +
                " with seed 2, 10 Gbit/s.");
  study.points.back().state = StudyState::kPending;
  EXPECT_THAT(MissedWords(study), HasSubstr("seed 1, 10 Gbit/s"));
  study.target.reset();
  EXPECT_EQ(MissedWords(study), "");
}

TEST(TimeWords, CompareOnlyWholeSetsOfSeeds) {
  Study study = ThreeBandwidths({1, 2}, 0);
  Forget(study.points[2]);  // topk, seed 1, at 100 Mbit/s
  EXPECT_THAT(Time(study), HasSubstr("dense is the fastest at 100 Mbit/s (TTA 8.00 s). topk is"));
  EXPECT_THAT(Time(study), HasSubstr(" 1 of 12 points is not done."));
  for (StudyPoint& point : study.points) Forget(point);
  EXPECT_EQ(Time(study), "");
}

TEST(TimeWords, OfOnePolicyCompareNothing) {
  Study study = PendingStudy({"dense"}, {1, 2}, {Bandwidths({1e8, 1e9})});
  FinishAll(study, [](const StudyPoint&) { return 3.0; });
  EXPECT_EQ(Time(study),
            "dense is the fastest from 100 Mbit/s to 1 Gbit/s (TTA 3.00 s at 100 Mbit/s).");
  EXPECT_EQ(Even(study), "");
  study.target.reset();
  EXPECT_EQ(Time(study), "");
}

TEST(BreakEvenWords, StandBesideTheTextbook) {
  Study study = ThreeBandwidths({1, 2}, 0);
  EXPECT_EQ(
      Even(study),
      "For 8 workers: against dense along bandwidth, topk pays below 1.32 [1.32, 1.32] Gbit/s "
      "(alpha-beta model: 1.32 Gbit/s).");
  // The textbook's break-even moves by a part ln(2.2 / 2.1) / ln 2.2 of the decade.
  for (StudyPoint& point : study.points) {
    if (point.policy == "topk") point.figures.alpha_beta_step_seconds *= 1.05;
  }
  EXPECT_THAT(Even(study), HasSubstr("(alpha-beta model: 1.15 Gbit/s)"));
}

TEST(BreakEvenWords, GroupThoseThatNeverCross) {
  Study study = PendingStudy({"dense", "a", "b", "c", "d"}, {1, 2}, {Bandwidths({1e8, 1e9})});
  FinishAll(study, [](const StudyPoint& point) -> std::optional<double> {
    if (point.policy == "dense") return 2;
    if (point.policy == "c") return 3;
    if (point.policy == "d") return point.seed == 1 ? 1 : 3;
    return 1;
  });
  Forget(study.points[3]);  // a, seed 2, at one of its two bandwidths
  EXPECT_EQ(
      Even(study),
      "against dense along bandwidth, a (1 of 2 seeds) and b pay over the whole range; c never "
      "pays; d pays over the whole range with some seeds and never with others.");
}

TEST(BreakEvenWords, SayWhereTheAxisEnds) {
  const StudyAxis axis = Bandwidths({1e8, 1e9, 4e11});
  EXPECT_EQ(ShowCrossing(axis, 9.17e10, Interval{3.52e10, 4e11}), "91.7 [35.2, ≥ 400] Gbit/s");
  EXPECT_EQ(ShowCrossing(axis, 2e9, Interval{1e7, 6e11}), "2.00 [≤ 0.100, ≥ 400] Gbit/s");
  EXPECT_EQ(ShowCrossing(axis, 2e9, Interval{1e9, 3e9}), "2.00 [1.00, 3.00] Gbit/s");
  EXPECT_EQ(ShowCrossing(axis, 2e9, std::nullopt), "2.00 Gbit/s");
}

TEST(BreakEvenWords, PayOnlyWhereIntervalsTell) {
  Study study = PendingStudy({"dense", "a", "b"}, {1, 2}, {Bandwidths({1e8, 1e9})});
  FinishAll(study, [](const StudyPoint& point) -> std::optional<double> {
    if (point.policy == "dense") return 2;
    if (point.policy == "a") return point.seed == 1 ? 1.9 : 1.1;  // ahead with both seeds
    return 1;
  });
  EXPECT_EQ(Even(study),
            "against dense along bandwidth, b pays over the whole range; a can nowhere be told "
            "apart from dense.");
}

TEST(SpeedupMapWords, CountPlacesAndNameTheExtremes) {
  Study study = PendingStudy({"dense", "topk"}, {1, 2},
                             {Bandwidths({1e8, 1e9}), {"workers", "", {"4", "8"}, {4, 8}}});
  FinishAll(study, [&](const StudyPoint& point) -> std::optional<double> {
    if (point.policy == "dense") return point.values[0] == study.axes[0].values[0] ? 8 : 2;
    return point.values[1] == "4" ? 1 : 4;
  });
  const Plane plane = PlanesOf(study, 0, 1)[0];
  EXPECT_EQ(SpeedupMapWords(study, plane, 1),
            "topk reaches the target from 0.500 [0.500, 0.500] (1 Gbit/s, 8 workers) to "
            "8.00 [8.00, 8.00] (100 Mbit/s, 4 workers) times as soon as dense. Of 4 places it is "
            "sooner at 3 and later at 1.");
  EXPECT_EQ(SpeedupMapWords(study, plane, 0), "");
  for (StudyPoint& point : study.points) {
    if (point.policy == "topk" && point.values[1] == "8") Finish(point, std::nullopt);
  }
  EXPECT_THAT(SpeedupMapWords(study, PlanesOf(study, 0, 1)[0], 1),
              HasSubstr("Of its ratio to dense there is only a bound at 2 places."));
}

TEST(StepWords, NameTheShortestAndTheLongestStep) {
  const Study study = MakeStudy();
  EXPECT_EQ(
      StepWords(study, PlacesOf(study)[0]),
      "For 10 Mbit/s, 8 workers: a step is the shortest with artopk-1% (42 ms: 67 % communication, "
      "24 % compute, 5 % encode, 5 % decode) and the longest with dense (1.41 s: 99 % "
      "communication).");
  const Study pending = PendingStudy({"dense"}, {1}, {Bandwidths({1e8})});
  EXPECT_EQ(StepWords(pending, PlacesOf(pending)[0]), "");
}

TEST(MetricWords, SayBytesAndWhatDiffers) {
  Study study = PendingStudy({"dense", "fp16", "topk"}, {1, 2, 3}, {});
  FinishAll(study, [](const StudyPoint&) { return 1.0; });
  for (StudyPoint& point : study.points) {
    const bool topk = point.policy == "topk";
    const double noise =
        0.001 * static_cast<double>(point.seed) * (point.policy == "fp16" ? -1 : 1);
    point.figures.final_metric = (topk ? 0.80 : 0.85) + noise;
    point.curve = {{100, 1, 0, topk ? 1e6 : 1e9, 0, {0.8}}};
  }
  const std::string words = MetricWords(study, PlacesOf(study)[0]);
  EXPECT_EQ(
      words,
      "until 80 % accuracy one worker sends the least with topk, 1.00 MB, 1000 times less than the "
      "1.00 GB with dense. dense ends at 85.20 ± 0.10 %; topk ends 5.00 points below it "
      "[-5.00, -5.00]; fp16 cannot be told apart from it with 3 seeds.");
}

TEST(MetricWords, NameAMetricThatIsNoFraction) {
  Study study = PendingStudy({"dense", "topk"}, {1, 2}, {});
  study.metrics = {{"perplexity", "perplexity", Metric::Better::kLower, false}};
  study.target = Target{"perplexity", 120};
  FinishAll(study, [](const StudyPoint&) { return 1.0; });
  for (StudyPoint& point : study.points) {
    const bool topk = point.policy == "topk";
    point.figures.final_metric = topk ? 121.5 : 118.25;
    point.curve = {{100, 1, 0, topk ? 1e6 : 1e9, 0, {120}}};
  }
  EXPECT_EQ(MetricWords(study, PlacesOf(study)[0]),
            "until perplexity 120 one worker sends the least with topk, 1.00 MB, 1000 times less "
            "than the 1.00 GB with dense. dense ends at perplexity 118.2; topk ends 3.25 above it "
            "[+3.25, +3.25].");
}

TEST(MissedWords, NameTheLowestValueWhereLowerIsBetter) {
  Study study = ThreeBandwidths({1, 2}, 0);
  study.metrics = {{"perplexity", "perplexity", Metric::Better::kLower, false}};
  study.target = Target{"perplexity", 120};
  for (StudyPoint& point : study.points) {
    Finish(point, std::nullopt);
    point.figures.best_metric = point.id == 0 ? NAN : 200 + static_cast<double>(point.id);
  }
  EXPECT_EQ(MissedWords(study),
            "No training reached the target perplexity of 120. The best that was reached is 201: "
            "dense with seed 2, 100 Mbit/s.");
}

}  // namespace
}  // namespace legacy::analysis::words_test
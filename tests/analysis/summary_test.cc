#include "analysis/summary.h"

#include <cmath>

#include "analysis/tables.h"
#include "tests/analysis/fixture.h"

namespace legacy::analysis::summary_test {
namespace {

// Returns the number of evaluations until the target is reached; 0: it is not.
size_t Reached(const Metric& metric, double target, const std::vector<double>& values) {
  const auto reached = TargetReached(metric, target, values);
  return reached ? *reached + 1 : 0;
}

TEST(TargetReached, IsWhereTheMeanOfThreeReachesTheTarget) {
  EXPECT_EQ(Reached(kAccuracy, 0.8, {0.5, 0.9, 0.7, 0.9, 0.9}), 4u);
  EXPECT_EQ(Reached(kAccuracy, 0.8, {0.5, 0.9, 0.7, 0.79, 0.9}), 0u);
  EXPECT_EQ(Reached(kAccuracy, 0.8, {NAN, 0.9, 0.9}), 0u);
  EXPECT_EQ(Reached(kAccuracy, 0.8, {NAN, 0.9, 0.9, 0.9}), 4u);
}

TEST(TargetReached, IsFromAboveWhereLowerIsBetter) {
  EXPECT_EQ(Reached(kPerplexity, 120, {900, 130, 110, 120, 90}), 4u);
  EXPECT_EQ(Reached(kPerplexity, 120, {900, 130, 110, 121, 130}), 0u);
  EXPECT_EQ(Reached(kPerplexity, 120, {INFINITY, 100, 100}), 0u);
  EXPECT_EQ(Reached(kPerplexity, 120, {INFINITY, NAN, 100, 100, 100}), 5u);
  // The mean of large values has large rounding: 3 * 1e9 / 7 is the sum except for that.
  const double target = 1e9 / 7;
  EXPECT_EQ(Reached(kPerplexity, target, {target * 0.7, target, target * 1.3}), 3u);
  EXPECT_EQ(Reached(kPerplexity, target, {target, target, target * 1.0001}), 0u);
}

TEST(TargetReached, CountsTheTargetItselfAsReached) {
  // In floating point, 0.1 + 0.7 + 0.1 < 3 * 0.3.
  EXPECT_EQ(Reached(kAccuracy, 0.3, {0.1, 0.7, 0.1}), 3u);
  EXPECT_EQ(Reached(kAccuracy, 0.85, {0.85, 0.84, 0.86}), 3u);
  // The mean is one of 10,000 test samples short.
  EXPECT_EQ(Reached(kAccuracy, 0.85, {0.85, 0.84, 0.8599}), 0u);
}

TEST(TargetReached, NeedsThreeEvaluations) {
  EXPECT_EQ(Reached(kAccuracy, 0.8, {}), 0u);
  EXPECT_EQ(Reached(kAccuracy, 0.8, {1, 1}), 0u);
  EXPECT_EQ(Reached(kAccuracy, 0.8, {1, 1, 1}), 3u);
}

TEST(CrossesEarlier, IsWhereAValueIsAtTheTargetBeforeTheMeanOfThree) {
  const auto crosses = [](const Metric& metric, double target, const std::vector<double>& values) {
    return CrossesEarlier(metric, target, values);
  };
  EXPECT_TRUE(crosses(kAccuracy, 0.8, {0.5, 0.9, 0.7, 0.9, 0.9}));  // reached at the fourth
  EXPECT_TRUE(crosses(kAccuracy, 0.8, {0.5, 0.85, 0.7}));           // never reached
  EXPECT_FALSE(crosses(kAccuracy, 0.8, {0.79, 0.79, 0.83, 0.9}));   // at once with the mean
  EXPECT_FALSE(crosses(kAccuracy, 0.8, {0.5, 0.7, 0.79}));
  EXPECT_TRUE(crosses(kPerplexity, 120, {900, 110, 120, 90}));
  EXPECT_FALSE(crosses(kPerplexity, 120, {130, 130, 100}));
}

// Returns a run in which dense reaches 0.8 after 40 and 60 s, fp16 after 20 and 30 s, topk after 10
// and 12 s, and randomk with seed 1 only.
RunDirectory Comparison() {
  RunDirectory run = MakeRun({"dense", "fp16", "topk", "randomk"}, {1, 2});
  AddTraining(run, "dense", 1, 1, {0.5, 0.8, 0.8, 0.8});
  AddTraining(run, "dense", 2, 1.5, {0.5, 0.8, 0.8, 0.9});
  AddTraining(run, "fp16", 1, 0.5, {0.5, 0.8, 0.8, 0.8});
  AddTraining(run, "fp16", 2, 0.75, {0.5, 0.8, 0.8, 0.8});
  AddTraining(run, "topk", 1, 0.25, {0.5, 0.8, 0.8, 0.84});
  AddTraining(run, "topk", 2, 0.3, {0.5, 0.8, 0.8, 0.86});
  AddTraining(run, "randomk", 1, 0.25, {0.5, 0.8, 0.8, 0.8});
  AddTraining(run, "randomk", 2, 0.25, {0.5, 0.6, 0.7, 0.6});
  return run;
}

TEST(Summary, ComparesSeedBySeed) {
  const Summary summary = Summarise(Comparison());
  const PolicySummary& topk = summary.policies[2];
  EXPECT_EQ(summary.baseline, "dense");
  EXPECT_DOUBLE_EQ(topk.time_to_target.spread.mean, 11);
  // Ratios are 40 / 10 and 60 / 12 against dense, 20 / 10 and 30 / 12 against fp16; the deviation
  // of two values is |a - b| / sqrt 2.
  EXPECT_DOUBLE_EQ(topk.speedup_dense->spread.mean, 4.5);
  EXPECT_DOUBLE_EQ(topk.speedup_dense->spread.deviation, std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(topk.speedup_fp16->spread.mean, 2.25);
  EXPECT_DOUBLE_EQ(summary.policies[0].speedup_dense->spread.mean, 1);
  // Differences are 0.84 - 0.8 and 0.86 - 0.9.
  EXPECT_EQ(topk.metric_difference.count, 2);
  EXPECT_NEAR(topk.metric_difference.mean, 0, 1e-15);
  EXPECT_NEAR(topk.metric_difference.deviation, 0.08 / std::sqrt(2.0), 1e-15);
  EXPECT_DOUBLE_EQ(topk.final_metric.mean, 0.85);
  EXPECT_TRUE(summary.notes.empty());
}

TEST(Summary, ASeedThatDoesNotReachTheTargetIsCensored) {
  const Summary summary = Summarise(Comparison());
  const PolicySummary& randomk = summary.policies[3];
  EXPECT_EQ(randomk.time_to_target.reached, 1);
  EXPECT_EQ(randomk.time_to_target.spread.count, 0);
  EXPECT_TRUE(std::isnan(randomk.time_to_target.spread.mean));
  EXPECT_EQ(randomk.speedup_dense->reached, 1);
  EXPECT_TRUE(std::isnan(randomk.speedup_dense->spread.mean));
  EXPECT_DOUBLE_EQ(*randomk.seeds[0].time_to_target, 10);
  EXPECT_FALSE(randomk.seeds[1].time_to_target);
  EXPECT_DOUBLE_EQ(randomk.best_metric.mean, 0.75);
  EXPECT_DOUBLE_EQ(randomk.final_metric.mean, 0.7);
  const nlohmann::json json = ToJson(summary)["policies"][3]["time_to_target_seconds"];
  EXPECT_EQ(json.dump(), R"({"deviation":null,"mean":null,"of":2,"reached":1})");
}

// Dense reaches a perplexity of 120 after 40 s, topk after 10 s, and randomk with only one seed.
RunDirectory Words() {
  RunDirectory run =
      MakeRun({"dense", "topk", "randomk"}, {1, 2}, {kPerplexity}, Target{"perplexity", 120});
  for (const uint64_t seed : {1, 2}) {
    AddTraining(run, "dense", seed, 1, {500, 130, 120, 110});
    AddTraining(run, "topk", seed, 0.25, {INFINITY, 120, 120, 118});
    AddTraining(run, "randomk", seed, 0.25, {500, 100, 140, seed == 1 ? 120.0 : 200.0});
  }
  return run;
}

TEST(Summary, ALowerMetricIsComparedInItsDirection) {
  const Summary summary = Summarise(Words());
  EXPECT_EQ(summary.metric, kPerplexity);
  EXPECT_EQ(summary.target, 120);
  EXPECT_DOUBLE_EQ(summary.policies[0].time_to_target.spread.mean, 40);
  EXPECT_DOUBLE_EQ(summary.policies[1].speedup_dense->spread.mean, 4);
  EXPECT_DOUBLE_EQ(summary.policies[0].best_metric.mean, 110);
  EXPECT_DOUBLE_EQ(summary.policies[0].final_metric.mean, 110);
  EXPECT_DOUBLE_EQ(summary.policies[1].metric_difference.mean, 8);  // worse by 8
  const PolicySummary& randomk = summary.policies[2];
  EXPECT_EQ(randomk.time_to_target.reached, 1);
  EXPECT_EQ(randomk.time_to_target.spread.count, 0);
  EXPECT_DOUBLE_EQ(randomk.best_metric.mean, 100);
  EXPECT_DOUBLE_EQ(randomk.final_metric.mean, 160);
  const nlohmann::json json = ToJson(summary);
  EXPECT_EQ(json["metric"].dump(),
            R"({"better":"lower","name":"perplexity","title":"perplexity","unit":""})");
  EXPECT_EQ(json["target"].dump(), R"({"metric":"perplexity","value":120.0})");
}

TEST(Summary, AnotherMetricIsChosenByTheTarget) {
  const Metric top5 = {"top5", "top-5 accuracy", Metric::Better::kHigher, true};
  RunDirectory run = MakeRun({"dense"}, {1}, {kAccuracy, top5});
  AddTraining(run, "dense", 1, 1, {0.5, 0.8, 0.8, 0.8});
  for (EvaluationRow& row : run.evaluations) row.metrics.push_back(row.metrics[0] + 0.1);
  const Summary own = Summarise(run);
  EXPECT_EQ(own.metric, kAccuracy);
  EXPECT_DOUBLE_EQ(own.policies[0].final_metric.mean, 0.8);
  const Summary summary = Summarise(run, {.target = Target{"top5", 0.9}, .baseline = ""});
  EXPECT_EQ(summary.metric, top5);
  EXPECT_DOUBLE_EQ(summary.policies[0].final_metric.mean, 0.9);
  EXPECT_DOUBLE_EQ(*summary.policies[0].seeds[0].time_to_target, 40);
  EXPECT_NE(TextTable(summary).find("target top-5 accuracy 90.00 %"), std::string::npos);
}

TEST(Summary, RatiosAndStepTimes) {
  const Summary summary = Summarise(Comparison());
  const PolicySummary& topk = summary.policies[2];
  EXPECT_DOUBLE_EQ(topk.element_ratio.mean, 100);  // 1000 / 10
  EXPECT_DOUBLE_EQ(topk.payload_ratio.mean, 50);   // 4000 / 80
  EXPECT_DOUBLE_EQ(topk.traffic_ratio.mean, 25);   // 6000 / 240
  EXPECT_DOUBLE_EQ(topk.step_seconds.mean, 0.275);
  EXPECT_NEAR(topk.step.compute, 0.275 / 4, 1e-15);
  EXPECT_NEAR(topk.step.communication, 0.275 * 3 / 4, 1e-15);
  EXPECT_EQ(topk.network.events, 200);
  EXPECT_EQ(topk.network.fresh_steps, 2);
  EXPECT_EQ(topk.network.memoised_steps, 18);
}

TEST(Summary, OptionsWinOverTheManifest) {
  const Summary summary = Summarise(Comparison(), {.target = Target{"", 0.9}, .baseline = "topk"});
  EXPECT_EQ(summary.policies[0].time_to_target.reached, 0);
  EXPECT_NEAR(summary.policies[0].metric_difference.mean, 0, 1e-15);
  EXPECT_DOUBLE_EQ(summary.policies[3].metric_difference.mean, 0.7 - 0.85);
  EXPECT_THROW(Summarise(Comparison(), {.target = Target{"", 1.5}, .baseline = ""}), Error);
  EXPECT_THROW(Summarise(Comparison(), {.target = Target{"perplexity", 120}, .baseline = ""}),
               Error);
  EXPECT_THROW(Summarise(Comparison(), {.target = {}, .baseline = "gone"}), Error);
}

TEST(Summary, WithoutDenseTheFirstPolicyIsTheBaseline) {
  RunDirectory run = MakeRun({"topk", "randomk"}, {1});
  AddTraining(run, "topk", 1, 1, {0.8, 0.8, 0.8});
  const Summary summary = Summarise(run);
  EXPECT_EQ(summary.baseline, "topk");
  EXPECT_FALSE(summary.policies[0].speedup_dense);
  EXPECT_TRUE(ToJson(summary)["policies"][0]["speedup_over_fp16"].is_null());
}

TEST(Summary, AnInterruptedRunIsMarkedAndNotPaired) {
  RunDirectory run = MakeRun({"dense", "topk", "fp16"}, {1, 2});
  AddTraining(run, "dense", 1, 1, {0.8, 0.8, 0.8});
  AddTraining(run, "dense", 2, 1, {0.8, 0.8, 0.8});
  AddTraining(run, "topk", 1, 1, {0.9, 0.9, 0.9});
  AddTraining(run, "topk", 2, 1, {0.1});
  run.network.pop_back();
  const Summary summary = Summarise(run);
  const PolicySummary& topk = summary.policies[1];
  EXPECT_TRUE(summary.policies[0].complete);
  EXPECT_FALSE(topk.complete);
  EXPECT_EQ(topk.finished, 1);
  EXPECT_EQ(topk.metric_difference.count, 1);
  EXPECT_NEAR(topk.metric_difference.mean, 0.1, 1e-15);
  EXPECT_DOUBLE_EQ(topk.final_metric.mean, 0.9);  // mean of the finished seed
  EXPECT_FALSE(summary.policies[2].complete);
  EXPECT_EQ(summary.policies[2].final_metric.count, 0);
  EXPECT_EQ(summary.notes,
            (std::vector<std::string>{
                "topk, seed 2: incomplete: ends after 10 steps and 1 evaluations",
                "fp16, seed 1: incomplete: no steps", "fp16, seed 2: incomplete: no steps"}));
}

TEST(Summary, FiguresOfRoceAreSumsMeansAndMaxima) {
  RunDirectory run = MakeRun({"dense"}, {1, 2});
  AddTraining(run, "dense", 1, 1, {0.8, 0.8, 0.8});
  AddTraining(run, "dense", 2, 1, {0.8, 0.8, 0.8});
  run.network[0].roce = {3, .25, 4, 5, 6, 7, 800, .5};
  run.network[1].roce = {1, .75, 1, 1, 1, 1, 900, .25};
  const RoceFigures roce = Summarise(run).policies[0].network.roce;
  EXPECT_EQ(roce.pauses, 4);
  EXPECT_EQ(roce.paused_share, .5);
  EXPECT_EQ(roce.cnps, 5);
  EXPECT_EQ(roce.naks, 6);
  EXPECT_EQ(roce.resent, 7);
  EXPECT_EQ(roce.reordered, 8);
  EXPECT_EQ(roce.max_buffer_bytes, 900);
  EXPECT_EQ(roce.max_headroom_share, .5);
}

TEST(Summary, TheBusiestLinkAndTimeOutsAreNamed) {
  RunDirectory run = MakeRun({"dense"}, {1});
  AddTraining(run, "dense", 1, 1, {0.8, 0.8, 0.8});
  run.network[0].retransmit_timeouts = 2;
  run.links.push_back({"dense", 1, "0", "host-0", "edge-0", 1e9, 10, 1, 3, 4, 0, 0, 0.25, 0.9});
  run.links.push_back({"dense", 1, "1", "edge-0", "host-0", 1e9, 10, 1, 5, 6, 0, 0, 0.75, 0.8});
  const Summary summary = Summarise(run);
  EXPECT_EQ(summary.policies[0].network.busiest_link, "edge-0 -> host-0");
  EXPECT_EQ(summary.policies[0].network.busiest_peak, 0.8);  // the peak of that link
  EXPECT_EQ(summary.policies[0].network.drops, 8);
  EXPECT_EQ(summary.policies[0].network.marks, 10);
  EXPECT_EQ(summary.notes.at(0).find("dense: 2 retransmission time-outs"), 0u);
}

TEST(Summary, EgressIsThatOfLinksWithAPriceByTraining) {
  RunDirectory run = MakeRun({"dense", "topk"}, {1, 2});
  for (const uint64_t seed : {1, 2}) {
    AddTraining(run, "dense", seed, 1, {0.8, 0.8, 0.8});
    AddTraining(run, "topk", seed, 1, {0.8, 0.8, 0.8});
  }
  const auto add = [&](const char* policy, uint64_t seed, double price, double usd) {
    LinkRow row;
    row.policy = policy;
    row.seed = seed;
    row.usd_per_gb = price;
    row.usd = usd;
    run.links.push_back(row);
  };
  EXPECT_EQ(Summarise(run).policies[0].egress_usd.count, 0);
  add("dense", 1, 0.02, 1.5);
  add("dense", 1, 0.09, 2.5);
  add("dense", 2, 0.02, 6);
  for (const uint64_t seed : {1, 2}) add("topk", seed, 0.02, 0);  // priced, but without traffic
  const Summary summary = Summarise(run);
  EXPECT_EQ(summary.policies[0].seeds[0].egress_usd, 4.0);
  EXPECT_EQ(summary.policies[0].egress_usd.mean, 5);
  EXPECT_EQ(summary.policies[1].egress_usd.count, 2);
  EXPECT_EQ(summary.policies[1].egress_usd.mean, 0);
  EXPECT_NE(TextTable(summary).find("egress USD"), std::string::npos);
  EXPECT_EQ(ToJson(summary)["policies"][0]["egress_usd"]["mean"], 5);
}

TEST(SpreadOf, FewValues) {
  EXPECT_TRUE(std::isnan(SpreadOf({}).mean));
  EXPECT_EQ(SpreadOf({2}).mean, 2);
  EXPECT_TRUE(std::isnan(SpreadOf({2}).deviation));
  EXPECT_DOUBLE_EQ(SpreadOf({1, 2, 3}).deviation, 1);
}

}  // namespace
}  // namespace legacy::analysis::summary_test
// The sentences that end a run: which policy is first and why, which ones the seeds cannot tell
// apart, what would turn the order, and that nothing can be told.
#include "analysis/report/verdict.h"

#include <gtest/gtest.h>

#include "analysis/intervals.h"
#include "tests/analysis/fixture.h"

namespace legacy::analysis::verdict_test {
namespace {

// Evaluations are every 10 steps, and the mean of three reaches 0.8 at the last one.
const std::vector<double> kSlow = {0.5, 0.8, 0.8, 0.8};

struct Way {
  double compute = 1e-3;
  double codec = 0;
  double communication = 0;
  std::vector<double> values = kSlow;
};

// A run of some policies, each with the same steps with all seeds.
Summary SummaryOf(const std::vector<std::pair<std::string, Way>>& ways,
                  const std::vector<uint64_t>& seeds = {1, 2}) {
  std::vector<std::string> names;
  for (const auto& way : ways) names.push_back(way.first);
  RunDirectory run = MakeRun(names, seeds);
  for (const auto& [name, way] : ways) {
    for (const uint64_t seed : seeds) {
      AddTraining(run, name, seed, way.compute + way.codec + way.communication, way.values);
    }
    for (StepRow& row : run.steps) {
      if (row.policy != name) continue;
      row.compute_seconds = way.compute;
      row.communication_seconds = way.communication;
      row.encode_seconds = way.codec * 0.4;
      row.decode_seconds = way.codec * 0.6;
    }
  }
  return Summarise(run);
}

// On slow links "sparse" wins by shorter steps. Where its codec takes longer than the communication
// that it saves, "dense" wins.
NetworkResult Network(const std::string& name, double dense, double sparse) {
  return {name, SummaryOf({{"dense", {1e-3, 0, dense}}, {"sparse", {1e-3, 1e-3, sparse}}}), {}};
}

std::string On(const std::vector<NetworkResult>& networks) {
  return VerdictOf(networks.front().summary, networks);
}

TEST(Verdict, SaysWhoIsFirstByHowMuchWhyAndWhatWouldTurnIt) {
  const Summary summary = SummaryOf({{"dense", {1e-3, 0, 64e-3}}, {"sparse", {1e-3, 1e-3, 2e-3}}});
  EXPECT_EQ(
      VerdictOf(summary, {}),
      "sparse reaches 80 % accuracy first, after 160 ms, 16.2 times faster than dense. Why: a "
      "step of sparse takes 4 ms and one of dense 65 ms, of which communication is 2 ms and "
      "64 ms. On links 62.0 times as fast dense would be level, if communication shrinks in "
      "proportion.");
}

TEST(Verdict, TakesTheLinksAtWhichTheNextWouldBeLevel) {
  // Level at half the rate: dense 1 + 2 * 0.5, sparse 1 + 0.8 + 2 * 0.1.
  const Summary summary =
      SummaryOf({{"dense", {1e-3, 0, 0.5e-3}}, {"sparse", {1e-3, 0.8e-3, 0.1e-3}}});
  const std::string text = VerdictOf(summary, {});
  EXPECT_NE(
      text.find("dense reaches 80 % accuracy first, after 60 ms; the next, sparse, takes 1.27 "
                "times as long."),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("On links 2.00 times slower sparse would be level"), std::string::npos)
      << text;
}

TEST(Verdict, SaysWhereNoRateTurnsTheOrder) {
  const Summary summary =
      SummaryOf({{"dense", {1e-3, 0, 2e-3}}, {"cast", {1e-3, 0, 1e-3, {0.5, 0.8, 0.8, 0.8}}}});
  const std::string text = VerdictOf(summary, {});
  EXPECT_NE(text.find("No other rate of the links alone brings dense level."), std::string::npos)
      << text;
}

// The slower one may have reached the target one evaluation earlier: at 3 of 4 evaluations.
TEST(Verdict, TimesAreKnownToOneEvaluation) {
  for (const double ratio : {1.3, 1.34}) {
    const Summary summary = SummaryOf({{"dense", {1e-3 * ratio, 0, 0}}, {"quick", {1e-3, 0, 0}}});
    const std::string text = VerdictOf(summary, {});
    EXPECT_EQ(text.find(" 2 seeds cannot tell dense from it.") != std::string::npos, ratio < 4. / 3)
        << text;
  }
}

TEST(Verdict, NamesThoseThatTheSeedsCannotTellApart) {
  const std::vector<uint64_t> seeds = {1, 2, 3};
  RunDirectory run = MakeRun({"dense", "a", "b"}, seeds);
  for (const uint64_t seed : seeds) {
    AddTraining(run, "dense", seed, 8e-3, kSlow);
    AddTraining(run, "a", seed, 1e-3, kSlow);
    AddTraining(run, "b", seed, seed == 3 ? 0.9e-3 : 2.5e-3, kSlow);  // slower on average
  }
  const std::string text = VerdictOf(Summarise(run), {});
  EXPECT_EQ(text.rfind("a reaches 80 % accuracy first", 0), 0u) << text;
  EXPECT_NE(text.find(" 3 seeds cannot tell b from it."), std::string::npos) << text;
}

TEST(Verdict, NamesThoseThatMissTheTargetWithSomeSeeds) {
  RunDirectory run = MakeRun({"dense", "lossy"}, {1, 2});
  for (const uint64_t seed : {1, 2}) {
    AddTraining(run, "dense", seed, 1e-3, kSlow);
    AddTraining(run, "lossy", seed, 1e-3, seed == 1 ? kSlow : std::vector<double>(4, 0.6));
  }
  EXPECT_EQ(VerdictOf(Summarise(run), {}),
            "dense reaches 80 % accuracy first, after 40 ms. Not with every seed: lossy (1 of 2 "
            "seeds).");
}

TEST(Verdict, NothingCanBeToldOfATargetThatNobodyReached) {
  RunDirectory run = MakeRun({"dense", "better"}, {1});
  AddTraining(run, "dense", 1, 1e-3, {0.1, 0.3, 0.2});
  AddTraining(run, "better", 1, 1e-3, {0.1, 0.7, 0.5});
  const Summary summary = Summarise(run);
  const std::string text =
      "Nothing can be told: no method reaches 80 % accuracy with every seed within 30 steps; the "
      "nearest is better, with 70.00 % in its best evaluation. A longer training or an easier "
      "--target can tell.";
  EXPECT_EQ(VerdictOf(summary, {}), text);
  EXPECT_EQ(VerdictOf(summary, {{"a", summary}, {"b", summary}}), text);
}

// One evaluation at the target is not three.
TEST(Verdict, SaysWhyABestEvaluationAtTheTargetIsNotEnough) {
  RunDirectory run = MakeRun({"dense", "better"}, {1});
  AddTraining(run, "dense", 1, 1e-3, {0.1, 0.3, 0.2});
  AddTraining(run, "better", 1, 1e-3, {0.1, 0.5, 0.9});
  EXPECT_NE(VerdictOf(Summarise(run), {})
                .find("the nearest is better, with 90.00 % in its best evaluation, but the mean of "
                      "three in a row has to be there."),
            std::string::npos);
}

TEST(Verdict, OfStepsWhereThereIsNoTarget) {
  Summary summary = SummaryOf({{"dense", {1e-3, 0, 63e-3}}, {"sparse", {1e-3, 1e-3, 2e-3}}});
  summary.target.reset();
  const std::string text = VerdictOf(summary, {});
  EXPECT_EQ(text.rfind("sparse has the shortest step, 4 ms, 16.0 times faster than dense.", 0), 0u)
      << text;
  EXPECT_NE(text.find("Times of steps say nothing about what is learnt."), std::string::npos);
}

TEST(Verdict, OfOnePolicyAlone) {
  const Summary summary = SummaryOf({{"dense", {1e-3, 0, 3e-3}}});
  EXPECT_EQ(VerdictOf(summary, {}),
            "dense reaches 80 % accuracy after 160 ms. Of a step, 75 % is communication and 25 % "
            "computing. Other --policies show whether they are faster.");
}

// Steps of a federated run are versions of the model.
TEST(Verdict, OfFederatedRunsCountsRoundsAndDollars) {
  Summary summary = SummaryOf({{"dense", {1e-3, 0, 64e-3}}, {"sparse", {1e-3, 1e-3, 2e-3}}});
  summary.federated = summary.priced = true;
  for (PolicySummary& policy : summary.policies) {
    policy.rounds_to_target = {2, SpreadOf({20, 20})};
    policy.usd_to_target = {2, policy.name == "dense" ? SpreadOf({3, 3}) : SpreadOf({4, 5})};
  }
  EXPECT_EQ(
      VerdictOf(summary, {}),
      "sparse reaches 80 % accuracy first, after 160 ms, 16.2 times faster than dense. sparse "
      "needs 20 rounds of 8 ms and dense 20 rounds of 130 ms. The cheapest is dense, with 3.00 "
      "USD instead of 4.50.");
  summary.policies[0].usd_to_target = {2, SpreadOf({6, 6})};
  const std::string text = VerdictOf(summary, {});
  EXPECT_NE(text.find(" sparse is also the cheapest, with 4.50 USD instead of 6.00 by dense."),
            std::string::npos)
      << text;
}

TEST(Verdict, NoneBeforeAllTrainingsHaveEnded) {
  Summary summary = SummaryOf({{"dense", {}}, {"sparse", {}}});
  summary.policies[1].finished = 1;
  EXPECT_EQ(VerdictOf(summary, {}), "Nothing can be told before all trainings have ended.");
}

TEST(Verdict, OfOneSeedSaysOnceThatItTellsNothingAboutSpread) {
  const std::string said = " One seed tells nothing about spread: more seeds would.";
  const std::pair<std::string, Way> dense = {"dense", {1e-3, 0, 64e-3}};
  const std::pair<std::string, Way> sparse = {"sparse", {1e-3, 1e-3, 2e-3}};
  const Summary one = SummaryOf({dense, sparse}, {7});
  for (const std::string& text :
       {VerdictOf(one, {}), VerdictOf(one, {{"a", one, {}}, {"b", one, {}}}),
        VerdictOf(SummaryOf({dense}, {7}), {})}) {
    EXPECT_TRUE(text.ends_with(said)) << text;
    EXPECT_EQ(text.find(said), text.rfind(said)) << text;
  }
  EXPECT_EQ(VerdictOf(SummaryOf({dense, sparse}), {}).find("One seed"), std::string::npos);
  Summary untrained = one;  // as that of a shape
  untrained.metric = {};
  untrained.target.reset();
  EXPECT_EQ(VerdictOf(untrained, {}).find("One seed"), std::string::npos);
}

TEST(Verdict, OfSeveralNetworksSaysWhyTheOrderTurns) {
  EXPECT_EQ(
      On({Network("1Gbps", 64e-3, 2e-3), Network("100Gbps", 0.5e-3, 0.1e-3)}),
      "sparse is first on 1Gbps (160 ms, 16.2 times faster than dense); dense is first on "
      "100Gbps (60 ms). From 1Gbps to 100Gbps the order changes: there a step of dense takes "
      "1.5 ms and one of sparse 2.1 ms, of which encoding and decoding are 0 s and 1 ms: more "
      "than the 400 µs of communication that sparse saves.");
  const std::string same = On({Network("1Gbps", 64e-3, 2e-3), Network("2Gbps", 32e-3, 1e-3)});
  EXPECT_NE(same.find("The first method is the same on all networks."), std::string::npos) << same;
}

TEST(Verdict, CountsStepsWhereStepsAreNotShorter) {
  const Summary fast = SummaryOf({{"dense", {1e-3, 0, 0, {0.8, 0.8, 0.8, 0.8}}},
                                  {"sparse", {0.9e-3, 0, 0, {0.5, 0.5, 0.8, 0.8, 0.8, 0.8}}}});
  const std::string text = On({Network("1Gbps", 64e-3, 2e-3), {"100Gbps", fast}});
  EXPECT_NE(text.find("there dense needs 30 steps to the target and sparse 50."), std::string::npos)
      << text;
}

TEST(Verdict, OfATargetThatIsBelow) {
  RunDirectory run = MakeRun({"dense", "sparse"}, {1}, {kPerplexity}, Target{"perplexity", 120});
  AddTraining(run, "dense", 1, 1, {500, 120, 120, 120});
  AddTraining(run, "sparse", 1, 0.1, {500, 400, 130, 118, 118, 118});
  const std::string text = VerdictOf(Summarise(run), {});
  EXPECT_EQ(text.rfind("sparse reaches perplexity 120 first, after 6 s, 6.67 times faster than "
                       "dense.",
                       0),
            0u)
      << text;
}

}  // namespace
}  // namespace legacy::analysis::verdict_test

// Jobs on one fabric: their places, and their times against max-min shares computed by hand.
#include "scenarios/network/jobs/jobs.h"

#include <gtest/gtest.h>

#include "scenarios/network/jobs/jobs_results.h"
#include "scenarios/network/jobs/jobs_run.h"
#include "scenarios/network/jobs/recurrence.h"
#include "tests/network/network_testing.h"

namespace legacy::jobs_test {
namespace {

std::string JobsPath() { return OwnFile("jobs.yaml"); }

PreparedJobs JobsOf(const std::string& text, const Changes& changes = {}) {
  std::ofstream(JobsPath()) << text;
  Changes all = {{"fidelity", "flow"}, {"topo", "star"}};
  for (const auto& [name, value] : changes) all[name] = value;
  const ExperimentOptions values = With(all);
  return PrepareJobs(ReadJobs(JobsPath(), values, {}), values, {});
}

JobsMeasurement TimesOf(const std::string& text, const Changes& changes = {}) {
  return MeasureJobs(JobsOf(text, changes)).front();
}

std::vector<std::vector<int>> PlacesOf(const PreparedJobs& prepared) {
  std::vector<std::vector<int>> places;
  for (const PlacedJob& job : prepared.jobs) places.push_back(job.network->placement.hosts);
  return places;
}

// Two jobs send 100 MB into host 1. The second starts when the first has sent a half. From then on
// each has a half of the link: the first needs as long again as it has run twice, and the second is
// then half done and alone.
TEST(Jobs, ShareALinkMaxMinFairly) {
  const std::string first = "{hosts: [0, 1], collective: broadcast, bytes: 100MB}";
  const std::string second = "{hosts: [2, 1], collective: broadcast, bytes: 100MB, start: 41.5ms}";
  const JobsMeasurement at_once =
      TimesOf("jobs: [" + first + ", {hosts: [2, 1], collective: broadcast, bytes: 100MB}]");
  for (const size_t job : {0, 1}) {
    EXPECT_NEAR(static_cast<double>(at_once.alone[job].Time()), 83e6, 0.1e6);
    EXPECT_NEAR(at_once.Slowdown(job), 2, 0.001);
  }
  const JobsMeasurement later = TimesOf("jobs: [" + first + ", " + second + "]");
  EXPECT_NEAR(later.Slowdown(0), 1.5, 0.001);
  EXPECT_NEAR(later.Slowdown(1), 1.5, 0.001);
  EXPECT_EQ(later.together[1].start, 41'500'000);
  EXPECT_EQ(later.timing.total, later.together[1].ends.back());
}

// In a fat-tree, two jobs between the same pods share a link or not as ECMP chooses.
TEST(Jobs, OfAFatTreeShareWhatTheirRoutesShare) {
  int sharing = 0;
  int apart = 0;
  for (int seed = 1; seed <= 8; ++seed) {
    const Changes network = {{"topo", "fat-tree:k=4"}, {"ecmp-seed", std::to_string(seed)}};
    const std::string text =
        "jobs:\n  - {hosts: [0, 4], collective: broadcast, bytes: 100MB}\n"
        "  - {hosts: [2, 5], collective: broadcast, bytes: 100MB}\n";
    const PreparedJobs prepared = JobsOf(text, network);
    const fabric::Topology& topology = prepared.network->topology;
    bool shared = false;
    for (const fabric::DirectedLink one : topology.Route(0, 4, 0)) {
      for (const fabric::DirectedLink other : topology.Route(2, 5, 0)) {
        shared = shared || one == other;
      }
    }
    (shared ? sharing : apart)++;
    const JobsMeasurement m = MeasureJobs(prepared).front();
    for (const size_t job : {0, 1}) EXPECT_NEAR(m.Slowdown(job), shared ? 2 : 1, 0.002) << seed;
  }
  EXPECT_GT(sharing, 0);
  EXPECT_GT(apart, 0);
}

TEST(Jobs, RepeatAfterComputing) {
  for (const char* fidelity : {"flow", "analytic"}) {
    const auto job = [&](const std::string& more) {
      return TimesOf("jobs: [{workers: 4, bytes: 1MB" + more + "}]", {{"fidelity", fidelity}});
    };
    const TimeNs once = job("").alone[0].Time();
    const JobTiming five = job(", repeat: 5, compute: 2ms, start: 7ms").together[0];
    EXPECT_EQ(five.start, 7'000'000);
    ASSERT_EQ(five.ends.size(), 5u);
    EXPECT_NEAR(static_cast<double>(five.Time()), 5.0 * static_cast<double>(once + 2'000'000),
                10e3);
    // Alone, a job is the experiment of these options.
    const PreparedExperiment plain = Prepare(ExperimentWith(
        {{"topo", "star"}, {"workers", "4"}, {"bytes", "1MB"}, {"fidelity", fidelity}}));
    EXPECT_EQ(once, Measure(plain, {}).front().timing.total);
  }
}

// Background traffic delays a job alone as well as together with others.
TEST(Jobs, RunBesideBackgroundTraffic) {
  const std::string text = "jobs: [{hosts: [0, 1], collective: broadcast, bytes: 100MB}]";
  const TimeNs quiet = TimesOf(text).alone[0].Time();
  const JobsMeasurement busy = TimesOf(text, {{"background", "poisson:load=0.5"}});
  EXPECT_GT(busy.alone[0].Time(), quiet * 11 / 10);
  EXPECT_EQ(busy.Slowdown(0), 1);
}

TEST(Jobs, TakeFreeHosts) {
  const PreparedJobs prepared = JobsOf(
      "jobs:\n"
      "  - {name: rest, workers: 3}\n"
      "  - {name: far, workers: 3, placement: strided}\n"
      "  - {name: own, hosts: [host1, 6]}\n"
      "  - {name: served, workers: 2, collective: sharded-parameter-server, servers: 2}\n",
      {{"topo", "leaf-spine:leaves=4,hosts=3"}});
  EXPECT_EQ(PlacesOf(prepared),
            (std::vector<std::vector<int>>{{0, 2, 3}, {9, 4, 7}, {1, 6}, {5, 8}}));
  EXPECT_EQ(prepared.jobs[3].network->placement.servers, (std::vector<int>{10, 11}));
  EXPECT_EQ(prepared.jobs[3].first_endpoint, 8);
  EXPECT_EQ(prepared.network->placement.Endpoints(), 12);
  EXPECT_EQ(JobsOf("jobs: [{workers: 3}, {workers: 4}]").network->topology.Hosts().size(), 7u);
}

// Jobs between other hosts of a star do not meet, whatever they run.
TEST(Jobs, OfEveryCollectiveAreAloneOnHostsOfTheirOwn) {
  std::string text = "jobs:\n";
  for (const auto algorithm : fabric::CollectiveAlgorithms()) {
    // Those that the hub sums share it.
    if (fabric::AggregationOf(algorithm) != fabric::Aggregation::None) continue;
    text += std::string("  - {workers: 4, bytes: 40KB, group: 2, collective: ") +
            fabric::ToString(algorithm) + ", name: " + fabric::ToString(algorithm) + "}\n";
  }
  const PreparedJobs prepared = JobsOf(text);
  const JobsMeasurement m = MeasureJobs(prepared).front();
  for (size_t j = 0; j < prepared.jobs.size(); ++j) {
    EXPECT_GT(m.alone[j].Time(), 0);
    EXPECT_EQ(m.alone[j].Time(), m.together[j].Time()) << prepared.jobs[j].request.name;
  }
  const JobsMeasurement hub = TimesOf(
      "jobs: [{workers: 4, collective: in-network-allreduce}, {workers: 3, collective: "
      "in-network-allreduce}]");
  EXPECT_EQ(hub.Slowdown(0), 1);
}

// Without the job with which it shares a link, a job is as it is alone; the third meets nobody.
TEST(Jobs, AreRunWithoutEachOther) {
  const JobsMeasurement m = TimesOf(
      "jobs:\n  - {hosts: [0, 1], collective: broadcast, bytes: 10MB}\n"
      "  - {hosts: [2, 1], collective: broadcast, bytes: 10MB}\n"
      "  - {hosts: [3, 4], collective: broadcast, bytes: 10MB}\n",
      {{"pairs", "on"}});
  ASSERT_EQ(m.without.size(), 3u);
  EXPECT_NEAR(m.SlowdownBy(0, 1), 2, 0.001);
  EXPECT_NEAR(m.SlowdownBy(1, 0), 2, 0.001);
  for (const size_t other : {0, 1}) EXPECT_EQ(m.SlowdownBy(2, other), 1);
  EXPECT_EQ(m.SlowdownBy(0, 2), 1);
  const double expected = (0.5 + 0.5 + 1) * (0.5 + 0.5 + 1) / (3 * (0.25 + 0.25 + 1));
  EXPECT_NEAR(m.Fairness(), expected, 0.001);
}

// Jobs of equal steps recur; those whose stragglers are drawn for each step do not.
TEST(Jobs, RecurWhereTheirStepsAreEqual) {
  const auto job = [](const char* more) {
    const std::string both = std::string("bytes: 1MB, compute: 1ms") + more + "}\n";
    return TimesOf("jobs:\n  - {hosts: [0, 1], repeat: 30, " + both +
                   "  - {hosts: [1, 2], repeat: 12, " + both);
  };
  const JobsMeasurement equal = job("");
  EXPECT_TRUE(equal.recurrence);
  for (const size_t j : {0, 1}) {
    EXPECT_EQ(equal.together[j].ends.size(), j == 0 ? 30u : 12u);
    EXPECT_TRUE(std::ranges::is_sorted(equal.together[j].ends));
  }
  EXPECT_LT(equal.timing.total, equal.together[0].ends.back());
  EXPECT_FALSE(job(", stragglers: 'lognormal:sigma=0.3'").recurrence);
}

TEST(Jobs, ARecurrenceIsTwoEqualPeriods) {
  using Ends = std::vector<TimeNs>;
  const auto find = [](const std::vector<Ends>& ends) {
    return FindRecurrence(std::vector<std::span<const TimeNs>>(ends.begin(), ends.end()));
  };
  EXPECT_FALSE(find({{10}}));
  EXPECT_FALSE(find({{10, 20}}));  // one period alone
  const auto one = find({{10, 20, 30}});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->period, 10);
  EXPECT_EQ(one->steps, Ends{1});
  // Two steps of the first in three of the second, which ends 1 ns earlier or at the same time.
  const auto two = find({{7, 20, 27, 40, 47, 60}, {5, 12, 20, 25, 32, 40, 45, 52, 60}});
  ASSERT_TRUE(two);
  EXPECT_EQ(two->period, 20);
  EXPECT_EQ(two->steps, (Ends{2, 3}));
  EXPECT_FALSE(find({{10, 20, 30, 40}, {9, 19, 28, 39}}));  // one step was 1 ns shorter
  EXPECT_FALSE(find({{10, 20, 30}, {}}));
  EXPECT_FALSE(find({{10, 10, 10}}));  // no time passes
}

TEST(Jobs, RowsAndTablesHaveEachJob) {
  const PreparedJobs prepared =
      JobsOf("jobs: [{name: left, hosts: [0, 1], bytes: 1MB}, {hosts: [2, 3], repeat: 2}]",
             {{"topo", "star:hosts=5"}, {"fidelity", "flow,analytic"}});
  const std::vector<JobsMeasurement> measurements = MeasureJobs(prepared);
  const std::vector<Row> rows = JobsRows(prepared, measurements);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0]["job"], "left");
  EXPECT_EQ(rows[0]["hosts"], "host0 host1");
  EXPECT_EQ(rows[1]["job"], "job1");
  EXPECT_EQ(rows[1]["repetitions"], 2);
  EXPECT_EQ(rows[2]["fidelity"], "analytic");
  EXPECT_EQ(rows[0]["slowdown"], 1);
  EXPECT_NE(JobsTable(prepared, measurements).find("left"), std::string::npos);
}

TEST(Jobs, PacketsAgreeWithFlows) {
  if (Fidelities().front() != Fidelity::kPacket) GTEST_SKIP() << "built without ns-3";
  const JobsMeasurement m = TimesOf(
      "jobs:\n  - {hosts: [0, 1], collective: broadcast, bytes: 4MB}\n"
      "  - {hosts: [2, 1], collective: broadcast, bytes: 4MB}\n",
      {{"fidelity", "packet"}});
  EXPECT_NEAR(m.Slowdown(0), 2, 0.2);
  EXPECT_NEAR(m.Slowdown(1), 2, 0.2);
}

TEST(Jobs, MistakesAreNamed) {
  const auto refusal = [](const std::string& text, const Changes& changes = {}) {
    const std::string message = MessageOf([&] { JobsOf(text, changes); });
    return message.starts_with(JobsPath()) ? message.substr(JobsPath().size()) : message;
  };
  EXPECT_NE(refusal("jobs: [{worker: 3}]")
                .find(":1:9: a job's key: got 'worker'; did you "
                      "mean workers?; allowed: name"),
            std::string::npos)
      << refusal("jobs: [{worker: 3}]");
  EXPECT_NE(refusal("jobs: [{bytes: many}]").find(":1:9: --bytes: got 'many'"), std::string::npos)
      << refusal("jobs: [{bytes: many}]");
  EXPECT_NE(refusal("jobs: [{hosts: [0, 0]}]").find("hosts: got '0'; allowed: each host once"),
            std::string::npos);
  EXPECT_NE(refusal("jobs: [{hosts: [0, nine]}]").find("hosts: got 'nine'; allowed: a host's"),
            std::string::npos);
  EXPECT_NE(refusal("jobs: [{hosts: [0, 1], workers: 3}]").find("workers: got '3'; allowed: 2"),
            std::string::npos);
  EXPECT_NE(refusal("jobs: [{name: a}, {name: a}]").find("name: got 'a'; allowed: each name once"),
            std::string::npos);
  EXPECT_NE(
      refusal("jobs: [{hosts: [0, 1]}, {hosts: [1, 2]}, {workers: 2}]", {{"topo", "star:hosts=4"}})
          .find("star has 4 hosts, but 5 are needed"),
      std::string::npos);
  EXPECT_EQ(refusal("jobs: [{hosts: [0, 1]}, {hosts: [host1, 2]}]", {{"topo", "star:hosts=3"}}),
            "no error");
  EXPECT_NE(refusal("jobs: [{collective: auto}]").find("the name of an algorithm"),
            std::string::npos);
  EXPECT_NE(refusal("jobs: [{workers: 6, collective: recursive-doubling-allgather}]")
                .find(":1:8: recursive-doubling-allgather: workers: got '6'"),
            std::string::npos);
  EXPECT_NE(refusal("jobs: [{workers: 2}]", {{"offsets", "0..1"}}).find("FROM..TO:xN"),
            std::string::npos);
  EXPECT_NE(refusal("jobs: [{workers: 2}]", {{"offsets", "0.5"}, {"pairs", "on"}})
                .find("off beside --offsets"),
            std::string::npos);
  EXPECT_NE(MessageOf([] {
              ExperimentWith({{"offsets", "0.5"}});
            }).find("nothing without --jobs"),
            std::string::npos);
  EXPECT_NE(refusal("jobs: []").find("jobs: got '0'"), std::string::npos);
  EXPECT_NE(refusal("jobs: all").find("expected a list of jobs"), std::string::npos);
  EXPECT_NE(refusal("tasks: []").find("key: got 'tasks'; allowed: jobs"), std::string::npos);
}

}  // namespace
}  // namespace legacy::jobs_test

#include "analysis/pictures/federated_pictures.h"

#include "analysis/federated/gantt.h"
#include "analysis/pictures/pictures.h"
#include "tests/analysis/fixture.h"

namespace legacy::analysis::federated_pictures_test {
namespace {

RoundRow Round(int64_t version, double start, double seconds, int64_t counted, int64_t lost) {
  RoundRow row;
  row.policy = "dense";
  row.seed = 1;
  row.version = version;
  row.start = start;
  row.end = start + seconds;
  row.counted = counted;
  row.lost = lost;
  row.usd = 2;
  return row;
}

TaskRow Task(int64_t client, double dispatched, double ended, const std::string& end) {
  TaskRow row;
  row.policy = "dense";
  row.seed = 1;
  row.client = client;
  row.dispatched = dispatched;
  row.downloaded = dispatched + 0.25;
  if (end == "counted") {
    row.worked = dispatched + 0.5;
    row.uploaded = ended;
  }
  row.ended = ended;
  row.end = end;
  return row;
}

TEST(MedianRoundTasks, AreThoseThatEndedInTheRound) {
  const std::vector<RoundRow> rounds = {Round(1, 0, 5, 2, 0), Round(2, 5, 1, 1, 1),
                                        Round(3, 6, 3, 1, 0)};
  std::vector<TaskRow> tasks = {Task(0, 0, 4, "counted"), Task(1, 0, 5, "counted"),
                                Task(2, 5, 5.5, "lost"), Task(3, 5, 6, "counted"),
                                Task(4, 6, 9, "counted")};
  auto found = MedianRoundTasks(rounds, tasks);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->round.version, 3);
  ASSERT_EQ(found->tasks.size(), 1u);
  EXPECT_EQ(found->tasks[0].client, 4);
  tasks.pop_back();  // those of the last round are not known
  found = MedianRoundTasks(rounds, tasks);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->round.version, 2);
  ASSERT_EQ(found->tasks.size(), 2u);
  EXPECT_EQ(found->tasks[0].client, 2);
  tasks.resize(1);
  EXPECT_FALSE(MedianRoundTasks(rounds, tasks));
  EXPECT_FALSE(MedianRoundTasks({}, {}));
}

TEST(Gantt, BarsAreStagesToScale) {
  const RoundTasks round = {Round(7, 0, 1, 1, 1),
                            {Task(3, 0, 1, "counted"), Task(8, 0, 0.5, "lost")}};
  const std::string text = GanttText(round);
  // Ninety columns are 1 s; the lost task comes first, as it ends first.
  const std::string lost = std::string(22, '<') + std::string(23, '=') + "x";
  EXPECT_NE(text.find("       8 |" + lost), std::string::npos) << text;
  EXPECT_NE(text.find("Round 7: 2 tasks in 1 s"), std::string::npos);
  EXPECT_LT(text.find("| lost\n"), text.find("| counted\n"));
  const std::string svg = GanttSvg(round, "a<b>&c");
  EXPECT_NE(svg.find("a&lt;b&gt;&amp;c, Round 7: 2 tasks in 1 s"), std::string::npos);
  // Ticks are at round times: 0.2 s, 160 points, apart.
  EXPECT_NE(svg.find("x=\"240.0\" y=\"94.0\" text-anchor=\"middle\">0.2</text>"), std::string::npos)
      << svg;
  // 800 points are 1 s.
  EXPECT_NE(svg.find("x=\"80.00\" y=\"40.00\" width=\"200.00\""), std::string::npos) << svg;
}

RunDirectory MakeFederated() {
  RunDirectory run = MakeRun({"dense"}, {1});
  AddTraining(run, "dense", 1, 1, {0.5, 0.6});  // at versions 10 and 20
  for (int64_t version = 1; version <= 20; ++version) {
    run.rounds.push_back(Round(version, static_cast<double>(version), 1, 1, 0));
    run.tasks.push_back(Task(version % 10, 0, 1, "counted"));
    run.tasks.back().staleness = version % 4 == 0 ? 2 : 0;
  }
  return run;
}

std::string ScriptOf(const RunDirectory& run, const std::string& name) {
  for (const Picture& picture : MakePictures(run, Summarise(run))) {
    if (picture.name == name) return picture.script;
  }
  return "none";
}

TEST(FederatedPictures, MetricIsDrawnOverRoundsAndUsd) {
  const RunDirectory run = MakeFederated();
  EXPECT_NE(ScriptOf(run, "metric-rounds").find("10 50 50 50\n20 60 60 60\n"), std::string::npos)
      << ScriptOf(run, "metric-rounds");
  EXPECT_NE(ScriptOf(run, "metric-usd").find("20 50 50 50\n40 60 60 60\n"), std::string::npos);
  RunDirectory free = run;
  for (RoundRow& row : free.rounds) row.usd = 0;
  EXPECT_EQ(ScriptOf(free, "metric-usd"), "none");
  RunDirectory other = run;
  other.rounds.clear();
  EXPECT_EQ(ScriptOf(other, "metric-rounds"), "none");
}

TEST(FederatedPictures, StalenessAndParticipationAreShares) {
  RunDirectory run = MakeFederated();
  // A quarter of the counted updates is two versions old.
  EXPECT_NE(ScriptOf(run, "staleness").find("0 75\n2 25\n"), std::string::npos);
  EXPECT_EQ(ScriptOf(run, "participation"), "none");  // nothing is known about clients
  for (int64_t client = 0; client < 10; ++client) {
    ClientRow row;
    row.policy = "dense";
    row.seed = 1;
    row.client = client;
    row.predicted_seconds = static_cast<double>(10 - client);
    row.tasks = 2;
    row.counted = client < 5 ? 0 : 2;
    run.clients.push_back(row);
  }
  const std::string script = ScriptOf(run, "participation");
  EXPECT_NE(script.find("$line0 << END\n1 20\n2 20\n3 20\n4 20\n5 20\n6 0\n"), std::string::npos)
      << script;
  EXPECT_NE(script.find("$line1 << END\n1 10\n2 10\n"), std::string::npos);
  for (TaskRow& row : run.tasks) row.staleness = 0;
  EXPECT_EQ(ScriptOf(run, "staleness"), "none");
}

}  // namespace
}  // namespace legacy::analysis::federated_pictures_test

// Studies that the program runs, that are disturbed, and that are resumed.
#include <signal.h>

#include <chrono>
#include <random>
#include <regex>
#include <thread>

#include "analysis/run_directory.h"
#include "base/error.h"
#include "scenarios/study/folder.h"
#include "scenarios/study/run.h"
#include "tests/scenarios/study/study_running.h"

namespace legacy::study_run_test {
namespace {

using analysis::StudyState;

// Returns the present children of a process.
std::vector<pid_t> ChildrenOf(pid_t pid) {
  const std::string id = std::to_string(pid);
  std::ifstream file("/proc/" + id + "/task/" + id + "/children");
  std::vector<pid_t> children;
  for (pid_t child; file >> child;) children.push_back(child);
  return children;
}

// Kills the first child that a program starts.
void KillFirstChild(pid_t pid) {
  for (int i = 0; i < 20'000; ++i) {
    const std::vector<pid_t> children = ChildrenOf(pid);
    if (!children.empty()) {
      kill(children.front(), SIGKILL);
      return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  FAIL() << "no child";
}

// Returns how many times each point is in the journals.
std::map<int, int> JournalledPoints(const fs::path& study) {
  std::map<int, int> counts;
  const std::regex id("\\{\"point\":.*\"id\":([0-9]+),");
  for (const auto& entry : fs::directory_iterator(study / "journal")) {
    if (entry.path().extension() != ".jsonl") continue;
    std::ifstream file(entry.path());
    std::smatch match;
    for (std::string line; std::getline(file, line);) {
      if (std::regex_search(line, match, id)) ++counts[std::stoi(match[1])];
    }
  }
  return counts;
}

// The time left is known long before the first training ends.
TEST_F(StudyRunning, ATrainingInWorkTellsHowMuchOfItIsDone) {
  std::string text = SlowStudy();
  text.replace(text.find("steps: 200"), 10, "steps: 200000");
  fs::create_directories(In("told"));
  const StudyFolder folder =
      StudyFolder::Create(In("told"), PlanStudy(ParseStudy(text, Definition())));
  StudyRunOptions options;
  options.phase = StudyPhase::kTrainings;
  std::sig_atomic_t volatile stop = 0;
  StudyProgress told;
  RunStudy(
      folder, folder.empty(), options,
      [&](const StudyProgress& progress) {
        told = progress;
        stop = progress.samples_in_work > 0;
      },
      stop);
  EXPECT_EQ(told.trainings_ended, 0);
  EXPECT_GT(told.samples_in_work, 0);
  EXPECT_LT(told.samples_in_work, told.samples / 2);
  EXPECT_GT(told.seconds_in_work, 0);
  EXPECT_FALSE(told.TimeLeft().at_least);
  EXPECT_NEAR(told.TimeLeft().seconds,
              told.seconds_in_work * (told.samples / told.samples_in_work - 1),
              1e-6 * told.TimeLeft().seconds);
}

TEST_F(StudyRunning, MissingDataIsSaidBeforeAnythingIsDone) {
  std::string text = SmallStudy();
  const std::string drawn = "dataset: glyphs";
  text.replace(text.find(drawn), drawn.size(), "dataset: mnist, data_root: " + In("nowhere"));
  Define(text);
  for (const char* how : {"--jobs=2", "--dry-run"}) {
    const Result result = Run({"run", Definition(), "--out=" + In("study"), how});
    EXPECT_EQ(result.status, 2) << result.text;
    EXPECT_NE(result.text.find("run 'legacy-data fetch mnist'"), std::string::npos) << result.text;
    EXPECT_FALSE(fs::exists(In("study")));
  }
}

TEST_F(StudyRunning, KilledAtAnyMomentItEndsAsIfNeverDisturbed) {
  RunWhole("whole");
  std::mt19937 random(20);
  int killed = 0;
  for (int study = 0; killed < 10; ++study) {
    const std::string name = "killed" + std::to_string(study);
    const std::string out = In(name);
    bool ended = false;
    while (!ended) {
      const bool begun = fs::exists(out + "/study.yaml");
      const pid_t pid = begun ? Start({"resume", out, "--jobs=2"})
                              : Start({"run", Definition(), "--out=" + out, "--jobs=2"});
      std::this_thread::sleep_for(std::chrono::milliseconds(100 + random() % 700));
      if (killed < 10) kill(pid, SIGKILL);
      const int status = Wait(pid);
      ended = WIFEXITED(status);
      killed += !ended;
      ASSERT_TRUE(!ended || WEXITSTATUS(status) == 0) << Read(In("log"));
    }
    EXPECT_EQ(Database(name), Database("whole"));
    const std::map<int, int> points = JournalledPoints(out);
    EXPECT_EQ(points.size(), kSmallPoints);
    for (const auto& [point, count] : points) EXPECT_EQ(count, 1) << "point " << point;
  }
}

TEST_F(StudyRunning, AKilledTrainingGoesOnFromItsCheckpoint) {
  std::string text = SmallStudy("  fidelity: [analytic]\n");
  const std::string steps = "steps: 4,", grid = "grid:";
  text.replace(text.find(steps), steps.size(), "steps: 200,");
  text.insert(text.find(grid), "  run: {checkpoint: 50ms}\n");
  Define(text);
  RunWhole("whole");
  const fs::path trainings = In("study") + "/trainings";
  const auto has_checkpoint = [&] {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(trainings, none)) {
      if (fs::exists(entry.path() / "checkpoints/checkpoint-2")) return true;
    }
    return false;
  };
  const pid_t pid = Start({"run", Definition(), "--out=" + In("study"), "--jobs=1"});
  for (int i = 0; i < 20'000 && !has_checkpoint(); ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  kill(pid, SIGKILL);
  ASSERT_TRUE(WIFSIGNALED(Wait(pid))) << Read(In("log"));
  const Result resumed = Run({"resume", In("study"), "--jobs=1"});
  EXPECT_EQ(resumed.status, 0) << resumed.text;
  std::string logs;
  for (const auto& entry : fs::directory_iterator(trainings)) {
    if (entry.path().extension() == ".log") logs += Read(entry.path());
  }
  EXPECT_NE(logs.find("continues after step"), std::string::npos) << logs;
  EXPECT_EQ(Database("study"), Database("whole"));
}

TEST_F(StudyRunning, AnInvalidPointIsRecordedAndTheRestIsDone) {
  Define(SmallStudy("  topo: [star, \"fat-tree:k=2\"]\n"));  // two hosts, four workers
  const Result result = Run({"run", Definition(), "--out=" + In("a"), "--jobs=2"});
  EXPECT_EQ(result.status, 3) << result.text;
  EXPECT_NE(result.text.find("most often: "), std::string::npos) << result.text;
  EXPECT_NE(result.text.find(" (8 of 8)"), std::string::npos) << result.text;
  const analysis::Study study = ReadDatabase("a");
  for (const analysis::StudyPoint& point : study.points) {
    const bool fits = point.values.at(1) == "star";
    EXPECT_EQ(point.state, fits ? StudyState::kDone : StudyState::kFailed) << point.id;
    EXPECT_EQ(point.message.empty(), fits);
  }
  const Result failed = Run({"status", In("a"), "--failed"});
  EXPECT_NE(failed.text.find("topo fat-tree:k=2): "), std::string::npos) << failed.text;
  // No work is left, and no failed work is tried again.
  EXPECT_EQ(Run({"resume", In("a")}).status, 3);
  EXPECT_EQ(JournalledPoints(In("a")).size(), kSmallPoints);
  for (const auto& [point, count] : JournalledPoints(In("a"))) EXPECT_EQ(count, 1) << point;
}

TEST_F(StudyRunning, ATrainingWhoseProcessDiesFailsWithItsPointsAndIsRetried) {
  Define(SlowStudy());
  const pid_t pid = Start({"run", Definition(), "--out=" + In("a"), "--jobs=1"});
  KillFirstChild(pid);
  EXPECT_EQ(WEXITSTATUS(Wait(pid)), 3) << Read(In("log"));
  const analysis::Study study = ReadDatabase("a");
  EXPECT_EQ(CountStates(study)[StudyState::kFailed], kSlowPoints / kSmallTrainings);
  EXPECT_EQ(CountStates(study)[StudyState::kDone], kSlowPoints - kSlowPoints / kSmallTrainings);
  EXPECT_NE(study.trainings[0].message.find("died of signal 9"), std::string::npos)
      << study.trainings[0].message;
  EXPECT_EQ(Run({"resume", In("a"), "--retry-failed"}).status, 0);
  EXPECT_EQ(CountStates(ReadDatabase("a"))[StudyState::kDone], kSlowPoints);
}

TEST_F(StudyRunning, APointWhoseProcessDiesFailsAloneAndIsRetried) {
  Define(SlowStudy());
  ASSERT_EQ(
      Run({"run", Definition(), "--out=" + In("a"), "--launcher=slurm", "--submit=off"}).status, 0);
  ASSERT_EQ(Run({"work", In("a"), "--phase=trainings"}).status, 0);
  const pid_t pid = Start({"resume", In("a"), "--jobs=1"});
  KillFirstChild(pid);
  EXPECT_EQ(WEXITSTATUS(Wait(pid)), 3) << Read(In("log"));
  EXPECT_EQ(CountStates(ReadDatabase("a"))[StudyState::kFailed], 1);
  EXPECT_EQ(CountStates(ReadDatabase("a"))[StudyState::kDone], kSlowPoints - 1);
  EXPECT_EQ(Run({"resume", In("a"), "--retry-failed"}).status, 0);
  RunWhole("whole");
  EXPECT_EQ(Database("a"), Database("whole"));
}

TEST_F(StudyRunning, CtrlCStopsSaysHowToGoOnAndFailsNothing) {
  Define(SlowStudy());
  const pid_t pid = Start({"run", Definition(), "--out=" + In("a"), "--jobs=2"});
  for (int i = 0; i < 20'000 && ChildrenOf(pid).empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  kill(-pid, SIGINT);  // as a terminal does, to the whole group
  EXPECT_EQ(WEXITSTATUS(Wait(pid)), 130);
  EXPECT_NE(Read(In("log")).find("continue with: legacy-study resume " + In("a")),
            std::string::npos);
  EXPECT_EQ(CountStates(ReadDatabase("a"))[StudyState::kFailed], 0);
  EXPECT_EQ(Run({"resume", In("a")}).status, 0);
}

TEST_F(StudyRunning, OneProcessManagesAStudyAtATime) {
  fs::create_directories(In("a"));
  {
    const StudyLock lock(In("a"), 0);
    const Result second = Run({"run", Definition(), "--out=" + In("a")});
    EXPECT_EQ(second.status, 2);
    EXPECT_NE(second.text.find("another legacy-study works on it"), std::string::npos);
  }
  const Result alone = Run({"run", Definition(), "--out=" + In("a")});
  EXPECT_EQ(alone.status, 0) << alone.text;  // the lock file of the other process still exists
}

TEST_F(StudyRunning, AFolderKeepsItsStudy) {
  RunWhole("a");
  const Result same = Run({"run", Definition(), "--out=" + In("a")});
  EXPECT_EQ(same.status, 2);
  EXPECT_NE(same.text.find("legacy-study resume " + In("a")), std::string::npos) << same.text;
  const Result other = Run({"run", Definition(), "--out=" + In("a"), "--set=training.steps=8"});
  EXPECT_EQ(other.status, 2);
  EXPECT_NE(other.text.find("another study is there"), std::string::npos) << other.text;
  EXPECT_NE(Run({"resume", In("none")}).text.find("no study is there"), std::string::npos);
}

TEST_F(StudyRunning, MistakesLeaveNothingBehind) {
  const Result result = Run({"run", Definition(), "--out=" + In("a"), "--set=training.stepz=8"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.text.find("stepz"), std::string::npos) << result.text;
  EXPECT_FALSE(fs::exists(In("a")));
}

TEST_F(StudyRunning, SetChangesTheStudyThatIsKept) {
  ASSERT_EQ(Run({"run", Definition(), "--out=" + In("a"), "--set=training.steps=2", "--set",
                 "network.delay=1ms"})
                .status,
            0);
  EXPECT_EQ(ReadDatabase("a").points[0].figures.steps, 2);
  EXPECT_EQ(StudyFolder::Open(In("a")).plan().points[0].scenario.delay.text(), "1ms");
}

TEST_F(StudyRunning, AFoldersStudyHasTheNameOfTheFileThatItCameFrom) {
  std::string text = SmallStudy();
  EXPECT_EQ(CompleteDefinition(text, "other.yaml", {}), text);  // it has a name already
  text.replace(text.find("name: small, "), 13, "");
  ASSERT_EQ(ParseStudy(CompleteDefinition(text, "other.yaml", {}), "study.yaml").name, "other");
  EXPECT_EQ(CompleteDefinition("a: [", "other.yaml", {}), "a: [");
  EXPECT_THROW(CompleteDefinition(text, "other.yaml", {"delay=1ms"}), Error);
}

TEST_F(StudyRunning, SharesGivenByHandGiveTheSameStudy) {
  RunWhole("whole");
  ASSERT_EQ(
      Run({"run", Definition(), "--out=" + In("a"), "--launcher=slurm", "--submit=off"}).status, 0);
  const Result early = Run({"work", In("a"), "--phase=points", "--share=1/3"});
  EXPECT_NE(early.text.find("wait for trainings that are not there"), std::string::npos);
  for (const char* phase : {"trainings", "points"}) {
    for (const char* share : {"3/3", "1/3", "2/3"}) {
      const Result result =
          Run({"work", In("a"), std::string("--phase=") + phase, std::string("--share=") + share});
      ASSERT_EQ(result.status, 0) << result.text;
    }
  }
  EXPECT_EQ(CountStates(ReadDatabase("a"))[StudyState::kPending], kSmallPoints);
  EXPECT_NE(Run({"status", In("a")}).text.find("16 done"), std::string::npos);  // reads journals
  EXPECT_EQ(Run({"collect", In("a")}).status, 0);
  EXPECT_EQ(Database("a"), Database("whole"));
}

// Returns the records in a folder, by name.
std::map<std::string, std::string> RecordsIn(const fs::path& folder) {
  std::map<std::string, std::string> records;
  for (const auto& entry : fs::directory_iterator(folder)) {
    records[entry.path().filename().string()] = Read(entry.path());
  }
  return records;
}

TEST_F(StudyRunning, RecordsContinueAStudyInAnotherFolder) {
  const std::string records = "--records=" + In("records");
  ASSERT_EQ(Run({"run", Definition(), "--out=" + In("a"), records}).status, 0);
  const std::map<std::string, std::string> kept = RecordsIn(In("records"));
  ASSERT_EQ(kept.size(), kSmallTrainings);
  const Result other = Run({"run", Definition(), "--out=" + In("b"), records});
  EXPECT_EQ(other.status, 0) << other.text;
  EXPECT_NE(other.text.find("trainings taken from records: 2\n"), std::string::npos) << other.text;
  EXPECT_EQ(Database("b"), Database("a"));
  for (const auto& [name, bytes] : kept) {
    const fs::path run = fs::path(In("b")) / "trainings" / fs::path(name).stem().stem();
    EXPECT_EQ(Read(run / "manifest.json").find(In("")), std::string::npos) << "where it was made";
  }

  // A record that is not there is made again by whoever trains.
  fs::remove(In("records") + "/" + kept.begin()->first);
  const Result half = Run({"run", Definition(), "--out=" + In("c"), records});
  EXPECT_EQ(half.status, 0) << half.text;
  EXPECT_NE(half.text.find("trainings taken from records: 1\n"), std::string::npos) << half.text;
  EXPECT_EQ(Database("c"), Database("a"));
  EXPECT_EQ(RecordsIn(In("records")).count(kept.begin()->first), 1u);
}

TEST_F(StudyRunning, ARecordOfAnotherTrainingIsRefused) {
  const std::string records = "--records=" + In("records");
  ASSERT_EQ(Run({"run", Definition(), "--out=" + In("a"), records}).status, 0);
  const std::map<std::string, std::string> kept = RecordsIn(In("records"));
  const fs::path one = fs::path(In("records")) / kept.begin()->first;
  std::ofstream(one, std::ios::binary) << kept.rbegin()->second;
  const Result exchanged = Run({"run", Definition(), "--out=" + In("b"), records});
  EXPECT_EQ(exchanged.status, 2);
  EXPECT_NE(exchanged.text.find("it is the record of training"), std::string::npos)
      << exchanged.text;
  std::ofstream(one, std::ios::binary) << kept.begin()->second.substr(0, 500);
  const Result damaged = Run({"resume", In("b"), records});
  EXPECT_NE(damaged.status, 0);
  EXPECT_NE(damaged.text.find(one.string()), std::string::npos) << damaged.text;
  for (const auto& entry : fs::directory_iterator(In("b") + "/trainings")) {
    EXPECT_NE(entry.path().extension(), ".record");
  }
}

TEST_F(StudyRunning, TablesArePrintedInEveryFormatWithChosenRowsAndColumns) {
  RunWhole("a");
  const Result csv = Run({"tables", In("a"), "step", "volume", "--rows=topk",
                          "--rows=bandwidth=1Gbps", "--columns=fidelity,policy", "--format=csv"});
  const std::string rows = "fidelity,policy\nanalytic,topk\nflow,topk\n";
  EXPECT_EQ(csv.status, 0);
  EXPECT_NE(csv.text.find(rows + "\n" + rows), std::string::npos) << csv.text;
  const Result latex = Run({"tables", In("a"), "step", "--format=latex", "--rows=dense,topk"});
  EXPECT_NE(latex.text.find("% legacy-study tables " + In("a") + " step --format=latex --rows="),
            std::string::npos);
  EXPECT_NE(latex.text.find("10 Mbit/s & analytic & dense & 1/1 & "), std::string::npos);
  const Result wrong = Run({"tables", In("a"), "--columns=stepp"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_NE(wrong.text.find("--columns: got 'stepp'; allowed: bandwidth, fidelity, method"),
            std::string::npos)
      << wrong.text;
  EXPECT_EQ(Run({"tables", In("a"), "--format=html"}).status, 2);
}

TEST_F(StudyRunning, TablesAndFiguresAreWrittenIntoAFolder) {
  RunWhole("a");
  const Result result = Run({"tables", In("a"), "step", "volume", "--format=csv",
                             "--columns=policy", "--out=" + In("paper"), "--figures=step-split"});
  EXPECT_EQ(result.status, 0) << result.text;
  EXPECT_EQ(Read(In("paper/step.csv")).rfind("policy\ndense\ntopk\n", 0), 0U);
  EXPECT_TRUE(fs::exists(In("paper/volume.csv")));
  EXPECT_TRUE(fs::exists(In("paper/step-split.gp")));
  EXPECT_FALSE(fs::exists(In("paper/metric-bytes.gp")));
  const Result wrong = Run({"tables", In("a"), "--out=" + In("none"), "--figures=step"});
  EXPECT_NE(wrong.text.find("figure: got 'step'; allowed: "), std::string::npos) << wrong.text;
  EXPECT_FALSE(fs::exists(In("none")));
  EXPECT_NE(Run({"tables", In("a"), "--figures=step-split"}).text.find("--figures needs --out=DIR"),
            std::string::npos);
}

TEST_F(StudyRunning, APointsCommandReplaysIt) {
  RunWhole("a");
  const Result status = Run({"status", In("a"), "--point=10"});
  ASSERT_EQ(status.status, 0) << status.text;
  const size_t begin = status.text.find("legacy-replay ");
  ASSERT_NE(begin, std::string::npos) << status.text;
  std::string line = status.text.substr(begin, status.text.find('\n', begin) - begin);
  line.replace(0, std::string("legacy-replay").size(), LEGACY_REPLAY_PROGRAM);
  const Result replay = Shell(line + " --pictures=off --out=" + In("replayed") + " 2>&1");
  ASSERT_EQ(replay.status, 0) << replay.text;
  const analysis::RunDirectory run = analysis::ReadRunDirectory(In("replayed"));
  EXPECT_EQ(run.steps.back().simulated_seconds,
            ReadDatabase("a").points[10].figures.simulated_seconds);
}

}  // namespace
}  // namespace legacy::study_run_test
// Helpers of the tests of running studies: a study that takes a second, and the program that runs
// it.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/study/store.h"
#include "scenarios/study/shell.h"
#include "tests/programs.h"

namespace legacy {

namespace fs = std::filesystem;

inline constexpr int kSmallTrainings = 2;
inline constexpr int kSmallPoints = 16;

// Returns a study of a second; `more` holds further axes of the grid.
inline std::string SmallStudy(const std::string& more = "") {
  return "study: {name: small, baseline: dense}\n"
         "scenario:\n"
         "  training: {dataset: glyphs, model: lenet5, workers: 4, batch: 2, steps: 4,\n"
         "             warmup_steps: 1, evaluate_every: 2, train_limit: 32, test_limit: 16}\n"
         "  compression: {policies: [dense, topk]}\n"
         "  network: {topology: star, stragglers: none, fidelity: flow}\n"
         "grid:\n"
         "  bandwidth: [10Mbps, 100Mbps, 1Gbps, 10Gbps]\n" +
         (more.empty() ? "  fidelity: [analytic, flow]\n" : more);
}

// Returns a study whose trainings, and the points of one training, each take about half a second,
// so that a test can catch a process at work on them.
inline constexpr int kSlowPoints = 8;
inline std::string SlowStudy() {
  std::string text = SmallStudy("  topo: [\"fat-tree:k=24\"]\n");
  const std::string steps = "steps: 4,";
  return text.replace(text.find(steps), steps.size(), "steps: 200,");
}

class StudyRunning : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = Own(test->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    Define(SmallStudy());
  }
  void TearDown() override { fs::remove_all(folder_); }

  void Define(const std::string& text) const { std::ofstream(Definition()) << text; }
  std::string Definition() const { return In("definition.yaml"); }
  std::string In(const std::string& name) const { return (folder_ / name).string(); }

  static std::string Line(const std::vector<std::string>& arguments) {
    std::vector<std::string> words = {LEGACY_STUDY_PROGRAM};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return ShellLine(words);
  }
  static Result Run(const std::vector<std::string>& arguments) {
    return Shell(Line(arguments) + " 2>&1");
  }
  // Leaves a finished run of the study that was never disturbed; copies it if another test ran the
  // same study.
  void RunWhole(const std::string& name) const {
    static std::map<std::string, fs::path> whole;  // by definition
    fs::path& kept = whole[Read(Definition())];
    if (kept.empty()) {
      const fs::path out = Copies() / std::to_string(whole.size());
      fs::remove_all(out);
      const Result result = Run({"run", Definition(), "--out=" + out.string(), "--jobs=2"});
      ASSERT_EQ(result.status, 0) << result.text;
      kept = out;
    }
    fs::copy(kept, In(name), fs::copy_options::recursive);
  }
  static void TearDownTestSuite() { fs::remove_all(Copies()); }
  static fs::path Copies() { return Own("whole"); }
  // Returns a path that no other test or process uses.
  static fs::path Own(const std::string& name) {
    return fs::path(::testing::TempDir()) /
           ("legacy-study-" + std::to_string(getpid()) + "-" + name);
  }

  // Starts the program in the background, as a process group of its own.
  pid_t Start(const std::vector<std::string>& arguments) const {
    const pid_t pid = fork();
    if (pid == 0) {
      setpgid(0, 0);
      const std::string line = "exec " + Line(arguments) + " >>" + In("log") + " 2>&1";
      execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      _exit(127);
    }
    return pid;
  }
  static int Wait(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return status;
  }

  // Returns the content of the database, as texts by file.
  std::map<std::string, std::string> Database(const std::string& name) const {
    const fs::path out = folder_ / (name + "-exported");
    analysis::ExportStudy(ReadDatabase(name), out);
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(out)) {
      files[entry.path().filename().string()] = Read(entry.path());
    }
    return files;
  }
  analysis::Study ReadDatabase(const std::string& name) const {
    return analysis::StudyStore::Open(folder_ / name / "study.sqlite").Read();
  }

  fs::path folder_;
};

// Returns the number of points in each state.
inline std::map<analysis::StudyState, int> CountStates(const analysis::Study& study) {
  std::map<analysis::StudyState, int> counts;
  for (const analysis::StudyPoint& point : study.points) ++counts[point.state];
  return counts;
}

}  // namespace legacy

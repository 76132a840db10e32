// Whole runs of legacy-scenario in daily use: files, mistakes, interrupts, the README.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/scenarios/programs/program_testing.h"

namespace legacy::program_use_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

TEST_F(ProgramTest, PrintedConfigurationIsAScenarioFile) {
  const Result printed = Run("--density=0.5% --topo=star --print-config");
  ASSERT_EQ(printed.status, 0);
  std::ofstream(Out("scenario.yaml")) << printed.text;
  EXPECT_EQ(Run("--scenario=" + Out("scenario.yaml") + " --print-config").text, printed.text);
}

TEST_F(ProgramTest, AnExistingRunIsKept) {
  const std::string common =
      std::string("--policies=fp16 --fidelity=analytic --out=") + Out("run") + kShort;
  ASSERT_EQ(Run(common).status, 0);
  const std::string before = Read(Out("run") + "/steps.csv");
  const Result again = Run(common + " --seed=5");
  EXPECT_EQ(again.status, 1);
  EXPECT_NE(again.text.find("--overwrite=on"), std::string::npos);
  EXPECT_EQ(Read(Out("run") + "/steps.csv"), before);
  EXPECT_EQ(Run(common + " --seed=5 --overwrite=on").status, 0);
  EXPECT_NE(Read(Out("run") + "/steps.csv"), before);
}

TEST_F(ProgramTest, InterruptLeavesAConsistentDirectory) {
  const pid_t child = fork();
  if (child == 0) {
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(9);
    const std::string out = "--out=" + Out("run");
    execl(LEGACY_SCENARIO_PROGRAM, LEGACY_SCENARIO_PROGRAM, "--policies=dense,topk",
          "--fidelity=analytic", "--steps=100000", "--workers=2", "--batch=4", "--evaluate-every=5",
          "--train-limit=400", "--test-limit=50", "--pictures=off", out.c_str(), nullptr);
    _exit(9);
  }
  for (int i = 0; i < 3000 && Read(Out("run") + "/evaluations.csv").size() < 300; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  kill(child, SIGINT);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_TRUE(fs::exists(Out("run") + "/summary.json"));
  for (const char* file : {"steps.csv", "evaluations.csv"}) {
    EXPECT_EQ(Read(directory_ / "run" / file).back(), '\n') << file;
  }
  const Result report =
      Shell(std::string(LEGACY_REPORT_PROGRAM) + " --no-pictures " + Out("run") + " 2>&1");
  EXPECT_EQ(report.status, 0) << report.text;
}

// Every command of the README names programs, options and files that exist.
TEST_F(ProgramTest, CommandsOfTheReadmeAreUnderstood) {
  const struct {
    std::string start;  // text with which the commands start
    std::string program;
    std::string more;  // options that make the program only print its plan
    int least;         // minimum number of commands
  } programs[] = {
      {"legacy-scenario ", LEGACY_SCENARIO_PROGRAM " ", " --print-config", 8},
      {"legacy-replay scenarios/", LEGACY_REPLAY_PROGRAM " scenarios/", " --print-config", 1},
      {"legacy-study run ", LEGACY_STUDY_PROGRAM " run ", " --dry-run", 1}};
  for (const auto& [start, program, more, least] : programs) {
    const std::string command = "./waf --run " + start;
    std::istringstream readme(Read(LEGACY_README));
    int commands = 0;
    for (std::string line; std::getline(readme, line);) {
      if (line.rfind(command, 0) != 0) continue;
      const Result result =
          Shell("cd " LEGACY_ROOT " && " + program + line.substr(command.size()) + more + " 2>&1");
      EXPECT_EQ(result.status, 0) << line << "\n" << result.text;
      ++commands;
    }
    EXPECT_GE(commands, least) << start;
  }
}

}  // namespace
}  // namespace legacy::program_use_test
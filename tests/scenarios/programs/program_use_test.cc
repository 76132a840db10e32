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
#include <string>
#include <thread>
#include <vector>

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

json ManifestOf(const std::string& folder) { return json::parse(Read(folder + "/manifest.json")); }

// An epoch of 400 samples is 400 / (4 workers x 8 samples x 2 passes), rounded down: 6 steps.
TEST_F(ProgramTest, EpochsBecomeSteps) {
  const Result result =
      Run(std::string("--policies=dense,diloco --fidelity=analytic --record=on") + kShort +
          " --accumulate=2 --steps=2.5ep --warmup-steps=1ep --schedule=step --decay-steps=1.5ep,10"
          " --evaluate-every=1ep --local-steps=5 --loss=sum --warmup-from=0.0001"
          " --learning-rate=0.0005 --scale-learning-rate --out=" +
          Out("run"));
  ASSERT_EQ(result.status, 0) << result.text;
  EXPECT_NE(result.text.find("every 5 steps, outer nesterov"), std::string::npos) << result.text;
  const json training = ManifestOf(Out("run"))["configuration"]["training"];
  EXPECT_EQ(training["steps"], "15");
  EXPECT_EQ(training["warmup_steps"], "6");
  EXPECT_EQ(training["decay_steps"], "9,10");
  EXPECT_EQ(training["evaluate_every"], "6");
  const auto cells = CsvOf(Out("run") + "/steps.csv");
  ASSERT_EQ(cells.size(), 1u + 2 * 15);
  const auto column = [&](const char* name) { return ColumnOf(cells, name); };
  const auto rate = [&](size_t step) {
    return std::stod(cells[1 + step][column("learning_rate")]);
  };
  EXPECT_NEAR(rate(0), 0.0001 + (0.002 - 0.0001) / 6, 1e-12);
  EXPECT_NEAR(rate(5), 0.002, 1e-12);
  EXPECT_NEAR(rate(9), 0.0002, 1e-12);
  EXPECT_NEAR(rate(14), 0.00002, 1e-12);
  int exchanges = 0;
  for (size_t row = 16; row < cells.size(); ++row) {
    EXPECT_EQ(cells[row][0], "diloco");
    exchanges += std::stod(cells[row][column("message_bytes")]) > 0;
  }
  EXPECT_EQ(exchanges, 3);
  EXPECT_NE(Read(Out("run") + "/traffic.jsonl").find("\"passes\":2"), std::string::npos);
  const Result shape = Run("--layers=resnet50 --steps=2ep --policies=dense --out=" + Out("shape"));
  EXPECT_NE(shape.text.find("steps: got '2ep'; allowed: numbers of steps with training.layers"),
            std::string::npos)
      << shape.text;
}

// A step whose contexts and experts are divided among ranks, and its replay.
TEST_F(ProgramTest, DividesContextsAndExperts) {
  const Result result =
      Run("--layers=mixtral-8x7b --workers=8 --parallel=cp=2,ep=4 --experts=zipf:0.5 "
          "--policies=dense --precision=bf16 --device-profile=h100-sxm --topo=star --steps=1 "
          "--fidelity=analytic --pictures=off --record=on --out=" +
          Out("run"));
  ASSERT_EQ(result.status, 0) << result.text;
  EXPECT_NE(result.text.find("copies  contexts  experts"), std::string::npos) << result.text;
  EXPECT_NE(Read(Out("run") + "/steps.csv").find(",context_seconds,expert_seconds"),
            std::string::npos);
  const Result again = Shell(LEGACY_REPLAY_PROGRAM " " + Out("run") +
                             " --pictures=off --out=" + Out("again") + " 2>&1");
  ASSERT_EQ(again.status, 0) << again.text;
  EXPECT_EQ(Read(Out("again") + "/steps.csv"), Read(Out("run") + "/steps.csv"));
}

TEST_F(ProgramTest, OneBitAdamComparesWithAdam) {
  const std::string common =
      std::string("--fidelity=flow --optimizer=adam:epsilon=0.001 --learning-rate=0.002") + kShort;
  const Result result =
      Run(common + " --policies=dense,onebit-adam:warmup=3,powersgd --record=on --out=" + Out("a"));
  ASSERT_EQ(result.status, 0) << result.text;
  EXPECT_NE(Read(Out("a") + "/traffic.jsonl").find("requantised-sum"), std::string::npos);
  const json refused = ManifestOf(Out("a"))["replay_refused"];
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0], "onebit-adam:warmup=3: its arithmetic depends on the collective");
  const Result sgd =
      Run(std::string("--policies=onebit-adam --fidelity=flow --out=") + Out("b") + kShort);
  EXPECT_NE(sgd.status, 0);
  EXPECT_NE(sgd.text.find("optimizer: got 'sgd'; allowed: adam or adamw with scheme onebit-adam"),
            std::string::npos)
      << sgd.text;
  EXPECT_FALSE(std::filesystem::exists(Out("b")));
  const Result none =
      Run(std::string("--policies=dense --local-steps=4 --out=") + Out("c") + kShort);
  EXPECT_NE(none.text.find("training.local_steps: got '4'"), std::string::npos) << none.text;
}

TEST_F(ProgramTest, DemoTrainsWithSignDescent) {
  const std::string common = std::string("--fidelity=flow --learning-rate=0.002") + kShort;
  const std::string sign = common + " --optimizer=sign";
  const Result result = Run(sign + " --policies=dense,demo,demo:vectors=dct,demo:aggregate=all" +
                            " --record=on --out=" + Out("a"));
  ASSERT_EQ(result.status, 0) << result.text;
  EXPECT_TRUE(ManifestOf(Out("a"))["replay_refused"].empty());
  const auto refuses = [&](const std::string& options, const std::string& what) {
    const Result refused = Run(options + " --out=" + Out("b"));
    EXPECT_NE(refused.status, 0);
    EXPECT_NE(refused.text.find(what), std::string::npos) << refused.text;
  };
  refuses(common + " --policies=demo", "optimizer: got 'sgd'; allowed: sign with scheme demo");
  refuses(common + " --policies=demo:sign=off --momentum=0.9",
          "training.momentum: got '0.9'; allowed: 0 with demo:sign=off");
  refuses(sign + " --momentum=0.9 --policies=demo", "0 with optimizer sign, which has none");
}

// Dense gradients of 2 bytes are half of fp32's, and the tables say what they are.
TEST_F(ProgramTest, SixteenBitBaselines) {
  const std::string common =
      std::string("--policies=dense,topk --fidelity=analytic --device-profile=a100-sxm-80") +
      kShort;
  const std::string bits = common + " --precision=bf16 --reduce=bf16 --sum=hop";
  const Result result = Run(bits + " --threads=1 --record=on --out=" + Out("a"));
  ASSERT_EQ(result.status, 0) << result.text;
  EXPECT_NE(result.text.find("dense: its gradients travel in bf16, 2 bytes each, and a ring rounds "
                             "every partial sum (training.reduce, training.sum)"),
            std::string::npos)
      << result.text;
  const json dense = json::parse(Read(Out("a") + "/summary.json"))["policies"][0];
  EXPECT_NEAR(dense["payload_ratio"]["mean"].get<double>(), 2, 0.05);
  EXPECT_TRUE(ManifestOf(Out("a"))["replay_refused"].empty());
  ASSERT_EQ(Run(bits + " --threads=3 --out=" + Out("b")).status, 0);
  ASSERT_EQ(Run(common + " --reduce=bf16 --out=" + Out("c")).status, 0);
  for (const char* file : kCsvFiles) {
    EXPECT_EQ(Read(Out("b") + "/" + file), Read(Out("a") + "/" + file)) << file;
  }
  const auto losses = [&](const char* folder) {
    std::vector<std::string> values;
    const auto cells = CsvOf(Out(folder) + "/steps.csv");
    for (const auto& row : cells) values.push_back(row[ColumnOf(cells, "training_loss")]);
    return values;
  };
  EXPECT_NE(losses("c"), losses("a"));

  const Result replay =
      Shell(LEGACY_REPLAY_PROGRAM " " + Out("a") + " --sum=exact --out=" + Out("replay") + " 2>&1");
  EXPECT_EQ(replay.status, 2) << replay.text;
  EXPECT_NE(replay.text.find("--sum"), std::string::npos) << replay.text;
}

TEST_F(ProgramTest, AnExistingRunIsKept) {
  const std::string common =
      std::string("--policies=fp16 --fidelity=analytic --out=") + Out("run") + kShort;
  ASSERT_EQ(Run(common).status, 0);
  const std::string before = Read(Out("run") + "/steps.csv");
  const Result again = Run(common + " --seed=5");
  EXPECT_EQ(again.status, 2);
  EXPECT_NE(again.text.find("--overwrite=on"), std::string::npos);
  EXPECT_EQ(Read(Out("run") + "/steps.csv"), before);
  // It is refused before data are looked for.
  const Result first =
      Run("--dataset=cifar10 --data-root=/nowhere --steps=1ep --out=" + Out("run"));
  EXPECT_NE(first.text.find("legacy-scenario: --out: got '"), std::string::npos) << first.text;
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

// Every command of the README and of the tour names programs, options and files that exist.
TEST_F(ProgramTest, CommandsOfTheReadmeAndTheTourAreUnderstood) {
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
    std::istringstream text(Read(LEGACY_ROOT "/README.md") + Read(LEGACY_ROOT "/docs/tour.md"));
    int commands = 0;
    for (std::string line; std::getline(text, line);) {
      if (const size_t cell = line.find("| `./waf"); cell != line.npos) {  // of a table
        line = line.substr(cell + 3, line.rfind('`') - cell - 3);
      }
      if (line.rfind(command, 0) != 0) continue;
      line = line.substr(0, line.find("  #"));  // how long it takes
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
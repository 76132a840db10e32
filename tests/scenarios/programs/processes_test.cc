// Several processes that share a training write the files of one, byte for byte, and end together.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/parse.h"
#include "scenarios/options/built_in_methods.h"
#include "tests/scenarios/programs/program_testing.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

const std::string kTiny =
    " --workers=4 --batch=2 --steps=4 --evaluate-every=2 --train-limit=60 --test-limit=40"
    " --pictures=off --model=small-cnn --dataset=glyphs --seeds=1 --networks=none --threads=1"
    " --fidelity=analytic --density=5% --record";
// Options of a run that only a signal ends.
const std::string kLong = kTiny + " --steps=1000000 --evaluate-every=1000000 --policies=topk";

class ProcessesTest : public ProgramTest {
 protected:
  // Runs with one process, and with others in the place of "%". All files have to be equal.
  void ExpectEqual(const std::string& options, const std::vector<int>& processes) {
    ASSERT_EQ(Run(kTiny + " " + options + " --out=" + Out("one")).status, 0);
    for (const int p : processes) {
      const std::string name = "with" + std::to_string(p);
      const Result result =
          Run(kTiny + " " + options + " --processes=" + std::to_string(p) + " --out=" + Out(name));
      ASSERT_EQ(result.status, 0) << result.text;
      ExpectEqualFiles("one", name);
    }
    for (const int p : processes) fs::remove_all(Out("with" + std::to_string(p)));
    fs::remove_all(Out("one"));
  }
  void ExpectEqualFiles(const std::string& one, const std::string& other) {
    int files = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(Out(one))) {
      const std::string name = entry.path().filename();
      if (!name.ends_with(".csv") && name != "traffic.jsonl" && name != "summary.json") continue;
      EXPECT_TRUE(Read(entry.path()) == Read(fs::path(Out(other)) / name)) << other << "/" << name;
      ++files;
    }
    EXPECT_GE(files, 7);
  }

  // Starts the program; its output goes to the file "NAME.txt".
  pid_t Start(const std::string& name, const std::string& options) {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    const std::string line = "exec " LEGACY_SCENARIO_PROGRAM " " + options + " --out=" + Out(name) +
                             " > " + Out(name + ".txt") + " 2>&1";
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  // Waits until the run has rows.
  void AwaitRows(const std::string& name) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const auto has_rows = [&] {
      std::error_code none;
      return fs::file_size(Out(name) + "/steps.csv", none) > 1000 && !none;
    };
    while (!has_rows() && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ASSERT_TRUE(has_rows()) << Read(Out(name + ".txt"));
  }
  std::vector<pid_t> Children(pid_t parent) {
    std::vector<pid_t> children;
    const Result result = Shell("pgrep -P " + std::to_string(parent));
    for (const std::string& line : SplitList(result.text, '\n')) children.push_back(stoi(line));
    return children;
  }
};

int StatusOf(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

TEST_F(ProcessesTest, AllMethodsGiveEqualFiles) {
  std::string policies;
  for (const Method& method : BuiltInMethodTable()) {
    if (!NeedsSharding(method)) policies += "," + method.name;
  }
  ExpectEqual("--policies=" + policies.substr(1), {3});
}

TEST_F(ProcessesTest, OptionsOfMethodsGiveEqualFiles) {
  std::ofstream(Out("methods.yaml")) << "methods:\n"
                                        "  variance-root: {scheme: 'flexible-topk:root=variance'}\n"
                                        "  delta: {scheme: 'topk:index=delta'}\n"
                                        "  dense-start: {scheme: 'topk:dense_start=2'}\n"
                                        "  after-mean: {scheme: 'topk:where=after-mean', policy: "
                                        "accordion}\n"
                                        "  estimated: {policy: 'gravac:probe=estimate'}\n"
                                        "  of-mean: {scheme: 'topk:where=after-mean', policy: "
                                        "'gravac:window=1'}\n"
                                        "  knapsack: {policy: 'kimad:split=knapsack'}\n"
                                        "  local: {local_steps: 2}\n";
  ExpectEqual("--scenario=" + Out("methods.yaml") +
                  " --policies=variance-root,delta,dense-start,after-mean,estimated,of-mean,"
                  "knapsack,local",
              {2, 3});
}

TEST_F(ProcessesTest, RotationsAndCosinesGiveEqualFiles) {
  ExpectEqual("--optimizer=sign --learning-rate=0.001 --policies=demo,eden,dct,thc", {2});
}

TEST_F(ProcessesTest, ServersThatCompressGiveEqualFiles) {
  std::ofstream(Out("methods.yaml")) << "methods:\n"
                                        "  server: {scheme: 'qsgd:where=server'}\n"
                                        "  both: {scheme: 'topk:where=both', policy: lgreco}\n";
  ExpectEqual("--scenario=" + Out("methods.yaml") +
                  " --aggregation=parameter-server --policies=server,both",
              {2});
  ExpectEqual("--scenario=" + Out("methods.yaml") +
                  " --aggregation=sharded-parameter-server --servers=3 --policies=server,both",
              {2});
}

TEST_F(ProcessesTest, ShardedTrainingsGiveEqualFiles) {
  std::ofstream(Out("methods.yaml"))
      << "methods:\n"
         "  weights: {scheme: dense, weights: 'int:bits=4'}\n"
         "  deltas: {scheme: topk, weights: 'delta:int:bits=4'}\n"
         "  nodes: {scheme: 'int:node=2,memory=loco', parameter: 4}\n"
         "  ring: {scheme: 'qsgd:reduction=ring,feedback=first'}\n";
  ExpectEqual("--scenario=" + Out("methods.yaml") +
                  " --sharding=zero1 --policies=weights,deltas,nodes,sidco,topk:select=unit,lgreco,"
                  "ring,gravac",
              {2});
}

// The first active worker, whose gradient policies read, is then another process's.
TEST_F(ProcessesTest, DroppedWorkersGiveEqualFiles) {
  ExpectEqual(
      "--sync=backup:k=2 --stragglers=lognormal:sigma=0.8 --policies="
      "topk,sidco,redsync,adacomp,kimad,flexible,gravac,lgreco,accordion,flexible-topk,powersgd",
      {2});
}

TEST_F(ProcessesTest, RecurrentModelsGiveEqualFiles) {
  ExpectEqual(
      "--dataset=grammar --model=lstm:hidden=16 --train-limit=0 --target=auto "
      "--policies=topk,local-sgd",
      {2});
}

// Evaluations need the batch-norm statistics of one worker, and pilots are trainings of one worker.
TEST_F(ProcessesTest, BatchNormAndPilotsGiveEqualFiles) {
  ExpectEqual("--model=patch-resnet20 --policies=topk,local-sgd --optimizer=adam", {2});
  ExpectEqual("--volume=bytes --policies=accordion", {2});
}

// Processes connect their devices, twice if the fidelity is chosen by a trial.
TEST_F(ProcessesTest, ChosenDevicesGiveEqualFiles) {
  ExpectEqual("--device=auto --fidelity=auto --policies=topk", {2});
  const Result result =
      Run(kTiny + " --policies=topk --device=auto --processes=2 --out=" + Out("auto"));
  EXPECT_NE(result.text.find("\nmessages between the processes: "), std::string::npos)
      << result.text;
}

TEST_F(ProcessesTest, ADeadProcessIsNamed) {
  const pid_t pid = Start("run", kLong + " --processes=3");
  AwaitRows("run");
  const std::vector<pid_t> children = Children(pid);
  ASSERT_EQ(children.size(), 2u);
  const auto begin = std::chrono::steady_clock::now();
  kill(children[1], SIGKILL);
  EXPECT_EQ(WEXITSTATUS(StatusOf(pid)), 1);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  const std::string text = Read(Out("run.txt"));
  EXPECT_NE(text.find("process 2 ("), std::string::npos) << text;
  EXPECT_NE(text.find("pid " + std::to_string(children[1])), std::string::npos) << text;
  EXPECT_NE(kill(children[0], 0), 0);  // the third one ended, too
}

TEST_F(ProcessesTest, AStoppedProcessIsNamedAndNotLeftBehind) {
  const pid_t pid = Start("run", kLong + " --processes=2");
  AwaitRows("run");
  const std::vector<pid_t> children = Children(pid);
  ASSERT_EQ(children.size(), 1u);
  kill(children[0], SIGSTOP);
  EXPECT_EQ(WEXITSTATUS(StatusOf(pid)), 1);
  const std::string text = Read(Out("run.txt"));
  EXPECT_NE(text.find("pid " + std::to_string(children[0]) + ") has been silent"),
            std::string::npos)
      << text;
  EXPECT_NE(kill(children[0], 0), 0);
}

TEST_F(ProcessesTest, AnotherNumberOfProcessesIsRefusedByName) {
  const std::string line = LEGACY_SCENARIO_PROGRAM + kTiny + " --policies=topk --out=" + Out("run");
  int port = 20000 + getpid() % 20000;
  for (const auto& [first, second] : {std::pair("2", "3"), {"3", "2"}}) {
    const std::string at =
        "MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(++port) + " WORLD_SIZE=";
    const Result result = Shell("(" + at + second + " RANK=1 " + line + " > " + Out("other.txt") +
                                " 2>&1 &) ; " + at + first + " RANK=0 " + line + " 2>&1");
    EXPECT_EQ(result.status, 1);
    EXPECT_NE(result.text.find(std::string("(as WORLD_SIZE): got '") + second +
                               "'; allowed: " + first + ", as process 0"),
              std::string::npos)
        << result.text;
    EXPECT_FALSE(fs::exists(Out("run")));
  }
}

TEST_F(ProcessesTest, ASignalEndsAllAndAnotherNumberGoesOn) {
  ASSERT_EQ(Run(kTiny + " --steps=120 --policies=topk,powersgd --out=" + Out("one")).status, 0);
  const std::string options = kTiny + " --steps=120 --policies=topk,powersgd --checkpoint=1s";
  const pid_t pid = Start("run", options + " --processes=2");
  AwaitRows("run");
  // A launcher sends its signals to any of them.
  const std::vector<pid_t> children = Children(pid);
  for (const pid_t child : children) kill(child, SIGTERM);
  const int status = StatusOf(pid);
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_EQ(WEXITSTATUS(status), 130) << Read(Out("run.txt"));
  const Result result = Run(options + " --processes=3 --resume --out=" + Out("run"));
  ASSERT_EQ(result.status, 0) << result.text;
  ExpectEqualFiles("one", "run");
}

TEST_F(ProcessesTest, ADifferingScenarioIsRefused) {
  const std::string at =
      "MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(20000 + getpid() % 20000) +
      " WORLD_SIZE=2 ";
  const std::string line = LEGACY_SCENARIO_PROGRAM + kTiny + " --policies=topk --out=" + Out("run");
  const Result result = Shell("(" + at + "RANK=1 " + line + " --density=4% > " + Out("other.txt") +
                              " 2>&1 &) ; " + at + "RANK=0 " + line + " 2>&1");
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.text.find("got 'compression.density: 4%'; allowed: compression.density: 5%"),
            std::string::npos)
      << result.text;
  EXPECT_FALSE(fs::exists(Out("run")));
  EXPECT_EQ(Read(Out("other.txt")), "");
}

TEST_F(ProcessesTest, WhatCannotBeSharedIsRefused) {
  const auto text = [&](const std::string& options) {
    const Result result = Run(options);
    EXPECT_EQ(result.status, 2);
    return result.text;
  };
  EXPECT_NE(text("--workers=4 --processes=5").find("at most 4, the number of workers"),
            std::string::npos);
  EXPECT_NE(text("--processes=2 --layers=resnet50").find("1 with --layers"), std::string::npos);
  EXPECT_NE(text("--processes=2 --jobs=2").find("--jobs"), std::string::npos);
}

TEST_F(ProcessesTest, LaunchersStartThem) {
  ASSERT_EQ(Run(kTiny + " --policies=topk --out=" + Out("one")).status, 0);
  const std::string line =
      LEGACY_SCENARIO_PROGRAM + kTiny + " --policies=topk --overwrite --out=" + Out("run");
  int launchers = 0;
  if (Shell("mpirun --version 2>/dev/null").status == 0) {
    const std::string port = std::to_string(20000 + getpid() % 20000);
    EXPECT_EQ(Shell("MASTER_ADDR=127.0.0.1 MASTER_PORT=" + port +
                    " mpirun --allow-run-as-root --oversubscribe -n 2 " + line + " 2>&1")
                  .status,
              0);
    ExpectEqualFiles("one", "run");
    ++launchers;
  }
  // PyTorch 1.13 under Python 3.11 starts nothing unless it redirects something.
  const std::string torchrun = "/usr/bin/python3 -m torch.distributed.run -r 1 -t 1 --no_python ";
  if (Shell("/usr/bin/python3 -c 'import torch.distributed.run' 2>/dev/null").status == 0) {
    const Result result = Shell(torchrun + "--nproc_per_node=2 --standalone " + line + " 2>&1");
    EXPECT_EQ(result.status, 0) << result.text;
    ExpectEqualFiles("one", "run");
    ++launchers;
  }
  if (launchers == 0) GTEST_SKIP() << "there is neither mpirun nor torchrun";
}

}  // namespace
}  // namespace legacy

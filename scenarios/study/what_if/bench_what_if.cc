// This benchmark measures the cost of replays and what-if answers: legacy-replay as users start it
// (including its start-up); answers over 7 policies and one seed within one process; and answers
// about federated trainings of 50,000 tasks. The trainings have 16 workers and 400 steps, or 1,000
// clients, 50 per round, and 500 rounds with 2 policies. They are recorded into temporary folders
// when a benchmark first needs them, which takes two minutes and is not measured.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/number.h"
#include "scenarios/study/plan.h"
#include "scenarios/study/what_if/recorded_study.h"
#include "scenarios/study/what_if/what_if.h"
#include "scenarios/study/work.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWorkers = R"(
study: {name: bench, baseline: dense}
scenario:
  training: {workers: 16, steps: 400}
  network: {topology: fat-tree, fidelity: flow}
grid: {bandwidth: [1Gbps]}
)";

// Lines, devices and distances are drawn for each client.
constexpr const char* kClients = R"(
study: {name: bench, baseline: dense}
scenario:
  training: {model: logistic, evaluate_every: 10}
  federated: {clients: 1000, per_round: 50, rounds: 500, local: "steps:1",
              partition: "iid:samples=20,replace=on", population: phones}
  compression: {policies: [dense, topk]}
grid: {fidelity: [flow]}
)";

class Recorded {
 public:
  Recorded(const std::string& name, const std::string& study)
      : folder_(fs::temp_directory_path() /
                ("legacy-bench-what-if-" + name + "-" + std::to_string(getpid()))),
        plan_(PlanStudy(ParseStudy(study, "bench"))) {
    fs::create_directories(folder_);
    for (const PlannedTraining& training : plan_.trainings) Train(folder_, training);
  }
  ~Recorded() { fs::remove_all(folder_); }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;

  fs::path Folder(const std::string& policy) const {
    const auto training = std::ranges::find_if(plan_.trainings, [&](const auto& planned) {
      return planned.scenario.policies.front() == policy;
    });
    return TrainingFolder(folder_, *training);
  }
  WhatIfStudy Read() const { return ReadWhatIfStudy(folder_, plan_); }
  fs::path Scratch() const { return folder_ / "replayed"; }

 private:
  const fs::path folder_;
  const StudyPlan plan_;
};

// A LazyRecording is recorded when a benchmark first needs it.
class LazyRecording {
 public:
  LazyRecording(std::string name, std::string study)
      : name_(std::move(name)), study_(std::move(study)) {}

  const Recorded& Get() {
    if (!recorded_) recorded_ = std::make_unique<Recorded>(name_, study_);
    return *recorded_;
  }

 private:
  const std::string name_;
  const std::string study_;
  std::unique_ptr<Recorded> recorded_;
};

void RunReplay(benchmark::State& state, const Recorded& recorded, const std::string& fidelity) {
  const std::string command = std::string(LEGACY_REPLAY_PROGRAM) + " '" +
                              recorded.Folder("topk").string() + "' --fidelity=" + fidelity +
                              " --bandwidth=2Gbps --topo=fat-tree --pictures=off --overwrite " +
                              "--out='" + recorded.Scratch().string() + "' >/dev/null 2>&1";
  for (auto _ : state) {
    if (std::system(command.c_str()) != 0) {
      state.SkipWithError(command.c_str());
      return;
    }
  }
}

// Returns the i-th of a list of fractions that fill (0, 1) evenly; each factor gives a different
// list.
double Even(int i, double factor) {
  constexpr double kGolden = 0.6180339887498949;
  return std::fmod((i + 1) * kGolden * factor, 1.0);
}

// Returns the i-th of a list of questions that never repeats: rates and delays over decades.
WhatIfQuestion WorkersQuestion(int i) {
  const auto even = [&](double factor) { return Even(i, factor); };
  WhatIfQuestion question;
  question.bandwidth = FormatNumber(std::round(std::pow(10, 7 + 4.5 * even(1)))) + "bps";
  question.delay = FormatNumber(std::round(std::pow(10, 3 + 4.5 * even(3)))) + "ns";
  question.slow_workers = i % 5;
  question.slowdown = 1 + 2 * even(5);
  return question;
}

// Does the same for clients: the rates of lines, losses, the server's rate and the devices.
WhatIfQuestion ClientsQuestion(int i) {
  WhatIfQuestion question;
  question.up_rates = std::pow(10, 3 * Even(i, 1) - 1.5);
  question.down_rates = std::pow(10, 3 * Even(i, 3) - 1.5);
  question.packet_loss = 0.02 * Even(i, 5);
  question.server_rate = FormatNumber(std::round(std::pow(10, 8 + 3 * Even(i, 7)))) + "bps";
  question.device_speed = std::pow(10, 2 * Even(i, 11) - 1);
  question.streams = 1 + i % 4;
  return question;
}

double Quantile(std::vector<double> values, double part) {
  std::ranges::sort(values);
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<size_t>(std::lround(part * last))];
}

void RunAnswers(benchmark::State& state, const Recorded& recorded, const std::string& fidelity,
                WhatIfQuestion (*question_of)(int i)) {
  WhatIf what_if(recorded.Read());
  std::vector<double> seconds;
  for (auto _ : state) {
    WhatIfQuestion question = question_of(static_cast<int>(seconds.size()));
    question.fidelity = fidelity;
    const auto start = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(what_if.Answer(question, 600, [] { return false; }));
    const auto taken = std::chrono::steady_clock::now() - start;
    seconds.push_back(std::chrono::duration<double>(taken).count());
  }
  state.counters["p50_s"] = Quantile(seconds, 0.5);
  state.counters["p95_s"] = Quantile(seconds, 0.95);
}

}  // namespace
}  // namespace legacy

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  legacy::LazyRecording workers("workers", legacy::kWorkers);
  legacy::LazyRecording clients("clients", legacy::kClients);
  for (const char* fidelity : {"analytic", "flow"}) {
    benchmark::RegisterBenchmark((std::string("replay/") + fidelity).c_str(),
                                 [&, fidelity](benchmark::State& state) {
                                   legacy::RunReplay(state, workers.Get(), fidelity);
                                 })
        ->UseRealTime()
        ->Iterations(10)
        ->Unit(benchmark::kMillisecond);
    const auto answers = [&](const char* name, legacy::LazyRecording& recording,
                             legacy::WhatIfQuestion (*question_of)(int)) {
      benchmark::RegisterBenchmark((std::string(name) + fidelity).c_str(),
                                   [&recording, fidelity, question_of](benchmark::State& state) {
                                     legacy::RunAnswers(state, recording.Get(), fidelity,
                                                        question_of);
                                   })
          ->MeasureProcessCPUTime()
          ->UseRealTime()
          ->Iterations(100)
          ->Unit(benchmark::kMillisecond);
    };
    answers("what-if/", workers, legacy::WorkersQuestion);
    answers("what-if-clients/", clients, legacy::ClientsQuestion);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

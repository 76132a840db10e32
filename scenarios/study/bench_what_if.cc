// What a replay and a what-if answer cost: legacy-replay as users start it (start-up included), and
// answers over 7 policies and one seed within one process. The trainings, of 16 workers and 400
// steps, are recorded into a temporary folder first: about a minute, which is not measured.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/number.h"
#include "scenarios/study/plan.h"
#include "scenarios/study/what_if.h"
#include "scenarios/study/what_if_study.h"
#include "scenarios/study/work.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStudy = R"(
study: {name: bench, baseline: dense}
scenario:
  training: {workers: 16, steps: 400}
  network: {topology: fat-tree, fidelity: flow}
grid: {bandwidth: [1Gbps]}
)";

class Recorded {
 public:
  Recorded()
      : folder_(fs::temp_directory_path() / ("legacy-bench-what-if-" + std::to_string(getpid()))),
        plan_(PlanStudy(ParseStudy(kStudy, "bench"))) {
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

// The i-th of a list of questions that never repeats: rates and delays over decades.
WhatIfQuestion QuestionOf(int i, const std::string& fidelity) {
  constexpr double kGolden = 0.6180339887498949;  // fractions of its multiples fill (0, 1) evenly
  const auto even = [&](double factor) { return std::fmod((i + 1) * kGolden * factor, 1.0); };
  WhatIfQuestion question;
  question.bandwidth = FormatNumber(std::round(std::pow(10, 7 + 4.5 * even(1)))) + "bps";
  question.delay = FormatNumber(std::round(std::pow(10, 3 + 4.5 * even(3)))) + "ns";
  question.slow_workers = i % 5;
  question.slowdown = 1 + 2 * even(5);
  question.fidelity = fidelity;
  return question;
}

double Quantile(std::vector<double> values, double part) {
  std::ranges::sort(values);
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<size_t>(std::lround(part * last))];
}

void RunAnswers(benchmark::State& state, const Recorded& recorded, const std::string& fidelity) {
  WhatIf what_if(recorded.Read());
  std::vector<double> seconds;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(what_if.Answer(QuestionOf(static_cast<int>(seconds.size()), fidelity),
                                            600, [] { return false; }));
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
  const legacy::Recorded recorded;
  for (const char* fidelity : {"analytic", "flow"}) {
    benchmark::RegisterBenchmark(
        (std::string("replay/") + fidelity).c_str(),
        [&, fidelity](benchmark::State& state) { legacy::RunReplay(state, recorded, fidelity); })
        ->UseRealTime()
        ->Iterations(10)
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(
        (std::string("what-if/") + fidelity).c_str(),
        [&, fidelity](benchmark::State& state) { legacy::RunAnswers(state, recorded, fidelity); })
        ->UseRealTime()
        ->Iterations(100)
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

// legacy-bench-state measures the state of a training: how long a checkpoint takes compared with
// dd, which writes as many zeros to the same disk, and how much memory the training takes compared
// with its estimate (trainer/memory.h). The two writers take turns.
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files/section_file.h"
#include "base/median.h"
#include "base/programs/free_memory.h"
#include "trainer/memory.h"
#include "trainer/torch/models/model.h"
#include "trainer/torch/one_thread.h"
#include "trainer/torch/tasks/task.h"
#include "trainer/torch/training.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

struct Request {
  std::string model = "resnet50";
  std::string scheme = "topk";
  double parameter = 0.01;
  int workers = 8;
  int threads = 2;
  int64_t batch = 4;
  int repetitions = 7;
  std::string folder = ".";
};

double SecondsOf(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Least(const std::vector<double>& values) { return std::ranges::min(values); }

// Returns the number of bytes in a line of /proc/self/status: "VmHWM", the most memory that the
// process has had so far; "VmRSS", the memory that it has now; "RssFile", the part of that for
// libraries and programs.
double StatusBytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  constexpr double kUnit = 1024;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return kUnit * std::stod(line.substr(name.size() + 1));
  }
  throw Error("/proc/self/status has no line '" + name + "'");
}

// Writes to a new file and renames it to the old one, as a checkpoint does.
void RunDd(const fs::path& path, uintmax_t bytes) {
  const std::string file = path.string() + ".dd";
  const std::string line = "dd if=/dev/zero of='" + file +
                           "' bs=1M iflag=count_bytes count=" + std::to_string(bytes) +
                           " conv=fsync 2> /dev/null";
  if (std::system(line.c_str()) != 0) throw Error("dd failed: " + line);
  fs::rename(file, path);
}

void Measure(const Request& request) {
  UseOneThread();
  const std::unique_ptr<Task> task =
      LoadTask({.dataset = "glyphs", .data_root = {}, .test_limit = 500});
  const ModelRequest model = task->RequestFor(request.model, 1);
  TrainingOptions options;
  options.workers = request.workers;
  options.threads = request.threads;
  options.batch_size = request.batch;
  options.schedule.learning_rate = 1e-3;
  options.sgd.momentum = 0.9;
  auto scheme = MakeScheme(request.scheme);
  const std::vector<Unit> layers = LayersOf(model);
  const std::vector<Unit> units = PlanUnits(layers, options.scope, options.buckets).units;
  const TrainingMemory estimate =
      EstimateMemory(options, units, CostsOf(model), *scheme, request.parameter);

  malloc_trim(0);
  const double before = StatusBytes("VmRSS"), libraries = StatusBytes("RssFile");
  Training training(options, *task, model, MakeUniformPolicy(request.parameter), std::move(scheme));
  for (int step = 0; step < 2; ++step) training.Step();
  training.Evaluate();
  const double loaded = StatusBytes("RssFile") - libraries;
  const double peak = StatusBytes("VmHWM") - before - loaded;
  std::printf("%s, %d workers x %lld samples on %d threads, %s\n", request.model.c_str(),
              request.workers, static_cast<long long>(request.batch), request.threads,
              request.scheme.c_str());
  std::printf("memory: estimated %s\n", estimate.Text(request.workers).c_str());
  std::printf("memory: measured %s, %.2f of the estimate, without %s of libraries\n",
              MemoryText(peak).c_str(), peak / estimate.Total(), MemoryText(loaded).c_str());

  const fs::path path = fs::path(request.folder) / "bench.checkpoint";
  std::vector<double> ours, theirs;
  uintmax_t bytes = 0;
  for (int i = 0; i <= request.repetitions; ++i) {
    const double written = SecondsOf([&] {
      SectionWriter out(path);
      training.Save(out);
      out.Finish();
    });
    bytes = fs::file_size(path);
    const double zeros = SecondsOf([&] { RunDd(path, bytes); });
    if (i == 0) continue;  // the disk is warm from here on
    ours.push_back(written);
    theirs.push_back(zeros);
  }
  fs::remove(path);
  const auto print = [](const char* what, double written, double zeros) {
    std::printf("  %-8s%.2f s, dd conv=fsync %.2f s, ratio %.2f\n", what, written, zeros,
                written / zeros);
  };
  std::printf("checkpoint of %s\n", MemoryText(static_cast<double>(bytes)).c_str());
  print("median", Median(ours), Median(theirs));
  print("fastest", Least(ours), Least(theirs));
}

}  // namespace
}  // namespace legacy

int main(int argc, char** argv) {
  CLI::App app("Checkpoints beside dd, and memory beside its estimate.", "legacy-bench-state");
  legacy::Request request;
  app.add_option("--model", request.model, "model")->capture_default_str();
  app.add_option("--scheme", request.scheme, "scheme")->capture_default_str();
  app.add_option("--parameter", request.parameter, "the scheme's parameter")->capture_default_str();
  app.add_option("--workers", request.workers, "workers")->capture_default_str();
  app.add_option("--threads", request.threads, "workers at the same time")->capture_default_str();
  app.add_option("--batch", request.batch, "samples of each worker")->capture_default_str();
  app.add_option("--repetitions", request.repetitions, "measured checkpoints")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--folder", request.folder, "folder to write to")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    legacy::Measure(request);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "legacy-bench-state: %s\n", error.what());
    return 1;
  }
  return 0;
}

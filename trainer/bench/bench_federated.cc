// legacy-bench-federated measures federated runs and plans. Local training takes turns with the
// same rounds in bare LibTorch; whole programs are run as users run them, with their peak memory.
// All data are drawn at random.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/median.h"
#include "base/random.h"
#include "ns3-module/fabric/bench/processor-time.h"
#include "trainer/bench/bare_clients.h"
#include "trainer/bench/child.h"
#include "trainer/federated/client_store.h"
#include "trainer/torch/federated/federated_training.h"
#include "trainer/torch/one_thread.h"

namespace legacy::bench {
namespace {

namespace fs = std::filesystem;
using fabric::bench::ProcessorSeconds;

struct Settings {
  std::string filter;  // rows whose names contain it
  bool quick = false;
  int threads = 1;  // of local training
  std::string folder;
};

// A Cost is the time that one turn took, on the wall clock and on processors.
struct Cost {
  double wall = 0;
  double processor = 0;
};

Cost CostOf(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  const double processor = ProcessorSeconds();
  work();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
          ProcessorSeconds() - processor};
}

double MedianOf(const std::vector<Cost>& costs, double Cost::*part) {
  std::vector<double> values;
  for (const Cost& cost : costs) values.push_back(cost.*part);
  return Median(std::move(values));
}

// -------------------------------------------------------------------------------------------------
// Local training compared with the bare loop

// A LocalRow is a federated set-up, some rounds of which are measured.
struct LocalRow {
  std::string name;
  std::string model;
  std::vector<int64_t> image;  // channels, height, width
  int64_t samples = 0;         // of the data set
  std::string partition;
  int64_t clients = 1;
  int64_t per_round = 10;
  int64_t batch = 10;
  int rounds = 20;  // measured
  int quick_rounds = 3;
  int64_t all_rounds = 100;  // of the whole set-up
  double aim = 1.1;
  std::string scheme = "dense";
  double density = 1;
};

std::vector<LocalRow> LocalRows() {
  const std::vector<int64_t> grey = {1, 28, 28}, colour = {3, 32, 32};
  return {
      {"logistic", "logistic", grey, 60000, "iid", 1000, 10, 10, 100, 20, 100, 1.3},
      {"small-cnn", "small-cnn", grey, 8000, "iid", 100, 10, 16, 30, 5, 100},
      {"small-cnn topk", "small-cnn", grey, 8000, "iid", 100, 10, 16, 30, 5, 100, 1.1, "topk", .01},
      {"niid-cnn", "niid-cnn", grey, 60000, "iid", 1000, 50, 32, 20, 3, 1000},
      {"femnist-cnn", "femnist-cnn", grey, 60000, "iid:samples=198,replace=on", 3400, 10, 20, 7, 2,
       1500},
      {"pfl-cifar10", "femnist-cnn", colour, 50000, "iid:samples=50,replace=on", 1000, 50, 10, 7, 2,
       1500},
      {"resnet20", "resnet20", colour, 5000, "iid", 100, 10, 10, 5, 2, 100},
  };
}

Classification DrawnImages(const LocalRow& row) {
  constexpr int kClasses = 10;
  const torch::Generator generator = at::detail::createCPUGenerator(1);
  std::vector<int64_t> sizes = {row.samples};
  sizes.insert(sizes.end(), row.image.begin(), row.image.end());
  Dataset data;
  data.name = "drawn";
  data.train_images = torch::randint(0, 256, sizes, generator, torch::kUInt8);
  data.train_labels = torch::arange(row.samples).remainder(kClasses);
  data.test_images = data.train_images.narrow(0, 0, kClasses);
  data.test_labels = data.train_labels.narrow(0, 0, kClasses);
  data.mean.assign(static_cast<size_t>(row.image.front()), 0.5);
  data.stddev.assign(static_cast<size_t>(row.image.front()), 0.25);
  data.classes = kClasses;
  return Classification(std::move(data));
}

void Compare(const LocalRow& row, const Settings& settings) {
  const Classification task = DrawnImages(row);
  const std::unique_ptr<SampleSet> samples = task.OpenSamples();
  const auto partition = MakePartition(row.partition, samples->Labels(), row.clients, 1);
  const ModelRequest model = task.RequestFor(row.model, 1);
  FederatedOptions options;
  options.versions = row.all_rounds;
  options.per_version = row.per_round;
  options.local.batch_size = row.batch;
  options.schedule.learning_rate = 0.01;
  options.scheme = row.scheme;
  options.threads = settings.threads;
  ClientStore store(settings.folder, int64_t{1} << 30);
  FederatedTraining training(options, task, model, *partition, MakeUniformPolicy(row.density),
                             store);
  BareClients bare(task, *partition, model,
                   {.batch_size = row.batch,
                    .learning_rate = options.schedule.learning_rate,
                    .momentum = options.local.sgd.momentum,
                    .threads = settings.threads});
  const int rounds = settings.quick ? row.quick_rounds : row.rounds;
  std::vector<Cost> ours, theirs;
  for (int round = -1; round < rounds; ++round) {  // the first is not measured
    std::vector<int64_t> clients;
    for (int64_t i = 0; i < row.per_round; ++i) {
      clients.push_back(((round + 1) * row.per_round + i) % row.clients);
    }
    const auto our_turn = [&] {
      ours.push_back(CostOf([&] {
        for (const int64_t client : clients) training.Start({training.version(), client});
        for (const int64_t client : clients) training.Count({training.version(), client});
        training.Update();
      }));
    };
    const auto bare_turn = [&] { theirs.push_back(CostOf([&] { bare.Round(clients); })); };
    // Both take turns, and each goes first as often as the other, so that a machine that slows down
    // slows both.
    if (round % 2 == 0) {
      our_turn();
      bare_turn();
    } else {
      bare_turn();
      our_turn();
    }
  }
  ours.erase(ours.begin());
  theirs.erase(theirs.begin());
  const auto ratio = [&](double Cost::*part) {
    return MedianOf(ours, part) / MedianOf(theirs, part);
  };
  fmt::print("| {} | {} of {} | {:.1f} | {:.1f} | {:.2f} | {:.2f} | {:.2f} |\n", row.name, rounds,
             row.all_rounds, 1e3 * MedianOf(theirs, &Cost::processor),
             1e3 * MedianOf(ours, &Cost::processor), ratio(&Cost::processor), ratio(&Cost::wall),
             row.aim);
  std::fflush(stdout);
}

// -------------------------------------------------------------------------------------------------
// Whole programs

// A ProgramRow is a command line, with the most time and memory that it should take.
struct ProgramRow {
  std::string name;
  std::vector<std::string> arguments;
  double seconds = 0;                    // 0: no aim
  double gibibytes = 0;                  // 0: no aim
  std::vector<std::string> before = {};  // a run that is not measured
  bool quick = true;                     // part of --quick
};

constexpr const char* kRecorded = "recorded";

std::vector<ProgramRow> ProgramRows(const fs::path& folder) {
  const std::vector<std::string> logistic = {
      "--dataset=glyphs", "--train-limit=60000", "--model=logistic", "--clients=1000",
      "--per-round=10",   "--batch=10",          "--partition=iid",  "--policies=dense"};
  const auto with = [](std::vector<std::string> first, const std::vector<std::string>& then) {
    first.insert(first.end(), then.begin(), then.end());
    return first;
  };
  const std::string out = "--out=" + (folder / "run").string();
  const std::string recorded = (folder / kRecorded).string();
  const std::vector<std::string> quiet = {"--pictures=off", "--checkpoint=off", "--overwrite"};
  return {
      {"logistic, 1,000 clients, 10 a round, 100 rounds",
       with(with(logistic, {"--rounds=100", out}), quiet), 20},
      {"plan, 1,000 clients, 50 a round, 1,000 rounds, traces on all lines",
       {"plan", "--population=phones", "--clients=1000", "--elements=44426", "--client-seconds=6",
        "--per-round=50", "--rounds=1000", "--remedies=off",
        "--traces=csv:" + (folder / "traces.csv").string() + ":scale=mean"},
       5},
      {"plan, async, 100,000 clients, 1,000 in flight, 100,000 tasks",
       {"plan", "--population=phones", "--clients=100000", "--elements=44426", "--client-seconds=6",
        "--server=async:concurrency=1000,buffer=10", "--rounds=10000", "--remedies=off"},
       30,
       1.5},
      {"replay of 1,500 rounds of 10",
       {"replay", recorded, out, "--pictures=off", "--overwrite"},
       1,
       0,
       with(with(logistic, {"--rounds=1500", "--record", "--out=" + recorded}), quiet)},
      {"packets: a round of 65 tasks of 178 kB each way",
       {"plan", "--population=phones", "--clients=65", "--elements=44426", "--client-seconds=6",
        "--per-round=65", "--rounds=1", "--fidelity=packet", "--remedies=off"},
       1},
      {"memory: 1,000 clients, resnet20, topk, 256 MiB of residuals in memory",
       with({"--dataset=glyphs", "--train-limit=10000", "--model=resnet20", "--clients=1000",
             "--per-round=10", "--rounds=100", "--batch=10", "--partition=iid", "--policies=topk",
             "--state-memory=256MiB", "--evaluate-every=50", out},
            quiet),
       0,
       1,
       {},
       false},
      {"memory: 100,000 clients, 100 in flight, niid-cnn, topk",
       with({"--dataset=glyphs", "--model=niid-cnn", "--clients=100000",
             "--server=async:concurrency=100", "--algorithms=fedbuff:k=10", "--rounds=700",
             "--batch=10", "--partition=iid:samples=10,replace=on", "--policies=topk",
             "--evaluate-every=350", "--tasks=off", out},
            quiet),
       0,
       1.5,
       {},
       false},
  };
}

// Writes twenty traces of mobile lines: 150 s of rates that wander between 1 and 60 Mbit/s.
void WriteTraces(const fs::path& path) {
  std::ofstream file(path);
  file << "trace,time_s,mbps\n";
  for (int trace = 0; trace < 20; ++trace) {
    RandomStream random({.seed = 1, .step = static_cast<uint64_t>(trace)});
    double rate = 20;
    for (int second = 0; second < 150; ++second) {
      rate = std::clamp(rate * std::exp(0.4 * random.Normal()), 1.0, 60.0);
      file << trace << ',' << second << ',' << rate << '\n';
    }
  }
}

std::string Against(double got, double aim, const char* unit) {
  if (aim == 0) return fmt::format("{:.2f} {}", got, unit);
  return fmt::format("{:.2f} {} (aim {:g})", got, unit, aim);
}

void RunProgram(const ProgramRow& row, const Settings& settings) {
  const std::string log = (fs::path(settings.folder) / "log").string();
  const auto run = [&](const std::vector<std::string>& arguments) {
    std::vector<std::string> command = {LEGACY_FEDERATED_PROGRAM};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return RunChild(command, log);
  };
  if (!row.before.empty()) run(row.before);
  const int turns = row.gibibytes > 0 || settings.quick ? 1 : 3;
  ChildCost least = run(row.arguments);
  for (int turn = 1; turn < turns; ++turn) {
    const ChildCost cost = run(row.arguments);
    least.wall_seconds = std::min(least.wall_seconds, cost.wall_seconds);
    least.processor_seconds = std::min(least.processor_seconds, cost.processor_seconds);
    least.peak_bytes = std::max(least.peak_bytes, cost.peak_bytes);
  }
  constexpr double kGibibyte = 1 << 30;
  fmt::print("| {} | {} | {:.2f} s | {} |\n", row.name,
             Against(least.wall_seconds, row.seconds, "s"), least.processor_seconds,
             Against(static_cast<double>(least.peak_bytes) / kGibibyte, row.gibibytes, "GiB"));
  std::fflush(stdout);
}

// -------------------------------------------------------------------------------------------------
// Checkpoints of what clients keep

constexpr const char* kCheckpointRow = "checkpoint of residuals";

// Writes this many bytes to a file, and flushes the file to the disk.
void WritePlainly(const fs::path& path, const std::vector<Bytes>& states) {
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
  if (file < 0) throw Error(path.string() + ": cannot be written");
  bool written = true;
  for (const Bytes& state : states) {
    written &= write(file, state.data(), state.size()) == static_cast<ssize_t>(state.size());
  }
  written &= fsync(file) == 0;
  close(file);
  fs::remove(path);
  if (!written) throw Error(path.string() + ": cannot be written");
}

// Residuals of niid-cnn, of which `changed` change between two checkpoints.
void RunCheckpoints(const Settings& settings) {
  constexpr size_t kBytes = 44426 * sizeof(float);
  const int64_t clients = settings.quick ? 1000 : 10000;
  const int64_t changed = clients / 10;
  ClientStore store(settings.folder, int64_t{4} << 30);
  std::vector<Bytes> states;
  for (int64_t i = 0; i < changed; ++i) states.emplace_back(kBytes, static_cast<std::byte>(i));
  const auto change = [&](int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      store.Put((first + i) % clients, StateKind::kResidual,
                states[static_cast<size_t>(i % changed)]);
    }
  };
  const auto save = [&] {
    StateWriter out;
    store.Save(out);
  };
  change(0, clients);
  save();
  std::vector<Cost> ours, plain;
  for (int turn = 0; turn < 5; ++turn) {
    change(turn * changed, changed);
    ours.push_back(CostOf(save));
    plain.push_back(CostOf([&] { WritePlainly(fs::path(settings.folder) / "plain", states); }));
  }
  store.Remove();
  fmt::print(
      "| {}: {} clients, {} changed ({:.0f} MB) | {:.2f} s, plain writing {:.2f} s (aim 1 s "
      "more) | {:.2f} s | |\n",
      kCheckpointRow, clients, changed, 1e-6 * static_cast<double>(changed * kBytes),
      MedianOf(ours, &Cost::wall), MedianOf(plain, &Cost::wall), MedianOf(ours, &Cost::processor));
}

// -------------------------------------------------------------------------------------------------

bool Wants(const Settings& settings, const std::string& name) {
  return name.find(settings.filter) != std::string::npos;
}

void RunAll(Settings settings) {
  const fs::path folder =
      fs::path(settings.folder) / ("legacy-bench-federated-" + std::to_string(getpid()));
  fs::create_directories(folder);
  settings.folder = folder.string();
  WriteTraces(folder / "traces.csv");
  fmt::print(
      "Local training beside the bare loop, {} thread{}, medians of rounds in turns\n\n"
      "| training | rounds | bare loop, ms of processor time a round | ours | ratio | of wall time "
      "| "
      "aim |\n|---|---:|---:|---:|---:|---:|---:|\n",
      settings.threads, settings.threads == 1 ? "" : "s");
  for (const LocalRow& row : LocalRows()) {
    if (Wants(settings, row.name)) Compare(row, settings);
  }
  fmt::print(
      "\nWhole programs, least of {} turns\n\n| program | wall | processor | peak memory |\n"
      "|---|---:|---:|---:|\n",
      settings.quick ? "1" : "3 (memory: 1)");
  for (const ProgramRow& row : ProgramRows(folder)) {
    if (Wants(settings, row.name) && (row.quick || !settings.quick)) RunProgram(row, settings);
  }
  if (Wants(settings, kCheckpointRow)) RunCheckpoints(settings);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace legacy::bench

int main(int argc, char** argv) {
  CLI::App app("Federated runs and plans: speed beside bare LibTorch, whole programs, memory.",
               "legacy-bench-federated");
  legacy::bench::Settings settings;
  settings.folder = std::filesystem::temp_directory_path().string();
  app.add_option("--filter", settings.filter, "measure the rows whose names have this text");
  app.add_flag("--quick", settings.quick, "fewer rounds, and no rows of memory: a few minutes");
  app.add_option("--threads", settings.threads, "threads of local training")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--folder", settings.folder, "folder for what is written")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    legacy::UseOneThread();
    legacy::bench::RunAll(settings);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "legacy-bench-federated: %s\n", error.what());
    return 1;
  }
  return 0;
}

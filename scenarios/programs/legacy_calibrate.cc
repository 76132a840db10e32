// legacy-calibrate measures this machine on one thread and writes a profile, or makes a profile
// from measurements of legacy-bench-gpu. Its options are not rows of a table, because the parser
// checks which of them exclude or require each other.

#include <malloc.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/error.h"
#include "base/files/whole_file.h"
#include "base/programs/arguments.h"
#include "base/programs/program.h"
#include "trainer/calibration/kernel_rates.h"
#include "trainer/clock/gpu_profile.h"
#include "trainer/torch/calibration/calibrate.h"
#include "trainer/torch/calibration/operations.h"

namespace {

std::string MachineName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

std::string Today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

void Write(const legacy::Profile& profile, const std::string& path) {
  const std::string text = legacy::FormatProfile(profile);
  if (path.empty()) {
    std::fputs(text.c_str(), stdout);
    return;
  }
  legacy::WriteWholeFile(path, text);
  std::fprintf(stderr, "wrote %s\n", path.c_str());
}

legacy::Repetition RepetitionOf(bool quick) {
  return quick ? legacy::Repetition{.runs = 3, .seconds = 0.002} : legacy::Repetition{};
}

legacy::Profile Measure(const std::string& name, bool quick) {
  legacy::CalibrationOptions options;
  if (!name.empty()) options.name = name;
  options.machine = MachineName() + ", 1 thread";
  options.command = std::string("legacy-calibrate") + (quick ? " --quick" : "");
  options.date = Today();
  options.repetition = RepetitionOf(quick);
  return legacy::Calibrate(options);
}

// Keeps freed memory in the process, as in a program that reuses its buffers: page faults are not
// part of a codec's time.
void KeepFreedMemory() {
  constexpr int kMost = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kMost);
  mallopt(M_TRIM_THRESHOLD, kMost);
}

// Prints, for each scheme, what a profile charges for a step, divided by the step's time here.
void Check(const std::string& name, int64_t numel, bool quick) {
  const legacy::Profile profile = legacy::LoadProfile(name);
  std::printf("%s: charged over measured; %lld elements, 4 messages to decode\n",
              profile.name.c_str(), static_cast<long long>(numel));
  std::printf("%-20s%4s%14s%8s%14s%8s\n", "scheme", "EF", "encode, us", "ratio", "decode, us",
              "ratio");
  for (const auto& row : legacy::CheckSchemes(profile, numel, RepetitionOf(quick))) {
    std::printf("%-20s%4s%14.2f%8.2f%14.2f%8.2f\n", row.scheme.scheme.c_str(),
                row.scheme.error_feedback ? "on" : "off", 1e6 * row.encode_seconds,
                row.encode_charged / row.encode_seconds, 1e6 * row.decode_seconds,
                row.decode_charged / row.decode_seconds);
  }
}

legacy::Profile FromGpu(const std::string& name, const std::string& path, const std::string& base,
                        bool operations) {
  const std::string text = legacy::ReadWholeFile(path);
  legacy::Profile rest = legacy::LoadProfile(base);
  if (operations) {
    constexpr int kRuns = 9;
    legacy::MeasureGpuOperations(kRuns, rest);
  }
  return legacy::GpuProfile(text, path, rest, operations, name.empty() ? "this-gpu" : name);
}

int Main(int argc, char** argv) {
  CLI::App app(
      "Measures operations, codecs and optimizer of this machine on one thread, and writes a "
      "device profile for the simulated clock; or makes one from measurements of a GPU.",
      "legacy-calibrate");
  legacy::PrepareArguments(app);
  app.footer(
      std::string("Examples:\n"
                  "  legacy-calibrate --out=my-machine.json\n"
                  "  legacy-calibrate --check=my-machine.json --quick\n"
                  "  legacy-calibrate --gpu=gpu.json --base=a100-datasheet --out=my-gpu.json\n") +
      legacy::kExitStatuses + "Handbook: docs/profiles.md.");
  std::string out, gpu, base, check;
  int64_t elements = 1048576;
  bool quick = false, operations = false;
  app.add_option("--out", out,
                 "profile to write, named after the file's stem (default: standard output)")
      ->type_name("FILE");
  auto* const quickly =
      app.add_flag("--quick", quick, "take 3 short runs of each measurement instead of 9");
  auto* const from_gpu = app.add_option("--gpu", gpu,
                                        "measure nothing, and take the costs of kernels from a "
                                        "file of legacy-bench-gpu --json")
                             ->type_name("FILE")
                             ->excludes(quickly);
  auto* const rest = app.add_option("--base", base,
                                    "with --gpu: profile for all costs that the file does not have")
                         ->type_name("NAME|FILE");
  app.add_flag(
         "--operations", operations,
         "with --gpu: also measure the models' operations with LibTorch on this machine's GPU")
      ->needs(from_gpu);
  auto* const checked = app.add_option("--check", check,
                                       "write nothing, and print the ratio of charged to measured "
                                       "time of every scheme, for a profile of this machine")
                            ->type_name("NAME|FILE")
                            ->excludes(from_gpu);
  app.add_option("--elements", elements, "with --check: number of elements of the unit")
      ->check(CLI::IsMember({1024, 4096, 16384, 65536, 262144, 1048576, 4194304}))
      ->capture_default_str()
      ->needs(checked);
  from_gpu->needs(rest);
  rest->needs(from_gpu);
  if (const auto exit = legacy::ParseArguments(app, argc, argv)) return *exit;
  KeepFreedMemory();
  if (!check.empty()) {
    Check(check, elements, quick);
    return 0;
  }
  const std::string name = std::filesystem::path(out).stem().string();
  Write(gpu.empty() ? Measure(name, quick) : FromGpu(name, gpu, base, operations), out);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  legacy::RunProgram("legacy-calibrate", [&] { return Main(argc, argv); });
}

// legacy-calibrate: measures this machine on one thread and writes a profile; or writes one from what legacy-bench-gpu
// measured.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "compress/error.h"
#include "files/program.h"
#include "files/whole_file.h"
#include "trainer/calibrate.h"
#include "trainer/gpu_profile.h"
#include "trainer/operations.h"

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

legacy::Profile Measure(const std::string& name, bool quick) {
  legacy::CalibrationOptions options;
  if (!name.empty()) options.name = name;
  options.machine = MachineName() + ", 1 thread";
  options.command = std::string("legacy-calibrate") + (quick ? " --quick" : "");
  options.date = Today();
  if (quick) {
    options.runs = 3;
    options.seconds_per_run = 0.002;
  }
  return legacy::Calibrate(options);
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
      "Measures operations, codecs and optimizer on one thread and writes a profile for "
      "the simulated clock.",
      "legacy-calibrate");
  std::string out, gpu, base;
  bool quick = false, operations = false;
  app.add_option("--out", out, "file to write; its stem becomes the profile's name")
      ->type_name("FILE");
  auto* const quickly = app.add_flag("--quick", quick, "3 short runs of each figure instead of 9");
  auto* const from_gpu =
      app.add_option(
             "--gpu", gpu,
             "measure nothing: the kernels' costs are those that legacy-bench-gpu wrote there")
          ->type_name("FILE")
          ->excludes(quickly);
  auto* const rest = app.add_option("--base", base, "profile for what --gpu has no figures of")
                         ->type_name("NAME|FILE");
  app.add_flag("--operations", operations,
               "with --gpu: the models' operations, too, are measured, on this machine's GPU by "
               "LibTorch")
      ->needs(from_gpu);
  from_gpu->needs(rest);
  rest->needs(from_gpu);
  CLI11_PARSE(app, argc, argv);
  const std::string name = std::filesystem::path(out).stem().string();
  Write(gpu.empty() ? Measure(name, quick) : FromGpu(name, gpu, base, operations), out);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return legacy::ProgramStatus("legacy-calibrate", [&] { return Main(argc, argv); });
}

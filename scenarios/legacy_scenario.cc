// legacy-scenario: trains, compresses and times a comparison of policies over one network.
#include <csignal>
#include <cstdio>
#include <exception>

#include "analysis/report.h"
#include "analysis/tables.h"
#include "scenarios/command_line.h"
#include "scenarios/comparison.h"

namespace {

volatile std::sig_atomic_t g_stop = 0;  // set by the handler of SIGINT and SIGTERM alone

extern "C" void Stop(int) { g_stop = 1; }

int Main(int argc, char** argv) {
  const legacy::CommandLine line = legacy::ParseCommandLine(
      argc, argv, "legacy-scenario",
      "Trains with really compressed gradients, times the really encoded bytes on a simulated "
      "network, and compares policies by simulated time to a target accuracy.");
  if (line.exit) return *line.exit;
  legacy::ValidateScenario(line.scenario);
  if (line.print_config) {
    std::fputs(legacy::PrintScenario(line.scenario).c_str(), stdout);
    return 0;
  }
  std::signal(SIGINT, Stop);
  std::signal(SIGTERM, Stop);
  const legacy::ComparisonResult result =
      legacy::RunComparison(line.scenario, "legacy-scenario", line.text, g_stop);
  legacy::analysis::ReportOptions options;
  options.pictures = line.scenario.pictures;
  const legacy::analysis::Report report = legacy::analysis::WriteReport(result.directory, options);
  std::fputs(legacy::analysis::TextTable(report.summary).c_str(), stdout);
  for (const std::string& warning : report.warnings) {
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  }
  std::printf("\nrun directory: %s\n", result.directory.c_str());
  return result.interrupted ? 130 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "legacy-scenario: %s\n", error.what());
    return 1;
  }
}

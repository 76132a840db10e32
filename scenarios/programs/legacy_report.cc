// legacy-report recomputes the tables and pictures of a run directory from its CSV files.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "analysis/report/report.h"
#include "analysis/tables.h"
#include "base/metric.h"
#include "base/programs/arguments.h"
#include "base/programs/program.h"

namespace {

using legacy::analysis::Report;
using legacy::analysis::ReportOptions;

std::string Render(const Report& report, const std::string& format, bool verbose) {
  if (format == "markdown") return legacy::analysis::ReportMarkdown(report, verbose);
  if (format == "csv") return legacy::analysis::CsvTable(report.summary);
  if (format == "json") return legacy::analysis::ReportJson(report);
  return legacy::analysis::ReportText(report, verbose);
}

int Main(int argc, char** argv) {
  CLI::App app(
      "Writes the tables and pictures of a run directory anew from its CSV files, and prints its "
      "table.",
      "legacy-report");
  legacy::PrepareArguments(app);
  app.footer(
      std::string("Examples:\n"
                  "  legacy-report runs/first\n"
                  "  legacy-report runs/first --format=markdown --target=80% --no-pictures\n") +
      legacy::kExitStatuses + "Handbook: docs/results-format.md.");
  std::string directory, format = "text", baseline, target;
  bool no_pictures = false, verbose = false;
  app.add_option("RUN", directory, "run directory")->required();
  app.add_option("--format", format, "format of the table on standard output")
      ->check(CLI::IsMember({"text", "markdown", "csv", "json"}))
      ->capture_default_str();
  app.add_option("--baseline", baseline,
                 "method with which the others are compared (default: dense, else the first)");
  app.add_option("--target", target,
                 "target: 85%, 0.85, or of another metric of the run, as perplexity=120 (default: "
                 "the run's)");
  app.add_flag("--no-pictures", no_pictures, "write summary.json only, without pictures");
  app.add_flag("--verbose", verbose,
               "also show what the simulation did: events, packets, memoised steps, marks; files "
               "have them always");
  if (const auto exit = legacy::ParseArguments(app, argc, argv)) return *exit;
  ReportOptions options;
  options.summary.baseline = baseline;
  if (!target.empty()) options.summary.target = legacy::ParseTarget(target, "--target");
  options.pictures = !no_pictures;
  const Report report = legacy::analysis::WriteReport(directory, options);
  fmt::print("{}", Render(report, format, verbose));
  std::fflush(stdout);  // before the lines on standard error
  for (const auto& warning : report.warnings) fmt::print(stderr, "warning: {}\n", warning);
  for (const auto& file : report.files) fmt::print(stderr, "wrote {}\n", file.string());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  legacy::RunProgram("legacy-report", [&] { return Main(argc, argv); });
}

// legacy-report recomputes the tables and pictures of a run directory from its CSV files.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

#include "analysis/report/report.h"
#include "analysis/tables.h"
#include "base/metric.h"
#include "base/programs/arguments.h"
#include "base/programs/program.h"
#include "scenarios/programs/table_options.h"

namespace {

using legacy::analysis::Report;

enum class Format : uint8_t { kText, kMarkdown, kCsv, kJson };

constexpr std::array kFormatTexts = {"text", "markdown", "csv", "json"};

std::string Render(const Report& report, Format format, bool verbose) {
  switch (format) {
    case Format::kText:
      return legacy::analysis::ReportText(report, verbose);
    case Format::kMarkdown:
      return legacy::analysis::ReportMarkdown(report, verbose);
    case Format::kCsv:
      return legacy::analysis::CsvTable(report.summary);
    case Format::kJson:
      break;
  }
  return legacy::analysis::ReportJson(report);
}

Format ParseFormat(const std::string& text, const std::string& key) {
  return legacy::ParseChoice<Format>(text, key, kFormatTexts);
}

struct Options {
  legacy::Parsed<ParseFormat> format = "text";
  std::string baseline;
  legacy::Parsed<legacy::Given<legacy::ParseTarget>> target = "";
  bool no_pictures = false;
  bool verbose = false;
};

legacy::OptionTable<Options> Rows() {
  using namespace legacy::option_forms;
  return {
      Text<&Options::format>("format", "--format", "text|markdown|csv|json",
                             "format of the table on standard output"),
      Text<&Options::baseline>(
          "baseline", "--baseline", "METHOD",
          "method with which the others are compared (default: dense, else the first)"),
      Text<&Options::target>("target", "--target", "VALUE",
                             "target: 85%, 0.85, or of another metric of the run, as "
                             "perplexity=120 (default: the run's)"),
      Flag<&Options::no_pictures>("no-pictures", "--no-pictures",
                                  "write summary.json only, without pictures"),
      Flag<&Options::verbose>("verbose", "--verbose",
                              "also show what the simulation did: events, packets, memoised steps, "
                              "marks; files have them always"),
  };
}

int Main(int argc, char** argv) {
  CLI::App app(
      "Writes the tables and pictures of a run directory again from its CSV files, and prints its "
      "table.",
      "legacy-report");
  legacy::PrepareArguments(app);
  app.footer(
      std::string("Examples:\n"
                  "  legacy-report runs/first\n"
                  "  legacy-report runs/first --format=markdown --target=80% --no-pictures\n") +
      legacy::kExitStatuses + "Handbook: docs/results-format.md.");
  std::string directory;
  app.add_option("RUN", directory, "run directory")->required();
  Options options;
  const legacy::TableOptions<Options> table(app, legacy::FewOptions(Rows()), options);
  if (const auto exit = legacy::ParseArguments(app, argc, argv)) return *exit;
  table.Apply(options);
  legacy::analysis::ReportOptions wanted;
  wanted.summary.baseline = options.baseline;
  wanted.summary.target = *options.target;
  wanted.pictures = !options.no_pictures;
  const Report report = legacy::analysis::WriteReport(directory, wanted);
  fmt::print("{}", Render(report, *options.format, options.verbose));
  std::fflush(stdout);  // must precede the lines on standard error
  for (const auto& warning : report.warnings) fmt::print(stderr, "warning: {}\n", warning);
  for (const auto& file : report.files) fmt::print(stderr, "wrote {}\n", file.string());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  legacy::RunProgram("legacy-report", [&] { return Main(argc, argv); });
}

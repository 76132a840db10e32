#include "analysis/report/report.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "analysis/federated/gantt.h"
#include "analysis/federated_tables.h"
#include "analysis/pictures/pictures.h"
#include "analysis/report/run_page.h"
#include "analysis/report/verdict.h"
#include "analysis/run_directory.h"
#include "analysis/tables.h"
#include "base/files/whole_file.h"
#include "base/programs/terminal.h"

namespace legacy::analysis {
namespace {

// Returns a chart of the first training's round of median time; nothing if tasks are not known.
std::optional<std::string> FederatedGantt(const RunDirectory& run) {
  if (run.rounds.empty()) return std::nullopt;
  const RoundRow& first = run.rounds.front();
  const auto own = [&](const auto& row) {
    return row.policy == first.policy && row.seed == first.seed;
  };
  std::vector<RoundRow> rounds;
  std::vector<TaskRow> tasks;
  std::ranges::copy_if(run.rounds, std::back_inserter(rounds), own);
  std::ranges::copy_if(run.tasks, std::back_inserter(tasks), own);
  const auto median = MedianRoundTasks(rounds, tasks);
  if (!median || median->tasks.empty()) return std::nullopt;
  return GanttSvg(*median, first.policy + ", seed " + std::to_string(first.seed));
}

}  // namespace

Report WriteReport(const std::filesystem::path& directory, const ReportOptions& options) {
  const RunDirectory run = ReadRunDirectory(directory);
  Report report;
  report.summary = Summarise(run, options.summary);
  report.federated = FederatedTables(run, report.summary);
  report.networks = ReadNetworks(run, report.summary, options.summary);
  report.verdict = VerdictOf(report.summary, report.networks);
  const std::filesystem::path path = directory / "summary.json";
  ReplaceFile(path, ReportJson(report));
  report.files.push_back(path);
  if (!report.networks.empty()) {
    report.files.push_back(directory / "networks.csv");
    ReplaceFile(report.files.back(), NetworksCsv(report.networks));
  }
  if (options.pictures) {
    const DrawnPictures drawn = DrawPictures(run, report.summary);
    report.files.insert(report.files.end(), drawn.files.begin(), drawn.files.end());
    report.warnings = drawn.warnings;
    if (const auto chart = FederatedGantt(run)) {
      report.files.push_back(directory / "gantt.svg");
      ReplaceFile(report.files.back(), *chart);
    }
#ifdef LEGACY_WITH_PAGES
    const std::string page = RunHtml(run, report);
    report.files.push_back(directory / "index.html");
    ReplaceFile(report.files.back(), page);
#endif
  }
  return report;
}

bool WritePartsPage([[maybe_unused]] const std::filesystem::path& directory,
                    [[maybe_unused]] const std::string& title,
                    [[maybe_unused]] const RunParts& parts) {
#ifdef LEGACY_WITH_PAGES
  ReplaceFile(directory / "index.html", PartsHtml(title, parts));
  return true;
#else
  return false;
#endif
}

std::string ReportText(const Report& report, bool verbose) {
  std::string text = TextTable(report.summary, verbose);
  for (const Table& table : report.federated) text += "\n" + RenderText(table);
  if (!report.networks.empty()) text += "\n" + NetworksText(report.networks);
  if (report.verdict.empty()) return text;
  return text + "\n" + Wrapped(report.verdict, OutputColumns()) + "\n";
}

std::string ReportMarkdown(const Report& report, bool verbose) {
  std::string text = MarkdownTable(report.summary, verbose);
  for (const Table& table : report.federated) text += "\n" + RenderMarkdown(table);
  if (!report.networks.empty()) text += "\n" + NetworksMarkdown(report.networks);
  return report.verdict.empty() ? text : text + "\n" + report.verdict + "\n";
}

std::string ReportJson(const Report& report) {
  nlohmann::json document = ToJson(report.summary);
  document["verdict"] = report.verdict;
  return document.dump(2) + "\n";
}

}  // namespace legacy::analysis

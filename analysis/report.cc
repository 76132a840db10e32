#include "analysis/report.h"

#include "analysis/federated/federated_tables.h"
#include "analysis/pictures.h"
#include "analysis/run_directory.h"
#include "analysis/tables.h"
#include "base/whole_file.h"

namespace legacy::analysis {

Report WriteReport(const std::filesystem::path& directory, const ReportOptions& options) {
  const RunDirectory run = ReadRunDirectory(directory);
  Report report;
  report.summary = Summarise(run, options.summary);
  const std::filesystem::path path = directory / "summary.json";
  WriteWholeFile(path, ToJson(report.summary).dump(2) + "\n");
  report.files.push_back(path);
  report.federated = FederatedTables(run, report.summary);
  report.networks = ReadNetworks(run, report.summary, options.summary);
  if (!report.networks.empty()) {
    report.files.push_back(directory / "networks.csv");
    WriteWholeFile(report.files.back(), NetworksCsv(report.networks));
  }
  if (options.pictures) {
    const DrawnPictures drawn = DrawPictures(run, report.summary);
    report.files.insert(report.files.end(), drawn.files.begin(), drawn.files.end());
    report.warnings = drawn.warnings;
  }
  return report;
}

std::string ReportText(const Report& report) {
  std::string text = TextTable(report.summary);
  for (const Table& table : report.federated) text += "\n" + RenderText(table);
  if (report.networks.empty()) return text;
  return text + "\n" + NetworksText(report.networks) + "\n" + NetworksConclusion(report.networks);
}

std::string ReportMarkdown(const Report& report) {
  std::string text = MarkdownTable(report.summary);
  for (const Table& table : report.federated) text += "\n" + RenderMarkdown(table);
  if (report.networks.empty()) return text;
  return text + "\n" + NetworksMarkdown(report.networks) + "\n" +
         NetworksConclusion(report.networks);
}

}  // namespace legacy::analysis

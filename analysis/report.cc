#include "analysis/report.h"

#include "analysis/pictures.h"
#include "analysis/run_directory.h"

namespace legacy::analysis {

Report WriteReport(const std::filesystem::path& directory, const ReportOptions& options) {
  const RunDirectory run = ReadRunDirectory(directory);
  Report report;
  report.summary = Summarise(run, options.summary);
  const std::filesystem::path path = directory / "summary.json";
  WriteWholeFile(path, ToJson(report.summary).dump(2) + "\n");
  report.files.push_back(path);
  if (options.pictures) {
    const DrawnPictures drawn = DrawPictures(run, report.summary);
    report.files.insert(report.files.end(), drawn.files.begin(), drawn.files.end());
    report.warnings = drawn.warnings;
  }
  return report;
}

}  // namespace legacy::analysis

#include "scenarios/run_report.h"

#include <cstdio>

#include "analysis/report.h"
#include "analysis/tables.h"

namespace legacy {

int ReportRun(const RunResult& result, bool pictures) {
  analysis::ReportOptions options;
  options.pictures = pictures;
  const analysis::Report report = analysis::WriteReport(result.directory, options);
  std::fputs(analysis::TextTable(report.summary).c_str(), stdout);
  for (const std::string& warning : report.warnings) {
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  }
  std::printf("\nrun directory: %s\n", result.directory.c_str());
  return result.interrupted ? 130 : 0;
}

}  // namespace legacy

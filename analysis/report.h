// The last stage of a run, and all of legacy-report: read the directory, summarise, write
// summary.json, draw.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/summary.h"

namespace legacy::analysis {

struct ReportOptions {
  SummaryOptions summary;
  bool pictures = true;
};

struct Report {
  Summary summary;
  std::vector<std::filesystem::path> files;  // written: summary.json and the pictures
  std::vector<std::string> warnings;         // why pictures are lacking
};

// Throws Error as ReadRunDirectory and Summarise do, and where a file cannot be written.
Report WriteReport(const std::filesystem::path& directory, const ReportOptions& options = {});

}  // namespace legacy::analysis

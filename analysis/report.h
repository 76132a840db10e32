// The last stage of a run, and all of legacy-report: read the directory, summarise, write
// summary.json (and networks.csv where there are several), draw.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/network_comparison.h"
#include "analysis/summary.h"

namespace legacy::analysis {

struct ReportOptions {
  SummaryOptions summary;
  bool pictures = true;
};

struct Report {
  Summary summary;
  std::vector<NetworkResult> networks;       // where the run was timed on several, its own first
  std::vector<std::filesystem::path> files;  // written: summary.json, networks.csv, the pictures
  std::vector<std::string> warnings;         // why pictures are lacking
};

// Throws Error as ReadRunDirectory and Summarise do, and where a file cannot be written.
Report WriteReport(const std::filesystem::path& directory, const ReportOptions& options = {});

// For people: all tables, those of several networks and what they say at the end.
std::string ReportText(const Report& report);
std::string ReportMarkdown(const Report& report);

}  // namespace legacy::analysis

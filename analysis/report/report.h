// A report is the last stage of a run, and all of legacy-report. It reads the directory, summarises
// it, writes summary.json (and networks.csv where there are several networks), and draws the
// pictures and the page.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/report/network_comparison.h"
#include "analysis/study/report/html.h"
#include "analysis/summary.h"
#include "analysis/table_text.h"

namespace legacy::analysis {

struct ReportOptions {
  SummaryOptions summary;
  bool pictures = true;  // also of the page; which programs without studies do not have
};

struct Report {
  Summary summary;
  std::vector<Table> federated;  // rounds and clients of a federated run
  // Networks of a run that was timed on several, its own first.
  std::vector<NetworkResult> networks;
  std::string verdict;  // VerdictOf; "" where there is nothing to tell
  // Files that were written: summary.json, networks.csv, the pictures, index.html.
  std::vector<std::filesystem::path> files;
  std::vector<std::string> warnings;  // reasons why pictures are missing
};

// Writes the report into the directory. Throws Error as ReadRunDirectory and Summarise do, and
// where a file cannot be written.
Report WriteReport(const std::filesystem::path& directory, const ReportOptions& options = {});

// Writes index.html of what has tables, but no trainings: a plan. Returns false in programs without
// studies, which have no pages.
bool WritePartsPage(const std::filesystem::path& directory, const std::string& title,
                    const RunParts& parts);

// Return the report for people: all tables, those of several networks, and the verdict. `verbose`
// is that of SummaryTables.
std::string ReportText(const Report& report, bool verbose = false);
std::string ReportMarkdown(const Report& report, bool verbose = false);
// Returns summary.json: the summary and the verdict.
std::string ReportJson(const Report& report);

}  // namespace legacy::analysis

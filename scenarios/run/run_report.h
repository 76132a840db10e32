// A run report is the end of a program that filled a run directory.
#pragma once

#include <string>
#include <vector>

#include "scenarios/run/open_run.h"

namespace legacy {

// A RunText describes a run directory for people.
struct RunText {
  std::string text;  // tables, verdicts of the doctor, and where the directory is
  std::vector<std::string> warnings;
};

// What a program asks of a report: pictures, and tables with the counts of the network's engine.
struct RunReportOptions {
  bool pictures = true;
  bool verbose = false;
};

// Writes summary and pictures into the directory, and returns its tables.
RunText WriteRunReport(const RunResult& result, const RunReportOptions& options);

// Does the same, with the tables on standard output and warnings on standard error. Returns the
// program's exit status: kInterrupted where the run was interrupted, and kStoppedEarly, with the
// reason, where a training ended before all of its versions were made.
int ReportRun(const RunResult& result, const RunReportOptions& options);

}  // namespace legacy

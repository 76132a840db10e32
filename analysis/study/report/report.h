// The report of a study, from its tables to a folder that can be read, printed and sent on:
//   report.md                     what was run, figures with their words, tables, failures, how to
//                                 repeat it
//   index.html                    the same, interactive, in one file
//   tables/*.{md,csv,tex}         every table
//   figures/*.{svg,png,pdf}       every figure, with its data (.dat) and gnuplot script (.gp)
// An unfinished study gives the report of what is there and says what is missing. Equal studies
// give equal files, byte for byte.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/study/study.h"

namespace legacy::analysis {

struct StudyReportOptions {
  bool figures = true;              // draw them; takes most of the time
  bool html = true;                 // index.html
  std::string gnuplot = "gnuplot";  // name looked up in PATH, or path
};

struct StudyReport {
  std::vector<std::filesystem::path> files;  // written: report.md, index.html, tables, figures
  std::vector<std::string> warnings;         // why figures are lacking
};

// Into `directory`, which it creates; every file is whole or not there. Throws Error naming the
// file that cannot be written.
StudyReport WriteStudyReport(const Study& study, const std::filesystem::path& directory,
                             const StudyReportOptions& options = {});

}  // namespace legacy::analysis

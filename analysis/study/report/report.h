// The report of a study is a folder that can be read, printed and sent:
//   report.md                     what was run, figures with their words, tables, failures, how to
//                                 repeat it
//   index.html                    the same, interactive, in one file
//   tables/*.{md,csv,tex}         every table
//   figures/*.{svg,png,pdf}       every figure, with its data (.dat) and gnuplot script (.gp)
// The report of an unfinished study has the results so far, and says what is missing. Equal studies
// give equal files, byte for byte.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/study/study.h"

namespace legacy::analysis {

struct StudyReportOptions {
  bool figures = true;              // draw figures, which takes most of the time
  bool html = true;                 // write index.html
  std::string gnuplot = "gnuplot";  // name looked up in PATH, or path
  std::string closed_forms = {};    // as in HtmlOptions
};

struct StudyReport {
  // Files that were written: report.md, index.html, tables, figures.
  std::vector<std::filesystem::path> files;
  std::vector<std::string> warnings;  // reasons why figures are missing
};

// Writes the report into `directory`, which it creates. Every file is whole or not there. Throws
// Error naming the file that cannot be written.
StudyReport WriteStudyReport(const Study& study, const std::filesystem::path& directory,
                             const StudyReportOptions& options = {});

}  // namespace legacy::analysis

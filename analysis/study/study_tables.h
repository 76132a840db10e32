// The tables of a study, each once as data and then as Markdown, CSV and LaTeX (booktabs). Markdown
// and LaTeX are for people: human units, mean ± deviation over the seeds. CSV has the plain numbers
// in SI units, mean, deviation and bounds of intervals in columns of their own; what is unknown is
// an empty field. Deterministic.
#pragma once

#include <string>
#include <vector>

#include "analysis/study/study.h"

namespace legacy::analysis {

struct StudyTable {
  struct Column {
    std::string header;
    bool number = false;  // aligned to the right
  };
  std::string name;   // of its files: "time_to_accuracy"
  std::string title;  // for people, with what the columns mean
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> csv_header;
  std::vector<std::vector<std::string>> csv_rows;
};

// Those that have rows, in this order: summary, time_to_accuracy, break_even, step, volume, egress,
// failed.
std::vector<StudyTable> StudyTables(const Study& study);

// Throws Error with the list where there is none of that name.
const StudyTable& TableNamed(const std::vector<StudyTable>& tables, const std::string& name);

std::string MarkdownOf(const StudyTable& table);  // title in bold, then the table
std::string CsvOf(const StudyTable& table);
std::string LatexOf(
    const StudyTable& table);  // a longtable with caption; needs booktabs, longtable

// `text` with what LaTeX reads as commands escaped; line breaks become spaces.
std::string LatexText(const std::string& text);

}  // namespace legacy::analysis

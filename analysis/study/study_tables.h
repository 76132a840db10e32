// The tables of a study are made once as data, and then written as Markdown, CSV and LaTeX
// (booktabs). Markdown and LaTeX are for people: suitable units, mean ± deviation over the seeds.
// CSV has plain numbers in SI units, with mean, deviation and bounds of intervals in separate
// columns. Unknown values are empty fields. Equal studies give equal tables.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "analysis/study/study.h"

namespace legacy::analysis {

struct StudyTable {
  struct Column {
    std::string header;
    bool number = false;  // true where the column is aligned to the right
  };
  std::string name;   // name of its files: "time_to_target"
  std::string title;  // title for people, which explains the columns
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> csv_header;
  std::vector<std::vector<std::string>> csv_rows;
  std::vector<size_t> csv_columns;  // column that each field of CSV belongs to
  std::string command;              // command that prints it, for a comment; may be ""
};

// Returns the tables that have rows, in this order: summary, time_to_target, gains, break_even,
// step, volume, egress, failed.
std::vector<StudyTable> StudyTables(const Study& study);

// Returns the table of that name. Throws Error with the list where there is none.
const StudyTable& TableNamed(const std::vector<StudyTable>& tables, const std::string& name);

std::string MarkdownOf(const StudyTable& table);  // title in bold, and the table
std::string CsvOf(const StudyTable& table);
// Returns a tabular, which needs booktabs, below comments with the command and a caption.
std::string LatexOf(const StudyTable& table);

struct TableFormat {
  const char* name;
  const char* suffix;  // end of the names of its files
  std::string (*text)(const StudyTable& table);
};
inline constexpr std::array<TableFormat, 3> kTableFormats = {
    {{"markdown", ".md", MarkdownOf}, {"csv", ".csv", CsvOf}, {"latex", ".tex", LatexOf}}};

// Returns `text` with LaTeX's special characters escaped, dashes for "-" alone and minus signs
// before numbers. Line breaks become spaces.
std::string LatexText(const std::string& text);

}  // namespace legacy::analysis

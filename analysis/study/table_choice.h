// A user chooses rows and columns of a study's tables, by the names of columns and the texts in
// them.
#pragma once

#include <string>
#include <vector>

#include "analysis/study/study_tables.h"

namespace legacy::analysis {

// A column's name is its heading in print, or its name in the CSV file.
struct TableChoice {
  // Each of these keeps the rows with one of its values, and together they keep what all of them
  // keep: "dense,topk" for values of `policy`, "workers=8,16" for those of another column.
  std::vector<std::string> rows;
  std::vector<std::string> columns;  // columns in their new order; empty: all
};

// Returns the table with the chosen rows and columns. Throws Error with the list where no row has a
// value, or there is no such column.
StudyTable Chosen(const StudyTable& table, const TableChoice& choice);

}  // namespace legacy::analysis

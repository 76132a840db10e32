// Tables of figures: CSV files that are kept, Markdown that is read.
#pragma once

#include <string>
#include <vector>

namespace legacy {

using ValidationRow = std::vector<std::string>;

struct ValidationTable {
  std::string name;  // of the CSV file and of the place in the document
  ValidationRow columns;
  std::vector<ValidationRow> rows;  // the first field is the row's key
};

std::string FormatFixed(double value, int decimals);

// The records of CSV text; `name` (a path) is for messages.
std::vector<ValidationRow> ParseRows(const std::string& name, const std::string& text);

std::string ToCsv(const ValidationTable& table);
// Throws Error naming the file where it cannot be read or a record has too few fields.
ValidationTable ReadTable(const std::string& name, const std::string& path);
std::string ToMarkdown(const ValidationTable& table);

// How rows differ from the recorded rows of the same keys, one line for each difference: numbers by
// more than `tolerance` relatively, other fields at all, rows that were never recorded.
std::vector<std::string> Differences(const ValidationTable& table, const ValidationTable& recorded,
                                     double tolerance);

// `document` with what is between "<!-- table: NAME -->" and "<!-- end -->" replaced by the table.
// Throws Error where the document has no such place.
std::string WithTable(const std::string& document, const ValidationTable& table,
                      const std::string& path);

}  // namespace legacy

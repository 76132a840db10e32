// Tables of figures are recorded as CSV files, and shown as Markdown.
#pragma once

#include <string>
#include <vector>

namespace legacy {

using ValidationRow = std::vector<std::string>;

struct ValidationTable {
  std::string name;  // name of the CSV file and of the place in the document
  ValidationRow columns;
  std::vector<ValidationRow> rows;  // the first field is the row's key
};

std::string FormatFixed(double value, int decimals);

std::string ToCsv(const ValidationTable& table);
// Reads a recorded table. Throws Error naming the file where it cannot be read or a record has too
// few fields.
ValidationTable ReadTable(const std::string& name, const std::string& path);
std::string ToMarkdown(const ValidationTable& table);

// Returns one line for each difference of rows from the recorded rows of the same keys: numbers
// that differ by more than `tolerance` relatively, other fields that differ at all, and rows that
// were never recorded.
std::vector<std::string> Differences(const ValidationTable& table, const ValidationTable& recorded,
                                     double tolerance);

// Returns `document` with the table in place of the text between "<!-- table: NAME -->" and "<!--
// end -->". Throws Error where the document has no such place.
std::string WithTable(const std::string& document, const ValidationTable& table,
                      const std::string& path);

}  // namespace legacy

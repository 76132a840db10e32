#include "analysis/recorded_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include "analysis/csv.h"
#include "analysis/table_text.h"
#include "base/error.h"
#include "base/files/csv_file.h"
#include "base/files/whole_file.h"

namespace legacy {
namespace {

std::optional<double> Number(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end ? std::optional(value) : std::nullopt;
}

bool Equal(const std::string& a, const std::string& b, double tolerance) {
  const std::optional<double> x = Number(a);
  const std::optional<double> y = Number(b);
  if (!x || !y) return a == b;
  return std::abs(*x - *y) <= tolerance * std::max(std::abs(*x), std::abs(*y));
}

}  // namespace

std::string FormatFixed(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  const bool zero = std::strspn(text, "-0.") == std::strlen(text);
  return zero && text[0] == '-' ? text + 1 : text;
}

std::string ToCsv(const ValidationTable& table) {
  std::string text = analysis::CsvLine(table.columns);
  for (const ValidationRow& row : table.rows) text += analysis::CsvLine(row);
  return text;
}

ValidationTable ReadTable(const std::string& name, const std::string& path) {
  std::vector<ValidationRow> rows = CsvCells(path, ReadWholeFile(path));
  if (rows.empty()) throw Error(path + ": is empty");
  ValidationTable table{name, rows.front(), {}};
  for (size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].size() != table.columns.size()) {
      throw Error(path + ": record " + std::to_string(i),
                  std::to_string(rows[i].size()) + " fields", std::to_string(table.columns.size()));
    }
    table.rows.push_back(std::move(rows[i]));
  }
  return table;
}

std::string ToMarkdown(const ValidationTable& table) {
  std::string text = analysis::MarkdownLine(table.columns, true);
  text += analysis::MarkdownLine(ValidationRow(table.columns.size(), "---"), true);
  for (const ValidationRow& row : table.rows) text += analysis::MarkdownLine(row, true);
  return text;
}

std::vector<std::string> Differences(const ValidationTable& table, const ValidationTable& recorded,
                                     double tolerance) {
  if (table.columns != recorded.columns) return {table.name + ": other columns are recorded"};
  std::vector<std::string> differences;
  for (const ValidationRow& row : table.rows) {
    const auto same_key = [&](const auto& other) { return other.front() == row.front(); };
    const auto found = std::ranges::find_if(recorded.rows, same_key);
    const std::string where = table.name + ", " + row.front();
    if (found == recorded.rows.end()) {
      differences.push_back(where + ": not recorded");
      continue;
    }
    for (size_t i = 0; i < row.size(); ++i) {
      if (!Equal(row[i], (*found)[i], tolerance)) {
        differences.push_back(where + ": " + table.columns[i] + " is " + row[i] + ", recorded " +
                              (*found)[i]);
      }
    }
  }
  return differences;
}

std::string WithTable(const std::string& document, const ValidationTable& table,
                      const std::string& path) {
  const std::string begin = "<!-- table: " + table.name + " -->\n";
  const size_t from = document.find(begin);
  const size_t to = from == std::string::npos ? from : document.find("<!-- end -->", from);
  if (to == std::string::npos) {
    throw Error(path + ": has no lines '<!-- table: " + table.name + " -->' and '<!-- end -->'");
  }
  return document.substr(0, from + begin.size()) + "\n" + ToMarkdown(table) + "\n" +
         document.substr(to);
}

}  // namespace legacy

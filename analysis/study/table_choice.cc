#include "analysis/study/table_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/parse.h"

namespace legacy::analysis {
namespace {

using Texts = std::vector<std::string>;

constexpr size_t kListedValues = 20;  // most values that a message lists

// A NamedColumn has the positions of a column in print and of its fields in CSV.
struct NamedColumn {
  size_t shown = 0;
  std::vector<size_t> fields;
};

std::optional<NamedColumn> FindColumn(const StudyTable& table, const std::string& name) {
  for (size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].header != name) continue;
    NamedColumn column{c, {}};
    for (size_t f = 0; f < table.csv_columns.size(); ++f) {
      if (table.csv_columns[f] == c) column.fields.push_back(f);
    }
    return column;
  }
  const auto field = std::ranges::find(table.csv_header, name);
  if (field == table.csv_header.end()) return std::nullopt;
  const auto position = static_cast<size_t>(field - table.csv_header.begin());
  return NamedColumn{table.csv_columns[position], {position}};
}

void AddNew(const std::string& text, Texts& texts) {
  if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
}

// Returns every name of a column: those in print first.
std::string ColumnNames(const StudyTable& table) {
  Texts names;
  for (const StudyTable::Column& column : table.columns) AddNew(column.header, names);
  for (const std::string& name : table.csv_header) AddNew(name, names);
  return Join(names, ", ");
}

// Returns true if the row has that text in the column, in print or in CSV.
bool Has(const StudyTable& table, size_t row, const NamedColumn& column, const std::string& text) {
  return table.rows[row][column.shown] == text ||
         std::ranges::any_of(column.fields,
                             [&](size_t field) { return table.csv_rows[row][field] == text; });
}

bool AnyHas(const StudyTable& table, const NamedColumn& column, const std::string& text) {
  for (size_t row = 0; row < table.rows.size(); ++row) {
    if (Has(table, row, column, text)) return true;
  }
  return false;
}

// Returns the column's values as CSV has them.
std::string Values(const StudyTable& table, const NamedColumn& column) {
  Texts values;
  for (const Texts& row : table.csv_rows) AddNew(row[column.fields.front()], values);
  const bool cut = values.size() > kListedValues;
  if (cut) values.resize(kListedValues);
  return Join(values, ", ") + (cut ? ", ..." : "");
}

// Returns the elements at those positions.
template <class Item>
std::vector<Item> At(const std::vector<Item>& items, const std::vector<size_t>& positions) {
  std::vector<Item> result;
  for (const size_t position : positions) result.push_back(items[position]);
  return result;
}

void KeepRows(const std::string& text, StudyTable& table) {
  const size_t equals = std::min(text.find('='), text.size());
  const auto named = FindColumn(table, text.substr(0, equals));
  const bool by_name = equals < text.size() && named.has_value();
  const NamedColumn column = by_name ? *named : FindColumn(table, "policy").value();
  const std::string list = by_name ? text.substr(equals + 1) : text;
  // A value may have commas itself.
  const Texts wanted = AnyHas(table, column, list) ? Texts{list} : SplitList(list);
  const std::string where = "table " + table.name + ": --rows";
  const std::string others = ", or COLUMN=VALUES with one of " + ColumnNames(table);
  const std::string allowed = Values(table, column) + (by_name ? "" : others);
  if (wanted.empty()) throw Error(where, text, allowed);
  for (const std::string& value : wanted) {
    if (!AnyHas(table, column, value)) throw Error(where, value, allowed);
  }
  std::vector<size_t> kept;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    if (std::ranges::any_of(wanted, [&](const auto& v) { return Has(table, row, column, v); })) {
      kept.push_back(row);
    }
  }
  table.rows = At(table.rows, kept);
  table.csv_rows = At(table.csv_rows, kept);
}

void AddPosition(size_t position, std::vector<size_t>& positions) {
  if (std::ranges::find(positions, position) == positions.end()) positions.push_back(position);
}

void KeepColumns(const Texts& names, StudyTable& table) {
  std::vector<size_t> shown, fields;
  for (const std::string& name : names) {
    const auto column = FindColumn(table, name);
    if (!column) throw Error("table " + table.name + ": --columns", name, ColumnNames(table));
    AddPosition(column->shown, shown);
    for (const size_t field : column->fields) AddPosition(field, fields);
  }
  std::vector<size_t> csv_columns;
  for (const size_t field : fields) {
    const auto column = std::ranges::find(shown, table.csv_columns[field]);
    csv_columns.push_back(static_cast<size_t>(column - shown.begin()));
  }
  table.columns = At(table.columns, shown);
  table.csv_header = At(table.csv_header, fields);
  table.csv_columns = std::move(csv_columns);
  for (Texts& row : table.rows) row = At(row, shown);
  for (Texts& row : table.csv_rows) row = At(row, fields);
}

}  // namespace

StudyTable Chosen(const StudyTable& table, const TableChoice& choice) {
  StudyTable chosen = table;
  for (const std::string& text : choice.rows) KeepRows(text, chosen);
  if (!choice.columns.empty()) KeepColumns(choice.columns, chosen);
  return chosen;
}

}  // namespace legacy::analysis

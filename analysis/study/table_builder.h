// A builder of a study's tables, for people and as CSV.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "analysis/csv.h"
#include "analysis/study/quantities.h"
#include "analysis/study/statistics.h"
#include "analysis/study/study_tables.h"

namespace legacy::analysis {

// A TableBuilder fills a table cell by cell. The cells of the first row name the columns.
class TableBuilder {
 public:
  TableBuilder(std::string name, std::string title) {
    table_.name = std::move(name);
    table_.title = std::move(title);
  }

  void Row() {
    table_.rows.emplace_back();
    table_.csv_rows.emplace_back();
  }
  // Adds a cell for people.
  void Show(const std::string& header, const std::string& text, bool number = true) {
    if (table_.rows.size() == 1) table_.columns.push_back({header, number});
    table_.rows.back().push_back(text);
  }
  // Adds a field of the CSV file, to the cell before it.
  void Raw(const std::string& name, const std::string& text) {
    if (table_.csv_rows.size() == 1) {
      table_.csv_header.push_back(name);
      table_.csv_columns.push_back(table_.columns.size() - 1);
    }
    table_.csv_rows.back().push_back(text);
  }
  void Raw(const std::string& name, double value) {
    Raw(name, std::isnan(value) ? std::string() : CsvNumber(value));
  }
  void Raw(const std::string& name, int value) { Raw(name, std::to_string(value)); }
  void Raw(const std::string& name, const std::optional<Interval>& interval) {
    Raw(name + "_low", interval ? interval->low : kUnknown);
    Raw(name + "_high", interval ? interval->high : kUnknown);
  }
  void Raw(const std::string& name, const Spread& spread) {
    Raw(name + "_mean", spread.mean);
    Raw(name + "_deviation", spread.deviation);
  }
  // Adds both.
  void Text(const std::string& header, const std::string& name, const std::string& text) {
    Show(header, text, false);
    Raw(name, text);
  }
  void Add(const std::string& header, const std::string& name, const Spread& spread,
           const std::string& unit) {
    Show(header, ShowSpread(spread, unit));
    Raw(name, spread);
  }

  StudyTable Take() { return std::move(table_); }

 private:
  StudyTable table_;
};

}  // namespace legacy::analysis

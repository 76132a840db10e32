// Export of a study as CSV files and one JSON file, with the cells of the database's tables.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <type_traits>

#include "analysis/csv.h"
#include "analysis/metric_json.h"
#include "analysis/run_directory.h"
#include "analysis/study/columns.h"
#include "analysis/study/store.h"
#include "base/error.h"
#include "base/files/whole_file.h"

namespace legacy::analysis {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string Header(const std::vector<Column>& columns) {
  std::vector<std::string> names;
  for (const Column& column : columns) names.push_back(column.name);
  return CsvLine(names);
}

std::string Line(const std::vector<Cell>& cells) {
  std::vector<std::string> fields;
  for (const Cell& cell : cells) {
    fields.push_back(std::visit(
        [](const auto& value) -> std::string {
          using Value = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, std::monostate>)
            return "";
          else if constexpr (std::is_same_v<Value, int64_t>)
            return std::to_string(value);
          else if constexpr (std::is_same_v<Value, double>)
            return CsvNumber(value);
          else
            return value;
        },
        cell));
  }
  return CsvLine(fields);
}

json Units(const std::vector<Column>& columns, const Metric& metric) {
  json units = json::object();
  for (const Column& column : columns) {
    const std::string unit = column.unit == kMetricUnit ? metric.Unit() : column.unit;
    if (!unit.empty()) units[column.name] = unit;
  }
  return units;
}

json Description(const Study& study) {
  json axes = json::array();
  for (const StudyAxis& axis : study.axes) {
    json entry = {{"name", axis.name}, {"unit", axis.unit}, {"values", axis.values}};
    entry["numbers"] = axis.numbers.empty() ? json() : json(axis.numbers);
    axes.push_back(std::move(entry));
  }
  json metrics = json::array();
  for (const Metric& metric : study.metrics) metrics.push_back(MetricJson(metric));
  const Metric shown = ShownMetric(study);
  return {{"format", kStudyFormat},
          {"name", study.name},
          {"title", study.title},
          {"definition", study.definition},
          {"baseline", study.baseline},
          {"metrics", std::move(metrics)},
          {"target", TargetJson(study.target)},
          {"policies", study.policies},
          {"seeds", study.seeds},
          {"axes", std::move(axes)},
          {"units",
           {{"points", Units(PointColumns(study.axes), shown)},
            {"curves", Units(CurveColumns(study.metrics), shown)}}}};
}

}  // namespace

void ExportStudy(const Study& study, const fs::path& directory) {
  CheckTables(study);
  MakeFolder(directory);

  std::string trainings = Header(TrainingColumns());
  for (const StudyTraining& training : study.trainings) trainings += Line(TrainingCells(training));
  std::string points = Header(PointColumns(study.axes));
  std::string curves = Header(CurveColumns(study.metrics));
  for (const StudyPoint& point : study.points) {
    points += Line(PointCells(study.axes, point));
    if (point.state != StudyState::kDone) continue;
    for (const CurveRow& row : point.curve) {
      curves += Line(CurveCells(point.id, row, study.metrics));
    }
  }
  ReplaceFile(directory / "trainings.csv", trainings);
  ReplaceFile(directory / "points.csv", points);
  ReplaceFile(directory / "curves.csv", curves);
  ReplaceFile(directory / "study.json", Description(study).dump(2) + "\n");
}

}  // namespace legacy::analysis

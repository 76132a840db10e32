#include "analysis/study/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <type_traits>

#include "analysis/rows.h"
#include "base/error.h"

namespace legacy::analysis {
namespace {

constexpr uint64_t kMaxSeed = std::numeric_limits<int64_t>::max();

template <class T>
struct Plain {
  using Type = T;
};
template <class T>
struct Plain<std::optional<T>> {
  using Type = T;
};

template <class Member>
const char* TypeOf(const Member&) {
  using Type = typename Plain<Member>::Type;
  if constexpr (std::is_same_v<Type, std::string>) return "TEXT";
  if constexpr (std::is_same_v<Type, double>) return "REAL";
  return "INTEGER";
}

Cell ToCell(const std::string& value) { return value; }
Cell ToCell(int64_t value) { return value; }
Cell ToCell(double value) { return std::isnan(value) ? Cell() : Cell(value); }
template <class T>
Cell ToCell(const std::optional<T>& value) {
  return value ? ToCell(*value) : Cell();
}
Cell SeedCell(uint64_t seed) { return static_cast<int64_t>(seed); }

template <class T>
T Need(const Cell& cell, const std::string& column) {
  const T* value = std::get_if<T>(&cell);
  if (!value) throw Error("column '" + column + "': not of its type");
  return *value;
}

void FromCell(const Cell& cell, const char* column, std::string& value) {
  value = Need<std::string>(cell, column);
}
void FromCell(const Cell& cell, const char* column, int64_t& value) {
  value = Need<int64_t>(cell, column);
}
void FromCell(const Cell& cell, const char* column, double& value) {
  const bool none = std::holds_alternative<std::monostate>(cell);
  value = none ? std::numeric_limits<double>::quiet_NaN() : Need<double>(cell, column);
}
template <class T>
void FromCell(const Cell& cell, const char* column, std::optional<T>& value) {
  value.reset();
  if (!std::holds_alternative<std::monostate>(cell)) FromCell(cell, column, value.emplace());
}

template <class Row>
void AddColumns(std::vector<Column>& columns, std::span<const Metric> metrics = {}) {
  Row row;
  VisitColumns(row, metrics, [&](const std::string& name, const char* unit, const auto& member) {
    columns.push_back({name, TypeOf(member), unit});
  });
}

Cell NumberOf(const StudyAxis& axis, const std::string& value) {
  const auto found = std::ranges::find(axis.values, value);
  if (found == axis.values.end()) {
    throw Error("axis " + axis.name, value, fmt::format("{}", fmt::join(axis.values, ", ")));
  }
  if (axis.numbers.empty()) return {};
  return axis.numbers[static_cast<size_t>(found - axis.values.begin())];
}

void CheckAxis(const StudyAxis& axis) {
  if (!IsAxisName(axis.name)) {
    throw Error("axis", axis.name, "small letters, digits and _, the first a letter");
  }
  std::set<std::string> values;
  for (const std::string& value : axis.values) {
    if (!values.insert(value).second) throw Error("axis " + axis.name, value, "each value once");
  }
  if (values.empty()) throw Error("axis " + axis.name, "no values", "one or more");
  if (!axis.numbers.empty() && axis.numbers.size() != axis.values.size()) {
    throw Error("axis " + axis.name, fmt::format("{} numbers", axis.numbers.size()),
                fmt::format("{}, as many as values, or none", axis.values.size()));
  }
  for (const double number : axis.numbers) {
    if (!std::isfinite(number)) {
      throw Error("axis " + axis.name, fmt::format("{}", number), "finite numbers");
    }
  }
}

void CheckSeed(uint64_t seed) {
  if (seed > kMaxSeed) throw Error("seed", std::to_string(seed), fmt::format("0 to {}", kMaxSeed));
}

}  // namespace

bool IsAxisName(const std::string& name) {
  const std::string letters = "abcdefghijklmnopqrstuvwxyz";
  return !name.empty() && letters.find(name.front()) != std::string::npos &&
         name.find_first_not_of(letters + "0123456789_") == std::string::npos;
}

std::vector<Column> TrainingColumns() {
  return {{"id", "TEXT", "", true},           {"policy", "TEXT", "", true},
          {"seed", "INTEGER", "", true},      {"replay_refused", "TEXT", "", true},
          {"state", "TEXT", "", true},        {"message", "TEXT", "", true},
          {"configuration", "TEXT", "", true}};
}

std::vector<Column> PointColumns(const std::vector<StudyAxis>& axes) {
  std::vector<Column> columns = {
      {"id", "INTEGER", "", true}, {"policy", "TEXT", "", true}, {"seed", "INTEGER", "", true}};
  for (const StudyAxis& axis : axes) {
    columns.push_back({axis.name, "TEXT", "", true});
    if (!axis.numbers.empty()) columns.push_back({axis.name + "_number", "REAL", axis.unit, true});
  }
  columns.push_back({"training", "TEXT", "", true});
  std::ranges::copy(ResultColumns(), std::back_inserter(columns));
  return columns;
}

std::vector<Column> ResultColumns() {
  std::vector<Column> columns = {{"state", "TEXT", "", true}, {"message", "TEXT", "", true}};
  AddColumns<PointFigures>(columns);
  return columns;
}

std::vector<Column> CurveColumns(std::span<const Metric> metrics) {
  std::vector<Column> columns = {{"point", "INTEGER", "", true}};
  AddColumns<CurveRow>(columns, metrics);
  return columns;
}

std::vector<Cell> TrainingCells(const StudyTraining& training) {
  return {training.id,
          training.policy,
          SeedCell(training.seed),
          training.replay_refused,
          StateText(training.state),
          training.message,
          training.configuration};
}

std::vector<Cell> PointCells(const std::vector<StudyAxis>& axes, const StudyPoint& point) {
  std::vector<Cell> cells = {point.id, point.policy, SeedCell(point.seed)};
  for (size_t i = 0; i < axes.size(); ++i) {
    const Cell number = NumberOf(axes[i], point.values.at(i));
    cells.emplace_back(point.values[i]);
    if (!axes[i].numbers.empty()) cells.push_back(number);
  }
  cells.emplace_back(point.training);
  std::ranges::copy(ResultCells(point), std::back_inserter(cells));
  return cells;
}

std::vector<Cell> ResultCells(const StudyPoint& point) {
  std::vector<Cell> cells = {StateText(point.state), point.message};
  PointFigures::Columns(point.figures, [&](const char*, const char*, const auto& member) {
    cells.push_back(point.state == StudyState::kDone ? ToCell(member) : Cell());
  });
  return cells;
}

std::vector<Cell> CurveCells(int64_t point, const CurveRow& row, std::span<const Metric> metrics) {
  std::vector<Cell> cells = {point};
  VisitColumns(row, metrics, [&](const auto&, const char*, const auto& member) {
    cells.push_back(ToCell(member));
  });
  return cells;
}

StudyTraining TrainingOf(const std::vector<Cell>& cells) {
  StudyTraining training;
  training.id = Need<std::string>(cells.at(0), "id");
  training.policy = Need<std::string>(cells.at(1), "policy");
  training.seed = static_cast<uint64_t>(Need<int64_t>(cells.at(2), "seed"));
  training.replay_refused = Need<std::string>(cells.at(3), "replay_refused");
  training.state = StateOf(Need<std::string>(cells.at(4), "state"));
  training.message = Need<std::string>(cells.at(5), "message");
  training.configuration = Need<std::string>(cells.at(6), "configuration");
  return training;
}

StudyPoint PointOf(const std::vector<StudyAxis>& axes, const std::vector<Cell>& cells) {
  StudyPoint point;
  auto cell = cells.begin();
  point.id = Need<int64_t>(*cell++, "id");
  point.policy = Need<std::string>(*cell++, "policy");
  point.seed = static_cast<uint64_t>(Need<int64_t>(*cell++, "seed"));
  for (const StudyAxis& axis : axes) {
    point.values.push_back(Need<std::string>(*cell++, axis.name));
    if (!axis.numbers.empty()) ++cell;
  }
  point.training = Need<std::string>(*cell++, "training");
  point.state = StateOf(Need<std::string>(*cell++, "state"));
  point.message = Need<std::string>(*cell++, "message");
  if (point.state != StudyState::kDone) return point;
  PointFigures::Columns(point.figures, [&](const char* name, const char*, auto& member) {
    FromCell(*cell++, name, member);
  });
  return point;
}

CurveRow CurveRowOf(const std::vector<Cell>& cells, std::span<const Metric> metrics) {
  CurveRow row;
  auto cell = cells.begin() + 1;
  VisitColumns(row, metrics, [&](const std::string& name, const char*, auto& member) {
    FromCell(*cell++, name.c_str(), member);
  });
  return row;
}

StudyState StateOf(const std::string& text) {
  for (const StudyState state : {StudyState::kPending, StudyState::kDone, StudyState::kFailed}) {
    if (text == StateText(state)) return state;
  }
  throw Error("state", text, "pending, done, failed");
}

void CheckTables(const Study& study) {
  if (study.target) FindMetric(*study.target, study.metrics);
  for (const StudyAxis& axis : study.axes) CheckAxis(axis);
  std::set<std::string> names;
  for (const Column& column : PointColumns(study.axes)) {
    if (!names.insert(column.name).second) {
      throw Error("axis", column.name, "a name that no other column of the points has");
    }
  }
  for (const Column& column : CurveColumns(study.metrics)) {
    if (std::ranges::find(study.axes, column.name, &StudyAxis::name) != study.axes.end()) {
      throw Error("axis", column.name, "a name that no column of the curves has");
    }
  }
  for (const uint64_t seed : study.seeds) CheckSeed(seed);
  for (const StudyTraining& training : study.trainings) CheckSeed(training.seed);
  for (size_t i = 0; i < study.points.size(); ++i) {
    CheckSeed(study.points[i].seed);
    if (study.points[i].id != static_cast<int64_t>(i)) {
      throw Error("point", std::to_string(study.points[i].id),
                  fmt::format("id {}, its position", i));
    }
  }
}

}  // namespace legacy::analysis

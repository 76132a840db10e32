// The columns of a study's tables are defined once here, for the database and the CSV files. Rows
// become cells in their order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "analysis/study/study.h"

namespace legacy::analysis {

// A Cell is a value of a table. monostate stands for figures of points that are not done, times
// that were not reached, and numbers that are nan. Infinities are numbers.
using Cell = std::variant<std::monostate, int64_t, double, std::string>;

struct Column {
  std::string name;
  std::string type;     // type of SQLite: INTEGER, REAL, TEXT
  std::string unit;     // "" for names, counts and plain numbers
  bool needed = false;  // true where no cell is empty
};

std::vector<Column> TrainingColumns();
std::vector<Column> PointColumns(const std::vector<StudyAxis>& axes);
std::vector<Column> ResultColumns();  // last ones of PointColumns, from the state on
// The point's id, then the columns of CurveRow.
std::vector<Column> CurveColumns(std::span<const Metric> metrics);

// Return the cells of a row. They throw Error on a value that its axis does not have.
std::vector<Cell> TrainingCells(const StudyTraining& training);
std::vector<Cell> PointCells(const std::vector<StudyAxis>& axes, const StudyPoint& point);
std::vector<Cell> ResultCells(const StudyPoint& point);
std::vector<Cell> CurveCells(int64_t point, const CurveRow& row, std::span<const Metric> metrics);

// Return the value of a row's cells. They throw Error naming the column where a cell is not of its
// type.
StudyTraining TrainingOf(const std::vector<Cell>& cells);
StudyPoint PointOf(const std::vector<StudyAxis>& axes, const std::vector<Cell>& cells);
CurveRow CurveRowOf(const std::vector<Cell>& cells, std::span<const Metric> metrics);

// Returns the state of that name. Throws Error with the allowed names on any other.
StudyState StateOf(const std::string& text);

// Throws Error on what no table can store: a target that is of none of the metrics, names of axes
// that cannot be names of columns or equal one, values that are given twice, other than one number
// for each value, points whose ids are not their positions, seeds above 2^63 - 1.
void CheckTables(const Study& study);

// True for a name of small letters, digits and _, of which the first is a letter.
bool IsAxisName(const std::string& name);

}  // namespace legacy::analysis

// The columns of a study's tables, once for the database and the CSV files, and rows as cells in
// their order.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "analysis/study/study.h"

namespace legacy::analysis {

// What is not there first: figures of points that are not done, times that were not reached, and
// numbers that are nan. Infinities are numbers.
using Cell = std::variant<std::monostate, int64_t, double, std::string>;

struct Column {
  std::string name;
  std::string type;     // of SQLite: INTEGER, REAL, TEXT
  std::string unit;     // "" for names, counts and plain numbers
  bool needed = false;  // never empty
};

std::vector<Column> TrainingColumns();
std::vector<Column> PointColumns(const std::vector<StudyAxis>& axes);
std::vector<Column> ResultColumns();  // the last of PointColumns, from the state on
std::vector<Column> CurveColumns();   // the point's id, then those of CurveRow

// Throws Error on a value that its axis does not have.
std::vector<Cell> TrainingCells(const StudyTraining& training);
std::vector<Cell> PointCells(const std::vector<StudyAxis>& axes, const StudyPoint& point);
std::vector<Cell> ResultCells(const StudyPoint& point);
std::vector<Cell> CurveCells(int64_t point, const CurveRow& row);

// Back again. Throws Error naming the column where a cell is not of its type.
StudyTraining TrainingOf(const std::vector<Cell>& cells);
StudyPoint PointOf(const std::vector<StudyAxis>& axes, const std::vector<Cell>& cells);
CurveRow CurveRowOf(const std::vector<Cell>& cells);

// Throws Error with the allowed texts.
StudyState StateOf(const std::string& text);

// Throws Error on what no table can hold: names of axes that are no names of columns or clash with
// one, values that stand twice, numbers that are not as many as the values, points whose ids are
// not their positions, seeds above 2^63 - 1.
void CheckTables(const Study& study);

// Small letters, digits and _, the first a letter.
bool IsAxisName(const std::string& name);

}  // namespace legacy::analysis

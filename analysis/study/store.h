// The study's database is one SQLite file with the tables study, axes, trainings, points (a column
// for each axis, and one <axis>_number where the axis has numbers) and curves. One process writes;
// others may read at the same time. The content depends on the study and its results alone, and not
// on their order or on the time of writing.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "analysis/study/study.h"

namespace legacy::analysis {

class StudyStore {
 public:
  // Creates the file with all points pending. Throws Error naming the file where it exists or
  // cannot be written.
  static StudyStore Create(const std::filesystem::path& file, const Study& study);
  // Opens the file. Throws Error naming the file where it is not a study's database of this format.
  static StudyStore Open(const std::filesystem::path& file);
  StudyStore(StudyStore&&) noexcept;
  StudyStore& operator=(StudyStore&&) noexcept;
  ~StudyStore();

  // Store the states, messages and results of points or trainings by their ids, in one transaction.
  // They throw Error on unknown ids.
  void Put(const std::vector<StudyPoint>& points);
  void Put(const std::vector<StudyTraining>& trainings);

  Study Read() const;

 private:
  struct Database;
  explicit StudyStore(std::unique_ptr<Database> database);
  std::unique_ptr<Database> database_;
};

// Writes points.csv, curves.csv, trainings.csv and study.json into `directory`, with the columns of
// the database.
void ExportStudy(const Study& study, const std::filesystem::path& directory);

}  // namespace legacy::analysis

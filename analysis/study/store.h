// The study's database, one SQLite file: tables study, axes, trainings, points (a column for each
// axis, and one <axis>_number where the axis has numbers) and curves. One process writes; any may
// read at the same time. What is in it depends on the study and its results alone, not on the order
// in which they came or on when that was.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "analysis/study/study.h"

namespace legacy::analysis {

class StudyStore {
 public:
  // Creates the file with everything pending; replaces none. Throws Error naming the file.
  static StudyStore Create(const std::filesystem::path& file, const Study& study);
  // Throws Error naming the file where it is no study's database of this format.
  static StudyStore Open(const std::filesystem::path& file);
  StudyStore(StudyStore&&) noexcept;
  StudyStore& operator=(StudyStore&&) noexcept;
  ~StudyStore();

  // States, messages and results of points and trainings by their ids, in one transaction. Throws
  // Error on ids that there are not.
  void Put(const std::vector<StudyPoint>& points);
  void Put(const std::vector<StudyTraining>& trainings);

  Study Read() const;

 private:
  struct Database;
  explicit StudyStore(std::unique_ptr<Database> database);
  std::unique_ptr<Database> database_;
};

// points.csv, curves.csv, trainings.csv and study.json in `directory`; columns as in the database.
void ExportStudy(const Study& study, const std::filesystem::path& directory);

}  // namespace legacy::analysis

// Each process that works on a study writes a journal, with one line of JSON for each result. Any
// number of processes on any number of machines may work on one study, each with a journal of its
// own in the study's folder. The process that collects the results reads all journals and fills the
// database. A killed process may leave an unfinished last line, which is ignored.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "analysis/study/study.h"
#include "base/files/output_file.h"

namespace legacy::analysis {

class JournalWriter {
 public:
  // Creates folder and file. The file's name has host and process, so that no two are the same.
  // `metrics` are those of the study's curves.
  JournalWriter(const std::filesystem::path& folder, std::span<const Metric> metrics);
  // Write a result, done or failed, and flush it. They throw Error naming the file where writing
  // fails.
  void Write(const StudyPoint& point);
  void Write(const StudyTraining& training);

 private:
  OutputFile file_;
  std::vector<Metric> metrics_;
};

struct JournalEntries {
  // Last point of each id that is done, else the last failed one; ascending.
  std::vector<StudyPoint> points;
  std::vector<StudyTraining> trainings;
  int64_t skipped = 0;        // number of whole lines that are not results
  std::string first_skipped;  // location of the first of them, and its mistake
};

// Returns the entries of all journals of a folder, whose curves have these metrics; empty where
// there is none. A line that is not a result is counted and skipped. Throws Error where a journal
// cannot be read.
JournalEntries ReadJournals(const std::filesystem::path& folder, std::span<const Metric> metrics);

}  // namespace legacy::analysis

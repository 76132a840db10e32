// Journals: what each process that works on a study writes as it goes, one line of JSON a result.
// Any number of processes on any number of machines may work on one study, each with a journal of
// its own in the study's folder; who collects reads them all and fills the database. A killed
// process leaves whole lines but for the last, which is ignored.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/study/study.h"
#include "base/output_file.h"

namespace legacy::analysis {

class JournalWriter {
 public:
  // Creates folder and file; the name holds host and process, so no two are the same.
  explicit JournalWriter(const std::filesystem::path& folder);
  // On disk when it returns (flushed). Throws Error naming the file where the disk refuses.
  void Write(const StudyPoint& point);        // done or failed
  void Write(const StudyTraining& training);  // done or failed

 private:
  OutputFile file_;
};

struct JournalEntries {
  std::vector<StudyPoint>
      points;  // the last of each id that is done, else the last failed; ascending
  std::vector<StudyTraining> trainings;
  int64_t skipped = 0;        // whole lines that are no results
  std::string first_skipped;  // where the first of them is, and what is wrong with it
};

// All journals of a folder; empty where there is none. A line that is no result hides no other: it
// is counted. Throws Error where a journal cannot be read.
JournalEntries ReadJournals(const std::filesystem::path& folder);

}  // namespace legacy::analysis

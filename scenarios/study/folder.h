// A study's folder has:
//
//   study.yaml      its definition, with what --set changed
//   study.sqlite    its database; written by whoever holds the lock
//   trainings/      <id>/: run directory of a recorded training; <id>.log: output of that training
//   journal/        results and messages of each process
//   lock            held (flock) while a process manages the study; released when that process ends
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/study/journal.h"
#include "analysis/study/store.h"
#include "analysis/study/study.h"
#include "scenarios/study/plan.h"

namespace legacy {

// A StudyFolder is an opened folder.
class StudyFolder {
 public:
  // Writes study.yaml and the database in a folder that exists. The caller has the lock. Throws
  // Error where the folder has a study.
  static StudyFolder Create(const std::filesystem::path& path, StudyPlan plan);
  // Opens a folder. Throws Error where there is no study.
  static StudyFolder Open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const StudyPlan& plan() const { return plan_; }
  // Returns the study of the plan with everything pending.
  const analysis::Study& empty() const { return empty_; }
  std::filesystem::path Journals() const { return path_ / "journal"; }

  // Makes the database where a creation was interrupted. The caller has the lock. Throws Error
  // where the database belongs to another plan.
  void NeedDatabase() const;

 private:
  StudyFolder(std::filesystem::path path, StudyPlan plan);

  std::filesystem::path path_;
  StudyPlan plan_;
  analysis::Study empty_;
};

// Returns `text` with keys of its scenario set ("network.delay=50us" each) and with a name, by
// default that of its file, because a folder's file is always study.yaml. Comments are lost where
// anything changes. Throws Error.
std::string CompleteDefinition(const std::string& text, const std::filesystem::path& file,
                               const std::vector<std::string>& settings);

// A StudyLock holds the lock from construction to destruction. Children hold it as well.
class StudyLock {
 public:
  // Tries for `seconds`, as a killed run ends within moments. Throws Error where another process
  // keeps the lock.
  StudyLock(const std::filesystem::path& study, double seconds);
  StudyLock(const StudyLock&) = delete;
  StudyLock& operator=(const StudyLock&) = delete;
  ~StudyLock();

 private:
  int file_ = -1;
};

// Changes are the results in journals that `study` does not have: a done result stays. Entries that
// do not belong to the study are skipped, which its notes say.
struct Changes {
  std::vector<analysis::StudyPoint> points;
  std::vector<analysis::StudyTraining> trainings;
};
Changes Overlay(analysis::JournalEntries entries, analysis::Study& study);

// Returns the current study from database and journals. It writes nothing and needs no lock.
analysis::Study ReadStudy(const std::filesystem::path& folder);

// A Collector writes the journals' results into the database. The caller has the lock.
class Collector {
 public:
  explicit Collector(const std::filesystem::path& folder);
  void Collect();
  const analysis::Study& study() const { return study_; }

 private:
  std::filesystem::path journals_;
  analysis::StudyStore store_;
  analysis::Study study_;
};

}  // namespace legacy

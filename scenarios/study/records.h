// Records of finished trainings, kept outside of a study's folder: ID.tar.xz has the files of
// trainings/ID. Any machine that has the same definition and the records continues where another
// one stopped, because an id is the hash of what shapes a training. Trainings that are not replayed
// belong to one network each and have no records.
#pragma once

#include <filesystem>

#include "scenarios/study/folder.h"

namespace legacy {

class StudyRecords {
 public:
  // `records` is the folder of the records; "": none are taken or kept. Both must outlive this.
  StudyRecords(const StudyFolder& folder, const std::filesystem::path& records)
      : folder_(folder), records_(records) {}

  // Unpacks the records of trainings that the study does not have, and returns their number. Throws
  // Error where the record of one of them is damaged, or is that of another training.
  int64_t Take() const;
  // Packs the trainings that have no record yet. Throws Error where a file cannot be written.
  void Keep() const;

 private:
  const StudyFolder& folder_;
  const std::filesystem::path& records_;
};

}  // namespace legacy

// The checkpoints of a run directory lie in its folder checkpoints/, the newest two of them. Each
// is a section file (base/files/section_file.h), and says how long every file of the run was that
// grows. docs/checkpoints.md describes when they are written and how a run continues from one.
//
// Fields of states have no names in a checkpoint, so only the version that wrote it can read it;
// each checkpoint says in which format it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/files/section_file.h"
#include "base/programs/program.h"

namespace legacy {

// The format of checkpoints and journals. It changes whenever a field of a state (fields.h,
// archive.h and what Save of trainings, exchanges and learners write) is added, removed or moved.
inline constexpr uint64_t kCheckpointFormat = 12;

// The folder of checkpoints in a run directory.
inline constexpr const char* kCheckpointFolder = "checkpoints";

// A FolderLock keeps other processes out of a run directory as long as it, or a child, lives.
class FolderLock {
 public:
  // Throws Error where another process has the folder. A process that was killed may take a moment
  // to end, for which this waits.
  explicit FolderLock(const std::filesystem::path& folder);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

 private:
  int file_ = -1;
};

// A Checkpoints writes the checkpoints of a run, and finds the newest.
class Checkpoints {
 public:
  struct Options {
    // Wall time between two; nullopt: none is written.
    std::optional<std::chrono::nanoseconds> period;
    // Counts requests for a checkpoint, as by a signal; null: none come.
    const StopFlag* requests = nullptr;
  };

  // `directory` is the run's, in which nothing that a checkpoint touches is a link; messages go to
  // `log`.
  Checkpoints(std::filesystem::path directory, const Options& options, std::FILE* log);

  bool On() const { return options_.period.has_value(); }
  const std::optional<std::chrono::nanoseconds>& Period() const { return options_.period; }
  // True where the period is over or a checkpoint was requested since the last one.
  bool Due() const;
  // Returns the seconds that a stop waits for a step or evaluation in work, as otherwise what was
  // done since the last checkpoint is lost: a tenth of its wall time, from 1 to 10.
  unsigned Patience() const;
  // Writes a checkpoint of what `write` writes. `files` of the run will be cut back to what they
  // have now. Where the disk is full, earlier checkpoints stay, `log` gets
  // a warning, and this returns false.
  bool Write(const std::vector<std::filesystem::path>& files,
             const std::function<void(SectionWriter&)>& write);

  // Returns the newest checkpoint that is whole, or null where there is none. `log` gets a sentence
  // for each that is refused. Throws Error where it has another format than kCheckpointFormat.
  std::unique_ptr<SectionFile> Newest();
  // Cuts the files of the run back to the checkpoint. `known` are those that grow in such a run:
  // throws Error, with nothing cut, where the checkpoint names another one or one of them is not a
  // file of this run alone (base/files/own_file.h).
  void CutBack(const SectionFile& checkpoint, std::span<const std::filesystem::path> known) const;
  // True where there is a checkpoint, whole or not.
  bool Any() const { return !Numbers().empty(); }
  // Removes all checkpoints and their folder.
  void Remove() const;

 private:
  std::vector<int64_t> Numbers() const;  // numbers of the checkpoints, ascending
  // Returns the folder of the checkpoints. Throws Error where it is a link.
  std::filesystem::path Folder() const;
  std::filesystem::path PathOf(int64_t number) const;
  void CheckFiles(const SectionFile& checkpoint) const;

  const std::filesystem::path directory_;
  const Options options_;
  std::FILE* const log_;
  std::chrono::steady_clock::time_point last_;  // begin, or the last checkpoint
  std::sig_atomic_t served_ = 0;                // requests that were served
};

}  // namespace legacy

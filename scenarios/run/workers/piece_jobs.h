// Trainings of a run that are trained side by side, each in a process of its own, which leaves a
// journal that this process reads and times.
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "scenarios/checkpoint/jobs.h"
#include "scenarios/run/workers/compared_methods.h"
#include "scenarios/run/workers/worker_rounds.h"

namespace legacy {

// PieceJobs are the processes of the pieces from `first` on.
class PieceJobs {
 public:
  // Starts as many as the scenario says. References outlive this.
  PieceJobs(const Scenario& scenario, ComparedMethods& methods, std::vector<TimedPiece> pieces,
            size_t first, const RunPlace& place, std::FILE* log);

  Jobs& jobs() { return *jobs_; }
  // Returns the steps of a piece, when its process has started.
  std::unique_ptr<StepSource> SourceOf(size_t piece);
  // A checkpoint of that piece was written: removes the journals of those before the piece of the
  // checkpoint before it.
  void Saved(size_t piece);

 private:
  std::filesystem::path FolderOf(size_t piece) const;

  ComparedMethods& methods_;
  const size_t first_;
  const std::filesystem::path directory_;
  std::unique_ptr<Jobs> jobs_;
  size_t saved_ = 0;    // the piece of the last checkpoint
  size_t removed_ = 0;  // pieces whose journals are removed
};

}  // namespace legacy

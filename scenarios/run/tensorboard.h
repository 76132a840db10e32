// Curves of a run for TensorBoard: a folder tensorboard/ in the run directory, with a folder of
// events for each policy and seed. docs/results-format.md lists the events.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/event_file.h"
#include "analysis/rows.h"

namespace legacy {

class TensorBoard {
 public:
  // `parameters` is the number of elements of the model's gradient, to which densities refer.
  // `metrics` are those of evaluations.
  TensorBoard(const std::filesystem::path& run_directory, int64_t parameters,
              std::span<const Metric> metrics);

  // Write an event of the step after the row's, so that steps count finished steps, as evaluations
  // do. Its wall time is the simulated time.
  void Write(const analysis::StepRow& row);
  void Write(const analysis::EvaluationRow& row);

  // Returns the file of a training, below the run directory.
  static std::filesystem::path FileOf(const std::string& policy, uint64_t seed);
  // Returns the files of this object.
  std::vector<std::filesystem::path> Files() const;

 private:
  analysis::EventFile& OpenFile(const std::string& policy, uint64_t seed, bool begins);

  const std::filesystem::path directory_;
  const int64_t parameters_;
  std::vector<std::string> tags_;  // of each metric: "accuracy/test"
  std::map<std::pair<std::string, uint64_t>, analysis::EventFile> files_;
};

}  // namespace legacy

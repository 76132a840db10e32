// The curves of a run for TensorBoard: a folder tensorboard/ in the run directory, with a folder of
// events for each policy and seed. docs/results-format.md lists what is in them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "analysis/event_file.h"
#include "analysis/rows.h"

namespace legacy {

class TensorBoard {
 public:
  // `parameters`: elements of the model's gradient, of which densities are parts.
  TensorBoard(const std::filesystem::path& run_directory, int64_t parameters);

  // An event of the step after the row's, so that steps count what is done, as evaluations do; its
  // wall time is the simulated time.
  void Write(const analysis::StepRow& row);
  void Write(const analysis::EvaluationRow& row);

 private:
  analysis::EventFile& FileOf(const std::string& policy, uint64_t seed);

  const std::filesystem::path directory_;
  const int64_t parameters_;
  std::map<std::pair<std::string, uint64_t>, analysis::EventFile> files_;
};

}  // namespace legacy

#include "scenarios/run/tensorboard.h"

#include "base/files/own_file.h"
#include "scenarios/run/diagnostics.h"

namespace legacy {

TensorBoard::TensorBoard(const std::filesystem::path& run_directory, int64_t parameters,
                         std::span<const Metric> metrics)
    : directory_(run_directory), parameters_(parameters) {
  for (const Metric& metric : metrics) tags_.push_back(metric.name + "/test");
}

std::filesystem::path TensorBoard::FileOf(const std::string& policy, uint64_t seed) {
  // TensorBoard recognises files by this word in their names.
  return std::filesystem::path("tensorboard") /
         (PlainFileName(policy) + "-seed" + std::to_string(seed)) / "events.out.tfevents.legacy";
}

std::vector<std::filesystem::path> TensorBoard::Files() const {
  std::vector<std::filesystem::path> files;
  for (const auto& [training, file] : files_) {
    files.push_back(directory_ / FileOf(training.first, training.second));
  }
  return files;
}

analysis::EventFile& TensorBoard::OpenFile(const std::string& policy, uint64_t seed, bool begins) {
  const auto found = files_.find({policy, seed});
  if (found != files_.end()) return found->second;
  const std::filesystem::path name = FileOf(policy, seed);
  MakeFolderIn(directory_, name.parent_path());
  return files_.emplace(std::pair(policy, seed), analysis::EventFile(directory_ / name, !begins))
      .first->second;
}

void TensorBoard::Write(const analysis::StepRow& row) {
  const analysis::Scalar scalars[] = {
      {"loss/training", row.training_loss},
      {"learning_rate", row.learning_rate},
      {"density", row.elements_sent / static_cast<double>(parameters_)},
      {"bytes/message", row.message_bytes},
      {"bytes/nic", row.nic_bytes},
      {"seconds/step", row.step_seconds},
      {"seconds/compute", row.compute_seconds},
      {"seconds/encode", row.encode_seconds},
      {"seconds/communication", row.communication_seconds},
      {"seconds/decode", row.decode_seconds},
      {"seconds/wait", row.wait_seconds}};
  const bool begins = row.step == 0;  // otherwise a resumed training continues
  OpenFile(row.policy, row.seed, begins).Write(row.simulated_seconds, row.step + 1, scalars);
}

void TensorBoard::Write(const analysis::EvaluationRow& row) {
  std::vector<analysis::Scalar> scalars = {{"loss/test", row.test_loss}};
  for (size_t i = 0; i < tags_.size(); ++i) scalars.push_back({tags_[i], row.metrics.at(i)});
  scalars.push_back({"bytes/message_sum", row.message_bytes});
  scalars.push_back({"bytes/nic_sum", row.nic_bytes});
  OpenFile(row.policy, row.seed, false).Write(row.simulated_seconds, row.step, scalars);
}

}  // namespace legacy

#include "scenarios/run/tensorboard.h"

#include "scenarios/run/diagnostics.h"

namespace legacy {

TensorBoard::TensorBoard(const std::filesystem::path& run_directory, int64_t parameters,
                         std::span<const Metric> metrics)
    : directory_(run_directory / "tensorboard"), parameters_(parameters) {
  for (const Metric& metric : metrics) tags_.push_back(metric.name + "/test");
}

analysis::EventFile& TensorBoard::FileOf(const std::string& policy, uint64_t seed) {
  const auto found = files_.find({policy, seed});
  if (found != files_.end()) return found->second;
  const auto folder = directory_ / (PlainFileName(policy) + "-seed" + std::to_string(seed));
  std::filesystem::create_directories(folder);
  // TensorBoard finds files by this word in their names.
  return files_
      .emplace(std::pair(policy, seed), analysis::EventFile(folder / "events.out.tfevents.legacy"))
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
  FileOf(row.policy, row.seed).Write(row.simulated_seconds, row.step + 1, scalars);
}

void TensorBoard::Write(const analysis::EvaluationRow& row) {
  std::vector<analysis::Scalar> scalars = {{"loss/test", row.test_loss}};
  for (size_t i = 0; i < tags_.size(); ++i) scalars.push_back({tags_[i], row.metrics.at(i)});
  scalars.push_back({"bytes/message_sum", row.message_bytes});
  scalars.push_back({"bytes/nic_sum", row.nic_bytes});
  FileOf(row.policy, row.seed).Write(row.simulated_seconds, row.step, scalars);
}

}  // namespace legacy

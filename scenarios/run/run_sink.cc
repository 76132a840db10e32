#include "scenarios/run/run_sink.h"

#include <iterator>

namespace legacy {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> RowFiles() {
  return {analysis::StepRow::kFile,  analysis::EvaluationRow::kFile,
          analysis::LayerRow::kFile, analysis::DecisionRow::kFile,
          analysis::LinkRow::kFile,  analysis::NetworkRow::kFile};
}

}  // namespace

DirectorySink::DirectorySink(const fs::path& directory, const analysis::Manifest& manifest,
                             RunRows rows, bool goes_on)
    : directory_(directory),
      steps_(directory, {}, goes_on),
      evaluations_(directory, manifest.metrics, goes_on),
      layers_(directory, {}, goes_on),
      decisions_(directory, {}, goes_on),
      links_(directory, {}, goes_on),
      network_(directory, {}, goes_on) {
  const std::span<const Metric> none;
  if (rows == RunRows::kOfAllRuns) return;
  rounds_.emplace(directory, none, goes_on);
  clients_.emplace(directory, none, goes_on);
  if (rows == RunRows::kOfTasks) tasks_.emplace(directory, none, goes_on);
}

DirectorySink::DirectorySink(const ScenarioTiming& timing, const fs::path& directory,
                             const analysis::Manifest& manifest, bool goes_on)
    : DirectorySink(directory, manifest, RunRows::kOfAllRuns, goes_on) {
  listener_.emplace(timing.diagnostics(), timing.scenario(), timing.network(), directory, goes_on);
  if (timing.scenario().tensorboard) {
    tensorboard_.emplace(directory, manifest.parameters, manifest.metrics);
  }
}

std::vector<fs::path> DirectorySink::GrowingFiles(const fs::path& directory,
                                                  const analysis::Manifest& manifest) {
  std::vector<fs::path> files = RowFiles();
  for (const char* name :
       {analysis::RoundRow::kFile, analysis::ClientRow::kFile, analysis::TaskRow::kFile,
        analysis::DoctorRow::kFile, analysis::FidelityRow::kFile, kRecordFile}) {
    files.emplace_back(name);
  }
  for (const std::string& policy : manifest.policies) {
    for (const uint64_t seed : manifest.seeds) files.push_back(TensorBoard::FileOf(policy, seed));
  }
  for (fs::path& file : files) file = directory / file;
  return files;
}

std::vector<fs::path> DirectorySink::Files() const {
  std::vector<fs::path> files = RowFiles();
  if (rounds_) files.emplace_back(analysis::RoundRow::kFile);
  if (clients_) files.emplace_back(analysis::ClientRow::kFile);
  if (tasks_) files.emplace_back(analysis::TaskRow::kFile);
  if (listener_ && listener_->HasRows()) files.emplace_back(analysis::DoctorRow::kFile);
  for (fs::path& file : files) file = directory_ / file;
  if (tensorboard_) std::ranges::copy(tensorboard_->Files(), std::back_inserter(files));
  return files;
}

}  // namespace legacy

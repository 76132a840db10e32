#include "scenarios/run/run_sink.h"

#include <iterator>

namespace legacy {

DirectorySink::DirectorySink(const ScenarioTiming& timing, const std::filesystem::path& directory,
                             const analysis::Manifest& manifest, bool goes_on)
    : directory_(directory),
      steps_(directory, {}, goes_on),
      evaluations_(directory, manifest.metrics, goes_on),
      layers_(directory, {}, goes_on),
      decisions_(directory, {}, goes_on),
      links_(directory, {}, goes_on),
      network_(directory, {}, goes_on),
      listener_(timing.diagnostics(), timing.scenario(), timing.network(), directory, goes_on) {
  if (timing.scenario().tensorboard) {
    tensorboard_.emplace(directory, manifest.parameters, manifest.metrics);
  }
}

std::vector<std::filesystem::path> DirectorySink::Files() const {
  std::vector<std::filesystem::path> files = {
      analysis::StepRow::kFile,     analysis::EvaluationRow::kFile, analysis::LayerRow::kFile,
      analysis::DecisionRow::kFile, analysis::LinkRow::kFile,       analysis::NetworkRow::kFile};
  if (listener_.HasRows()) files.emplace_back(analysis::DoctorRow::kFile);
  for (std::filesystem::path& file : files) file = directory_ / file;
  if (tensorboard_) std::ranges::copy(tensorboard_->Files(), std::back_inserter(files));
  return files;
}

}  // namespace legacy

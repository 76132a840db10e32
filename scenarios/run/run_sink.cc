#include "scenarios/run/run_sink.h"

namespace legacy {

DirectorySink::DirectorySink(const ScenarioTiming& timing, const std::filesystem::path& directory,
                             const analysis::Manifest& manifest)
    : steps_(directory),
      evaluations_(directory, manifest.metrics),
      layers_(directory),
      decisions_(directory),
      links_(directory),
      network_(directory),
      listener_(timing.diagnostics(), timing.scenario(), timing.network(), directory) {
  if (timing.scenario().tensorboard) {
    tensorboard_.emplace(directory, manifest.parameters, manifest.metrics);
  }
}

}  // namespace legacy

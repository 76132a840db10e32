// In the place of trained_sources.cc, in builds without LibTorch.
#include "base/error.h"
#include "scenarios/run/step_sources.h"

namespace legacy {

std::unique_ptr<StepSources> TrainedSources(const Scenario&) {
  throw Error(
      "training: this program was built without LibTorch (LEGACY_TORCH=OFF); allowed: shapes "
      "(--layers) and trainings that are recorded");
}

}  // namespace legacy

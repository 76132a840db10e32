// Loads the module that trains (trained_sources.cc). It is a shared object of its own, because it
// needs LibTorch.
#include <dlfcn.h>

#include "base/error.h"
#include "scenarios/run/step_sources.h"

namespace legacy {
namespace {

constexpr const char* kModule = "liblegacy_training.so";  // beside the other libraries

using Maker = StepSources* (*)(const Scenario&);

Maker LoadMaker() {
  void* module = dlopen(kModule, RTLD_NOW | RTLD_LOCAL);
  void* maker = module == nullptr ? nullptr : dlsym(module, "legacy_trained_sources");
  if (maker == nullptr) {
    throw Error(std::string("training: ") + dlerror() +
                "; a build with LibTorch has it (LEGACY_TORCH=ON), others time shapes (--layers) "
                "and trainings that are recorded");
  }
  return reinterpret_cast<Maker>(maker);
}

Maker LoadedMaker() {
  static const Maker maker = LoadMaker();
  return maker;
}

}  // namespace

void LoadTraining() { LoadedMaker(); }

std::unique_ptr<StepSources> TrainedSources(const Scenario& scenario) {
  return std::unique_ptr<StepSources>(LoadedMaker()(scenario));
}

}  // namespace legacy

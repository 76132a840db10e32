// Loads the module that trains (trained_sources.cc). It is a shared object of its own, because it
// needs LibTorch.
#include "scenarios/training/training_module.h"

#include <dlfcn.h>

#include "base/error.h"
#include "scenarios/training/step_sources.h"

namespace legacy {
namespace {

constexpr const char* kModule = "liblegacy_training.so";  // beside the other libraries

using Maker = StepSources* (*)(const Scenario&, const ProcessGroup&);
using Joiner = ProcessGroup* (*)(const Launch&, const StopFlag&);

void* Load() {
  void* const module = dlopen(kModule, RTLD_NOW | RTLD_LOCAL);
  if (module != nullptr) return module;
  throw Error(std::string("training: ") + dlerror() +
              "; a build with LibTorch has it (LEGACY_TORCH=ON), others time shapes (--layers) "
              "and trainings that are recorded");
}

template <class Function>
Function Find(const char* name) {
  return reinterpret_cast<Function>(TrainingFunction(name));
}

}  // namespace

void* TrainingFunction(const char* name) {
  static void* const module = Load();
  void* const function = dlsym(module, name);
  if (function != nullptr) return function;
  throw Error(std::string("training: ") + dlerror());
}

void LoadTraining() { TrainingFunction("legacy_trained_sources"); }

std::unique_ptr<StepSources> TrainedSources(const Scenario& scenario,
                                            const ProcessGroup& processes) {
  return std::unique_ptr<StepSources>(Find<Maker>("legacy_trained_sources")(scenario, processes));
}

std::unique_ptr<ProcessGroup> JoinProcesses(const Launch& launch, const StopFlag& stop) {
  return std::unique_ptr<ProcessGroup>(Find<Joiner>("legacy_join_processes")(launch, stop));
}

}  // namespace legacy

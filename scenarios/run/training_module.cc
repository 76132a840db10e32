// Loads the module that trains (trained_sources.cc). It is a shared object of its own, because it
// needs LibTorch.
#include <dlfcn.h>

#include "base/error.h"
#include "scenarios/federated/learner.h"
#include "scenarios/training/step_sources.h"

namespace legacy {
namespace {

constexpr const char* kModule = "liblegacy_training.so";  // beside the other libraries

using Maker = StepSources* (*)(const Scenario&, const ProcessGroup&);
using Learners = FederatedLearners* (*)(const Scenario&);
using Joiner = ProcessGroup* (*)(const Launch&, const StopFlag&);

// The functions of the module.
struct Module {
  Maker sources = nullptr;
  Joiner join = nullptr;
  Learners learners = nullptr;
};

Module Load() {
  void* const module = dlopen(kModule, RTLD_NOW | RTLD_LOCAL);
  const auto find = [&](const char* name) {
    void* const function = module == nullptr ? nullptr : dlsym(module, name);
    if (function != nullptr) return function;
    throw Error(std::string("training: ") + dlerror() +
                "; a build with LibTorch has it (LEGACY_TORCH=ON), others time shapes (--layers) "
                "and trainings that are recorded");
  };
  return {reinterpret_cast<Maker>(find("legacy_trained_sources")),
          reinterpret_cast<Joiner>(find("legacy_join_processes")),
          reinterpret_cast<Learners>(find("legacy_federated_learners"))};
}

const Module& Loaded() {
  static const Module module = Load();
  return module;
}

}  // namespace

void LoadTraining() { Loaded(); }

std::unique_ptr<StepSources> TrainedSources(const Scenario& scenario,
                                            const ProcessGroup& processes) {
  return std::unique_ptr<StepSources>(Loaded().sources(scenario, processes));
}

std::unique_ptr<ProcessGroup> JoinProcesses(const Launch& launch, const StopFlag& stop) {
  return std::unique_ptr<ProcessGroup>(Loaded().join(launch, stop));
}

std::unique_ptr<FederatedLearners> TrainedLearners(const Scenario& scenario) {
  return std::unique_ptr<FederatedLearners>(Loaded().learners(scenario));
}

}  // namespace legacy

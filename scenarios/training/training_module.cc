// Loads the module that trains (trained_sources.cc). It is a separate shared object, because it
// needs LibTorch.
#include "scenarios/training/training_module.h"

#include <dlfcn.h>

#include "base/error.h"
#include "scenarios/training/step_sources.h"

namespace legacy {
namespace {

constexpr const char* kModule = "liblegacy_training.so";  // it is next to the other libraries

using Maker = StepSources* (*)(const Scenario&, const ProcessGroup&);
using Joiner = ProcessGroup* (*)(const Launch&, const StopFlag&);

using Settler = void (*)(Processor);

void* Look(void* module, const char* name) {
  void* const function = dlsym(module, name);
  if (function != nullptr) return function;
  throw Error(std::string("training: ") + dlerror());
}

// A Module is the module as this process has loaded it.
struct Module {
  void* handle;
  Processor processor;
};

Module Load(Processor processor) {
  CheckProcessor(processor);
  const KernelEnvironment environment(processor);
  void* const module = dlopen(kModule, RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    throw Error(std::string("training: ") + dlerror() +
                "; a build with LibTorch has it (LEGACY_TORCH=ON), others time shapes (--layers) "
                "and trainings that are recorded");
  }
  reinterpret_cast<Settler>(Look(module, "legacy_settle_kernels"))(processor);
  return {module, processor};
}

template <class Function>
Function Find(const char* name, Processor processor) {
  return reinterpret_cast<Function>(TrainingFunction(name, processor));
}

}  // namespace

void* TrainingFunction(const char* name, Processor processor) {
  static const Module module = Load(processor);
  if (module.processor != processor) {
    throw Error("training.processor (--processor)", ProcessorText(processor),
                std::string(ProcessorText(module.processor)) +
                    " in this process, where LibTorch has chosen its kernels; or another process");
  }
  return Look(module.handle, name);
}

void LoadTraining(Processor processor) { TrainingFunction("legacy_trained_sources", processor); }

std::unique_ptr<StepSources> TrainedSources(const Scenario& scenario,
                                            const ProcessGroup& processes) {
  const auto make = Find<Maker>("legacy_trained_sources", *scenario.processor);
  return std::unique_ptr<StepSources>(make(scenario, processes));
}

std::unique_ptr<ProcessGroup> JoinProcesses(const Launch& launch, Processor processor,
                                            const StopFlag& stop) {
  const auto join = Find<Joiner>("legacy_join_processes", processor);
  return std::unique_ptr<ProcessGroup>(join(launch, stop));
}

}  // namespace legacy

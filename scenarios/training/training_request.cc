#include "scenarios/training/training_request.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "scenarios/options/methods.h"

namespace legacy {
namespace {

// The processes on one machine share its cores, and so do jobs.
int ThreadsOf(const Scenario& scenario, int workers, const ProcessGroup& processes) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency()) /
                    (processes.local_size() * scenario.jobs);
  const int own = (workers - processes.rank() + processes.size() - 1) / processes.size();
  return std::max(1, std::min(scenario.threads > 0 ? scenario.threads : cores, own));
}

}  // namespace

std::vector<Unit> UnitsOf(const Method& method, const Scenario& scenario,
                          std::span<const Unit> layers) {
  return PlanUnits({layers.begin(), layers.end()}, *method.scope,
                   {.bucket_bytes = *scenario.bucket})
      .units;
}

TrainingOptions OptionsOf(const Scenario& s, const Method& method, uint64_t seed, int workers,
                          const Scheme& scheme, ProcessGroup& processes) {
  TrainingOptions options;
  options.workers = workers;
  options.batch_size = s.batch;
  options.passes = s.accumulate;
  options.total_steps = s.steps;
  options.seed = seed;
  options.threads = ThreadsOf(s, workers, processes);
  if (!processes.Alone()) options.processes = &processes;
  // Momentum is applied once: before compression (methods.cc), or by the optimizer.
  if (!scheme.Traits().owns_momentum) {
    options.sgd.momentum = s.momentum;
    options.sgd.nesterov = s.nesterov;
  } else {
    options.sgd.momentum = 0;
  }
  options.sgd.weight_decay = s.weight_decay;
  options.sgd.decay_vectors = s.decay_vectors;
  options.optimizer = *s.optimizer;
  const double scale = s.scale_learning_rate ? s.workers : 1;
  options.schedule.learning_rate = s.learning_rate * scale;
  options.schedule.decay = *s.schedule;
  options.schedule.warmup_steps = s.warmup_steps;
  options.schedule.warmup_from = s.warmup_from;
  options.schedule.milestones.assign(s.decay_steps.begin(), s.decay_steps.end());
  options.schedule.gamma = s.decay_factor;
  options.schedule.final_learning_rate = s.final_learning_rate * scale;
  options.label_smoothing = s.label_smoothing;
  options.loss = *s.loss;
  options.clip_worker = s.clip_worker;
  options.clip_mean = s.clip_mean;
  options.precision = *s.precision;
  options.scope = *method.scope;
  options.buckets = BucketsOf(s, scheme);
  options.weights = WeightCodecOf(method, s, seed);
  options.rescale_residuals = s.rescale_residuals;
  options.local_steps = method.local_steps;
  options.outer = *method.outer;
  return options;
}

std::unique_ptr<StepSource> MakeRequested(const TrainingRequest& request, const Scenario& scenario,
                                          StepSources& sources, ProcessGroup& processes) {
  Method method = FindMethod(scenario, request.method);
  method.policy = request.policy;
  method.parameter = request.parameter;
  BuiltMethod built = BuildMethod(method, scenario, UnitsOf(method, scenario, sources.Layers()),
                                  sources.StepsPerEpoch());
  const TrainingOptions options =
      OptionsOf(scenario, method, request.seed, request.workers, *built.scheme, processes);
  return sources.Make(options, method, std::move(built));
}

}  // namespace legacy

#include "trainer/torch/training.h"

#include <algorithm>
#include <array>
#include <bit>
#include <exception>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.h"
#include "compress/state_section.h"
#include "trainer/processes/process_group.h"
#include "trainer/scaled_steps.h"
#include "trainer/torch/device_backend.h"
#include "trainer/torch/host_backend.h"
#include "trainer/torch/tasks/task.h"
#include "trainer/update_work.h"
#include "trainer/weight_codec.h"

namespace legacy {
namespace {

void Check(const TrainingOptions& options, const Task& task, const ModelRequest& model) {
  if (options.workers < 1) throw Error("workers", std::to_string(options.workers), "at least 1");
  if (options.total_steps < 1) {
    throw Error("steps", std::to_string(options.total_steps), "at least 1");
  }
  if (options.evaluation_batch < 1) {
    throw Error("evaluation-batch", std::to_string(options.evaluation_batch), "at least 1");
  }
  if (options.local_steps < 1) {
    throw Error("local steps", std::to_string(options.local_steps), "at least 1");
  }
  if (options.passes < 1 || options.passes > kMostPasses) {
    throw Error("passes", std::to_string(options.passes), "1 to " + std::to_string(kMostPasses));
  }
  if (!(options.label_smoothing >= 0 && options.label_smoothing < 1)) {
    throw Error("label smoothing", std::to_string(options.label_smoothing), "[0, 1)");
  }
  if (options.weights && (options.Local() || options.accelerator)) {
    throw Error("weights", options.weights->text(),
                "none with workers that train models of their own, or on an accelerator");
  }
  for (const double clip : {options.clip_worker, options.clip_mean}) {
    if (!(clip >= 0)) throw Error("clip", std::to_string(clip), "0 or more");
  }
  CheckSchedule(options.schedule);
  const ModelRequest wanted = task.RequestFor(model.name, model.seed);
  const auto require = [&](const char* what, int got, int allowed) {
    if (got == allowed) return;
    throw Error("model " + model.name + ": " + what, std::to_string(got),
                std::to_string(allowed) + " with data set " + task.DataName());
  };
  require("channels", model.channels, wanted.channels);
  require("height", model.height, wanted.height);
  require("width", model.width, wanted.width);
  require("classes", model.classes, wanted.classes);
  require("length", model.length, wanted.length);
  require("users", model.users, wanted.users);
  require("items", model.items, wanted.items);
  if (model.task != wanted.task) {
    throw Error("model " + model.name, InfoOf(model.task).name, InfoOf(wanted.task).name);
  }
}

// Checks what a scheme requires of the optimizer.
void CheckScheme(const TrainingOptions& options, const Scheme& scheme) {
  const std::string with = " with scheme " + std::string(scheme.Name());
  if (scheme.Traits().owns_momentum) {
    const std::string why = with + ", which applies momentum before it compresses";
    if (options.sgd.momentum != 0) {
      throw Error("momentum", std::to_string(options.sgd.momentum), "0" + why);
    }
    if (options.outer && options.outer->momentum != 0) {
      throw Error("outer momentum", std::to_string(options.outer->momentum), "0" + why);
    }
  }
  const OptimizerKind kind = options.optimizer.kind;
  const std::string chosen = kOptimizerTexts[static_cast<size_t>(kind)];
  const std::string_view only = scheme.Traits().optimizer;
  if (!only.empty() && chosen != only) throw Error("optimizer", chosen, std::string(only) + with);
  if (scheme.Traits().owns_rate && options.Local()) {
    throw Error("local steps", std::to_string(options.local_steps),
                "1, and no outer" + with + ", whose mean has the learning rate in it");
  }
  if (!scheme.Traits().momentum_from) return;
  const std::string why = with + ", which exchanges the optimizer's momentum";
  if (kind != OptimizerKind::kAdam && kind != OptimizerKind::kAdamW) {
    throw Error("optimizer", chosen, "adam or adamw" + why);
  }
  if (options.Local()) {
    throw Error("local steps", std::to_string(options.local_steps), "1, and no outer" + why);
  }
  if (options.clip_mean > 0) throw Error("clip mean", std::to_string(options.clip_mean), "0" + why);
}

}  // namespace

struct Training::Impl {
  Impl(const TrainingOptions& chosen, const Task& chosen_task, const ModelRequest& model,
       std::unique_ptr<Policy> chosen_policy, std::unique_ptr<Scheme> chosen_scheme);

  void RescaleResiduals(double rate);
  // Returns `given`, or all workers if it is empty. Throws Error if it is not ascending or has a
  // number that is not a worker's.
  std::vector<int> ActiveWorkers(std::span<const int> given) const;
  Aggregation& aggregation() const { return backend->aggregation(); }
  void ShareLosses(std::span<const int> active, std::span<double> losses);
  // Throws Error if another process has different weights.
  void CompareWeights() const;
  // Restores what this process keeps of the section "training" that Training::Save wrote.
  void LoadTraining(StateReader& state);

  TrainingOptions options;
  const Task& task;
  std::unique_ptr<Policy> policy;
  std::unique_ptr<Scheme> scheme;
  std::unique_ptr<Feed> feed;
  ProcessGroup& processes;
  // Replicas by worker, null for those of other processes, and the first of them, which owns the
  // weights. A process without workers has only the weights.
  std::vector<std::shared_ptr<Model>> replicas;
  std::shared_ptr<Model> first;
  std::vector<Unit> layers;
  std::vector<OperationCost> costs;
  std::unique_ptr<Backend> backend;
  std::vector<WeightWork> weights;  // that are gathered as messages
  LinkEstimate link;
  std::vector<BucketWork> buckets;  // buckets of the last step
  double worker_loss = 0;           // loss of the first active worker's last batch
  std::vector<int64_t> steps_of;    // number of steps in which each worker was active
  int64_t step = 0;
  double last_rate = 0;  // last positive learning rate
};

namespace {

std::shared_ptr<Model> FirstOf(const std::vector<std::shared_ptr<Model>>& replicas) {
  const auto found = std::ranges::find_if(replicas, [](const auto& replica) { return !!replica; });
  return found == replicas.end() ? nullptr : *found;
}

// Makes the replicas of the own workers.
std::vector<std::shared_ptr<Model>> MakeReplicas(const ModelRequest& request, int workers,
                                                 bool share, const ProcessGroup& processes) {
  std::vector<std::shared_ptr<Model>> replicas(static_cast<size_t>(workers));
  for (int w = 0; w < workers; ++w) {
    if (!processes.Owns(w)) continue;
    const std::shared_ptr<Model> first = FirstOf(replicas);
    replicas[w] = first && share ? ShareParameters(*first, request) : MakeModel(request);
    replicas[w]->train();
  }
  return replicas;
}

ProcessGroup& ProcessesOf(const TrainingOptions& options) {
  return options.processes ? *options.processes : OneProcess();
}

TrainingOptions Checked(const TrainingOptions& options, const Task& task,
                        const ModelRequest& model) {
  Check(options, task, model);
  return options;
}

std::unique_ptr<Backend> MakeBackend(const BackendJob& job) {
  UnitPlan plan =
      PlanUnits({job.layers.begin(), job.layers.end()}, job.options.scope, job.options.buckets);
  Accelerator* const accelerator = job.options.accelerator.get();
  if (!accelerator) return std::make_unique<HostBackend>(job, std::move(plan));
  return std::make_unique<DeviceBackend>(job, std::move(plan), *accelerator);
}

}  // namespace

Training::Impl::Impl(const TrainingOptions& chosen, const Task& chosen_task,
                     const ModelRequest& model, std::unique_ptr<Policy> chosen_policy,
                     std::unique_ptr<Scheme> chosen_scheme)
    : options(Checked(chosen, chosen_task, model)),
      task(chosen_task),
      policy(std::move(chosen_policy)),
      scheme(std::move(chosen_scheme)),
      feed(task.Open({.workers = options.workers,
                      .batch_size = options.batch_size * options.passes,
                      .seed = options.seed,
                      .threads = options.threads,
                      .first = ProcessesOf(options).rank(),
                      .stride = ProcessesOf(options).size()})),
      processes(ProcessesOf(options)),
      replicas(MakeReplicas(model, options.workers, !options.Local(), processes)),
      first(FirstOf(replicas) ? FirstOf(replicas) : MakeModel(model)),
      layers(LayersOf(*first)),
      costs(CostsOf(model)),
      backend(MakeBackend(
          {options, task, *feed, *scheme, *policy, replicas, *first, layers, processes})),
      weights(options.weights ? options.weights->WorkOf(layers) : std::vector<WeightWork>()),
      steps_of(static_cast<size_t>(options.workers)) {
  CheckScheme(options, *scheme);
  if (options.precision == Precision::kFp16) ScaledSteps::Check(options, *scheme);
}

// Rescales residuals to the new learning rate, so that what was left over at the old rate is
// applied as if at that rate.
void Training::Impl::RescaleResiduals(double rate) {
  if (rate <= 0) return;
  const double before = std::exchange(last_rate, rate);
  // With local steps residuals are in units of the weights.
  if (!options.rescale_residuals || options.Local()) return;
  if (before > 0 && before != rate) {
    aggregation().RescaleResiduals(static_cast<float>(before / rate));
  }
}

std::vector<int> Training::Impl::ActiveWorkers(std::span<const int> given) const {
  const StepInfo info{.active_workers = {given.begin(), given.end()}};
  std::vector<int> active_workers = info.ActiveWorkers(options.workers);
  int least = 0;
  for (const int worker : active_workers) {
    if (worker < least || worker >= options.workers) {
      throw Error("active workers: worker", std::to_string(worker),
                  "ascending numbers below " + std::to_string(options.workers));
    }
    least = worker + 1;
  }
  return active_workers;
}

void Training::Impl::ShareLosses(std::span<const int> active, std::span<double> losses) {
  if (processes.Alone()) return;
  StateWriter out;
  for (const int worker : active) {
    if (processes.Owns(worker)) out.Number(std::bit_cast<uint64_t>(losses[worker]));
  }
  const std::vector<Bytes> all = processes.AllGather(out.Take());
  std::vector<StateReader> in(all.begin(), all.end());
  for (const int worker : active) {
    losses[worker] = std::bit_cast<double>(in[processes.OwnerOf(worker)].Number());
  }
}

namespace {

// Returns a hash of the values' bits: FNV-1a of 32-bit words, in four lanes.
uint64_t HashOf(std::span<const float> values) {
  constexpr uint64_t kBasis = 0xcbf29ce484222325, kPrime = 0x100000001b3;
  constexpr size_t kLanes = 4;
  std::array<uint64_t, kLanes> lanes = {kBasis, kBasis + 1, kBasis + 2, kBasis + 3};
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t& lane = lanes[i % kLanes];
    lane = (lane ^ std::bit_cast<uint32_t>(values[i])) * kPrime;
  }
  uint64_t hash = kBasis;
  for (const uint64_t lane : lanes) hash = (hash ^ lane) * kPrime;
  return hash;
}

}  // namespace

void Training::Impl::CompareWeights() const {
  if (processes.Alone()) return;
  StateWriter out;
  out.Number(HashOf(backend->Weights()));
  const std::vector<Bytes> all = processes.AllGather(out.Take());
  for (int other = 1; other < processes.size(); ++other) {
    if (all[other] == all.front()) continue;
    throw Error("after step " + std::to_string(step) + ", process " + std::to_string(other) +
                " has other weights than process 0: their processors or libraries compute with "
                "other bits (versions in manifest.json)");
  }
}

Training::Training(const TrainingOptions& options, const Task& task, const ModelRequest& model,
                   std::unique_ptr<Policy> policy, std::unique_ptr<Scheme> scheme)
    : impl_(std::make_unique<Impl>(options, task, model, std::move(policy), std::move(scheme))) {}

Training::~Training() = default;

StepOutcome Training::Step(std::span<const int> active_workers) {
  Impl& my = *impl_;
  const std::vector<int> active = my.ActiveWorkers(active_workers);
  const auto count = static_cast<int64_t>(active.size());
  StepOutcome outcome;
  outcome.step = my.step;
  outcome.learning_rate = LearningRate(my.options.schedule, my.step, my.options.total_steps);
  my.RescaleResiduals(outcome.learning_rate);

  if (my.options.Local() && count < my.options.workers) {
    throw Error("local steps", std::to_string(my.options.local_steps),
                "1, and no outer optimizer, where workers may be dropped");
  }
  const StepInfo info{.seed = my.options.seed,
                      .step = my.step,
                      .total_steps = my.options.total_steps,
                      .learning_rate = outcome.learning_rate,
                      .steps_per_epoch = my.feed->StepsPerEpoch(),
                      .link = my.link,
                      .active_workers = active};
  const bool exchanges = (my.step + 1) % my.options.local_steps == 0;
  if (exchanges) my.aggregation().Begin(info);
  my.feed->Seek(my.step);

  std::vector<double> losses(static_cast<size_t>(my.options.workers));
  my.backend->RunWorkers(info, exchanges, losses);
  my.ShareLosses(active, losses);
  for (const int worker : active) ++my.steps_of[worker];
  my.buckets.clear();
  if (exchanges) {
    my.backend->Finish(info);
    if (my.processes.Leads()) {
      my.buckets = my.aggregation().Buckets();
      ChargeCasts(*my.scheme, my.options, my.buckets);
    }
    outcome.units = my.aggregation().Outcomes();
  } else {
    outcome.units.resize(my.aggregation().plan().units.size());
  }

  outcome.loss = std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(count);
  outcome.work.step = my.step;
  outcome.work.workers = my.options.workers;
  outcome.work.batch_size = my.options.batch_size;
  outcome.work.passes = my.options.passes;
  WriteUpdateWork({*my.scheme, my.options, my.step, exchanges,
                   my.layers.back().offset + my.layers.back().numel},
                  outcome.work);
  if (count < my.options.workers) outcome.work.active_workers = active;
  outcome.work.buckets = my.buckets;
  outcome.work.weights = my.weights;
  my.worker_loss = losses[active.front()];
  ++my.step;
  constexpr int64_t kComparison = 100;  // steps between comparisons of weights
  if (my.step % kComparison == 0) my.CompareWeights();
  return outcome;
}

void Training::OnFeedback(const StepTimes& times) {
  Impl& my = *impl_;
  const bool reads_mean = my.policy->ReadsMeanGradient();
  my.aggregation().OnFeedback(
      {.step = my.step - 1,
       .loss = my.worker_loss,
       .mean_gradient = reads_mean ? my.backend->Mean() : std::span<const float>()},
      my.buckets, times);
}

void Training::SetLink(const LinkEstimate& link) { impl_->link = link; }

Evaluation Training::Evaluate() {
  impl_->CompareWeights();
  const std::vector<int64_t>& steps = impl_->steps_of;
  const auto most = std::max_element(steps.begin(), steps.end());
  Evaluation evaluation = impl_->backend->Evaluate(static_cast<int>(most - steps.begin()));
  impl_->task.CheckFinite(evaluation, "after step " + std::to_string(impl_->step));
  return evaluation;
}

void Training::SetMessageHook(MessageHook hook) {
  impl_->aggregation().SetMessageHook(std::move(hook));
}

void Training::SetGradientHook(GradientHook hook) {
  impl_->backend->SetGradientHook(std::move(hook));
}

std::span<const Metric> Training::Metrics() const { return impl_->task.Info().metrics; }

BackendReport Training::Report() const { return impl_->backend->Report(); }

std::string Training::CannotSave() const { return impl_->backend->CannotSave(); }

namespace {

std::string WorkerSection(int worker) { return "worker " + std::to_string(worker); }

constexpr uint64_t kStateVersion = 1;
constexpr uint64_t kMostNumber = std::numeric_limits<int64_t>::max();

}  // namespace

void Training::Save(SectionWriter& out) const {
  const Impl& my = *impl_;
  // If nothing more can be written to the file, as on a full disk, the other processes still hand
  // in their state.
  std::exception_ptr failure;
  const auto write = [&](const std::function<void()>& section) {
    if (failure) return;
    try {
      section();
    } catch (const Error&) {
      failure = std::current_exception();
    }
  };
  write([&] {
    WriteSection(out, "training", [&](StateWriter& state) {
      state.Number(kStateVersion);
      state.Text(my.scheme->Name());
      state.Number(my.steps_of.size());
      for (const int64_t steps : my.steps_of) state.Number(static_cast<uint64_t>(steps));
      state.Number(static_cast<uint64_t>(my.step));
      state.Real(my.last_rate);
      SavePolicy(*my.policy, state);
    });
    WriteSection(out, "shared", [&](StateWriter& state) { my.backend->SaveShared(state); });
  });
  for (int w = 0; w < my.options.workers; ++w) {
    if (my.processes.Owns(w)) {
      write([&] {
        WriteSection(out, WorkerSection(w),
                     [&](StateWriter& state) { my.backend->SaveWorker(w, state); });
      });
    } else {
      const Bytes bytes = my.processes.Move({}, my.processes.OwnerOf(w), 0);
      write([&] {
        out.Begin(WorkerSection(w));
        out.Write(bytes);
      });
    }
  }
  if (failure) std::rethrow_exception(failure);
}

void Training::JoinSave() const {
  const Impl& my = *impl_;
  for (int w = 0; w < my.options.workers; ++w) {
    StateWriter state;
    if (my.processes.Owns(w)) my.backend->SaveWorker(w, state);
    my.processes.Move(state.Take(), my.processes.OwnerOf(w), 0);
  }
}

void Training::Impl::LoadTraining(StateReader& state) {
  state.ExpectNumber("version", kStateVersion);
  state.ExpectText("scheme", scheme->Name());
  state.ExpectNumber("workers", steps_of.size());
  for (int64_t& steps : steps_of) {
    steps = static_cast<int64_t>(state.Number("steps of a worker", kMostNumber));
  }
  step = static_cast<int64_t>(state.Number("step", kMostNumber));
  last_rate = state.Real("learning rate");
}

// Sections travel from process 0, which alone reads the file: those of all workers to all
// processes, and a worker's to its process.
void Training::Load(const SectionFile& in) {
  Impl& my = *impl_;
  for (const char* section : {"training", "shared"}) {
    if (!my.processes.Alone()) my.processes.Broadcast(in.Get(section), 0);
  }
  ReadSection(in, "training", [&](StateReader& state) {
    my.LoadTraining(state);
    LoadPolicy(*my.policy, state);
  });
  ReadSection(in, "shared", [&](StateReader& state) { my.backend->LoadShared(state); });
  for (int w = 0; w < my.options.workers; ++w) {
    if (my.processes.Owns(w)) {
      ReadSection(in, WorkerSection(w),
                  [&](StateReader& state) { my.backend->LoadWorker(w, state); });
    } else {
      my.processes.Move(in.Get(WorkerSection(w)), 0, my.processes.OwnerOf(w));
    }
  }
  my.aggregation().exchange().Loaded();
}

void Training::JoinLoad() {
  Impl& my = *impl_;
  const Bytes training = my.processes.Broadcast({}, 0), shared = my.processes.Broadcast({}, 0);
  StateReader of_training(training), of_shared(shared);
  my.LoadTraining(of_training);
  my.backend->LoadShared(of_shared);
  for (int w = 0; w < my.options.workers; ++w) {
    const Bytes bytes = my.processes.Move({}, 0, my.processes.OwnerOf(w));
    StateReader state(bytes);
    if (my.processes.Owns(w)) my.backend->LoadWorker(w, state);
  }
  my.aggregation().exchange().Loaded();
}

int64_t Training::step() const { return impl_->step; }
int64_t Training::StepsPerEpoch() const { return impl_->feed->StepsPerEpoch(); }
const TrainingOptions& Training::options() const { return impl_->options; }
const Policy& Training::policy() const { return *impl_->policy; }
const Scheme& Training::scheme() const { return *impl_->scheme; }

std::span<const Unit> Training::Layers() const { return impl_->layers; }
std::span<const Unit> Training::Units() const { return impl_->aggregation().plan().units; }
std::span<const OperationCost> Training::Costs() const { return impl_->costs; }

std::vector<Decision> Training::TakeDecisions() { return impl_->policy->TakeDecisions(); }
std::vector<float> Training::Weights() const { return impl_->backend->Weights(); }
std::span<const float> Training::MeanGradient() const { return impl_->backend->Mean(); }
Model& Training::Replica(int worker) { return *impl_->replicas.at(worker); }
std::vector<float> Training::Residual(int unit, int worker) const {
  return impl_->aggregation().exchange().CopyResidual(unit, worker);
}

}  // namespace legacy

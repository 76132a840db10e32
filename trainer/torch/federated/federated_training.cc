#include "trainer/torch/federated/federated_training.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <string>
#include <utility>

#include "base/error.h"
#include "trainer/torch/federated/client_states.h"
#include "trainer/torch/federated/model_version.h"
#include "trainer/torch/federated/task_pool.h"
#include "trainer/torch/heap.h"
#include "trainer/torch/one_thread.h"
#include "trainer/worker_pool.h"

namespace legacy {
namespace {

constexpr uint64_t kStateVersion = 3;

}  // namespace

struct FederatedTraining::Impl {
  Impl(const FederatedOptions& chosen, const Task& chosen_task, const ModelRequest& request,
       const Partition& chosen_partition, std::unique_ptr<Policy> chosen_policy,
       ClientStore& chosen_store);

  // The server's weights of the newest version.
  std::vector<float>& ServerWeights() { return downlink->Exact() ? newest->weights : own; }
  // Makes the newest version of the server's weights and buffers.
  void Publish(std::vector<float> weights, std::vector<float> buffers, int64_t announcement_bytes);
  // Returns the newest version. The policy decides for it as late as possible, so that the policy
  // that is saved after a version has not decided yet.
  const ModelVersion& Decided();
  // Lets the policy announce what it will decide for the next versions. Returns the bytes of the
  // announcement to clients.
  int64_t Announce();
  void Begin(std::shared_ptr<LiveTask> task);
  std::shared_ptr<LiveTask> Take(const FederatedKey& key);
  // Adds a counted task to the aggregator, and updates the state that its client keeps.
  void Add(const LiveTask& task);
  // True if a client may start a task before its last one is part of a version.
  bool KeepsAtCount() const { return aggregator->Traits().buffer > 0; }

  FederatedOptions options;
  const Task& task;
  const Partition& partition;
  std::unique_ptr<Policy> policy;
  ClientStates states;
  std::unique_ptr<SampleSet> samples;
  std::unique_ptr<Aggregator> aggregator;
  Weighting weighting;
  std::vector<std::unique_ptr<LocalTrainer>> trainers;  // one for each thread
  std::unique_ptr<LocalTrainer> judge;                  // for evaluations
  std::unique_ptr<Uplink> uplink;
  std::unique_ptr<Downlink> downlink;
  WorkerPool judges;
  std::shared_ptr<ModelVersion> newest;
  std::vector<float> own;     // the server's weights, where clients decode others
  bool decided = false;       // true if it has parameters
  std::vector<double> known;  // EF21: mean over all clients of the server's copy of their state
  std::map<FederatedKey, std::shared_ptr<LiveTask>> live;
  std::vector<std::shared_ptr<LiveTask>> counted;
  // Sums over the counted tasks, while a version is made.
  std::vector<double> buffer_sum;
  double weight_sum = 0;

  std::unique_ptr<TaskPool> pool;  // destroyed before the data that its tasks read
};

FederatedTraining::Impl::Impl(const FederatedOptions& chosen, const Task& chosen_task,
                              const ModelRequest& request, const Partition& chosen_partition,
                              std::unique_ptr<Policy> chosen_policy, ClientStore& chosen_store)
    : options(chosen),
      task(chosen_task),
      partition(chosen_partition),
      policy(std::move(chosen_policy)),
      states(options, chosen_store),
      samples(task.OpenSamples()),
      judges(chosen.threads, UseOneThread) {
  KeepFreedMemory();
  UseOneThread();
  const std::vector<Unit> layers = LayersOf(request);
  aggregator = AggregatorOf(options, NumelOf(layers), partition.Holders());
  weighting = options.weighting.value_or(aggregator->Traits().weighting);
  uplink = std::make_unique<Uplink>(options.scheme,
                                    PlanUnits(layers, options.scope, options.buckets).units,
                                    options.memory, options.residual_decay);
  downlink = std::make_unique<Downlink>(options.downlink, layers, options.local.seed);
  CheckServed(options, aggregator->Traits(), weighting, *policy);
  trainers = TrainersOf(options, task, *samples, request, aggregator->Traits().client);
  judge = std::make_unique<LocalTrainer>(task, *samples, request, options.local, ClientRule());
  if (options.memory == UplinkMemory::kEf21) known.resize(judge->initial_weights().size());
  Publish(judge->initial_weights(), judge->initial_buffers(), 0);
  Decided();
  pool = std::make_unique<TaskPool>(options.threads, [this](LiveTask& live_task, size_t thread) {
    RunTask({options, partition, states, aggregator->Traits(), *uplink}, live_task,
            *trainers[thread]);
  });
}

int64_t FederatedTraining::Impl::Announce() {
  if (!policy->OpenCall(PolicyMoment::kAnnouncement)) return 0;
  const Message message = policy->Encode(0, {});
  policy->Accumulate(0, message.bytes);
  policy->FinishCall();
  return message.size();
}

void FederatedTraining::Impl::Publish(std::vector<float> weights, std::vector<float> buffers,
                                      int64_t announcement_bytes) {
  auto version = std::make_shared<ModelVersion>();
  version->number = newest ? newest->number + 1 : 0;
  version->weights = downlink->Send(weights);
  version->delta = downlink->Size();
  if (!downlink->Exact()) own = std::move(weights);
  version->buffers = std::move(buffers);
  const std::span<const float> second = aggregator->Downlink();
  version->downlink.assign(second.begin(), second.end());
  version->announcement_bytes = announcement_bytes;
  newest = std::move(version);
  decided = false;
}

const ModelVersion& FederatedTraining::Impl::Decided() {
  if (decided) return *newest;
  decided = true;
  newest->parameters.resize(uplink->units().size());
  const StepInfo step = {
      .seed = options.local.seed,
      .step = newest->number,
      .total_steps = options.versions,
      // If clients have schedules of their own, policies see no rate.
      .learning_rate = options.rate_over_steps
                           ? options.schedule.learning_rate
                           : LearningRate(options.schedule, newest->number, options.versions),
      .steps_per_epoch = std::max<int64_t>(1, partition.Holders() / options.per_version)};
  DecideParameters(*policy, step, uplink->units(), newest->parameters);
  uplink->Check(newest->parameters);
  if (options.masked_bytes > 0 && !uplink->Linear(newest->parameters)) {
    throw Error("secure aggregation", "on",
                "off with " + options.scheme +
                    ": masks add up only where messages are values of the same elements, as with "
                    "dense, fp16 and randomk");
  }
  if (policy->ReadsLocalGradient()) {
    throw Error("policy", std::string(policy->Name()),
                "one that decides from the mean update, as no client's gradient is seen by all");
  }
  return *newest;
}

void FederatedTraining::Impl::Begin(std::shared_ptr<LiveTask> task) {
  live[task->key] = task;
  pool->Begin(std::move(task));
}

std::shared_ptr<LiveTask> FederatedTraining::Impl::Take(const FederatedKey& key) {
  const auto found = live.find(key);
  assert(found != live.end());
  std::shared_ptr<LiveTask> taken = std::move(found->second);
  live.erase(found);
  return taken;
}

void FederatedTraining::Impl::Add(const LiveTask& done) {
  const UplinkKey draws = {
      .seed = options.local.seed, .version = done.key.Draws(), .client = done.key.client};
  const std::vector<double>& parameters = done.base->parameters;
  std::vector<float> decoded(done.base->weights.size()), control;
  uplink->Decode(done.update.messages, parameters, draws, decoded);
  if (!done.control.empty()) {
    control.resize(decoded.size());
    uplink->Decode(done.control, parameters, draws, control);
  }
  const double weight =
      (weighting == Weighting::kSamples ? static_cast<double>(done.result.samples) : 1) *
      done.times;
  const ClientUpdate update = {.update = decoded,
                               .base = done.base->weights,
                               .control = control,
                               .weight = weight,
                               .local_steps = done.result.local_steps,
                               .rate = done.result.rate,
                               .staleness = newest->number - done.key.version};
  if (aggregator->Traits().client.HasState()) {
    std::vector<float> state = states.Control(done.key.client, decoded.size());
    aggregator->Advance(update, state);
    states.KeepControl(done.key.client, state);
  }
  if (known.empty()) {
    aggregator->Add(update);
  } else {
    const auto clients = static_cast<double>(partition.Holders());
    for (size_t i = 0; i < known.size(); ++i) known[i] += static_cast<double>(decoded[i]) / clients;
  }
  for (size_t i = 0; i < done.buffers.size(); ++i) {
    buffer_sum[i] += weight * static_cast<double>(done.buffers[i]);
  }
  weight_sum += weight;
  if (!KeepsAtCount()) states.Keep(done);
}

FederatedTraining::FederatedTraining(const FederatedOptions& options, const Task& task,
                                     const ModelRequest& model, const Partition& partition,
                                     std::unique_ptr<Policy> policy, ClientStore& store)
    : impl_(std::make_unique<Impl>(options, task, model, partition, std::move(policy), store)) {}

FederatedTraining::~FederatedTraining() = default;

void FederatedTraining::Start(const FederatedKey& key) {
  Impl& my = *impl_;
  assert(key.version == my.newest->number);
  auto started = std::make_shared<LiveTask>();
  started->key = key;
  my.Decided();
  started->base = my.newest;
  started->first_step = my.states.CountedSteps(key.client);
  my.Begin(std::move(started));
}

const FederatedResult& FederatedTraining::Finish(const FederatedKey& key) {
  Impl& my = *impl_;
  LiveTask& task = *my.live.at(key);
  my.pool->Wait(task);
  if (!task.result.finite && !my.options.drop_diverged) {
    throw Error("version " + std::to_string(key.version) + ", client " +
                std::to_string(key.client) +
                ": its update is not finite; a lower learning rate or clipping may help");
  }
  return task.result;
}

void FederatedTraining::Abandon(const FederatedKey& key) {
  Impl& my = *impl_;
  my.pool->Forget(my.Take(key));
}

void FederatedTraining::Count(const FederatedKey& key, int times) {
  const FederatedResult& result = Finish(key);
  std::shared_ptr<LiveTask> task = impl_->Take(key);
  if (!result.finite) return;
  task->times = times;
  if (impl_->KeepsAtCount()) impl_->states.Keep(*task);
  impl_->counted.push_back(std::move(task));
}

void FederatedTraining::Discard() {
  assert(!impl_->KeepsAtCount());
  impl_->counted.clear();
}

void FederatedTraining::Update() {
  Impl& my = *impl_;
  assert(!my.counted.empty());
  if (my.aggregator->Traits().buffer == 0) {
    std::ranges::sort(my.counted, {}, [](const auto& task) { return task->key.client; });
  }
  my.buffer_sum.assign(my.newest->buffers.size(), 0);
  my.weight_sum = 0;
  double loss = 0;
  for (const auto& task : my.counted) {
    my.Add(*task);
    loss += task->result.loss / static_cast<double>(my.counted.size());
  }
  std::vector<float> weights = my.ServerWeights();
  if (my.known.empty()) {
    my.aggregator->Apply(weights);
  } else {
    my.aggregator->ApplyMean(weights, my.known);
  }
  std::vector<float> buffers = my.newest->buffers;
  for (size_t i = 0; i < buffers.size(); ++i) {
    buffers[i] = static_cast<float>(my.buffer_sum[i] / my.weight_sum);
  }
  const int64_t announcement_bytes = my.Announce();
  std::vector<float> gradient;
  if (my.policy->ReadsMeanGradient()) {
    gradient = my.ServerWeights();
    for (size_t i = 0; i < gradient.size(); ++i) gradient[i] -= weights[i];
  }
  my.policy->OnFeedback({.step = my.newest->number, .loss = loss, .mean_gradient = gradient});
  my.counted.clear();
  my.Publish(std::move(weights), std::move(buffers), announcement_bytes);
}

int64_t FederatedTraining::version() const { return impl_->newest->number; }
int64_t FederatedTraining::live() const { return std::ssize(impl_->live); }
const AggregatorTraits& FederatedTraining::traits() const { return impl_->aggregator->Traits(); }
const Uplink& FederatedTraining::uplink() const { return *impl_->uplink; }
std::span<const Unit> FederatedTraining::layers() const {
  return impl_->trainers.front()->layers();
}
std::span<const double> FederatedTraining::parameters() const {
  return impl_->Decided().parameters;
}
std::span<const float> FederatedTraining::weights() const { return impl_->ServerWeights(); }
std::span<const float> FederatedTraining::sent_weights() const { return impl_->newest->weights; }
const Downlink& FederatedTraining::downlink() const { return *impl_->downlink; }
HeldResiduals FederatedTraining::Residuals() const {
  return impl_->states.Residuals(impl_->newest->number);
}
const DownlinkLedger& FederatedTraining::ledger() const { return impl_->states.ledger(); }

int64_t FederatedTraining::DownBytes() const {
  const ModelVersion& newest = *impl_->newest;
  const bool statistics = impl_->options.batch_norm == BatchNormRule::kAverage;
  const auto floats = newest.downlink.size() + (statistics ? newest.buffers.size() : 0);
  return impl_->downlink->WholeBytes() + static_cast<int64_t>(floats * sizeof(float)) +
         newest.announcement_bytes;
}

std::optional<int64_t> FederatedTraining::UpBytes() const {
  const ModelVersion& newest = impl_->Decided();
  const auto messages = impl_->uplink->MessageBytes(newest.parameters);
  if (!messages) return std::nullopt;
  const bool statistics = impl_->options.batch_norm == BatchNormRule::kAverage;
  return MaskedBytes(
      impl_->options,
      *messages * impl_->aggregator->Traits().up_vectors +
          (statistics ? static_cast<int64_t>(newest.buffers.size() * sizeof(float)) : 0));
}

int64_t FederatedTraining::LocalStepsOf(const FederatedKey& key) const {
  const std::vector<int64_t> own(static_cast<size_t>(impl_->partition.SizeOf(key.client)));
  return LocalSteps(LocalTaskOf(impl_->options, key, own), impl_->options.local.batch_size);
}

std::vector<Decision> FederatedTraining::TakeDecisions() { return impl_->policy->TakeDecisions(); }

Evaluation FederatedTraining::Evaluate() {
  Impl& my = *impl_;
  return EvaluateOn(my.task, my.judge->Set(my.ServerWeights(), my.newest->buffers), version(),
                    my.options.evaluation_batch, my.judges);
}

void FederatedTraining::Save(StateWriter& out) const {
  const Impl& my = *impl_;
  assert(my.counted.empty());
  out.Number(kStateVersion);
  out.Text(my.options.algorithm);
  out.Text(my.options.scheme);
  std::map<int64_t, const ModelVersion*> bases;
  for (const auto& [key, task] : my.live) bases.emplace(key.version, task->base.get());
  assert(!my.decided);  // no task has started from it
  bases[my.newest->number] = my.newest.get();
  out.Number(bases.size());
  for (const auto& [number, base] : bases) SaveVersion(*base, out);
  out.Number(my.live.size());
  for (const auto& [key, task] : my.live) {
    for (const int64_t part : {key.version, key.client, key.draws}) {
      out.Number(static_cast<uint64_t>(part));
    }
  }
  out.Number(my.known.size());
  for (const double value : my.known) out.Real(value);
  out.Number(my.own.size());
  out.Floats(my.own);
  SaveParts(out, *my.downlink, my.states);
  my.aggregator->Save(out);
  SavePolicy(*my.policy, out);
}

void FederatedTraining::Load(StateReader& in) {
  Impl& my = *impl_;
  assert(my.live.empty() && my.counted.empty());
  in.ExpectNumber("version of a federated training's state", kStateVersion);
  in.ExpectText("algorithm", my.options.algorithm);
  in.ExpectText("scheme", my.options.scheme);
  std::map<int64_t, std::shared_ptr<ModelVersion>> bases;
  for (uint64_t left = in.Number("versions", in.Left()); left > 0; --left) {
    auto base = LoadVersion(*my.newest, in);
    bases[base->number] = std::move(base);
  }
  if (bases.empty()) throw Error("state of a federated training: no version");
  std::vector<std::shared_ptr<LiveTask>> live;
  for (uint64_t left = in.Number("live tasks", in.Left()); left > 0; --left) {
    auto task = std::make_shared<LiveTask>();
    for (int64_t* part : {&task->key.version, &task->key.client, &task->key.draws}) {
      *part = static_cast<int64_t>(in.Number());
    }
    const auto base = bases.find(task->key.version);
    if (base == bases.end() || task->key.client < 0 || task->key.client >= my.partition.Clients()) {
      throw Error("state of a federated training: a task without its version or client");
    }
    if (base->second->parameters.size() != my.newest->parameters.size()) {
      throw Error("state of a federated training: a task's version without parameters");
    }
    task->base = base->second;
    live.push_back(std::move(task));
  }
  in.ExpectNumber("what the server knows of clients", my.known.size());
  for (double& value : my.known) value = in.Real("what the server knows of clients");
  in.ExpectNumber("weights of the server", my.own.size());
  in.Floats(my.own);
  my.downlink->Load(in);
  my.states.Load(in);
  my.aggregator->Load(in);
  LoadPolicy(*my.policy, in);
  my.newest = bases.rbegin()->second;
  my.decided = false;
  for (std::shared_ptr<LiveTask>& task : live) {
    task->first_step = my.states.CountedSteps(task->key.client);
    my.Begin(std::move(task));
  }
}

}  // namespace legacy

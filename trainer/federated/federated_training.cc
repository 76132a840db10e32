#include "trainer/federated/federated_training.h"

#include <torch/torch.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.h"
#include "trainer/heap.h"
#include "trainer/one_thread.h"
#include "trainer/worker_pool.h"

namespace legacy {

// A ModelVersion is what clients start from.
struct ModelVersion {
  int64_t number = 0;
  std::vector<float> weights;  // as clients decode them
  std::vector<float> buffers;
  std::vector<float> downlink;     // second vector of the algorithm; empty: it has none
  std::vector<double> parameters;  // of the uplink, by unit
  int64_t announcement_bytes = 0;  // of the policy, on the way down
  std::optional<DeltaSize> delta;  // of the downlink
};

// A LiveTask is a task from Start to Update.
struct LiveTask {
  enum class Stage : uint8_t { kWaiting, kRunning, kDone };

  FederatedKey key;
  std::shared_ptr<const ModelVersion> base;
  Stage stage = Stage::kWaiting;
  FederatedResult result;
  EncodedUpdate update;
  std::vector<Message> control;  // second vector, where two go up
  std::vector<float> buffers;
  Bytes optimizer;
  int64_t first_step = 0;  // local steps of the client's counted tasks before it
  std::exception_ptr failure;
  int times = 1;
};

namespace {

Bytes FloatBytes(std::span<const float> values) {
  StateWriter out;
  out.Floats(values);
  return out.Take();
}

std::vector<float> FloatsOf(const Bytes& bytes) {
  StateReader in(bytes);
  return in.Floats(bytes.size() / sizeof(float));
}

// A state with a number before it: the version that it is of, or the steps that it has made.
Bytes Numbered(int64_t number, ByteSpan state) {
  StateWriter out;
  out.Number(static_cast<uint64_t>(number));
  out.Blob(state);
  return out.Take();
}

std::pair<int64_t, ByteSpan> NumberedOf(const Bytes& bytes) {
  StateReader in(bytes);
  const auto number = static_cast<int64_t>(in.Number());
  return {number, in.Blob()};
}

// Returns the bytes that go up in the place of so many.
int64_t Masked(const FederatedOptions& options, int64_t bytes) {
  if (options.masked_bytes <= 0) return bytes;
  return static_cast<int64_t>(std::ceil(options.masked_bytes * static_cast<double>(bytes)));
}

constexpr uint64_t kStateVersion = 2;
constexpr uint64_t kMostNumber = uint64_t{1} << 62;

void SaveVersion(const ModelVersion& version, StateWriter& out) {
  out.Number(static_cast<uint64_t>(version.number));
  for (const auto* values : {&version.weights, &version.buffers, &version.downlink}) {
    out.Number(values->size());
    out.Floats(*values);
  }
  out.Number(version.parameters.size());
  for (const double parameter : version.parameters) out.Real(parameter);
  out.Number(static_cast<uint64_t>(version.announcement_bytes));
  if (version.delta) out.Number(static_cast<uint64_t>(version.delta->sent));
}

// Reads a version whose vectors are as long as those of `like`.
std::shared_ptr<ModelVersion> LoadVersion(const ModelVersion& like, StateReader& in) {
  auto version = std::make_shared<ModelVersion>();
  version->number = static_cast<int64_t>(in.Number("version of the model", kMostNumber));
  const auto floats = [&](const char* what, const std::vector<float>& other) {
    in.ExpectNumber(what, other.size());
    return in.Floats(other.size());
  };
  version->weights = floats("weights", like.weights);
  version->buffers = floats("statistics", like.buffers);
  version->downlink = floats("second vector of the algorithm", like.downlink);
  // The newest version has none.
  for (uint64_t left = in.Number("parameters of units", like.parameters.size()); left > 0; --left) {
    version->parameters.push_back(in.Real("parameter of a unit"));
  }
  version->announcement_bytes = static_cast<int64_t>(in.Number("bytes of the policy", kMostNumber));
  version->delta = like.delta;
  if (version->delta) {
    version->delta->sent = static_cast<int64_t>(in.Number("bytes of deltas", kMostNumber));
  }
  return version;
}

}  // namespace

std::unique_ptr<Aggregator> AggregatorOf(const FederatedOptions& options,
                                         std::span<const Unit> layers, int64_t clients) {
  return MakeAggregator(options.algorithm, {.numel = layers.back().offset + layers.back().numel,
                                            .clients = clients,
                                            .local_momentum = options.local.sgd.momentum});
}

std::vector<std::unique_ptr<LocalTrainer>> TrainersOf(const FederatedOptions& options,
                                                      const Task& task, const SampleSet& samples,
                                                      const ModelRequest& request,
                                                      const ClientRule& rule) {
  std::vector<std::unique_ptr<LocalTrainer>> trainers;
  for (int i = 0; i < options.threads; ++i) {
    trainers.push_back(std::make_unique<LocalTrainer>(task, samples, request, options.local, rule));
  }
  return trainers;
}

void CheckFederated(const FederatedOptions& options) {
  const auto at_least = [](const char* what, int64_t got, int64_t least) {
    if (got < least) throw Error(what, std::to_string(got), "at least " + std::to_string(least));
  };
  at_least("rounds", options.versions, 1);
  at_least("local epochs", options.epochs, options.steps > 0 ? 0 : 1);
  if (options.most_epochs > 0) at_least("local epochs", options.most_epochs, options.epochs);
  at_least("threads", options.threads, 1);
  at_least("residual age", options.residual_age, 0);
  CheckSchedule(options.schedule);
}

LocalTask LocalTaskOf(const FederatedOptions& options, const FederatedKey& key,
                      std::span<const int64_t> samples) {
  int64_t epochs = options.epochs;
  if (options.most_epochs > epochs) {
    RandomStream random({.seed = options.local.seed,
                         .step = static_cast<uint64_t>(key.Draws()),
                         .worker = static_cast<uint32_t>(key.client),
                         .layer = 1,
                         .purpose = Purpose::kLocalOrder});
    epochs += random.Below(static_cast<uint32_t>(options.most_epochs - epochs + 1));
  }
  return {.version = key.Draws(),
          .client = key.client,
          .samples = samples,
          .epochs = epochs,
          .steps = options.steps,
          .base = {},
          .rate = {}};
}

std::function<double(int64_t)> LocalRatesOf(const FederatedOptions& options, int64_t samples,
                                            int64_t clients, int64_t version, int64_t first_step) {
  if (!options.rate_over_steps) {
    const double rate = LearningRate(options.schedule, version, options.versions);
    return [rate](int64_t) { return rate; };
  }
  const int64_t batch = options.local.batch_size;
  const auto epoch = static_cast<double>((samples + batch - 1) / batch);
  const auto epochs =
      static_cast<double>(options.epochs + std::max(options.epochs, options.most_epochs)) / 2;
  const double task = options.steps > 0 ? static_cast<double>(options.steps) : epochs * epoch;
  const double tasks = static_cast<double>(options.versions) *
                       static_cast<double>(options.per_version) / static_cast<double>(clients);
  const int64_t total = std::max<int64_t>(1, std::llround(task * tasks));
  return [&options, first_step, total](int64_t step) {
    return LearningRate(options.schedule, first_step + step, total);
  };
}

double MeanRate(const LocalTask& task, int64_t steps) {
  const double first = task.rate(0);
  double sum = 0;
  bool constant = true;
  for (int64_t step = 0; step < steps; ++step) {
    sum += task.rate(step);
    constant = constant && task.rate(step) == first;
  }
  return constant ? first : sum / static_cast<double>(steps);
}

struct FederatedTraining::Impl {
  Impl(const FederatedOptions& chosen, const Task& chosen_task, const ModelRequest& request,
       const Partition& chosen_partition, std::unique_ptr<Policy> chosen_policy,
       ClientStore& chosen_store);
  ~Impl();

  void Check() const;
  // Checks what secure aggregation needs.
  void CheckMasks() const;
  // The server's weights of the newest version.
  std::vector<float>& ServerWeights() { return downlink->Exact() ? newest->weights : own; }
  // Makes the newest version of the server's weights and buffers.
  void Publish(std::vector<float> weights, std::vector<float> buffers, int64_t announcement_bytes);
  // Returns the newest version. The policy decides for it as late as possible, so that what is
  // saved behind a version is the policy before that.
  const ModelVersion& Decided();
  // Lets the policy announce what it will decide for the next versions. Returns the bytes that tell
  // clients.
  int64_t Announce();
  LocalTask TaskOf(const FederatedKey& key, const ModelVersion& base,
                   std::span<const int64_t> samples) const;
  int64_t CountedSteps(int64_t client) const {
    const auto found = steps.find(client);
    return found == steps.end() ? 0 : found->second;
  }
  // Trains and encodes a task. It changes nothing else.
  void Run(LiveTask& task, LocalTrainer& trainer);
  void Help(size_t thread);
  void Begin(std::shared_ptr<LiveTask> task);
  std::shared_ptr<LiveTask> Take(const FederatedKey& key);
  // Adds a counted task to the aggregator, and renews what its client keeps.
  void Add(const LiveTask& task);
  void KeepOf(const LiveTask& task);
  // True where a client may start a task before its last one is in a version.
  bool KeepsAtCount() const { return aggregator->Traits().buffer > 0; }

  FederatedOptions options;
  const Task& task;
  const Partition& partition;
  std::unique_ptr<Policy> policy;
  ClientStore& store;
  std::unique_ptr<SampleSet> samples;
  std::unique_ptr<Aggregator> aggregator;
  Weighting weighting;
  std::vector<std::unique_ptr<LocalTrainer>> trainers;  // one for each thread
  std::unique_ptr<LocalTrainer> judge;                  // for evaluations
  std::unique_ptr<Uplink> uplink;
  std::unique_ptr<Downlink> downlink;
  DownlinkLedger ledger;             // of deltas
  std::map<int64_t, int64_t> steps;  // local steps of counted tasks, by client
  WorkerPool judges;
  std::shared_ptr<ModelVersion> newest;
  std::vector<float> own;     // the server's weights, where clients decode others
  bool decided = false;       // true where it has parameters
  std::vector<double> known;  // EF21: mean over all clients of what the server knows of them
  std::map<FederatedKey, std::shared_ptr<LiveTask>> live;
  std::vector<std::shared_ptr<LiveTask>> counted;
  // Sums over the counted tasks, while a version is made.
  std::vector<double> buffer_sum;
  double weight_sum = 0;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<LiveTask>> queue;
  bool stop = false;
  std::vector<std::thread> helpers;
};

FederatedTraining::Impl::Impl(const FederatedOptions& chosen, const Task& chosen_task,
                              const ModelRequest& request, const Partition& chosen_partition,
                              std::unique_ptr<Policy> chosen_policy, ClientStore& chosen_store)
    : options(chosen),
      task(chosen_task),
      partition(chosen_partition),
      policy(std::move(chosen_policy)),
      store(chosen_store),
      samples(task.OpenSamples()),
      judges(chosen.threads, UseOneThread) {
  KeepFreedMemory();
  UseOneThread();
  const std::vector<Unit> layers = LayersOf(request);
  aggregator = AggregatorOf(options, layers, partition.Clients());
  weighting = options.weighting.value_or(aggregator->Traits().weighting);
  uplink = std::make_unique<Uplink>(options.scheme,
                                    PlanUnits(layers, options.scope, options.buckets).units,
                                    options.memory, options.residual_decay);
  downlink = std::make_unique<Downlink>(options.downlink, layers, options.local.seed);
  Check();
  trainers = TrainersOf(options, task, *samples, request, aggregator->Traits().client);
  judge = std::make_unique<LocalTrainer>(task, *samples, request, options.local, ClientRule());
  if (options.memory == UplinkMemory::kEf21) known.resize(judge->initial_weights().size());
  Publish(judge->initial_weights(), judge->initial_buffers(), 0);
  Decided();
  if (options.threads == 1) return;
  for (int i = 0; i < options.threads; ++i) {
    helpers.emplace_back([this, i] { Help(static_cast<size_t>(i)); });
  }
}

FederatedTraining::Impl::~Impl() {
  {
    const std::lock_guard lock(mutex);
    stop = true;
    queue.clear();
  }
  changed.notify_all();
  for (std::thread& helper : helpers) helper.join();
}

void FederatedTraining::Impl::Check() const {
  CheckFederated(options);
  if (options.masked_bytes > 0) CheckMasks();
  if (options.memory == UplinkMemory::kEf21 &&
      (!aggregator->Traits().mean_alone || weighting != Weighting::kUniform)) {
    throw Error("uplink memory", "ef21",
                "client or off with algorithm " + options.algorithm +
                    ", as ef21 gives the server a uniform mean of all clients alone");
  }
  if (policy->Traits().reads_clock || policy->Traits().has_candidates) {
    throw Error("policy", std::string(policy->Name()),
                "one that reads neither a clock nor the gradients of workers, which federated "
                "clients do not have");
  }
}

void FederatedTraining::Impl::CheckMasks() const {
  const auto refuse = [](const std::string& what, const std::string& why) {
    throw Error("secure aggregation", "on", "off with " + what + ": " + why);
  };
  const AggregatorTraits& traits = aggregator->Traits();
  if (traits.buffer > 0) {
    refuse("algorithm " + options.algorithm,
           "the server weighs each update by its staleness, and sees sums alone");
  }
  if (traits.client.control && traits.up_vectors == 1) {
    refuse("algorithm " + options.algorithm,
           "the server derives each client's control variate; scaffold:uplink=two sends them");
  }
  if (options.drop_diverged) refuse("diverged=drop", "nobody sees which update is not finite");
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
      // Of clients with schedules of their own, policies see no rate.
      .learning_rate = options.rate_over_steps
                           ? options.schedule.learning_rate
                           : LearningRate(options.schedule, newest->number, options.versions),
      .steps_per_epoch = std::max<int64_t>(1, partition.Clients() / options.per_version)};
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

LocalTask FederatedTraining::Impl::TaskOf(const FederatedKey& key, const ModelVersion& base,
                                          std::span<const int64_t> own) const {
  LocalTask local = LocalTaskOf(options, key, own);
  local.base = base.weights;
  local.buffers = base.buffers;
  local.downlink = base.downlink;
  return local;
}

void FederatedTraining::Impl::Run(LiveTask& live_task, LocalTrainer& trainer) {
  const FederatedKey& key = live_task.key;
  const ModelVersion& base = *live_task.base;
  const std::vector<int64_t> own = partition.SamplesOf(key.client);
  LocalTask local = TaskOf(key, base, own);
  local.rate = LocalRatesOf(options, partition.SizeOf(key.client), partition.Clients(), key.version,
                            live_task.first_step);
  std::vector<float> state, statistics;
  if (aggregator->Traits().client.HasState()) {
    const auto kept = store.Get(key.client, StateKind::kControl);
    state = kept ? FloatsOf(*kept) : std::vector<float>(base.weights.size());
    local.state = state;
  }
  if (options.batch_norm == BatchNormRule::kLocal) {
    if (const auto kept = store.Get(key.client, StateKind::kBatchNorm)) {
      statistics = FloatsOf(*kept);
      local.buffers = statistics;
    }
  }
  std::optional<Bytes> optimizer;
  if (options.keep_optimizer) {
    optimizer = store.Get(key.client, StateKind::kOptimizer);
    if (optimizer) std::tie(local.first_step, local.optimizer) = NumberedOf(*optimizer);
  }
  LocalResult trained = trainer.Train(local);
  live_task.result = {.local_steps = trained.local_steps,
                      .samples = trained.samples,
                      .loss = trained.loss,
                      .squared_loss = trained.squared_loss,
                      .rate = MeanRate(local, trained.local_steps),
                      .finite = trained.finite};
  if (!trained.finite) return;
  live_task.buffers = std::move(trained.buffers);
  if (options.keep_optimizer) {
    live_task.optimizer = Numbered(local.first_step + trained.local_steps, trained.optimizer);
  }
  const UplinkKey draws = {
      .seed = options.local.seed, .version = key.Draws(), .client = key.client};
  std::optional<Bytes> kept;
  ByteSpan residual;
  if (uplink->Keeps(base.parameters)) {
    kept = store.Get(key.client, StateKind::kResidual);
    if (kept) {
      const auto [version, bytes] = NumberedOf(*kept);
      const bool old = options.residual_age > 0 && key.version - version > options.residual_age;
      if (!old) residual = bytes;
    }
  }
  live_task.update = uplink->Encode(trained.update, base.parameters, residual, draws);
  const auto add_bytes = [&](const EncodedUpdate& encoded) {
    live_task.result.unit_bytes.resize(encoded.messages.size());
    for (size_t u = 0; u < encoded.messages.size(); ++u) {
      live_task.result.unit_bytes[u] += encoded.messages[u].size();
    }
    live_task.result.up_bytes += encoded.bytes();
  };
  add_bytes(live_task.update);
  if (aggregator->Traits().up_vectors == 2) {
    const double moves = static_cast<double>(trained.local_steps) * live_task.result.rate;
    const auto scale = static_cast<float>(moves > 0 ? 1 / moves : 0);
    std::vector<float>& moved = trained.update;
    for (size_t i = 0; i < moved.size(); ++i) {
      moved[i] = moves > 0 ? -base.downlink[i] - scale * moved[i] : 0;
    }
    EncodedUpdate control = uplink->Encode(moved, base.parameters, {}, draws);
    add_bytes(control);
    live_task.control = std::move(control.messages);
  }
  if (options.batch_norm == BatchNormRule::kAverage) {
    live_task.result.up_bytes += std::ssize(live_task.buffers) * int64_t{sizeof(float)};
  }
  live_task.result.up_bytes = Masked(options, live_task.result.up_bytes);
}

void FederatedTraining::Impl::Help(size_t thread) {
  UseOneThread();
  while (true) {
    std::shared_ptr<LiveTask> next;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return stop || !queue.empty(); });
      if (stop) return;
      next = std::move(queue.front());
      queue.pop_front();
      next->stage = LiveTask::Stage::kRunning;
    }
    try {
      Run(*next, *trainers[thread]);
    } catch (...) {
      next->failure = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex);
      next->stage = LiveTask::Stage::kDone;
    }
    changed.notify_all();
  }
}

void FederatedTraining::Impl::Begin(std::shared_ptr<LiveTask> task) {
  live[task->key] = task;
  if (helpers.empty()) return;
  {
    const std::lock_guard lock(mutex);
    queue.push_back(std::move(task));
  }
  changed.notify_all();
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
    const auto kept = store.Get(done.key.client, StateKind::kControl);
    std::vector<float> state = kept ? FloatsOf(*kept) : std::vector<float>(decoded.size());
    aggregator->Advance(update, state);
    store.Put(done.key.client, StateKind::kControl, FloatBytes(state));
  }
  if (known.empty()) {
    aggregator->Add(update);
  } else {
    const auto clients = static_cast<double>(partition.Clients());
    for (size_t i = 0; i < known.size(); ++i) known[i] += static_cast<double>(decoded[i]) / clients;
  }
  for (size_t i = 0; i < done.buffers.size(); ++i) {
    buffer_sum[i] += weight * static_cast<double>(done.buffers[i]);
  }
  weight_sum += weight;
  if (!KeepsAtCount()) KeepOf(done);
}

// Renews what the client of a counted task keeps.
void FederatedTraining::Impl::KeepOf(const LiveTask& done) {
  if (options.rate_over_steps) steps[done.key.client] += done.result.local_steps;
  if (done.base->delta) ledger.Decoded(done.key.client, done.key.version, *done.base->delta);
  if (!done.update.state.empty()) {
    store.Put(done.key.client, StateKind::kResidual, Numbered(done.key.version, done.update.state));
  }
  if (options.keep_optimizer) {
    store.Put(done.key.client, StateKind::kOptimizer, done.optimizer);
  }
  if (options.batch_norm == BatchNormRule::kLocal && !done.buffers.empty()) {
    store.Put(done.key.client, StateKind::kBatchNorm, FloatBytes(done.buffers));
  }
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
  started->first_step = my.CountedSteps(key.client);
  my.Begin(std::move(started));
}

const FederatedResult& FederatedTraining::Finish(const FederatedKey& key) {
  using Stage = LiveTask::Stage;
  Impl& my = *impl_;
  LiveTask& task = *my.live.at(key);
  if (my.helpers.empty()) {
    if (task.stage == Stage::kWaiting) {
      my.Run(task, *my.trainers.front());
      task.stage = Stage::kDone;
    }
  } else {
    std::unique_lock lock(my.mutex);
    my.changed.wait(lock, [&] { return task.stage == Stage::kDone; });
  }
  if (task.failure) std::rethrow_exception(task.failure);
  if (!task.result.finite && !my.options.drop_diverged) {
    throw Error("version " + std::to_string(key.version) + ", client " +
                std::to_string(key.client) +
                ": its update is not finite; a lower learning rate or clipping may help");
  }
  return task.result;
}

void FederatedTraining::Abandon(const FederatedKey& key) {
  Impl& my = *impl_;
  const std::shared_ptr<LiveTask> task = my.Take(key);
  const std::lock_guard lock(my.mutex);
  std::erase(my.queue, task);
}

void FederatedTraining::Count(const FederatedKey& key, int times) {
  const FederatedResult& result = Finish(key);
  std::shared_ptr<LiveTask> task = impl_->Take(key);
  if (!result.finite) return;
  task->times = times;
  if (impl_->KeepsAtCount()) impl_->KeepOf(*task);
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
const DownlinkLedger& FederatedTraining::ledger() const { return impl_->ledger; }

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
  return Masked(impl_->options,
                *messages * impl_->aggregator->Traits().up_vectors +
                    (statistics ? static_cast<int64_t>(newest.buffers.size() * sizeof(float)) : 0));
}

int64_t FederatedTraining::LocalStepsOf(const FederatedKey& key) const {
  const std::vector<int64_t> own(static_cast<size_t>(impl_->partition.SizeOf(key.client)));
  return LocalSteps(impl_->TaskOf(key, *impl_->newest, own), impl_->options.local.batch_size);
}

std::vector<Decision> FederatedTraining::TakeDecisions() { return impl_->policy->TakeDecisions(); }

Evaluation FederatedTraining::Evaluate() {
  Impl& my = *impl_;
  return EvaluateOn(my.task, my.judge->Set(my.ServerWeights(), my.newest->buffers),
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
  assert(!my.decided);  // nothing has started from it
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
  SaveParts(out, *my.downlink, my.ledger);
  out.Number(my.steps.size());
  for (const auto& [client, count] : my.steps) {
    out.Number(static_cast<uint64_t>(client));
    out.Number(static_cast<uint64_t>(count));
  }
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
  my.ledger.Load(in);
  my.steps.clear();
  for (uint64_t left = in.Number("clients with steps", in.Left()); left > 0; --left) {
    const auto client = static_cast<int64_t>(in.Number("client", kMostNumber));
    my.steps[client] = static_cast<int64_t>(in.Number("steps of a client", kMostNumber));
  }
  my.aggregator->Load(in);
  LoadPolicy(*my.policy, in);
  my.newest = bases.rbegin()->second;
  my.decided = false;
  for (std::shared_ptr<LiveTask>& task : live) {
    task->first_step = my.CountedSteps(task->key.client);
    my.Begin(std::move(task));
  }
}

}  // namespace legacy

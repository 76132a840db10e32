#include "trainer/torch/federated/exchange_training.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "trainer/federated/fragments.h"
#include "trainer/host_exchange.h"
#include "trainer/torch/heap.h"
#include "trainer/torch/one_thread.h"
#include "trainer/worker_pool.h"

namespace legacy {
struct ExchangeTraining::Impl {
  static constexpr uint64_t kFormat = 1;  // of the saved state
  static constexpr uint64_t kMost = uint64_t{1} << 62;

  // A Silo has the state that a client keeps from version to version, besides its residual.
  struct Silo {
    Bytes optimizer;             // of the last task; empty: a new one
    int64_t steps = 0;           // of all its tasks
    std::vector<float> buffers;  // statistics of batch norm, if they are its own
    std::vector<float> weights;  // where exchanges stream, its own; empty: the version's
  };

  // A Progress says how far a client has got with its task for the version that is being made.
  struct Progress {
    Bytes optimizer;
    std::vector<float> buffers;
    int64_t steps = 0;
    int64_t seen = 0;  // samples of these
    double loss = 0;   // mean over them
  };

  // A Part is a fragment of the model, with the objects that exchange it and make its versions.
  struct Part {
    ExchangeMethod method;
    Fragment fragment;
    std::unique_ptr<Aggregator> aggregator;
    std::unique_ptr<Aggregation> aggregation;

    std::span<float> Of(std::vector<float>& whole) const {
      return std::span(whole).subspan(static_cast<size_t>(fragment.offset),
                                      static_cast<size_t>(fragment.numel));
    }
  };

  Impl(const FederatedOptions& chosen, const Task& chosen_task, const ModelRequest& request,
       const Partition& chosen_partition, const ExchangeMethods& methods);

  void Check(const AggregatorTraits& traits) const;
  void CheckMethod(const ExchangeMethod& method) const;
  int Clients() const { return static_cast<int>(partition.Clients()); }
  int64_t Numel() const { return std::ssize(weights); }
  // Returns the factor by which an update is multiplied, so that the mean of all is the weighted
  // mean.
  float ShareOf(int64_t client) const;
  StepInfo InfoOfVersion() const;
  // Returns the number of steps of a client's task that belong to a part's turn; without streams,
  // all of them.
  FragmentTurn TurnOf(const Part& part) const;
  // Trains a client up to a step of its task in this version. Returns the movement of the weights.
  std::vector<float> Train(int64_t client, int64_t until, LocalTrainer& trainer);
  // Makes a client's steps of a part's turn, and hands its update of the part to the exchange.
  void TakeTurn(const Part& part, int64_t client, LocalTrainer& trainer);
  // Makes the turn of a part: all clients train, exchange it and take its next version.
  StepWork Exchange(const Part& part, const StepInfo& info);
  // Averages the statistics of batch norm of all clients: those that travel by an exchange, and
  // those that clients keep only for evaluations.
  void AverageBuffers(const StepInfo& info, StepWork& work);
  // Makes the next version of a part from the mean; clients take it.
  void ApplyMean(const Part& part);
  void Feed(const Part& part, std::span<const BucketWork> buckets);
  void EndTasks();

  FederatedOptions options;
  const Task& task;
  const Partition& partition;
  std::unique_ptr<SampleSet> samples;
  std::vector<Part> parts;
  std::vector<Unit> units;          // of all parts
  std::vector<FragmentTurn> turns;  // of the parts, where exchanges stream
  Weighting weighting;
  bool keeps_optimizer;
  std::vector<std::unique_ptr<LocalTrainer>> trainers;  // one for each thread
  WorkerPool pool;
  // Statistics of batch norm travel as one unit of fp32; null: they do not.
  std::unique_ptr<Scheme> plain;
  std::unique_ptr<HostModelExchange> statistics;
  double samples_in_all = 0;
  std::vector<float> weights, buffers, mean;
  std::vector<Silo> silos;
  std::vector<Progress> tasks;  // of the version that is being made, by client
  std::vector<double> rates;    // means of the last version, by client
  int64_t version = 0;
};

ExchangeTraining::Impl::Impl(const FederatedOptions& chosen, const Task& chosen_task,
                             const ModelRequest& request, const Partition& chosen_partition,
                             const ExchangeMethods& methods)
    : options(chosen),
      task(chosen_task),
      partition(chosen_partition),
      samples(task.OpenSamples()),
      pool(chosen.threads, UseOneThread) {
  KeepFreedMemory();
  UseOneThread();
  const std::vector<Unit> layers = LayersOf(request);
  const AggregatorTraits traits =
      AggregatorOf(options, NumelOf(layers), partition.Clients())->Traits();
  weighting = options.weighting.value_or(traits.weighting);
  keeps_optimizer = KeepsOptimizer(options, traits);
  Check(traits);
  for (Fragment& fragment :
       CutFragments(layers, traits.fragments, options.scope, options.buckets)) {
    Part& part = parts.emplace_back();
    part.method = methods(fragment.plan.units);
    part.fragment = std::move(fragment);
    part.aggregator = AggregatorOf(options, part.fragment.numel, partition.Clients());
    CheckMethod(part.method);
  }
  trainers = TrainersOf(options, task, *samples, request, traits.client);
  weights = trainers.front()->initial_weights();
  buffers = trainers.front()->initial_buffers();
  mean.resize(weights.size());
  silos.resize(static_cast<size_t>(Clients()));
  tasks.resize(silos.size());
  rates.resize(silos.size());
  for (int64_t client = 0; client < Clients(); ++client) {
    samples_in_all += static_cast<double>(partition.SizeOf(client));
  }
  if (traits.Streams()) {
    turns = TurnsOf(traits.fragments, traits.overlap, options.steps);
    for (Silo& silo : silos) silo.weights = weights;
  }
  for (Part& part : parts) {
    const UnitPlan& plan = part.fragment.plan;
    units.insert(units.end(), plan.units.begin(), plan.units.end());
    auto exchange =
        std::make_unique<HostModelExchange>(*part.method.scheme, plan.units, Clients(), pool);
    part.aggregation =
        std::make_unique<Aggregation>(plan, *part.method.policy, Clients(), std::move(exchange));
  }
  if (options.batch_norm == BatchNormRule::kLocal || buffers.empty()) return;
  plain = MakeScheme("dense");
  const auto numel = std::ssize(buffers);
  const Unit unit = {.id = 0, .name = "statistics", .shape = {numel}, .offset = 0, .numel = numel};
  statistics = std::make_unique<HostModelExchange>(*plain, std::span(&unit, 1), Clients(), pool);
}

void ExchangeTraining::Impl::Check(const AggregatorTraits& traits) const {
  CheckFederated(options);
  const int64_t clients = partition.Clients();
  if (clients < 2 || clients > kMostExchangingClients) {
    throw Error("clients that exchange", std::to_string(clients),
                "2 to " + std::to_string(kMostExchangingClients));
  }
  if (traits.buffer > 0 || !traits.mean_alone || traits.client.HasState() ||
      traits.up_vectors > 1) {
    throw Error("algorithm", options.algorithm,
                "one that needs the mean update alone, without a server: fedavg, fedprox, fedavgm, "
                "fedadagrad, fedadam, fedyogi, diloco");
  }
  if (traits.Streams() && options.steps == 0) {
    throw Error("algorithm", options.algorithm,
                "one without fragments and overlap: these need local work in steps, as steps:50");
  }
}

void ExchangeTraining::Impl::CheckMethod(const ExchangeMethod& method) const {
  const SchemeTraits& sends = method.scheme->Traits();
  if (sends.owns_momentum || sends.momentum_from || method.scheme->LocalClipNorm(Clients())) {
    throw Error("scheme", std::string(method.scheme->Name()),
                "one of gradients alone: updates of clients have neither momentum nor a norm to "
                "clip to");
  }
  if (method.policy->Traits().reads_clock) {
    throw Error("policy", std::string(method.policy->Name()), "one that reads no clock");
  }
}

float ExchangeTraining::Impl::ShareOf(int64_t client) const {
  const auto size = static_cast<double>(partition.SizeOf(client));
  const auto clients = static_cast<double>(Clients());
  if (weighting == Weighting::kUniform) {
    return size > 0 ? static_cast<float>(clients / static_cast<double>(partition.Holders())) : 0;
  }
  return static_cast<float>(size * clients / samples_in_all);
}

StepInfo ExchangeTraining::Impl::InfoOfVersion() const {
  return {.seed = options.local.seed,
          .step = version,
          .total_steps = options.versions,
          .learning_rate = LearningRate(options.schedule, version, options.versions)};
}

FragmentTurn ExchangeTraining::Impl::TurnOf(const Part& part) const {
  if (turns.empty()) return {};
  return turns[static_cast<size_t>(&part - parts.data())];
}

std::vector<float> ExchangeTraining::Impl::Train(int64_t client, int64_t until,
                                                 LocalTrainer& trainer) {
  const FederatedKey key = {.version = version, .client = client};
  const std::vector<int64_t> own = partition.SamplesOf(client);
  LocalTask local = LocalTaskOf(options, key, own);
  Silo& silo = silos[static_cast<size_t>(client)];
  Progress& made = tasks[static_cast<size_t>(client)];
  const bool begins = made.steps == 0;
  local.base = silo.weights.empty() ? weights : silo.weights;
  local.buffers = begins && silo.buffers.empty() ? buffers : begins ? silo.buffers : made.buffers;
  local.optimizer = begins ? silo.optimizer : made.optimizer;
  local.first_step = keeps_optimizer ? silo.steps : 0;
  local.rate =
      LocalRatesOf(options, partition.SizeOf(client), partition.Holders(), version, silo.steps);
  if (begins && !own.empty()) {
    rates[static_cast<size_t>(client)] =
        MeanRate(local, LocalSteps(local, options.local.batch_size));
  }
  local.keep_weights = !silo.weights.empty();
  local.from = made.steps;
  if (until > 0) local.steps = until;
  LocalResult result = trainer.Train(local);
  if (!result.finite) {
    throw Error("version " + std::to_string(version) + ", client " + std::to_string(client) +
                ": its update is not finite; a lower learning rate or clipping may help");
  }
  const auto seen = static_cast<double>(made.seen), fresh = static_cast<double>(result.seen);
  made.loss = begins ? result.loss : (made.loss * seen + result.loss * fresh) / (seen + fresh);
  made.steps += result.local_steps;
  made.seen += result.seen;
  made.optimizer = std::move(result.optimizer);
  made.buffers = std::move(result.buffers);
  if (local.keep_weights) silo.weights = std::move(result.weights);
  return std::move(result.update);
}

void ExchangeTraining::Impl::TakeTurn(const Part& part, int64_t client, LocalTrainer& trainer) {
  const FragmentTurn turn = TurnOf(part);
  std::vector<float> update = Train(client, turn.sent, trainer);
  const Silo& silo = silos[static_cast<size_t>(client)];
  if (!silo.weights.empty()) {
    for (size_t i = 0; i < update.size(); ++i) update[i] = silo.weights[i] - weights[i];
  }
  const float share = ShareOf(client);
  for (float& value : update) value *= -share;
  part.aggregation->AddGradient(static_cast<int>(client), update.data(), [&](size_t u) {
    const Unit& unit = part.aggregation->plan().units[u];
    return std::span<const float>(update).subspan(static_cast<size_t>(unit.offset),
                                                  static_cast<size_t>(unit.numel));
  });
  if (turn.end > turn.sent) Train(client, turn.end, trainer);
}

void ExchangeTraining::Impl::AverageBuffers(const StepInfo& info, StepWork& work) {
  if (!statistics) {
    std::vector<double> sum(buffers.size());
    for (int64_t client = 0; client < Clients(); ++client) {
      const std::vector<float>& own = tasks[static_cast<size_t>(client)].buffers;
      const double share = ShareOf(client) / static_cast<double>(Clients());
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += share * static_cast<double>(own[i]);
    }
    std::ranges::transform(sum, buffers.begin(), [](double v) { return static_cast<float>(v); });
    return;
  }
  const double parameter = 1;
  statistics->Begin({.info = info, .parameters = {&parameter, 1}});
  pool.ForEach(Clients(), [&](int64_t client, int) {
    std::vector<float> own = tasks[static_cast<size_t>(client)].buffers;
    const float share = ShareOf(client);
    for (float& value : own) value *= share;
    statistics->Encode(static_cast<int>(client), own.data());
  });
  statistics->Finish(buffers.data());
  work.buckets.push_back({{}, std::ssize(buffers), statistics->Calls(0)});
}

// The exchange has the mean movement of the clients, negated as a gradient is.
void ExchangeTraining::Impl::ApplyMean(const Part& part) {
  const std::span<float> moved = part.Of(mean), model = part.Of(weights);
  std::vector<double> update(moved.size());
  for (size_t i = 0; i < update.size(); ++i) update[i] = -static_cast<double>(moved[i]);
  part.aggregator->ApplyMean(model, update);
  const double mix = part.aggregator->Traits().mix;
  for (Silo& silo : silos) {
    if (silo.weights.empty()) continue;
    const std::span<float> own = part.Of(silo.weights);
    for (size_t i = 0; i < own.size(); ++i) {
      own[i] = static_cast<float>(mix * static_cast<double>(own[i]) +
                                  (1 - mix) * static_cast<double>(model[i]));
    }
  }
}

StepWork ExchangeTraining::Impl::Exchange(const Part& part, const StepInfo& info) {
  part.aggregation->Begin(info);
  std::vector<int64_t> before(tasks.size());
  std::ranges::transform(tasks, before.begin(), &Progress::steps);
  pool.ForEach(Clients(), [&](int64_t client, int thread) {
    TakeTurn(part, client, *trainers[static_cast<size_t>(thread)]);
  });
  part.aggregation->Finish(mean.data());

  const auto number = &part - parts.data();
  StepWork work = {.step = version * std::ssize(parts) + number,
                   .workers = Clients(),
                   .batch_size = options.local.batch_size};
  // The work after an exchange is charged at the beginning of the next local steps: the update of
  // the weights that all agree on, and their copy, or their mixture with a client's own.
  const Part& last = number == 0 ? parts.back() : parts[static_cast<size_t>(number) - 1];
  const bool mixes = part.aggregator->Traits().overlap > 0;
  work.update = {{last.aggregator->Traits().kernel, last.fragment.numel},
                 {mixes ? "accumulate" : "copy", last.fragment.numel}};
  work.whole_gradient = {{"accumulate", part.fragment.numel}};
  work.buckets = part.aggregation->Buckets();
  if (&part == &parts.back()) AverageBuffers(info, work);
  for (size_t client = 0; client < tasks.size(); ++client) {
    work.local_steps.push_back(tasks[client].steps - before[client]);
  }
  ApplyMean(part);
  return work;
}

void ExchangeTraining::Impl::Feed(const Part& part, std::span<const BucketWork> buckets) {
  int64_t holder = 0;
  while (partition.SizeOf(holder) == 0) ++holder;
  const Progress& first = tasks[static_cast<size_t>(holder)];
  const bool reads_mean = part.method.policy->ReadsMeanGradient();
  part.aggregation->OnFeedback(
      {.step = version,
       .loss = first.loss,
       .mean_gradient = reads_mean ? std::span<const float>(mean) : std::span<const float>()},
      buckets, StepTimes());
}

void ExchangeTraining::Impl::EndTasks() {
  for (size_t client = 0; client < tasks.size(); ++client) {
    Progress& made = tasks[client];
    Silo& silo = silos[client];
    if (options.batch_norm == BatchNormRule::kLocal) silo.buffers = std::move(made.buffers);
    silo.steps += made.steps;
    if (keeps_optimizer) silo.optimizer = std::move(made.optimizer);
    made = {};
  }
}

ExchangeTraining::ExchangeTraining(const FederatedOptions& options, const Task& task,
                                   const ModelRequest& model, const Partition& partition,
                                   const ExchangeMethods& methods)
    : impl_(std::make_unique<Impl>(options, task, model, partition, methods)) {}

ExchangeTraining::~ExchangeTraining() = default;

ExchangeOutcome ExchangeTraining::Round() {
  Impl& my = *impl_;
  const StepInfo info = my.InfoOfVersion();
  ExchangeOutcome outcome = {.learning_rate = info.learning_rate};
  for (const Impl::Part& part : my.parts) {
    outcome.works.push_back(my.Exchange(part, info));
    const std::vector<UnitOutcome> units = part.aggregation->Outcomes();
    outcome.units.insert(outcome.units.end(), units.begin(), units.end());
    my.Feed(part, outcome.works.back().buckets);
  }
  for (const Impl::Progress& made : my.tasks) {
    outcome.loss += made.loss / static_cast<double>(my.partition.Holders());
  }
  if (my.options.rate_over_steps) {
    outcome.learning_rate = std::accumulate(my.rates.begin(), my.rates.end(), 0.0) /
                            static_cast<double>(my.partition.Holders());
  }
  my.EndTasks();
  ++my.version;
  return outcome;
}

int64_t ExchangeTraining::version() const { return impl_->version; }
const AggregatorTraits& ExchangeTraining::traits() const {
  return impl_->parts.front().aggregator->Traits();
}
std::span<const Unit> ExchangeTraining::layers() const { return impl_->trainers.front()->layers(); }
std::span<const Unit> ExchangeTraining::units() const { return impl_->units; }
std::span<const float> ExchangeTraining::weights() const { return impl_->weights; }

std::vector<Decision> ExchangeTraining::TakeDecisions() {
  std::vector<Decision> all;
  for (const Impl::Part& part : impl_->parts) {
    const auto first = static_cast<size_t>(part.fragment.plan.units.front().id);
    for (Decision& decision : part.method.policy->TakeDecisions()) {
      if (decision.unit != Decision::kAllUnits) decision.unit += first;
      all.push_back(std::move(decision));
    }
  }
  std::ranges::stable_sort(all, {}, &Decision::step);
  return all;
}

Evaluation ExchangeTraining::Evaluate() {
  Impl& my = *impl_;
  return EvaluateOn(my.task, my.trainers.front()->Set(my.weights, my.buffers), my.version,
                    my.options.evaluation_batch, my.pool);
}

void ExchangeTraining::Save(StateWriter& out) const {
  const Impl& my = *impl_;
  out.Number(Impl::kFormat);
  out.Text(my.options.algorithm);
  out.Text(my.parts.front().method.scheme->Name());
  out.Number(static_cast<uint64_t>(my.version));
  for (const auto* values : {&my.weights, &my.buffers, &my.mean}) out.Floats(*values);
  for (const Impl::Silo& silo : my.silos) {
    out.Blob(silo.optimizer);
    out.Number(static_cast<uint64_t>(silo.steps));
    out.Number(silo.buffers.size());
    out.Floats(silo.buffers);
    out.Floats(silo.weights);
  }
  for (const Impl::Part& part : my.parts) {
    part.aggregator->Save(out);
    SavePolicy(*part.method.policy, out);
    const ModelExchange& exchange = part.aggregation->exchange();
    exchange.SaveShared(out);
    for (int client = 0; client < my.Clients(); ++client) exchange.SaveWorker(client, out);
  }
}

void ExchangeTraining::Load(StateReader& in) {
  Impl& my = *impl_;
  in.ExpectNumber("version of an exchange training's state", Impl::kFormat);
  in.ExpectText("algorithm", my.options.algorithm);
  in.ExpectText("scheme", my.parts.front().method.scheme->Name());
  my.version = static_cast<int64_t>(in.Number("version of the model", Impl::kMost));
  for (auto* values : {&my.weights, &my.buffers, &my.mean}) in.AnyFloats(*values);
  for (Impl::Silo& silo : my.silos) {
    const ByteSpan optimizer = in.Blob();
    silo.optimizer.assign(optimizer.begin(), optimizer.end());
    silo.steps = static_cast<int64_t>(in.Number("steps of an optimizer", Impl::kMost));
    silo.buffers.resize(in.Number("statistics of a client", my.buffers.size()));
    in.AnyFloats(silo.buffers);
    in.AnyFloats(silo.weights);
  }
  for (const Impl::Part& part : my.parts) {
    part.aggregator->Load(in);
    LoadPolicy(*part.method.policy, in);
    ModelExchange& exchange = part.aggregation->exchange();
    exchange.LoadShared(in);
    for (int client = 0; client < my.Clients(); ++client) exchange.LoadWorker(client, in);
    exchange.Loaded();
  }
}

}  // namespace legacy

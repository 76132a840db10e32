#include "trainer/federated/exchange_training.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "trainer/heap.h"
#include "trainer/host_exchange.h"
#include "trainer/one_thread.h"
#include "trainer/worker_pool.h"

namespace legacy {
struct ExchangeTraining::Impl {
  static constexpr uint64_t kFormat = 1;  // of the saved state
  static constexpr uint64_t kMost = uint64_t{1} << 62;

  // A Silo is what a client keeps from version to version, beside its residual.
  struct Silo {
    Bytes optimizer;             // of the last task; empty: a new one
    int64_t steps = 0;           // of all its tasks
    std::vector<float> buffers;  // statistics of batch norm, where they are its own
  };

  Impl(const FederatedOptions& chosen, const Task& chosen_task, const ModelRequest& request,
       const Partition& chosen_partition, std::unique_ptr<Policy> chosen_policy,
       std::unique_ptr<Scheme> chosen_scheme);

  void Check() const;
  int Clients() const { return static_cast<int>(partition.Clients()); }
  int64_t Numel() const { return std::ssize(weights); }
  // Returns what an update is multiplied with, so that the mean of all is the weighted mean.
  float ShareOf(int64_t client) const;
  StepInfo InfoOfVersion() const;
  // Trains a client and hands its update to the exchange.
  LocalResult Train(int64_t client, LocalTrainer& trainer);
  // Averages the statistics of batch norm of all clients: those that travel by an exchange, and
  // those that clients keep for evaluations alone.
  void AverageBuffers(const StepInfo& info, std::span<const LocalResult> results, StepWork& work);
  void ApplyMean(std::span<const float> mean);

  FederatedOptions options;
  const Task& task;
  const Partition& partition;
  std::unique_ptr<Scheme> scheme;
  std::unique_ptr<Policy> policy;
  std::unique_ptr<SampleSet> samples;
  std::unique_ptr<Aggregator> aggregator;
  Weighting weighting;
  bool keeps_optimizer;
  std::vector<std::unique_ptr<LocalTrainer>> trainers;  // one for each thread
  WorkerPool pool;
  std::unique_ptr<Aggregation> aggregation;
  // Statistics of batch norm travel as one unit of fp32; null: they do not.
  std::unique_ptr<Scheme> plain;
  std::unique_ptr<HostModelExchange> statistics;
  double samples_in_all = 0;
  std::vector<float> weights, buffers, mean;
  std::vector<Silo> silos;
  std::vector<double> rates;  // means of the last version, by client
  int64_t version = 0;
};

ExchangeTraining::Impl::Impl(const FederatedOptions& chosen, const Task& chosen_task,
                             const ModelRequest& request, const Partition& chosen_partition,
                             std::unique_ptr<Policy> chosen_policy,
                             std::unique_ptr<Scheme> chosen_scheme)
    : options(chosen),
      task(chosen_task),
      partition(chosen_partition),
      scheme(std::move(chosen_scheme)),
      policy(std::move(chosen_policy)),
      samples(task.OpenSamples()),
      pool(chosen.threads, UseOneThread) {
  KeepFreedMemory();
  UseOneThread();
  const std::vector<Unit> layers = LayersOf(request);
  aggregator = AggregatorOf(options, layers, partition.Clients());
  weighting = options.weighting.value_or(aggregator->Traits().weighting);
  keeps_optimizer = KeepsOptimizer(options, aggregator->Traits());
  Check();
  trainers = TrainersOf(options, task, *samples, request, aggregator->Traits().client);
  weights = trainers.front()->initial_weights();
  buffers = trainers.front()->initial_buffers();
  mean.resize(weights.size());
  silos.resize(static_cast<size_t>(Clients()));
  rates.resize(silos.size());
  for (int64_t client = 0; client < Clients(); ++client) {
    samples_in_all += static_cast<double>(partition.SizeOf(client));
  }
  UnitPlan plan = PlanUnits(layers, options.scope, options.buckets);
  auto exchange = std::make_unique<HostModelExchange>(*scheme, plan.units, Clients(), pool);
  aggregation =
      std::make_unique<Aggregation>(std::move(plan), *policy, Clients(), std::move(exchange));
  if (options.batch_norm == BatchNormRule::kLocal || buffers.empty()) return;
  plain = MakeScheme("dense");
  const auto numel = std::ssize(buffers);
  const Unit unit = {.id = 0, .name = "statistics", .shape = {numel}, .offset = 0, .numel = numel};
  statistics = std::make_unique<HostModelExchange>(*plain, std::span(&unit, 1), Clients(), pool);
}

void ExchangeTraining::Impl::Check() const {
  CheckFederated(options);
  const int64_t clients = partition.Clients();
  if (clients < 2 || clients > kMostExchangingClients) {
    throw Error("clients that exchange", std::to_string(clients),
                "2 to " + std::to_string(kMostExchangingClients));
  }
  for (int64_t client = 0; options.steps > 0 && client < clients; ++client) {
    if (partition.SizeOf(client) > 0) continue;
    throw Error("local steps", std::to_string(options.steps),
                "epochs, as client " + std::to_string(client) + " has no samples");
  }
  const AggregatorTraits& traits = aggregator->Traits();
  if (traits.buffer > 0 || !traits.mean_alone || traits.client.HasState() ||
      traits.up_vectors > 1) {
    throw Error("algorithm", options.algorithm,
                "one that needs the mean update alone, without a server: fedavg, fedprox, fedavgm, "
                "fedadagrad, fedadam, fedyogi, diloco");
  }
  const SchemeTraits& sends = scheme->Traits();
  if (sends.owns_momentum || sends.momentum_from || scheme->LocalClipNorm(Clients())) {
    throw Error("scheme", std::string(scheme->Name()),
                "one of gradients alone: updates of clients have neither momentum nor a norm to "
                "clip to");
  }
  if (policy->Traits().reads_clock) {
    throw Error("policy", std::string(policy->Name()), "one that reads no clock");
  }
}

float ExchangeTraining::Impl::ShareOf(int64_t client) const {
  if (weighting == Weighting::kUniform) return 1;
  return static_cast<float>(static_cast<double>(partition.SizeOf(client)) *
                            static_cast<double>(Clients()) / samples_in_all);
}

StepInfo ExchangeTraining::Impl::InfoOfVersion() const {
  return {.seed = options.local.seed,
          .step = version,
          .total_steps = options.versions,
          .learning_rate = LearningRate(options.schedule, version, options.versions)};
}

LocalResult ExchangeTraining::Impl::Train(int64_t client, LocalTrainer& trainer) {
  const FederatedKey key = {.version = version, .client = client};
  const std::vector<int64_t> own = partition.SamplesOf(client);
  LocalTask local = LocalTaskOf(options, key, own);
  const Silo& silo = silos[static_cast<size_t>(client)];
  local.base = weights;
  local.buffers = silo.buffers.empty() ? buffers : silo.buffers;
  local.optimizer = silo.optimizer;
  local.first_step = keeps_optimizer ? silo.steps : 0;
  local.rate =
      LocalRatesOf(options, partition.SizeOf(client), partition.Clients(), version, silo.steps);
  LocalResult result = trainer.Train(local);
  rates[static_cast<size_t>(client)] = MeanRate(local, result.local_steps);
  if (!result.finite) {
    throw Error("version " + std::to_string(version) + ", client " + std::to_string(client) +
                ": its update is not finite; a lower learning rate or clipping may help");
  }
  const float share = ShareOf(client);
  for (float& value : result.update) value *= -share;
  aggregation->AddGradient(static_cast<int>(client), result.update.data(), [&](size_t u) {
    const Unit& unit = aggregation->plan().units[u];
    return std::span<const float>(result.update)
        .subspan(static_cast<size_t>(unit.offset), static_cast<size_t>(unit.numel));
  });
  result.update = {};
  return result;
}

void ExchangeTraining::Impl::AverageBuffers(const StepInfo& info,
                                            std::span<const LocalResult> results, StepWork& work) {
  if (!statistics) {
    std::vector<double> sum(buffers.size());
    for (int64_t client = 0; client < Clients(); ++client) {
      const std::vector<float>& own = results[static_cast<size_t>(client)].buffers;
      const double share = ShareOf(client) / static_cast<double>(Clients());
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += share * static_cast<double>(own[i]);
    }
    std::ranges::transform(sum, buffers.begin(), [](double v) { return static_cast<float>(v); });
    return;
  }
  const double parameter = 1;
  statistics->Begin({.info = info, .parameters = {&parameter, 1}});
  pool.ForEach(Clients(), [&](int64_t client, int) {
    std::vector<float> own = results[static_cast<size_t>(client)].buffers;
    const float share = ShareOf(client);
    for (float& value : own) value *= share;
    statistics->Encode(static_cast<int>(client), own.data());
  });
  statistics->Finish(buffers.data());
  work.buckets.push_back({{}, std::ssize(buffers), statistics->Calls(0)});
}

// The exchange has the mean of what clients moved, negated as a gradient is.
void ExchangeTraining::Impl::ApplyMean(std::span<const float> moved) {
  std::vector<double> update(moved.size());
  for (size_t i = 0; i < update.size(); ++i) update[i] = -static_cast<double>(moved[i]);
  aggregator->ApplyMean(weights, update);
}

ExchangeTraining::ExchangeTraining(const FederatedOptions& options, const Task& task,
                                   const ModelRequest& model, const Partition& partition,
                                   std::unique_ptr<Policy> policy, std::unique_ptr<Scheme> scheme)
    : impl_(std::make_unique<Impl>(options, task, model, partition, std::move(policy),
                                   std::move(scheme))) {}

ExchangeTraining::~ExchangeTraining() = default;

ExchangeOutcome ExchangeTraining::Round() {
  Impl& my = *impl_;
  const StepInfo info = my.InfoOfVersion();
  my.aggregation->Begin(info);
  std::vector<LocalResult> results(static_cast<size_t>(my.Clients()));
  my.pool.ForEach(my.Clients(), [&](int64_t client, int thread) {
    results[static_cast<size_t>(client)] =
        my.Train(client, *my.trainers[static_cast<size_t>(thread)]);
  });
  my.aggregation->Finish(my.mean.data());

  ExchangeOutcome outcome = {.learning_rate = info.learning_rate,
                             .loss = 0,
                             .work = {.step = my.version,
                                      .workers = my.Clients(),
                                      .batch_size = my.options.local.batch_size},
                             .units = my.aggregation->Outcomes()};
  StepWork& work = outcome.work;
  // What follows an exchange is charged at the beginning of the next local steps: the update of the
  // weights that all agree on, and their copy.
  work.update = {{my.aggregator->Traits().kernel, my.Numel()}, {"copy", my.Numel()}};
  work.whole_gradient = {{"accumulate", my.Numel()}};
  work.buckets = my.aggregation->Buckets();
  my.AverageBuffers(info, results, work);
  for (size_t client = 0; client < results.size(); ++client) {
    LocalResult& result = results[client];
    outcome.loss += result.loss / static_cast<double>(my.Clients());
    work.local_steps.push_back(result.local_steps);
    Impl::Silo& silo = my.silos[client];
    if (my.options.batch_norm == BatchNormRule::kLocal) silo.buffers = std::move(result.buffers);
    silo.steps += result.local_steps;
    if (my.keeps_optimizer) silo.optimizer = std::move(result.optimizer);
  }
  if (my.options.rate_over_steps) {
    outcome.learning_rate = std::accumulate(my.rates.begin(), my.rates.end(), 0.0) / my.Clients();
  }
  my.ApplyMean(my.mean);
  const bool reads_mean = my.policy->ReadsMeanGradient();
  my.aggregation->OnFeedback(
      {.step = my.version,
       .loss = results.front().loss,
       .mean_gradient = reads_mean ? std::span<const float>(my.mean) : std::span<const float>()},
      work.buckets, StepTimes());
  ++my.version;
  return outcome;
}

int64_t ExchangeTraining::version() const { return impl_->version; }
const AggregatorTraits& ExchangeTraining::traits() const { return impl_->aggregator->Traits(); }
std::span<const Unit> ExchangeTraining::layers() const { return impl_->trainers.front()->layers(); }
std::span<const Unit> ExchangeTraining::units() const { return impl_->aggregation->plan().units; }
std::span<const float> ExchangeTraining::weights() const { return impl_->weights; }
std::vector<Decision> ExchangeTraining::TakeDecisions() { return impl_->policy->TakeDecisions(); }

Evaluation ExchangeTraining::Evaluate() {
  Impl& my = *impl_;
  return EvaluateOn(my.task, my.trainers.front()->Set(my.weights, my.buffers),
                    my.options.evaluation_batch, my.pool);
}

void ExchangeTraining::Save(StateWriter& out) const {
  const Impl& my = *impl_;
  out.Number(Impl::kFormat);
  out.Text(my.options.algorithm);
  out.Text(my.scheme->Name());
  out.Number(static_cast<uint64_t>(my.version));
  for (const auto* values : {&my.weights, &my.buffers, &my.mean}) out.Floats(*values);
  for (const Impl::Silo& silo : my.silos) {
    out.Blob(silo.optimizer);
    out.Number(static_cast<uint64_t>(silo.steps));
    out.Number(silo.buffers.size());
    out.Floats(silo.buffers);
  }
  my.aggregator->Save(out);
  SavePolicy(*my.policy, out);
  const ModelExchange& exchange = my.aggregation->exchange();
  exchange.SaveShared(out);
  for (int client = 0; client < my.Clients(); ++client) exchange.SaveWorker(client, out);
}

void ExchangeTraining::Load(StateReader& in) {
  Impl& my = *impl_;
  in.ExpectNumber("version of an exchange training's state", Impl::kFormat);
  in.ExpectText("algorithm", my.options.algorithm);
  in.ExpectText("scheme", my.scheme->Name());
  my.version = static_cast<int64_t>(in.Number("version of the model", Impl::kMost));
  for (auto* values : {&my.weights, &my.buffers, &my.mean}) in.AnyFloats(*values);
  for (Impl::Silo& silo : my.silos) {
    const ByteSpan optimizer = in.Blob();
    silo.optimizer.assign(optimizer.begin(), optimizer.end());
    silo.steps = static_cast<int64_t>(in.Number("steps of an optimizer", Impl::kMost));
    silo.buffers.resize(in.Number("statistics of a client", my.buffers.size()));
    in.AnyFloats(silo.buffers);
  }
  my.aggregator->Load(in);
  LoadPolicy(*my.policy, in);
  ModelExchange& exchange = my.aggregation->exchange();
  exchange.LoadShared(in);
  for (int client = 0; client < my.Clients(); ++client) exchange.LoadWorker(client, in);
  exchange.Loaded();
}

}  // namespace legacy

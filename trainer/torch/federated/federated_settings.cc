#include "trainer/torch/federated/federated_settings.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/random.h"

namespace legacy {
namespace {

// Checks what secure aggregation needs.
void CheckMasks(const FederatedOptions& options, const AggregatorTraits& traits) {
  const auto refuse = [](const std::string& what, const std::string& why) {
    throw Error("secure aggregation", "on", "off with " + what + ": " + why);
  };
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

}  // namespace

std::unique_ptr<Aggregator> AggregatorOf(const FederatedOptions& options, int64_t numel,
                                         int64_t clients) {
  return MakeAggregator(
      options.algorithm,
      {.numel = numel, .clients = clients, .local_momentum = options.local.sgd.momentum});
}

int64_t NumelOf(std::span<const Unit> layers) { return layers.back().offset + layers.back().numel; }

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

bool KeepsOptimizer(const FederatedOptions& options, const AggregatorTraits& traits) {
  return options.keep_optimizer.value_or(traits.keeps_optimizer);
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

void CheckServed(const FederatedOptions& options, const AggregatorTraits& traits,
                 Weighting weighting, const Policy& policy) {
  CheckFederated(options);
  if (traits.Streams()) {
    throw Error("algorithm", options.algorithm,
                "one without fragments and overlap: these need an exchange without a server");
  }
  if (options.masked_bytes > 0) CheckMasks(options, traits);
  if (options.memory == UplinkMemory::kEf21 &&
      (!traits.mean_alone || weighting != Weighting::kUniform)) {
    throw Error("uplink memory", "ef21",
                "client or off with algorithm " + options.algorithm +
                    ", as ef21 gives the server a uniform mean of all clients alone");
  }
  if (policy.Traits().reads_clock || policy.Traits().has_candidates) {
    throw Error("policy", std::string(policy.Name()),
                "one that reads neither a clock nor the gradients of workers, which federated "
                "clients do not have");
  }
}

int64_t MaskedBytes(const FederatedOptions& options, int64_t bytes) {
  if (options.masked_bytes <= 0) return bytes;
  return static_cast<int64_t>(std::ceil(options.masked_bytes * static_cast<double>(bytes)));
}

}  // namespace legacy

// The settings of federated training, and what they make of a task: its local steps, its draws and
// its learning rates.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compress/policy.h"
#include "trainer/clock/bucket_plan.h"
#include "trainer/federated/aggregator.h"
#include "trainer/federated/uplink.h"
#include "trainer/schedule.h"
#include "trainer/torch/federated/local_training.h"
#include "trainer/torch/tasks/task.h"

namespace legacy {

// FederatedOptions are the settings of a federated training.
struct FederatedOptions {
  int64_t versions = 100;   // horizon of schedule and policy
  int64_t per_version = 1;  // updates of a version, for the length of an epoch that policies see
  LocalOptions local;
  // Work of a task: epochs; or a number in [epochs, most_epochs], drawn by version and client,
  // where that is above 0; or steps, where they are above 0.
  int64_t epochs = 1;
  int64_t most_epochs = 0;
  int64_t steps = 0;
  ScheduleOptions schedule;  // over versions, or over a client's own counted steps
  bool rate_over_steps = false;
  std::string algorithm = "fedavg";
  std::optional<Weighting> weighting = std::nullopt;  // nothing: the algorithm's
  // True: a client's optimizer continues in its next task; nothing: as the algorithm decides.
  std::optional<bool> keep_optimizer = std::nullopt;
  std::string scheme = "dense";
  std::string downlink = "dense";
  UplinkMemory memory = UplinkMemory::kClient;
  double residual_decay = 1;
  int64_t residual_age = 0;  // versions after which a client's residual is dropped; 0: never
  Scope scope = Scope::kLayer;
  BucketOptions buckets;
  BatchNormRule batch_norm = BatchNormRule::kAverage;
  bool drop_diverged = false;  // an update that is not finite is left out, not an error
  // Where above 0, updates are summed under masks that no single one is seen through, and as many
  // times as many bytes go up (secure aggregation). No protocol is simulated.
  double masked_bytes = 0;
  int threads = 1;
  int64_t evaluation_batch = 250;
};

// A FederatedKey names a task: the version that it starts from, and its client. One client has one
// task at a time. Where a client may have several tasks of one version, as with an asynchronous
// server, `draws` tells their draws apart: the number of the task.
struct FederatedKey {
  int64_t version = 0;
  int64_t client = 0;
  int64_t draws = -1;  // key of its draws; -1: the version

  int64_t Draws() const { return draws < 0 ? version : draws; }

  friend auto operator<=>(const FederatedKey&, const FederatedKey&) = default;
};

// Throws Error on options out of range.
void CheckFederated(const FederatedOptions& options);
// The same for a training with a server, and throws Error where algorithm, weighting and policy do
// not fit the options.
void CheckServed(const FederatedOptions& options, const AggregatorTraits& traits,
                 Weighting weighting, const Policy& policy);
// Returns the algorithm for that many elements. Throws Error where its text is wrong.
std::unique_ptr<Aggregator> AggregatorOf(const FederatedOptions& options, int64_t numel,
                                         int64_t clients);
// Returns the elements of a model of such layers.
int64_t NumelOf(std::span<const Unit> layers);
// Returns a trainer for each thread. What it is given outlives them.
std::vector<std::unique_ptr<LocalTrainer>> TrainersOf(const FederatedOptions& options,
                                                      const Task& task, const SampleSet& samples,
                                                      const ModelRequest& request,
                                                      const ClientRule& rule);
// Returns whether clients keep their optimizers.
bool KeepsOptimizer(const FederatedOptions& options, const AggregatorTraits& traits);
// Returns a client's task, without rates and what it starts from.
LocalTask LocalTaskOf(const FederatedOptions& options, const FederatedKey& key,
                      std::span<const int64_t> samples);
// Returns the learning rates of the steps of a task, by a client of that many samples among that
// many clients, whose counted tasks had first_step steps. `options` outlives them.
std::function<double(int64_t step)> LocalRatesOf(const FederatedOptions& options, int64_t samples,
                                                 int64_t clients, int64_t version,
                                                 int64_t first_step);
// Returns the mean rate of a task's steps, whose update has moved by rate and steps alone where
// rates are constant.
double MeanRate(const LocalTask& task, int64_t steps);
// Returns the bytes that go up in the place of these: more with masks.
int64_t MaskedBytes(const FederatedOptions& options, int64_t bytes);

}  // namespace legacy

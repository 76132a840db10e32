// A federated training is what clients and server of federated learning compute, without a clock:
// who starts which task when, and in which order updates arrive, is told from outside.
//
//   training.Start(key)       the task begins, at once or later, on any thread
//   training.Finish(key)      waits for it, and says what it sends
//   training.Count(key, s)    its update counts in the next version; or Abandon(key): it leaves no
//                             trace
//   training.Update()         makes a version of what was counted
//
// A task is a pure function of its key (local_training.h). What a client keeps (residual, control
// variate, optimizer) moves where its update has counted: with Update, or with Count where the
// server has no rounds, as the client may start its next task before. Equal calls give equal bits,
// whatever the number of threads is.
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
#include "trainer/federated/client_store.h"
#include "trainer/federated/downlink.h"
#include "trainer/federated/local_training.h"
#include "trainer/federated/partition.h"
#include "trainer/federated/uplink.h"
#include "trainer/schedule.h"
#include "trainer/tasks/task.h"

namespace legacy {

// A BatchNormRule says whose statistics of batch norm count. They are no part of updates: they
// travel whole, as fp32.
enum class BatchNormRule : uint8_t {
  kAverage,  // the server averages those of the counted clients
  kLocal,    // each client keeps its own (FedBN: Li et al., ICLR 2021)
};
inline constexpr std::array<const char*, 2> kBatchNormTexts = {"average", "local"};

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
  bool keep_optimizer = false;  // a client's optimizer goes on in its next task
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
// Returns the algorithm for a model of such layers. Throws Error where its text is wrong.
std::unique_ptr<Aggregator> AggregatorOf(const FederatedOptions& options,
                                         std::span<const Unit> layers, int64_t clients);
// Returns a trainer for each thread. What it is given outlives them.
std::vector<std::unique_ptr<LocalTrainer>> TrainersOf(const FederatedOptions& options,
                                                      const Task& task, const SampleSet& samples,
                                                      const ModelRequest& request,
                                                      const ClientRule& rule);
// Returns a client's task, without rates and what it starts from.
LocalTask LocalTaskOf(const FederatedOptions& options, const FederatedKey& key,
                      std::span<const int64_t> samples);
// Returns the learning rates of the steps of a task, by a client of so many samples among so many
// clients, whose counted tasks had first_step steps. `options` outlives them.
std::function<double(int64_t step)> LocalRatesOf(const FederatedOptions& options, int64_t samples,
                                                 int64_t clients, int64_t version,
                                                 int64_t first_step);
// Returns the mean rate of a task's steps, whose update has moved by rate and steps alone where
// rates are constant.
double MeanRate(const LocalTask& task, int64_t steps);

// A FederatedResult is what is known of a finished task.
struct FederatedResult {
  int64_t local_steps = 0;
  int64_t samples = 0;
  double loss = 0;
  double squared_loss = 0;
  double rate = 0;  // mean over its steps
  bool finite = true;
  std::vector<int64_t> unit_bytes = {};  // of the messages of each unit
  int64_t up_bytes = 0;                  // of all messages, and of statistics of batch norm
};

// A FederatedTraining holds server and clients.
class FederatedTraining {
 public:
  // `task` and `partition` outlive it; `store` too, and it has nothing of other trainings. Throws
  // Error on options out of range, and on those that do not go together.
  FederatedTraining(const FederatedOptions& options, const Task& task, const ModelRequest& model,
                    const Partition& partition, std::unique_ptr<Policy> policy, ClientStore& store);
  ~FederatedTraining();

  // Starts the task of a client that has none, from the newest version, which is key.version.
  void Start(const FederatedKey& key);
  // Waits for a task. Throws Error where its update is not finite, naming version and client,
  // unless such updates are dropped.
  const FederatedResult& Finish(const FederatedKey& key);
  // Leaves a task out, whether it has finished or not.
  void Abandon(const FederatedKey& key);
  // Counts a finished task in the next version, `times` times.
  void Count(const FederatedKey& key, int times = 1);
  // Makes a version of the counted tasks, at least one: those of rounds in the order of clients,
  // those of an asynchronous server in the order of Count.
  void Update();
  // Forgets what was counted since the last version, as of a round that makes none. Only where the
  // server has rounds.
  void Discard();

  int64_t version() const;
  // Number of tasks that have started, and neither been counted nor left out.
  int64_t live() const;
  const AggregatorTraits& traits() const;
  const Uplink& uplink() const;
  std::span<const Unit> layers() const;
  std::span<const double> parameters() const;   // of the newest version, by unit
  std::span<const float> weights() const;       // the server's, of the newest version, flat
  std::span<const float> sent_weights() const;  // those that its tasks start from
  const Downlink& downlink() const;
  // Returns the bytes that a task of the newest version downloads on the first contact with its
  // client: model, the algorithm's second vector, statistics.
  int64_t DownBytes() const;
  // Which versions clients have, with a downlink of deltas.
  const DownlinkLedger& ledger() const;
  // Returns the bytes that a task of the newest version uploads; nothing where they depend on the
  // data.
  std::optional<int64_t> UpBytes() const;
  // Returns the local steps of a task, before it is started.
  int64_t LocalStepsOf(const FederatedKey& key) const;
  // Returns the decisions of the policy since the last call.
  std::vector<Decision> TakeDecisions();

  // Evaluates the newest version on the whole test set.
  Evaluation Evaluate();

  // Append and restore the state behind Update, where nothing is counted yet, no task has started
  // from the newest version, and nobody has asked for its parameters. Live tasks are saved
  // by what they start from, and begin anew. The store saves itself.
  void Save(StateWriter& out) const;
  void Load(StateReader& in);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace legacy

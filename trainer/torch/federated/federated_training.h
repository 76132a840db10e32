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

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compress/policy.h"
#include "trainer/federated/aggregator.h"
#include "trainer/federated/client_store.h"
#include "trainer/federated/downlink.h"
#include "trainer/federated/partition.h"
#include "trainer/federated/uplink.h"
#include "trainer/torch/federated/client_task.h"
#include "trainer/torch/federated/federated_settings.h"
#include "trainer/torch/tasks/task.h"

namespace legacy {

// A FederatedTraining holds server and clients.
class FederatedTraining {
 public:
  // `task` and `partition` outlive it; `store` too, and it has nothing of other trainings. Throws
  // Error on options out of range, and on those that do not fit together.
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
  // Returns what clients hold of their updates at the newest version, with a memory of clients.
  HeldResiduals Residuals() const;
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

  // Append and restore the state after Update, where nothing is counted yet, no task has started
  // from the newest version, and its parameters have not been asked for. Live tasks are saved by
  // what they start from, and begin again. The store saves itself.
  void Save(StateWriter& out) const;
  void Load(StateReader& in);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace legacy

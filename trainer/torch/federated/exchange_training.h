// An exchange training is federated learning without a server: in every version all clients train
// locally from the same weights, and a collective forms the mean of what they moved, from which
// each of them computes the next version. Schemes and policies are those of synchronous training
// (aggregation.h), with a client's update, negated, in the place of a worker's gradient; a client's
// residual lives in the exchange. Like the server's training (federated_training.h) it knows no
// clock, and equal options give equal bits, whatever the number of threads is.
//
// With P fragments, or an overlap of T steps (AggregatorTraits), the exchange streams (Streaming
// DiLoCo: Douillard et al., 2025, arXiv:2501.18512). A version of H local steps has P turns of
// about H/P. In its turn a fragment is sent T steps before the end, as the difference of each
// client's own weights from the fragment's last version; at the end it arrives, its next version is
// made of the mean, and each client takes mix x own + (1 - mix) x new weights there. All other
// weights stay the client's own, as does its optimizer. With one fragment and no overlap all of
// this equals the exchange above, to the bit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "trainer/aggregation.h"
#include "trainer/clock/step_work.h"
#include "trainer/federated/partition.h"
#include "trainer/torch/federated/federated_settings.h"

namespace legacy {

// Exchanges of more clients are refused, as the state of all of them is in memory.
inline constexpr int64_t kMostExchangingClients = 256;

// An ExchangeOutcome is the result of a version.
struct ExchangeOutcome {
  double learning_rate = 0;
  double loss = 0;  // mean over the clients, weighted alike
  // What the exchange of each fragment asks of devices and network; its workers are the clients, in
  // their order, and local_steps has the local steps of each in the fragment's turn.
  std::vector<StepWork> works = {};
  std::vector<UnitOutcome> units = {};
};

// An ExchangeMethod compresses the units of one fragment. The policy may refer to the scheme.
struct ExchangeMethod {
  std::unique_ptr<Scheme> scheme;
  std::unique_ptr<Policy> policy;
};
// Returns the method for a fragment of such units.
using ExchangeMethods = std::function<ExchangeMethod(std::span<const Unit> units)>;

// An ExchangeTraining holds all clients.
class ExchangeTraining {
 public:
  // `task` and `partition` outlive it. Of the options, `scheme`, `downlink`, `memory`,
  // `residual_decay`, `residual_age`, `masked_bytes` and `drop_diverged` are the server's. Throws
  // Error on options out of range, and on algorithms, schemes and policies that need a server.
  ExchangeTraining(const FederatedOptions& options, const Task& task, const ModelRequest& model,
                   const Partition& partition, const ExchangeMethods& methods);
  ~ExchangeTraining();

  // Makes the next version. Throws Error where an update is not finite, naming version and client;
  // the training is then no longer usable.
  ExchangeOutcome Round();

  int64_t version() const;
  const AggregatorTraits& traits() const;
  std::span<const Unit> layers() const;
  std::span<const Unit> units() const;     // of all fragments
  std::span<const float> weights() const;  // of the newest version, flat
  // Returns the decisions of the policies since the last call, by step.
  std::vector<Decision> TakeDecisions();
  // Evaluates the newest version on the whole test set.
  Evaluation Evaluate();

  // Append and restore the state.
  void Save(StateWriter& out) const;
  void Load(StateReader& in);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace legacy

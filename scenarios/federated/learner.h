// Learners train: client data, local training, codecs and the algorithm that makes versions. With a
// server they are workloads, coupled to a simulated network task by task; without one, version by
// version. They are made by the module that trains (trained_learners.cc), so that plans need no
// LibTorch.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/rows.h"
#include "base/metric.h"
#include "base/state.h"
#include "compress/unit.h"
#include "scenarios/federated/client_clock.h"
#include "scenarios/federated/plan_request.h"
#include "scenarios/federated/workload.h"
#include "scenarios/options/scenario.h"
#include "trainer/clock/record.h"
#include "trainer/data/task_catalog.h"
#include "trainer/federated/partition_view.h"
#include "trainer/federated/uplink.h"

namespace legacy {

// A FederatedMethod is one row of a comparison: how clients compress, and how the server combines.
struct FederatedMethod {
  std::string name;  // "topk"; of several algorithms "scaffold topk"
  std::string algorithm;
  std::string downlink;
  Method method;
};

// VersionFacts are what is known of the tasks that a version was made of: means over them.
struct VersionFacts {
  double learning_rate = 0;
  double loss = 0;
  double elements_sent = 0;
  double message_bytes = 0;  // messages alone
  // With a server: payloads down and up, and the work of the last task that came.
  double transfer_bytes = 0;
  ClientSeconds critical;
  HeldResiduals residuals = {};
};

// A Learner has one training, or the record of one. Rows have neither policy nor seed.
class Learner {
 public:
  virtual ~Learner() = default;
  virtual int64_t Version() const = 0;
  // Returns the facts of the newest version; there is one.
  virtual const VersionFacts& Facts() const = 0;
  virtual Evaluation Evaluate() = 0;
  // Returns what was decided since the last call.
  virtual std::vector<analysis::DecisionRow> TakeDecisions() = 0;
  // Returns the sums over the versions so far, by unit.
  virtual std::vector<analysis::LayerRow> LayerRows() const = 0;
  // Returns a text for people: what clients send.
  virtual std::string Description() const = 0;
  virtual std::optional<int64_t> SamplesOf(int client) = 0;
  virtual int64_t LabelsOf(int client) const = 0;
  // Returns the local steps that a task of the client would have; 0 where no task is its own.
  virtual int64_t ExpectedSteps(int /*client*/, int64_t /*version*/) const { return 0; }

  // Append and restore the state at the end of a version, tasks in flight included. Load is called
  // before anything is trained. Records continue after what is there.
  virtual void Save(StateWriter&) {}
  virtual void Load(StateReader&) {}
};

// A FederatedLearner has a server: its tasks are trained one by one.
class FederatedLearner : public Learner, public Workload {
 public:
  std::optional<int64_t> SamplesOf(int client) override = 0;
  int64_t ExpectedSteps(int client, int64_t version) const override = 0;
  // Returns what a task in flight is, which Load has restored; nothing for others.
  virtual std::optional<fabric::TaskWork> InFlight(uint64_t /*task*/) const { return std::nullopt; }
};

// An ExchangeLearner has no server: all clients train, then exchange what they moved.
class ExchangeLearner : public Learner {
 public:
  // Returns the number of fragments whose exchanges make a version, one after the other.
  virtual int Fragments() const { return 1; }
  // Makes the next version. Returns what the exchange of each fragment asks of devices and network,
  // by client, and the clients' local steps in its turn; valid until the next call.
  virtual std::span<const StepWork> Next() = 0;
};

// FederatedLearners make the learners of a run, which share its data.
class FederatedLearners {
 public:
  virtual ~FederatedLearners() = default;
  virtual std::span<const Metric> Metrics() const = 0;
  virtual std::span<const Unit> Layers() const = 0;
  // Looks at a seed's partition. Returns nothing where the data are not at hand.
  virtual std::optional<PartitionView> LookAtPartition(uint64_t /*seed*/,
                                                       int64_t /*clients*/) const {
    return std::nullopt;
  }
  virtual std::span<const OperationCost> Costs() const = 0;
  // Adds to the versions of a manifest what computes.
  virtual void Describe(nlohmann::json& /*versions*/) const {}
  // `request` and `recorder` outlive the learner, and `folder` is where client states go that
  // memory does not hold. Sets the request's buffer to that of the algorithm. `recorder`, which may
  // be null, has no line of this training yet. Throws Error on options that do not fit together.
  virtual std::unique_ptr<FederatedLearner> Make(const FederatedMethod& method, uint64_t seed,
                                                 PlanRequest& request, const std::string& folder,
                                                 Recorder* recorder) = 0;
  // The same for a request that has an exchange.
  virtual std::unique_ptr<ExchangeLearner> MakeExchange(const FederatedMethod& method,
                                                        uint64_t seed, PlanRequest& request,
                                                        Recorder* recorder) = 0;
};

// Returns one line about the partition of a rule: sizes, labels and distance from the whole.
std::string PartitionText(const PartitionView& view, const std::string& rule);

// Returns the learners of a scenario, which outlives them. Throws Error on data and models that do
// not exist.
std::unique_ptr<FederatedLearners> TrainedLearners(const Scenario& scenario);

// Returns the rows of a comparison: each algorithm with each policy.
std::vector<FederatedMethod> FederatedMethodsOf(const Scenario& scenario);

// Return the options of a plan, and the plan, of a run: clients, network and server of the
// scenario.
PlanOptions PlanOptionsOf(const Scenario& scenario, uint64_t seed);
PlanRequest RequestOf(const Scenario& scenario, uint64_t seed);

}  // namespace legacy

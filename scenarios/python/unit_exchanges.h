// The exchanges of one rank of a training that runs elsewhere: the caller has the gradients, in
// memory of its own, and carries the messages. This is what legacy.exchange binds.
//
//   decided = Decide(step)                            the policy's parameters (a leader's, sent)
//   Begin(step, decided)
//   for units whose gradients are ready, together:
//     Encode(rank, units, addresses)                  first calls
//     while any of them has an open call (Calls):
//       Lengths, Pack                                 own messages, one after the other
//       Accumulate(worker, units, ...)                all workers in order, or AccumulateSums
//       Finish(units); Encode(rank, units, {})
//     Mean(units, addresses)
//
// If the step has candidates, Measure takes the place of the first Encode; Choose follows once all
// units are measured and the policy has agreed. Encode and the calls for other units may run
// concurrently; everything else is called from one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compress/exchange.h"
#include "compress/policy.h"
#include "scenarios/options/methods.h"
#include "trainer/clock/bucket_plan.h"

namespace legacy::python {

// What a policy decided for a step.
struct DecidedStep {
  std::vector<double> parameters;  // by unit
  std::vector<double> candidates;  // of all units, loosest first; empty: none
  bool estimate = false;           // UnitStep::estimate
};

// An open collective call of a unit.
struct OpenCall {
  int unit = 0;
  Collective collective = Collective::kAllGather;
  int root = 0;
  // True if the messages are fp32 values after a header that is equal at all workers, so that the
  // caller may add them up.
  bool sums = false;
  // Lengths by worker as far as they are known before any message; empty: they have to be sent.
  std::vector<int64_t> lengths;
};

// A message that a worker could not make.
struct RefusedUnit {
  int unit = 0;
  std::string reason;
  // True if a message of zeros took its place, and the unit's state is as new.
  bool replaced = false;
};

// Lengths in bytes of a message and of its header.
struct MessageLength {
  int64_t bytes = 0;
  int64_t header = 0;
};

class UnitExchanges {
 public:
  UnitExchanges(UnitPlan plan, BuiltMethod built, int workers);

  std::span<const Unit> units() const { return plan_.units; }
  const UnitPlan& plan() const { return plan_; }
  const BuiltMethod& built() const { return built_; }
  Policy& policy() { return *built_.policy; }
  int workers() const { return workers_; }

  DecidedStep Decide(const StepInfo& step);
  void Begin(const StepInfo& step, const DecidedStep& decided);
  // Shows the policy a unit's gradient at this worker, as it is and error-fed.
  void Show(int worker, int unit, std::span<const float> gradient);

  // Shows it the unit's mean where that is compressed, once it is known.
  void ShowMean(int unit);

  // Returns whether the unit's parameter is chosen within the step.
  bool Measured(int unit) const;
  // Measures the candidates; units that are not measured are left out.
  std::vector<RefusedUnit> Measure(int worker, std::span<const int> units,
                                   std::span<const float* const> gradients);
  // Returns the worker's message to agree on candidates.
  Bytes EncodeAgreement(int worker);
  // Takes all workers' messages and returns the candidate's position.
  size_t Agree(std::span<const ByteSpan> messages);
  void Choose(size_t index);
  // Returns the policy's announcement after the step; nothing if it has none.
  std::optional<Bytes> Announce();

  // Returns the units' open calls, in order.
  std::vector<OpenCall> Calls(std::span<const int> units) const;
  // Makes the worker's messages of open calls. `gradients` has each unit's, and is empty in later
  // calls. Units that an exchange refuses are returned.
  std::vector<RefusedUnit> Encode(int worker, std::span<const int> units,
                                  std::span<const float* const> gradients);
  // Return the lengths of the units' messages, and append the messages to `to`, as bytes or, of
  // sums, the values alone. Their memory is freed.
  std::vector<MessageLength> Lengths(std::span<const int> units) const;
  void Pack(std::span<const int> units, std::byte* to);
  void PackSums(std::span<const int> units, float* to);
  // Takes a worker's messages; workers come in ascending order.
  void Accumulate(int worker, std::span<const int> units, std::span<const int64_t> lengths,
                  const std::byte* messages);
  // Takes the sums of all workers' values.
  void AccumulateSums(std::span<const int> units, const float* sums);
  // Ends the calls of the units. Returns whether any unit has another one.
  bool Finish(std::span<const int> units);
  void Mean(std::span<const int> units, std::span<float* const> means) const;
  int64_t ElementsSent(int unit) const { return states_[unit].exchange->ElementsSent(); }

  // Forgets all state of a unit, of all workers.
  void Reset(int unit);
  void RescaleResiduals(float factor);
  std::span<const float> Residual(int worker, int unit) const {
    return states_[unit].exchange->Residual(worker);
  }
  // Save and load a unit's state: what all workers share, and a worker's.
  Bytes SaveShared(int unit) const;
  Bytes SaveWorker(int unit, int worker) const;
  void Load(int unit, int worker, ByteSpan shared, ByteSpan own);
  // Loads a unit's state as that of a worker that has the mean of `states` (SaveWorker).
  void LoadMean(int unit, int worker, ByteSpan shared, std::span<const ByteSpan> states);

 private:
  struct UnitState {
    std::unique_ptr<Exchange> exchange;
    UnitStep step = {};
    std::optional<CollectiveCall> call = {};
    size_t number = 0;  // of the open call in the step
    // The plan for `planned`; data-dependent lengths have none.
    std::optional<std::vector<PlannedCall>> plan = {};
    double planned = -1;
    Message own = {};
    Bytes header = {};                  // of the own message
    std::vector<int64_t> numbers = {};  // of a call of one number each, by worker
    Probe probe = {};
  };

  void Open(int unit);
  const PlannedCall* Planned(int unit) const;
  RefusedUnit Replace(int worker, int unit, const std::string& reason, bool measure);
  std::string Place(int worker, int unit) const;

  UnitPlan plan_;
  BuiltMethod built_;
  int workers_;
  std::vector<UnitState> states_;
  std::vector<double> candidates_;
};

}  // namespace legacy::python

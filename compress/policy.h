// A policy chooses each unit's codec parameter for each step, from exactly the information that its
// paper gives it. One policy object represents all workers: whatever a worker learns from others is
// sent as bytes in a collective call, is decoded from those bytes, and is charged to the network.
//
//   policy->Decide(step, units, parameters)        before the gradients are computed
//   policy->OnLocalGradient(unit, g, e)            worker 0's, if the policy reads it
//   if Candidates() are given:                     the agreement
//     exchanges measure the candidates
//     OpenCall(kAgreement) and its messages
//     Chosen()                                     the candidate that all units take
//                                                  (where the mean is compressed: AgreeAlone)
//   the exchanges run
//   if OpenCall(kAnnouncement) opens a call:       worker 0 announces decisions for later steps
//     its messages
//   policy->OnFeedback(feedback)
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compress/decision.h"
#include "compress/exchange.h"
#include "compress/unit.h"

namespace legacy {

// Feedback to policies about a finished step. It holds only what every worker really knows.
struct StepFeedback {
  int64_t step = 0;
  double loss = 0;  // loss of worker 0's batch; a policy that wants the mean sends it
  // The mean gradient, flat and decoded, the same at every worker. It may be empty if
  // Policy::ReadsMeanGradient() is false.
  std::span<const float> mean_gradient = {};

  // Times and bytes. A policy that reads one of them makes the training depend on the network
  // (PolicyTraits::reads_clock).
  double simulated_seconds = 0;      // duration of the step
  double compute_seconds = 0;        // update, forward and backward pass of one worker
  double codec_seconds = 0;          // encoding and decoding of one worker
  double communication_seconds = 0;  // exposed part, which is not hidden behind computing
  double message_bytes = 0;          // bytes that one worker sent
  // For each unit, the bytes of one worker's messages, and the unit's share of the exposed
  // communication time in seconds.
  std::span<const double> unit_bytes = {};
  std::span<const double> unit_exposed_seconds = {};
};

// The moment in a step at which a policy sends messages of its own.
enum class PolicyMoment : uint8_t {
  kAgreement,     // gradients are known, and nothing is encoded yet
  kAnnouncement,  // exchanges are done; announcements hold from the next step on
};

// The number of decisions of a policy in a run, as far as it is known beforehand.
struct DecisionForecast {
  int64_t decisions = 0;  // number of decisions that change what later steps of the run may send
  std::string remedy;     // option of the policy that makes it decide more often: "period=10%"
};

// Properties of a policy that hold in all steps.
struct PolicyTraits {
  // False if no step has candidates.
  bool has_candidates = false;
  // The value of UnitStep::estimate in steps with candidates.
  bool estimates_candidates = false;
  // True if decisions depend on simulated time or on the network's rates: such a training cannot be
  // replayed on another network.
  bool reads_clock = false;
  // The quantity of a real training that decisions depend on ("the loss"), so that they are
  // meaningless if gradients are drawn. Empty if there is none.
  std::string_view needs_training = {};
};

// Chooses the parameter of every unit in every step. The top of this file gives the order in which
// its functions are called.
class Policy : public Pluggable {
 public:
  virtual ~Policy() = default;
  // Returns the name in PolicyTable().
  virtual std::string_view Name() const = 0;
  virtual PolicyTraits Traits() const { return {}; }

  // Writes the parameter of units[i] to parameters[i].
  virtual void Decide(const StepInfo& step, std::span<const Unit> units,
                      std::span<double> parameters) = 0;

  // ReadsLocalGradient returns true if the policy needs OnLocalGradient in this step. LocalWork
  // returns the work that this takes on worker 0's device. Both are called after Decide.
  virtual bool ReadsLocalGradient() const { return false; }
  virtual WorkList LocalWork() const { return {}; }
  // Shows worker 0's gradient g of unit `unit`, and its error-fed gradient e, which will be
  // compressed (Exchange::ErrorFed); without error feedback e is g. Units come in order. Where the
  // mean is compressed (SchemeTraits::compresses_mean), these are the mean's, which has been.
  virtual void OnLocalGradient([[maybe_unused]] size_t unit,
                               [[maybe_unused]] std::span<const float> gradient,
                               [[maybe_unused]] std::span<const float> error_fed) {}

  // Returns the parameters that the policy chooses from within this step, loosest first and the
  // same for all units. If empty, there is no agreement. It is called after Decide.
  virtual std::vector<double> Candidates() const { return {}; }

  // Opens the policy's own collective call at that moment, in which every worker takes part, or
  // returns nothing if the policy has none.
  virtual std::optional<CollectiveCall> OpenCall(PolicyMoment) { return std::nullopt; }
  // Returns the worker's message of the open call. `probes` are this worker's, by unit; they are
  // empty in an announcement. Workers that send nothing return an empty message. It may be called
  // concurrently for different workers.
  virtual Message Encode([[maybe_unused]] int worker,
                         [[maybe_unused]] std::span<const Probe> probes) const {
    return {};
  }
  // Takes a worker's message of the open call; workers come in ascending order. Throws Error for
  // bytes that no encoder writes.
  virtual void Accumulate([[maybe_unused]] int worker, [[maybe_unused]] ByteSpan message) {}
  // Ends the open call, once all its messages are accumulated.
  virtual void FinishCall() {}
  // Returns the position of the candidate that was agreed on for all units.
  virtual size_t Chosen() const { return 0; }

  // Passes feedback about the finished step.
  virtual void OnFeedback(const StepFeedback&) {}
  // Returns true if OnFeedback needs the step's mean gradient. It is called before OnFeedback.
  virtual bool ReadsMeanGradient() const { return false; }

  // Returns the number of the policy's decisions in a run of that many steps, or nothing if it has
  // nothing to decide, as with a schedule or one parameter.
  virtual std::optional<DecisionForecast> DecisionsIn([[maybe_unused]] int64_t total_steps) const {
    return std::nullopt;
  }

  // Returns the decisions since the last call, in the order of steps. The log of a new object
  // begins with its initial choice.
  virtual std::vector<Decision> TakeDecisions() { return log_.Take(); }
  // Let the log of a resumed training continue where that of the saved one was. Decisions that were
  // not taken are lost.
  virtual DecisionLog::Position LogPosition() const { return log_.At(); }
  virtual void ContinueLog(const DecisionLog::Position& at) { log_.GoOn(at); }

  // The range of the scheme's parameter, which bounds the decisions of a plugin's policy.
  const ParameterSpec& range() const { return range_; }
  void SetRange(ParameterSpec range) { range_ = std::move(range); }

  // Save returns the bytes of all state, and Load restores them. Load throws Error, changing
  // nothing, for bytes of another policy or model. Both are empty for policies without state.
  virtual Bytes Save() const { return {}; }
  virtual void Load(ByteSpan state);

 protected:
  DecisionLog& log() { return log_; }

 private:
  ParameterSpec range_;
  DecisionLog log_;  // not part of the state: see ContinueLog
};

// Append and restore the policy's state with the position of its log, for checkpoints. Load throws
// Error for bytes of another policy or model.
void SavePolicy(const Policy& policy, StateWriter& out);
void LoadPolicy(Policy& policy, StateReader& in);

// Calls policy.Decide, for all callers. Throws Error naming the plugin if a plugin's policy throws
// or chooses parameters outside range().
void DecideParameters(Policy& policy, const StepInfo& step, std::span<const Unit> units,
                      std::span<double> parameters);

// Call policy.LocalWork and policy.OpenCall, for all callers. Throw Error naming the plugin if a
// plugin's policy declares negative work.
WorkList LocalWorkOf(const Policy& policy);
std::optional<CollectiveCall> OpenPolicyCall(Policy& policy, PolicyMoment moment);

// Lets the policy agree on a candidate from probes of the mean, which all workers have: worker 0's
// message takes the place of all, and none travels. Returns the work of each worker.
WorkList AgreeAlone(Policy& policy, std::span<const Probe> probes);

// Makes the policy that gives all units the same parameter in all steps.
std::unique_ptr<Policy> MakeUniformPolicy(double parameter);

// The training that a policy is made for.
struct PolicyContext {
  const Scheme* scheme = nullptr;  // the scheme that it drives; must outlive the policy
  std::vector<Unit> units;
  int workers = 1;
  int64_t total_steps = 1;
  int64_t steps_per_epoch = 1;
  // The policy's anchor: the uniform parameter that recovers accuracy, or the average density.
  double parameter = 0;
  uint64_t seed = 1;
};

// How an option follows a factor on the volume that a policy is to send (--volume=bytes): as the
// scheme's parameter does, divided by the factor, or multiplied by it and kept within bounds.
enum class VolumeRule : uint8_t { kParameter, kDivided, kMultiplied };

struct ScaledOption {
  std::string name;
  VolumeRule rule = VolumeRule::kMultiplied;
  double minimum = 0, maximum = 0;  // bounds of numbers that are not a parameter
};

// A row of PolicyTable().
struct PolicyRow {
  MethodInfo info;
  std::function<std::unique_ptr<Policy>(const OptionReader&, const PolicyContext&)> make;
  // The options that are scaled to send other bytes, besides the anchor.
  std::vector<ScaledOption> scaled = {};
};

// Returns the policies in the order of their names. LEGACY's own schedules are made from tables
// (policies/legacy_schedule.h).
std::span<const PolicyRow> PolicyTable();
// Makes a policy from text: "gravac:eps=0.9". Throws Error with the list of names for any other,
// and if the policy does not fit the scheme.
std::unique_ptr<Policy> MakePolicy(std::string_view text, const PolicyContext& context);

}  // namespace legacy

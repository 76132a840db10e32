// Policy: picks each unit's codec parameter for each step, from exactly what its paper lets it
// know. One policy object stands for all workers: whatever a worker learns from others travels as
// bytes in a collective call, is decoded from those bytes, and is charged to the network.
//
//   policy->Decide(step, units, parameters)                  before the gradients
//   OnLocalGradient(unit, gradient, residual) of worker 0       where it reads local gradients
//   an agreement, where Agrees(step): exchanges measure Candidates(), OpenCall(kAgreement) and its
//   messages,
//     then Choose: one candidate for each unit
//   the exchanges run
//   an announcement, where OpenCall(kAnnouncement) has one: worker 0 tells what it decided for
//   later steps OnFeedback(feedback)
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

// When a step happens, and where.
struct StepInfo {
  int64_t step = 0;         // from 0
  int64_t total_steps = 0;  // horizon T of LEGACY's phases
  double learning_rate = 0;
  int64_t steps_per_epoch = 1;
  LinkEstimate link = {};  // reading it makes a training network dependent
};

// What a finished step tells policies that want it. Only what every worker really has.
struct StepFeedback {
  int64_t step = 0;
  double loss = 0;  // of worker 0's batch: a policy that wants the mean sends it
  // Flat, decoded, the same at every worker; may be empty where Policy::ReadsMeanGradient() is
  // false.
  std::span<const float> mean_gradient = {};

  // Reading one of these makes a training network dependent (ReadsClock).
  double simulated_seconds = 0;      // of the step
  double compute_seconds = 0;        // update, forward and backward pass of one worker
  double codec_seconds = 0;          // encoding and decoding
  double communication_seconds = 0;  // not hidden behind computing
  double message_bytes = 0;          // of one worker
  // Of each unit: bytes of one worker's messages, and its share of the exposed communication time.
  std::span<const double> unit_bytes = {};
  std::span<const double> unit_exposed_seconds = {};
};

enum class PolicyMoment : uint8_t {
  kAgreement,     // gradients are known, nothing is encoded
  kAnnouncement,  // the step's exchanges are done; what is said holds from the next step
};

// How often a policy will decide in a run, as far as that is known beforehand.
struct DecisionForecast {
  int64_t decisions = 0;  // that change what later steps of the run may send
  std::string remedy;     // option of the policy that makes it decide more often: "period=10%"
};

class Policy : public Pluggable {
 public:
  virtual ~Policy() = default;
  virtual std::string_view Name() const = 0;

  // parameters[i] is for units[i]; both of one length.
  virtual void Decide(const StepInfo& step, std::span<const Unit> units,
                      std::span<double> parameters) = 0;

  // Whether OnLocalGradient is wanted in this step, and what it costs worker 0's device. Called
  // after Decide.
  virtual bool ReadsLocalGradient() const { return false; }
  virtual WorkList LocalWork() const { return {}; }
  // Gradient g of worker 0 and its residual of unit `unit` before (empty: nothing); e = g +
  // residual. Units come in order.
  virtual void OnLocalGradient([[maybe_unused]] size_t unit,
                               [[maybe_unused]] std::span<const float> gradient,
                               [[maybe_unused]] std::span<const float> residual) {}

  // Parameters to choose from in this step, loosest first, the same for all units; empty: no
  // agreement. Called after Decide.
  virtual std::vector<double> Candidates() const { return {}; }
  // False where no step has any.
  virtual bool HasCandidates() const { return false; }
  // StepContext::estimate for them.
  virtual bool EstimatesCandidates() const { return false; }

  // The policy's own messages: at most one collective call at each moment, in all of which every
  // worker takes part.
  virtual std::optional<CollectiveCall> OpenCall(PolicyMoment) { return std::nullopt; }
  // `probes`: of this worker, by unit; empty in an announcement. Workers that send nothing return
  // an empty message. May be called concurrently for different workers.
  virtual Message Encode([[maybe_unused]] int worker,
                         [[maybe_unused]] std::span<const Probe> probes) const {
    return {};
  }
  // In worker order. Hostile bytes throw Error.
  virtual void Accumulate([[maybe_unused]] int worker, [[maybe_unused]] ByteSpan message) {}
  virtual void FinishCall() {}
  // After the agreement: the candidate of every unit.
  virtual size_t Chosen() const { return 0; }

  virtual void OnFeedback(const StepFeedback&) {}
  // Whether OnFeedback is to be given the step's mean gradient. Called before it.
  virtual bool ReadsMeanGradient() const { return false; }

  // What of a real training its decisions follow ("the loss"), so that they mean nothing where
  // gradients are drawn; "": they need none.
  virtual std::string_view NeedsTraining() const { return ""; }

  // True where decisions depend on simulated time or on the network's rates: such a training cannot
  // be replayed on another network.
  virtual bool ReadsClock() const { return false; }

  // Of a run of so many steps; nothing where the policy has nothing to decide: it is a schedule, or
  // one parameter.
  virtual std::optional<DecisionForecast> DecisionsIn([[maybe_unused]] int64_t total_steps) const {
    return std::nullopt;
  }

  // What was decided since the last call, in the order of steps; a new object's log begins with
  // what holds at first.
  std::vector<Decision> TakeDecisions() { return log_.Take(); }

  // The scheme's parameter, which bounds what a plugin's policy may decide.
  const ParameterSpec& range() const { return range_; }
  void SetRange(ParameterSpec range) { range_ = std::move(range); }

  // All state, and back; Load throws Error, changing nothing, on bytes of another policy or model.
  // For policies without state both are empty.
  virtual Bytes Save() const { return {}; }
  virtual void Load(ByteSpan state);

 protected:
  DecisionLog& log() { return log_; }

 private:
  ParameterSpec range_;
  DecisionLog log_;  // no state: a training that goes on from one begins another
};

// policy.Decide, the way to call it. Of a plugin's policy it tells what that throws, and parameters
// outside range().
void DecideParameters(Policy& policy, const StepInfo& step, std::span<const Unit> units,
                      std::span<double> parameters);

// One parameter for all units and steps.
std::unique_ptr<Policy> MakeUniformPolicy(double parameter);

// What a policy is made for.
struct PolicyContext {
  const Scheme* scheme = nullptr;  // outlives the policy
  std::vector<Unit> units;
  int workers = 1;
  int64_t total_steps = 1;
  int64_t steps_per_epoch = 1;
  double parameter =
      0;  // the uniform parameter that recovers accuracy, or the average density: a policy's anchor
  uint64_t seed = 1;
};

struct PolicyRow {
  MethodInfo info;
  std::function<std::unique_ptr<Policy>(const OptionReader&, const PolicyContext&)> make;
};

// uniform, legacy-auto, warmup, lgreco, accordion, lgreco-accordion, gravac, kimad, flexible,
// theta. LEGACY's own tables are made from levels (policies/legacy_schedule.h).
std::span<const PolicyRow> PolicyTable();
// From text: "gravac:eps=0.9". Throws Error with the list for any other name, and where the policy
// does not fit the scheme.
std::unique_ptr<Policy> MakePolicy(std::string_view text, const PolicyContext& context);

}  // namespace legacy

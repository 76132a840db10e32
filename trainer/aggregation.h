// Aggregation is a step's way from the workers' gradients to their mean: the policy decides, the
// exchanges of all units run (compress/model_exchange.h), and what was sent is recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compress/model_exchange.h"
#include "compress/policy.h"
#include "trainer/clock/bucket_plan.h"
#include "trainer/clock/step_work.h"

namespace legacy {

// A UnitOutcome says what the policy chose for a unit and what was sent for it.
struct UnitOutcome {
  double parameter = 0;
  int64_t elements = 0;  // values that one active worker sent: the element ratio's numerator
  int64_t bytes = 0;     // bytes of all workers' messages
};

// StepTimes say what a step took, for policies that read the clock.
struct StepTimes {
  double simulated_seconds = 0;  // duration of the step
  double compute_seconds = 0;    // mean over the workers, as the next two
  double codec_seconds = 0;
  double communication_seconds = 0;  // the part that is not hidden behind computing
  // The part of it of each of StepWork::buckets.
  std::vector<double> bucket_exposed_seconds = {};
};

// Returns the work of clipping a worker's gradient of so many elements; nothing where the scheme
// does not clip it.
std::vector<Work> ClipWork(const Scheme& scheme, int workers, int64_t elements);
// Returns the factor that brings a gradient's norm to at most `limit`.
float ClipFactor(double limit, double squared_norm);

// An Aggregation makes the mean of each step, drives the policy and keeps the books of what was
// sent.
class Aggregation {
 public:
  // Returns a unit's gradient, on the host, of the worker that a policy looks at.
  using UnitGradient = std::function<std::span<const float>(size_t unit)>;

  // `exchange` is of the plan's units; `policy` outlives this.
  Aggregation(UnitPlan plan, Policy& policy, int workers, std::unique_ptr<ModelExchange> exchange);

  const UnitPlan& plan() const { return plan_; }
  const ModelExchange& exchange() const { return *exchange_; }

  // Starts a step: the policy decides each unit's parameter.
  void Begin(const StepInfo& step);
  // Adds a worker's flat gradient, in the exchange's memory, as ModelExchange::Encode does. The
  // first active worker's is shown to a policy that reads it: `on_host` is then called for each
  // unit.
  void AddGradient(int worker, const float* gradient, const UnitGradient& on_host);
  // Agrees on candidates, finishes the exchange, writes the flat mean and lets the policy announce.
  // Throws Error naming the step on what the exchange does not take.
  void Finish(float* mean);

  // Calls Exchange::RescaleResiduals for all units.
  void RescaleResiduals(float factor) { exchange_->RescaleResiduals(factor); }
  // Throws Error where messages stay on a device.
  void SetMessageHook(MessageHook hook);

  // Return what the finished step sent, by bucket and by unit.
  std::vector<BucketWork> Buckets() const;
  std::vector<UnitOutcome> Outcomes() const;
  // Tells the policy what the step took. `feedback` has its number, loss and mean gradient;
  // `buckets` is what it sent, empty in a local step.
  void OnFeedback(StepFeedback feedback, std::span<const BucketWork> buckets,
                  const StepTimes& times) const;

 private:
  // A UnitBook is what is recorded of a unit in the step.
  struct UnitBook {
    double parameter = 0;
    int64_t elements = 0;  // value of Exchange::ElementsSent() after the last call
    std::vector<SentCall> calls;
  };

  // Lets the policy agree on candidates, where the step has any.
  void Agree();
  // Runs the policy's collective call of that moment, where it has one. `probes` are those of each
  // worker, by unit; they are empty in an announcement.
  void RunPolicyCall(PolicyMoment moment, std::span<const std::vector<Probe>> probes);
  // Returns the bytes of one active worker's messages by unit, in the mean over the workers.
  std::vector<double> UnitBytes() const;
  // Returns each unit's share, by `unit_bytes`, of the time of the bucket that it is sent in.
  // `buckets` and `bucket_seconds` have one length.
  std::vector<double> UnitExposedSeconds(std::span<const BucketWork> buckets,
                                         std::span<const double> unit_bytes,
                                         std::span<const double> bucket_seconds) const;

  UnitPlan plan_;
  Policy& policy_;
  int workers_;
  std::unique_ptr<ModelExchange> exchange_;
  MessageHook hook_;
  // Number of the step, active workers (never empty in a step), candidates, books, policy calls.
  int64_t step_ = 0;
  std::vector<int> active_workers_;
  std::vector<double> candidates_;
  std::vector<UnitBook> books_;  // by unit
  std::optional<SentCall> agreement_;
  std::optional<SentCall> announcement_;
};

}  // namespace legacy

// Aggregation turns the workers' gradients of a step into their mean: the policy decides, the
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
#include "trainer/processes/process_group.h"

namespace legacy {

// A UnitOutcome says what the policy chose for a unit and what was sent for it.
struct UnitOutcome {
  double parameter = 0;
  int64_t elements = 0;  // values that one active worker sent: the element ratio's numerator
  int64_t bytes = 0;     // bytes of all workers' messages
};

// StepTimes are the simulated times of a step, for policies that read the clock.
struct StepTimes {
  double simulated_seconds = 0;  // duration of the step
  double compute_seconds = 0;    // mean over the workers, like the next two
  double codec_seconds = 0;
  double communication_seconds = 0;  // the part that is not hidden behind computing
  // Exposed communication of each of StepWork::buckets.
  std::vector<double> bucket_exposed_seconds = {};
};

// Returns the factor that brings a gradient's norm to at most `limit`.
float ClipFactor(double limit, double squared_norm);

// An Aggregation drives the policy, forms the mean of each step and records what was sent. With
// several processes, only the policy of process 0 is asked: its choices, and what it needs to know,
// are sent between them. Buckets, outcomes and feedback are process 0's, too.
class Aggregation {
 public:
  // A UnitGradient returns the host copy of a unit's gradient at the worker whose gradient a policy
  // reads.
  using UnitGradient = std::function<std::span<const float>(size_t unit)>;

  // `exchange` has the plan's units; `policy` and `processes` outlive this.
  Aggregation(UnitPlan plan, Policy& policy, int workers, std::unique_ptr<ModelExchange> exchange,
              ProcessGroup& processes = OneProcess());

  const UnitPlan& plan() const { return plan_; }
  const ModelExchange& exchange() const { return *exchange_; }
  ModelExchange& exchange() { return *exchange_; }

  // Starts a step: the policy decides each unit's parameter.
  void Begin(const StepInfo& step);
  // Adds a worker's flat gradient, in the exchange's memory, as ModelExchange::Encode does. A
  // policy that reads gradients is shown that of the first active worker; `on_host` is then called
  // for each unit. Where the mean is compressed, Finish shows the mean instead.
  void AddGradient(int worker, const float* gradient, const UnitGradient& on_host);
  // Agrees on candidates, finishes the exchange, writes the flat mean and lets the policy announce.
  // Throws Error naming the step where a message does not decode.
  void Finish(float* mean);

  // Calls Exchange::RescaleResiduals for all units.
  void RescaleResiduals(float factor) { exchange_->RescaleResiduals(factor); }
  // Throws Error where messages stay on a device.
  void SetMessageHook(MessageHook hook);

  // Return what the finished step sent, by bucket and by unit.
  std::vector<BucketWork> Buckets() const;
  std::vector<UnitOutcome> Outcomes() const;
  // Tells the policy how long the step took. `feedback` has the step's number, loss and mean
  // gradient; `buckets` is what the step sent, empty in a local step.
  void OnFeedback(StepFeedback feedback, std::span<const BucketWork> buckets,
                  const StepTimes& times) const;

 private:
  // A UnitRecord is the record of a unit in the step.
  struct UnitRecord {
    double parameter = 0;
    int64_t elements = 0;  // value of Exchange::ElementsSent() after the last call
    std::vector<SentCall> calls;
  };

  // Asks the policy, and starts the exchange with what it chose; in other processes than 0, with
  // what process 0's policy chose.
  void BeginLeading(const StepInfo& step);
  void BeginFollowing(StepInfo step);
  void BeginExchange(const StepInfo& step, bool estimate);
  // Shows the policy the mean that was compressed, where it reads gradients.
  void ShowMean();
  // Passes on the gradient that the policy reads, where another process than 0 computed it.
  void ShareGradient();
  // Lets the policy agree on candidates, where the step has any.
  void Agree();
  // Runs the policy's collective call of that moment, where it has one. `probes` has each worker's
  // probes by unit, and is empty in an announcement.
  void RunPolicyCall(PolicyMoment moment, std::span<const std::vector<Probe>> probes);
  // Returns the bytes of one active worker's messages by unit, as the mean over the workers.
  std::vector<double> UnitBytes() const;
  // Returns the exposed seconds of each unit: those of its bucket, divided among the bucket's units
  // in proportion to `unit_bytes`. `buckets` and `bucket_seconds` have one length.
  std::vector<double> UnitExposedSeconds(std::span<const BucketWork> buckets,
                                         std::span<const double> unit_bytes,
                                         std::span<const double> bucket_seconds) const;

  UnitPlan plan_;
  Policy& policy_;
  int workers_;
  std::unique_ptr<ModelExchange> exchange_;
  ProcessGroup& processes_;
  MessageHook hook_;
  // Number of the step, active workers (never empty in a step), candidates, books, policy calls.
  int64_t step_ = 0;
  std::vector<int> active_workers_;
  std::vector<double> parameters_;  // by unit, as decided at the beginning
  std::vector<double> candidates_;
  bool reads_gradient_ = false;      // true where the policy reads the first active worker's
  std::vector<double> answers_;      // seconds of calls that exchanges asked the link for
  size_t next_answer_ = 0;           // the one that the next question gets
  StateWriter gradient_;             // that gradient, where it has to travel
  std::vector<UnitRecord> records_;  // by unit
  std::optional<SentCall> agreement_;
  std::optional<WorkList> alone_;  // work of agreeing on what the mean says, where that was done
  std::optional<SentCall> announcement_;
};

}  // namespace legacy

// Aggregation is a step's way from the workers' gradients to their mean: the policy decides, the
// exchanges of all units run, and what was sent is recorded. This header has what does not depend
// on where exchanges are; host_aggregation.h has messages on the host, and device_aggregation.h on
// a device.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "compress/exchange.h"
#include "compress/policy.h"
#include "trainer/clock/bucket_plan.h"
#include "trainer/clock/step_work.h"

namespace legacy {

// A MessageInfo says which message a hook sees.
struct MessageInfo {
  int64_t step = 0;
  int unit = 0;  // position of the unit; -1: the message is the policy's own
  int call = 0;
  int worker = 0;
};

// A MessageHook sees, and may change, each message between encoding and decoding. It is called from
// one thread, by collective call, unit and worker. The length that counts as traffic is the
// encoder's.
using MessageHook = std::function<void(const MessageInfo& info, Bytes& message)>;

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

// An Aggregation makes the mean of each step; the base class drives the policy and keeps the books
// of what was sent.
class Aggregation {
 public:
  // `policy` outlives this.
  Aggregation(UnitPlan plan, Policy& policy, int workers);
  virtual ~Aggregation() = default;

  const UnitPlan& plan() const { return plan_; }

  // Starts a step: the policy decides each unit's parameter. `active_workers` are ascending; empty:
  // all.
  virtual void Begin(uint64_t seed, const StepInfo& step, std::span<const int> active_workers) = 0;
  // Calls Exchange::RescaleResiduals for all units.
  virtual void RescaleResiduals(float factor) = 0;

  // Return what the finished step sent, by bucket and by unit.
  std::vector<BucketWork> Buckets() const;
  std::vector<UnitOutcome> Outcomes() const;
  // Tells the policy what the step took. `feedback` has its number, loss and mean gradient;
  // `buckets` is what it sent, empty in a local step.
  void OnFeedback(StepFeedback feedback, std::span<const BucketWork> buckets,
                  const StepTimes& times) const;

 protected:
  // A UnitBook is what is recorded of a unit in the step.
  struct UnitBook {
    double parameter = 0;
    int64_t elements = 0;         // value of Exchange::ElementsSent() after the last call
    std::vector<CallWork> calls;  // calls of the step so far
  };

  // Empties the books, and asks the policy.
  void Decide(const StepInfo& step, std::span<const int> active_workers);
  // True where the policy is to be shown the worker's gradient.
  bool IsShown(int worker) const;
  // Runs the policy's collective call of that moment, where it has one. `probes` are those of each
  // worker, by unit; they are empty in an announcement.
  void RunPolicyCall(PolicyMoment moment, std::span<const std::vector<Probe>> probes,
                     const MessageHook& hook);

  UnitPlan plan_;
  Policy& policy_;
  int workers_;
  int64_t step_ = 0;
  std::vector<int> active_workers_;  // the step's active workers, never empty in a step
  std::vector<double> candidates_;   // the step's candidates
  std::vector<UnitBook> books_;      // by unit

 private:
  // Returns the bytes of one active worker's messages by unit, in the mean over the workers.
  std::vector<double> UnitBytes() const;
  // Returns each unit's share, by `unit_bytes`, of the time of the bucket that it is sent in.
  // `buckets` and `bucket_seconds` have one length.
  std::vector<double> UnitExposedSeconds(std::span<const BucketWork> buckets,
                                         std::span<const double> unit_bytes,
                                         std::span<const double> bucket_seconds) const;

  std::optional<CallWork> agreement_;  // the policy's calls of the step
  std::optional<CallWork> announcement_;
};

}  // namespace legacy

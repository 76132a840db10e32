// A step's way from the workers' gradients to their mean: the policy decides, the exchanges of all
// units run, the books say what was sent. Here is what does not depend on where exchanges are; the
// rest is in host_aggregation.h, whose messages are on the host, and in device_aggregation.h.
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

// Which message a hook sees.
struct MessageInfo {
  int64_t step = 0;
  int unit = 0;  // -1: the policy's own
  int call = 0;
  int worker = 0;
};

// Sees, and may change, each message between encoding and decoding. Called from one thread, by
// collective call, unit and worker; the length that counts as traffic is the encoder's.
using MessageHook = std::function<void(const MessageInfo& info, Bytes& message)>;

// What the policy chose for a unit and what was sent for it.
struct UnitOutcome {
  double parameter = 0;
  int64_t elements = 0;  // values that one active worker sent: the element ratio's numerator
  int64_t bytes = 0;     // of the messages of all
};

// What a step took, for policies that read the clock.
struct StepTimes {
  double simulated_seconds = 0;  // of the step
  double compute_seconds = 0;    // mean over the workers, as the next two
  double codec_seconds = 0;
  double communication_seconds = 0;                 // not hidden behind computing
  std::vector<double> bucket_exposed_seconds = {};  // of StepWork::buckets: its part of the above
};

// What clipping a worker's gradient of so many elements takes; nothing where the scheme does not
// clip it.
std::vector<Work> ClipWork(const Scheme& scheme, int workers, int64_t elements);
// What a gradient is multiplied by so that its norm is at most `limit`.
float ClipFactor(double limit, double squared_norm);

class Aggregation {
 public:
  // `policy` outlives this.
  Aggregation(UnitPlan plan, Policy& policy, int workers);
  virtual ~Aggregation() = default;

  const UnitPlan& plan() const { return plan_; }

  // Starts a step: the policy decides each unit's parameter. `active_workers`: workers that take
  // part, ascending; empty: all.
  virtual void Begin(uint64_t seed, const StepInfo& step, std::span<const int> active_workers) = 0;
  // Exchange::RescaleResiduals of all units.
  virtual void RescaleResiduals(float factor) = 0;

  // Of the finished step.
  std::vector<BucketWork> Buckets() const;
  std::vector<UnitOutcome> Outcomes() const;
  // Tells the policy what the step took. `feedback` has its number, loss and mean gradient;
  // `buckets` is what it sent, empty in a local step.
  void OnFeedback(StepFeedback feedback, std::span<const BucketWork> buckets,
                  const StepTimes& times) const;

 protected:
  struct UnitBook {
    double parameter = 0;
    int64_t elements = 0;         // as Exchange::ElementsSent() has it, after the last call
    std::vector<CallWork> calls;  // of the step so far
  };

  // Empties the books, and asks the policy.
  void Decide(const StepInfo& step, std::span<const int> active_workers);
  // Whether the policy is to be shown the worker's gradient.
  bool IsShown(int worker) const;
  // The policy's collective call of that moment, where it has one. `probes`: of each worker, by
  // unit; empty in an announcement.
  void RunPolicyCall(PolicyMoment moment, std::span<const std::vector<Probe>> probes,
                     const MessageHook& hook);

  UnitPlan plan_;
  Policy& policy_;
  int workers_;
  int64_t step_ = 0;
  std::vector<int> active_workers_;  // of the step; never empty in one
  std::vector<double> candidates_;   // of the step
  std::vector<UnitBook> books_;      // by unit

 private:
  std::vector<double> UnitBytes() const;  // of one active worker's messages, mean over them
  // Of each unit: its share, by `unit_bytes`, of the time of the bucket that it travels in.
  // `buckets` and `bucket_seconds` are of one length.
  std::vector<double> UnitExposedSeconds(std::span<const BucketWork> buckets,
                                         std::span<const double> unit_bytes,
                                         std::span<const double> bucket_seconds) const;

  std::optional<CallWork> agreement_;  // of the step
  std::optional<CallWork> announcement_;
};

}  // namespace legacy

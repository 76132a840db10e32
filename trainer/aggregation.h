// Runs the exchanges of all units for one step, and the policy's own rounds around them: the workers' gradients in,
// their mean and the step's work out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compress/exchange.h"
#include "compress/policy.h"
#include "trainer/bucket_plan.h"
#include "trainer/step_work.h"
#include "trainer/worker_pool.h"

namespace legacy {

// Which message a hook sees.
struct MessageInfo {
  int64_t step = 0;
  int unit = 0;  // -1: the policy's own
  int round = 0;
  int worker = 0;
};

// Sees, and may change, each message between encoding and decoding. Called from one thread, by
// round, unit and worker; the length that counts as traffic is the encoder's.
using MessageHook = std::function<void(const MessageInfo& info, Bytes& message)>;

// What the policy chose for a unit and what one participant sent for it.
struct UnitOutcome {
  double parameter = 0;
  int64_t elements = 0;  // values sent: the element ratio's numerator
};

class Aggregation {
 public:
  // What is given as references outlives this.
  Aggregation(UnitPlan plan, const Scheme& scheme, Policy& policy, int workers, WorkerPool& pool);

  const UnitPlan& plan() const { return plan_; }
  Exchange& exchange(int unit) { return *units_[unit].exchange; }

  // Starts a step: the policy decides each unit's parameter. `participants`: workers that take part, ascending;
  // empty: all.
  void Begin(uint64_t seed, const StepInfo& step, std::span<const int> participants);

  // Takes in a worker's flat gradient: shows the first participant's to a policy that reads it, and encodes the first
  // round of every unit, or measures the policy's candidates. Once for each participant, from any thread.
  void TakeGradient(int worker, std::span<const float> gradient);

  // Agrees on candidates, takes in all messages, runs the rounds that remain, writes the flat mean and lets the policy
  // announce. Throws Error
  // naming step, worker and unit on a message that does not decode.
  void Finish(std::span<float> mean, const MessageHook& hook);

  // Of the finished step.
  std::vector<BucketWork> Buckets() const;
  std::vector<UnitOutcome> Outcomes() const;
  std::vector<double> UnitBytes() const;  // of one participant's messages, mean over them

 private:
  struct UnitState {
    std::unique_ptr<Exchange> exchange;
    double parameter = 0;
    bool open = false;              // a round is under way
    std::vector<Message> messages;  // of the round, by worker; empty where one takes no part
    std::vector<RoundWork> rounds;  // of the step so far
  };

  void Agree(const MessageHook& hook);
  // The policy's round of that moment, where it has one. `probes` are of each worker.
  std::optional<RoundWork> RunPolicyRound(PolicyMoment moment, const MessageHook& hook);
  bool Measured(size_t unit) const;
  void OpenRound(UnitState& unit) const;
  void CountBytes();
  void CallHook(const MessageHook& hook);
  void TakeIn(int unit);
  void EncodeLaterRound();
  bool AnyOpen() const;

  UnitPlan plan_;
  const Scheme& scheme_;
  Policy& policy_;
  int workers_;
  WorkerPool& pool_;
  int64_t step_ = 0;
  std::vector<int> participants_;  // of the step; never empty in one
  std::vector<UnitState> units_;
  std::vector<double> candidates_;          // of the step
  std::vector<std::vector<Probe>> probes_;  // [worker][unit], with candidates
  std::optional<RoundWork> agreement_;      // of the step
  std::optional<RoundWork> announcement_;
};

}  // namespace legacy

// Runs the exchanges of all units for one step: the workers' gradients in, their mean and the
// step's work out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "compress/exchange.h"
#include "trainer/bucket_plan.h"
#include "trainer/step_work.h"
#include "trainer/worker_pool.h"

namespace legacy {

// Which message a hook sees.
struct MessageInfo {
  int64_t step = 0;
  int unit = 0;
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
  // `pool` outlives this.
  Aggregation(UnitPlan plan, const Scheme& scheme, int workers, WorkerPool& pool);

  const UnitPlan& plan() const { return plan_; }
  Exchange& exchange(int unit) { return *units_[unit].exchange; }

  // Starts a step; parameters[i] is for unit i. `participants`: workers that take part, ascending;
  // empty: all.
  void Begin(uint64_t seed, int64_t step, std::span<const double> parameters,
             std::span<const int> participants);

  // Encodes the first round of every unit; `gradient` is flat. Once for each participant, from any
  // thread.
  void Encode(int worker, std::span<const float> gradient);

  // Takes in all messages, runs the rounds that remain and writes the flat mean. Throws Error
  // naming step, worker and unit on a message that does not decode.
  void Finish(std::span<float> mean, const MessageHook& hook);

  // Of the finished step.
  std::vector<BucketWork> Buckets() const;
  std::vector<UnitOutcome> Outcomes() const;

 private:
  struct UnitState {
    std::unique_ptr<Exchange> exchange;
    double parameter = 0;
    bool open = false;              // a round is under way
    std::vector<Message> messages;  // of the round, by worker; empty where one takes no part
    std::vector<RoundWork> rounds;  // of the step so far
  };

  void OpenRound(UnitState& unit) const;
  void CountBytes();
  void CallHook(const MessageHook& hook);
  void TakeIn(int unit);
  void EncodeLaterRound();
  bool AnyOpen() const;

  UnitPlan plan_;
  int workers_;
  WorkerPool& pool_;
  int64_t step_ = 0;
  std::vector<int> participants_;  // of the step; never empty in one
  std::vector<UnitState> units_;
};

}  // namespace legacy

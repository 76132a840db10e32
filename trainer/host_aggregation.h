// Aggregation on the host: each unit's exchange (compress/exchange.h), workers and units side by
// side on a pool.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trainer/aggregation.h"
#include "trainer/worker_pool.h"

namespace legacy {

class HostAggregation : public Aggregation {
 public:
  // What is given as references outlives this.
  HostAggregation(UnitPlan plan, const Scheme& scheme, Policy& policy, int workers,
                  WorkerPool& pool);

  Exchange& exchange(int unit) { return *units_[unit].exchange; }

  void Begin(uint64_t seed, const StepInfo& step, std::span<const int> active_workers) override;

  // Takes in a worker's flat gradient: shows the first active worker's to a policy that reads it,
  // and encodes the first collective call of every unit, or measures the policy's candidates. Once
  // for each active worker, from any thread.
  void AddGradient(int worker, std::span<const float> gradient);

  // Agrees on candidates, takes in all messages, runs the collective calls that remain, writes the
  // flat mean and lets the policy announce. Throws Error naming step, worker and unit on a message
  // that does not decode.
  void Finish(std::span<float> mean, const MessageHook& hook);

  void RescaleResiduals(float factor) override;

 private:
  struct UnitState {
    std::unique_ptr<Exchange> exchange;
    bool open = false;              // a call is under way
    std::vector<Message> messages;  // of the call, by worker; empty where one takes no part
  };

  void Agree(const MessageHook& hook);
  bool Measured(size_t unit) const;
  void OpenCall(size_t unit);
  void CountBytes();
  void CallHook(const MessageHook& hook);
  void Accumulate(int unit);
  void EncodeLaterCall();
  bool AnyOpen() const;

  const Scheme& scheme_;
  WorkerPool& pool_;
  std::vector<UnitState> units_;
  std::vector<std::vector<Probe>> probes_;  // [worker][unit], with candidates
};

}  // namespace legacy

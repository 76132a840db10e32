// Host aggregation runs each unit's exchange (compress/exchange.h) on the host, workers and units
// side by side on a pool.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trainer/aggregation.h"
#include "trainer/worker_pool.h"

namespace legacy {

// A HostAggregation has one Exchange for each unit.
class HostAggregation : public Aggregation {
 public:
  // What is given as references outlives this.
  HostAggregation(UnitPlan plan, const Scheme& scheme, Policy& policy, int workers,
                  WorkerPool& pool);

  // Returns the unit's exchange.
  Exchange& exchange(int unit) { return *units_[unit].exchange; }

  void Begin(uint64_t seed, const StepInfo& step, std::span<const int> active_workers) override;

  // Takes a worker's flat gradient: shows the first active worker's to a policy that reads it, and
  // encodes the first collective call of every unit, or measures the policy's candidates. It is
  // called once for each active worker, from any thread.
  void AddGradient(int worker, std::span<const float> gradient);

  // Agrees on candidates, accumulates all messages, runs the remaining collective calls, writes the
  // flat mean and lets the policy announce. Throws Error naming step, worker and unit on a message
  // that does not decode.
  void Finish(std::span<float> mean, const MessageHook& hook);

  void RescaleResiduals(float factor) override;

 private:
  struct UnitState {
    std::unique_ptr<Exchange> exchange;
    bool open = false;  // true while a call is open
    // Messages of the call by worker; empty where a worker is not active.
    std::vector<Message> messages;
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

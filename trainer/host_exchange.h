// A host exchange runs the exchanges of all units in the host's memory: one Exchange
// (compress/exchange.h) for each unit, with workers and units in parallel on a pool.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compress/model_exchange.h"
#include "trainer/processes/process_group.h"
#include "trainer/worker_pool.h"

namespace legacy {

// A HostModelExchange runs on the threads of a WorkerPool. Of several processes, each encodes the
// messages of its own workers; messages of all units of a collective call travel together.
class HostModelExchange : public ModelExchange {
 public:
  // `units` are those of the flat gradient; what references refer to outlives this.
  HostModelExchange(const Scheme& scheme, std::span<const Unit> units, int workers,
                    WorkerPool& pool, ProcessGroup& processes = OneProcess());

  void Begin(const ModelStep& step) override;
  void Encode(int worker, const float* gradient) override;
  std::span<const std::vector<Probe>> Probes() override;
  bool Measured(int unit) const override;
  bool MeasuresMean() const override { return measures_ && CompressesMean(); }
  void Choose(size_t index) override;
  void Finish(float* mean) override;
  std::vector<SentCall> Calls(int unit) const override { return units_[unit].calls; }
  int64_t ElementsSent(int unit) const override { return units_[unit].exchange->ElementsSent(); }
  void RescaleResiduals(float factor) override;
  std::vector<float> CopyResidual(int unit, int worker) const override;
  bool CompressesMean() const override { return scheme_.Traits().compresses_mean; }
  std::span<const float> Averaged(int unit) const override {
    return units_[unit].exchange->Averaged();
  }
  std::span<const float> AveragedFed(int unit) const override {
    return units_[unit].exchange->AveragedFed();
  }
  std::vector<float> ErrorFed(int unit, int worker,
                              std::span<const float> gradient) const override {
    return units_[unit].exchange->ErrorFed(worker, gradient);
  }
  void SaveShared(StateWriter& out) const override;
  void LoadShared(StateReader& in) override;
  void SaveWorker(int worker, StateWriter& out) const override;
  void LoadWorker(int worker, StateReader& in) override;
  void Loaded() override;
  void SetMessageHook(const MessageHook& hook) override { hook_ = hook; }

 private:
  struct UnitState {
    Unit unit;
    double parameter = 0;
    std::unique_ptr<Exchange> exchange;
    bool open = false;  // true while a collective call is open
    // Messages of the call by worker; empty for inactive workers.
    std::vector<Message> messages;
    std::vector<SentCall> calls = {};  // calls of the step so far
  };

  void OpenCall(UnitState& unit);
  // Passes on what write(worker, StateWriter&) writes about each own worker of `workers`, and calls
  // read(worker, StateReader&) for the others'.
  template <class Write, class Read>
  void Share(std::span<const int> workers, const Write& write, const Read& read);
  void ShareMessages();
  void CountBytes();
  void CallHook();
  void Accumulate(UnitState& unit);
  // Sends and receives what is encoded of the open calls, and opens the next ones.
  void RunCalls();
  // Encodes the open call, of measured units only or of all.
  void EncodeOpen(bool measured_alone);
  bool AnyOpen() const;

  const Scheme& scheme_;
  const int workers_;
  WorkerPool& pool_;
  ProcessGroup& processes_;
  MessageHook hook_;
  std::vector<UnitState> units_;
  // State of the step.
  int64_t step_ = 0;
  std::vector<int> active_workers_;
  std::vector<int> own_workers_;  // those of the active workers that this process simulates
  bool measures_ = false;         // true where the step has candidates
  std::vector<std::vector<Probe>> probes_;  // [worker][unit]
};

}  // namespace legacy

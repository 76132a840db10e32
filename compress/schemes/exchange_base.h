// The common part of exchanges: the unit, the workers, the active workers of the step, and all
// state that lasts from step to step.
#pragma once

#include <string>
#include <vector>

#include "compress/exchange.h"
#include "compress/schemes/memory.h"

namespace legacy {

// Keeps that state for a derived exchange.
class ExchangeBase : public Exchange {
 public:
  ExchangeBase(std::string_view scheme, const Unit& unit, int workers, const MemoryOptions& memory);

  void RescaleResiduals(float factor) override;
  std::span<const float> Residual(int worker) const override { return memory_.Residual(worker); }
  std::vector<float> ErrorFed(int worker, std::span<const float> gradient) const override {
    return memory_.ErrorFed(worker, gradient);
  }
  Bytes Save() const override;
  void Load(ByteSpan state) override;
  void SaveShared(StateWriter& out) const override;
  void LoadShared(StateReader& in) override;
  void SaveWorker(int worker, StateWriter& out) const override;
  void LoadWorker(int worker, StateReader& in) override;

 protected:
  const Unit& unit() const { return unit_; }
  int workers() const { return workers_; }
  const UnitStep& step() const { return step_; }
  // Return the number of active workers, and the i-th of them.
  int ActiveWorkers() const;
  int ActiveWorker(int i) const;
  Memory& memory() { return memory_; }
  const Memory& memory() const { return memory_; }
  // Returns the state that all workers share (a warm basis). It is saved with each worker's own
  // state.
  std::vector<float>& shared() { return shared_; }
  // Throws Error if a loaded shared state cannot belong to this exchange.
  virtual void CheckShared(std::span<const float> shared) const;

  void SetStep(const UnitStep& context) { step_ = context; }
  void SetParameter(double parameter) { step_.parameter = parameter; }
  // Returns parameter, random key and unit of the step, which sender and receivers share.
  CodecContext SharedContext() const;
  CodecState& StateOf(int worker) { return codec_states_[worker]; }
  const CodecState& StateOf(int worker) const { return codec_states_[worker]; }
  // Returns the sender's context, with its own draws and its codec's state.
  CodecContext SenderContext(int worker);

 private:
  std::string scheme_;
  Unit unit_;
  int workers_;
  UnitStep step_;
  Memory memory_;
  std::vector<CodecState> codec_states_;  // one per worker
  std::vector<float> shared_;
};

// Returns the state of a worker that keeps the mean of what the workers keep whose states are given
// (residuals, momenta, squares; missing ones count as zeros), so that any number of workers with it
// have the mean residual of these. States are what SaveWorker wrote; numbers of codecs are the
// first one's. Throws Error for states that are none, or whose lengths differ.
Bytes MeanOfWorkers(std::span<const ByteSpan> states);

// Throws Error if there are no workers, or too many elements.
void CheckExchange(const Unit& unit, int workers);

// Save and load a vector that one worker, or all, keep of a unit: its elements, or nothing yet.
// Throws Error for another length.
void SaveKept(std::span<const float> kept, StateWriter& out);
std::vector<float> LoadKept(const char* what, int64_t numel, StateReader& in);

// Returns a payload without a header: the four bytes of a number, for collective calls of one
// number per worker.
Message NumberMessage(uint32_t number);
// Returns the number of such a payload. Throws Error unless it is four bytes.
uint32_t NumberOf(ByteSpan message);

}  // namespace legacy

// What exchanges share: unit, workers, who takes part in the step, and all that lasts from step to
// step.
#pragma once

#include <string>
#include <vector>

#include "compress/exchange.h"
#include "compress/schemes/memory.h"

namespace legacy {

class ExchangeBase : public Exchange {
 public:
  ExchangeBase(std::string_view scheme, const Unit& unit, int workers, const MemoryOptions& memory);

  void RescaleResiduals(float factor) override;
  std::span<const float> Residual(int worker) const override { return memory_.Residual(worker); }
  Bytes Save() const override;
  void Load(ByteSpan state) override;

 protected:
  const Unit& unit() const { return unit_; }
  int workers() const { return workers_; }
  const StepContext& step() const { return step_; }
  // How many workers take part in the step, and which is the i-th of them.
  int ActiveWorkers() const;
  int ActiveWorker(int i) const;
  Memory& memory() { return memory_; }
  const Memory& memory() const { return memory_; }
  // What is the same at all workers (a warm basis), beside what each keeps; saved with the rest.
  std::vector<float>& shared() { return shared_; }
  // Throws Error where a loaded one cannot be this exchange's.
  virtual void CheckShared(std::span<const float> shared) const;

  void SetStep(const StepContext& context) { step_ = context; }
  void SetParameter(double parameter) { step_.parameter = parameter; }
  // Parameter, random key and unit of the step, as sender and receivers share them.
  CodecContext SharedContext() const;
  // The same as the sender has it: with its own draws and what its codec remembers.
  CodecContext SenderContext(int worker);

 private:
  std::string scheme_;
  Unit unit_;
  int workers_;
  StepContext step_;
  Memory memory_;
  std::vector<CodecState> codec_states_;  // by worker
  std::vector<float> shared_;
};

// Throws Error where there are no workers, or too many elements.
void CheckExchange(const Unit& unit, int workers);

// A payload without a header: the four bytes of a number, in collective calls of one number a
// worker.
Message NumberMessage(uint32_t number);
uint32_t NumberOf(ByteSpan message);  // throws Error unless it is four bytes

}  // namespace legacy

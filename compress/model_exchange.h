// A model exchange is the exchanges (exchange.h) of all units of a model, from the workers' flat
// gradients to their flat mean. Implementations differ in where gradients and messages are:
//
//   HostModelExchange    host memory, workers side by side on threads      trainer/host_exchange.h
//   DeviceExchange       a device's memory, in few launches for all units  cuda/exchange/
//   DrawnExchange        nowhere: gradients of a shape are drawn           scenarios/shapes/
//
//   exchange->Begin(step)
//   for each active worker w:            exchange->Encode(w, gradient of w)
//   if step.candidates are given:        probes = exchange->Probes()
//                                        exchange->Choose(candidate)
//   exchange->Finish(mean)
//   exchange->Calls(unit), ...           what was sent
//
// Unit u of gradients and means is at its offset. All functions throw Error. The error of a
// malformed message names worker and unit; after an error the exchange must not be used any more.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/error.h"
#include "compress/exchange.h"

namespace legacy {

// The step as a ModelExchange sees it.
struct ModelStep {
  StepInfo info = {};
  std::span<const double> parameters = {};  // parameter of each unit
  // Parameters that the policy will choose from within the step, loosest first. If empty,
  // `parameters` are the choice.
  std::span<const double> candidates = {};
  bool estimate = false;  // UnitStep::estimate
};

// Identifies the message that a hook sees.
struct MessageInfo {
  int64_t step = 0;
  int unit = 0;  // position of the unit; -1: the message is the policy's own
  int call = 0;
  int worker = 0;
};

// Sees, and may change, each message between encoding and decoding. It is called from one thread,
// by collective call, unit and worker. Traffic counts the encoder's length.
using MessageHook = std::function<void(const MessageInfo& info, Bytes& message)>;

// Serves one training. The top of this file gives the order in which its functions are called.
class ModelExchange {
 public:
  virtual ~ModelExchange() = default;

  // Starts a step.
  virtual void Begin(const ModelStep& step) = 0;
  // Takes the worker's flat gradient, in the exchange's memory, and encodes the first call of every
  // unit, or measures the candidates. It is called once for each active worker: on the host from
  // any thread, elsewhere in the workers' order. Afterwards the gradient's memory may be reused.
  virtual void Encode(int worker, const float* gradient) = 0;

  // Return the probes [worker][unit] of a step with candidates, once all are encoded, and whether
  // the unit's parameter is chosen from them. Where the mean is compressed, the calls that form it
  // run first, and its probes are those of worker 0.
  virtual std::span<const std::vector<Probe>> Probes() { return {}; }
  virtual bool Measured([[maybe_unused]] int unit) const { return false; }
  // Returns whether the step's candidates are measured on the mean, so that nobody sends for it.
  virtual bool MeasuresMean() const { return false; }
  // Continues with candidates[index].
  virtual void Choose([[maybe_unused]] size_t index) {}

  // Runs the remaining calls, waits for the device if there is one, and writes the flat mean.
  virtual void Finish(float* mean) = 0;

  // Return the unit's collective calls in the finished step, and the number of values that one
  // worker sent (Exchange::ElementsSent).
  virtual std::vector<SentCall> Calls(int unit) const = 0;
  virtual int64_t ElementsSent(int unit) const = 0;

  // Calls Exchange::RescaleResiduals for all units.
  virtual void RescaleResiduals(float factor) = 0;
  // Returns a copy of a worker's residual of one unit, on the host; empty without error feedback.
  virtual std::vector<float> CopyResidual(int unit, int worker) const = 0;
  // Returns Exchange::ErrorFed of one unit; `gradient` is the unit's, on the host.
  virtual std::vector<float> ErrorFed(int unit, int worker,
                                      std::span<const float> gradient) const = 0;

  // Return whether the mean is compressed (SchemeTraits::compresses_mean), and then, once finished,
  // Exchange::Averaged and AveragedFed of one unit.
  virtual bool CompressesMean() const { return false; }
  virtual std::span<const float> Averaged([[maybe_unused]] int unit) const { return {}; }
  virtual std::span<const float> AveragedFed([[maybe_unused]] int unit) const { return {}; }

  // Save and load what lasts from step to step, in the parts of Exchange::SaveShared. Throw Error
  // where that is on a device.
  virtual void SaveShared(StateWriter&) const { ThrowCannotSave(); }
  virtual void LoadShared(StateReader&) { ThrowCannotSave(); }
  virtual void SaveWorker([[maybe_unused]] int worker, StateWriter&) const {}
  virtual void LoadWorker([[maybe_unused]] int worker, StateReader&) {}

  // Is called when all that this process holds is loaded.
  virtual void Loaded() {}

  // Sets a hook for all messages. Throws Error if messages stay on a device.
  virtual void SetMessageHook(const MessageHook& hook) {
    if (hook)
      throw Error("message hook: messages stay on the device; only --device=cpu shows them");
  }

 private:
  [[noreturn]] static void ThrowCannotSave() {
    throw Error("checkpoint: residuals stay on the device; only --device=cpu saves them");
  }
};

// An exchange on a device. Its messages, residuals and mean have the host's bits, except those of
// PowerSGD, whose products are summed in another order: they agree up to an error that its header
// states. Encode() queues work and returns. It takes no candidates.
class DeviceExchange : public ModelExchange {
 public:
  // Copies a worker's message of the unit's last call to the host.
  virtual Bytes CopyMessage(int unit, int worker) const = 0;

 protected:
  // Throws Error if there are candidates.
  static void RefuseCandidates(const ModelStep& step) {
    if (step.candidates.empty()) return;
    throw Error("policy: it has candidates, which exchanges on a device do not take");
  }
};

}  // namespace legacy

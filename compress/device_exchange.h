// DeviceExchange: the exchanges (exchange.h) of all units of a model at once, where gradients,
// residuals and messages are in the memory of a device. What Exchange gives unit by unit, in few
// launches for all of them: for sparsifiers, quantisers and FFT the same messages, residuals and
// mean to the bit; for PowerSGD, whose products are summed in another order, up to an error that
// its header states.
//
//   exchange->Begin(step)
//   for each active worker w, in order:   exchange->Encode(w, gradient of w)
//   exchange->Finish(mean)
//   exchange->Calls(unit), ...         what was sent
//
// Gradients and means are flat: unit u is at its offset. Encode() queues work and returns, so that
// `gradient` may be written again by what is queued after it; Finish() waits for the device. All
// throw Error; a gradient that is not finite and a message that does not decode are found by
// Finish(), which names worker and unit. The exchange is then not to be used any more.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "compress/exchange.h"

namespace legacy {

// A DeviceStep is what a DeviceExchange is told of a step.
struct DeviceStep {
  uint64_t seed = 0;
  int64_t step = 0;                      // number of the step, from 0
  std::span<const double> parameters;    // parameter of each unit
  std::vector<int> active_workers = {};  // workers that take part, ascending; empty: all

  // Returns the active workers, with all of 0 to workers - 1 named where all take part.
  std::vector<int> ActiveWorkers(int workers) const {
    if (!active_workers.empty()) return active_workers;
    std::vector<int> all(static_cast<size_t>(workers));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
};

// A DeviceExchange serves all units of a model. The top of this file says in which order its
// functions are called.
class DeviceExchange {
 public:
  // A SentCall is a collective call of a unit with the bytes that each worker sent in it; workers
  // that take no part sent 0.
  struct SentCall {
    CollectiveCall call;
    std::vector<int64_t> bytes;
  };

  virtual ~DeviceExchange() = default;
  // Starts a step.
  virtual void Begin(const DeviceStep& step) = 0;
  // Queues the encoding of a worker's flat gradient, which is in device memory.
  virtual void Encode(int worker, const float* gradient) = 0;
  // Decodes all messages and writes the flat mean to `mean` in device memory.
  virtual void Finish(float* mean) = 0;

  // Returns the collective calls of the unit in the finished step.
  virtual std::vector<SentCall> Calls(int unit) const = 0;
  // Returns the number of values that one active worker sent, as Exchange::ElementsSent does.
  virtual int64_t ElementsSent(int unit) const = 0;
  // Copies a worker's message of the unit's last collective call to the host.
  virtual Bytes CopyMessage(int unit, int worker) const = 0;

  // RescaleResiduals does what Exchange::RescaleResiduals does. CopyResidual copies a worker's
  // residual of one unit to the host; it is empty without error feedback.
  virtual void RescaleResiduals(float factor) = 0;
  virtual std::vector<float> CopyResidual(int unit, int worker) const = 0;
};

}  // namespace legacy

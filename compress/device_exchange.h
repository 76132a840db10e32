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

struct DeviceStep {
  uint64_t seed = 0;
  int64_t step = 0;                      // from 0
  std::span<const double> parameters;    // of each unit
  std::vector<int> active_workers = {};  // workers that take part, ascending; empty: all

  // The same, all of `workers` named.
  std::vector<int> ActiveWorkers(int workers) const {
    if (!active_workers.empty()) return active_workers;
    std::vector<int> all(static_cast<size_t>(workers));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
};

class DeviceExchange {
 public:
  // A collective call of a unit, and the bytes that each worker sent in it: 0 of who takes no part.
  struct SentCall {
    CollectiveCall call;
    std::vector<int64_t> bytes;
  };

  virtual ~DeviceExchange() = default;
  virtual void Begin(const DeviceStep& step) = 0;
  virtual void Encode(int worker, const float* gradient) = 0;
  virtual void Finish(float* mean) = 0;

  // Of the finished step.
  virtual std::vector<SentCall> Calls(int unit) const = 0;
  virtual int64_t ElementsSent(int unit) const = 0;  // as Exchange has it
  // A worker's message of the unit's last collective call, copied to the host.
  virtual Bytes CopyMessage(int unit, int worker) const = 0;

  // As Exchange::RescaleResiduals and Residual; the copy is of one unit, on the host, and empty
  // without error feedback.
  virtual void RescaleResiduals(float factor) = 0;
  virtual std::vector<float> CopyResidual(int unit, int worker) const = 0;
};

}  // namespace legacy

// What a step costs on the devices, and so when it has what ready to send (fabric::StepTraffic).
// Where the device times come from is for the kind of clock: a cost model (clock.h) or a trace
// (measured_clock.h), never the wall clock.
//
// Each worker has one device queue. It runs: what comes before the backward pass, then for each
// bucket the backward pass down to it and the encoding of its first collective call: encoding never
// overlaps the backward pass for free. What needs the whole gradient first (clipping) comes after
// the backward pass, and so does then all encoding. All device times are multiplied by the worker's
// straggler factor and rounded once per segment to the nanosecond. A worker that takes no part in a
// step stops, with its device free, when that is decided.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ns3-module/fabric/step/step.h"
#include "trainer/clock/step_work.h"
#include "trainer/clock/transfers.h"

namespace legacy {

// A step's traffic, and what its device times consist of, per worker in nanoseconds.
struct PricedStep {
  fabric::StepTraffic traffic;
  std::vector<fabric::TimeNs> compute;      // update, forward and backward, finished or abandoned
  std::vector<fabric::TimeNs> encode;       // first calls; compute + encode = traffic.deviceFree
  std::vector<fabric::TimeNs> late_encode;  // later calls: part of StepTiming::decodeBusy
  // [bucket][call][worker]: what the two above are sums of
  std::vector<std::vector<std::vector<fabric::TimeNs>>> call_encode;
};

// Device seconds of one step at one worker that nothing slows.
struct StepSeconds {
  struct Bucket {
    double compute = 0;          // since the bucket before it, or since `before`
    std::vector<double> encode;  // of each call
    std::vector<double> decode;
  };
  double before = 0;  // update and forward pass
  std::optional<double>
      whole;  // on the whole gradient; with it all encoding follows the backward pass
  std::vector<Bucket> buckets;  // of the work, in its order
  double after = 0;             // the backward pass behind the last bucket
};

class StepClock {
 public:
  explicit StepClock(TransferOptions options) : options_(std::move(options)) {}
  virtual ~StepClock() = default;

  // `factors`: slow-down of each worker (finite, > 0), or empty for none. `decided`: when workers
  // that take no part stop. Throws Error where something has no price.
  PricedStep Price(const StepWork& work, std::span<const double> factors,
                   fabric::TimeNs decided = 0) const;

  // Of each worker, one for each factor: update, forward and backward pass of step number `step`.
  // Known before the step is trained, so it can decide who takes part.
  virtual std::vector<fabric::TimeNs> ComputeTimes(int64_t step, int64_t batch_size,
                                                   std::span<const double> factors) const = 0;

 protected:
  StepClock(const StepClock&) = default;
  StepClock(StepClock&&) = default;

 private:
  virtual StepSeconds SecondsOf(const StepWork& work, int worker) const = 0;

  TransferOptions options_;
};

// Seconds at a worker of this factor.
fabric::TimeNs ToNs(double seconds, double factor);

}  // namespace legacy

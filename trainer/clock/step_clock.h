// A step clock says what a step costs on the devices, and so when each worker has what ready to
// send (fabric::StepTraffic). Device times come from a cost model (clock.h) or from a trace
// (measured_clock.h), never from the wall clock.
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

// A PricedStep is a step's traffic, and what its device times consist of, per worker in
// nanoseconds.
struct PricedStep {
  fabric::StepTraffic traffic;
  // Update, forward and backward pass, finished or abandoned.
  std::vector<fabric::TimeNs> compute;
  // Encoding of the first calls; compute + encode = traffic.deviceFree.
  std::vector<fabric::TimeNs> encode;
  // Encoding of later calls, a part of StepTiming::decodeBusy.
  std::vector<fabric::TimeNs> late_encode;
  // [bucket][call][worker]: the terms that the two above are sums of.
  std::vector<std::vector<std::vector<fabric::TimeNs>>> call_encode;
};

// StepSeconds are the device seconds of one step at one worker that nothing slows.
struct StepSeconds {
  // A Bucket has the seconds of one bucket.
  struct Bucket {
    double compute = 0;          // computing since the bucket before it, or since `before`
    std::vector<double> encode;  // encoding of each call
    std::vector<double> decode;
  };
  double before = 0;  // update and forward pass
  // Work on the whole gradient. Where there is any, all encoding follows the backward pass.
  std::optional<double> whole;
  std::vector<Bucket> buckets;  // the work's buckets, in its order
  double after = 0;             // backward pass behind the last bucket
};

// A StepClock prices steps.
class StepClock {
 public:
  explicit StepClock(TransferOptions options) : options_(std::move(options)) {}
  virtual ~StepClock() = default;

  // Returns the priced step. `factors` are the slow-downs of the workers (finite, > 0), or empty
  // for none. `decided` is when workers that are not active stop. Throws Error where something has
  // no price.
  PricedStep Price(const StepWork& work, std::span<const double> factors,
                   fabric::TimeNs decided = 0) const;

  // Returns the times of update, forward and backward pass in step number `step`, for each worker,
  // one for each factor. They are known before the step is trained, so they can decide who is
  // active.
  virtual std::vector<fabric::TimeNs> ComputeTimes(int64_t step, int64_t batch_size,
                                                   std::span<const double> factors) const = 0;

 protected:
  StepClock(const StepClock&) = default;
  StepClock(StepClock&&) = default;

 private:
  virtual StepSeconds SecondsOf(const StepWork& work, int worker) const = 0;

  TransferOptions options_;
};

// Returns `seconds` at a worker with that slow-down, rounded to the nanosecond.
fabric::TimeNs ToNs(double seconds, double factor);

}  // namespace legacy

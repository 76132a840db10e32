// A step clock gives the device times of a step, and so when each worker has each bucket ready to
// send (fabric::StepTraffic). Device times come from a cost model (clock.h) or from a trace
// (measured_clock.h), never from the wall clock.
//
// Each worker has one device queue. It runs the work before the backward pass; then, for each
// bucket, the backward pass down to that bucket and the encoding of its first collective call.
// Encoding therefore never overlaps the backward pass for free. Work that needs the whole gradient
// first (clipping) follows the backward pass, and then all encoding does, too. Where gradients of
// several passes are added up, all passes but the last come before. All device times are
// multiplied by the worker's straggler factor and rounded once per segment to the nanosecond. An
// inactive worker stops, with its device free, when it is decided that it is inactive.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ns3-module/fabric/step/step.h"
#include "trainer/clock/step_work.h"
#include "trainer/clock/transfers.h"

namespace legacy {

// A PricedStep has a step's traffic and the parts of its device times, by worker in nanoseconds. A
// sharded step has only the traffic.
struct PricedStep {
  fabric::StepTraffic traffic;
  // Time of update, forward and backward pass, finished or abandoned.
  std::vector<TimeNs> compute;
  // Time to encode the first calls; compute + encode = traffic.deviceFree.
  std::vector<TimeNs> encode;
  // Time to encode later calls, a part of StepTiming::decodeBusy.
  std::vector<TimeNs> late_encode;
  // Terms of the sums `encode` and `late_encode`: [bucket][call][worker].
  std::vector<std::vector<std::vector<TimeNs>>> call_encode;
};

// HopSeconds are what a worker computes between a message of a sum by hops and its next one.
struct HopSeconds {
  double launch = 0;  // for each message
  double all = 0;     // for all pieces together, without launches
};

// StepSeconds are the device seconds of one step at one worker that is not slowed down.
struct StepSeconds {
  // A Bucket has the seconds of one bucket.
  struct Bucket {
    double compute = 0;          // computing since the bucket before it, or since `before`
    std::vector<double> encode;  // encoding of each call
    std::vector<double> decode;
    // Seconds of a parameter server in each call, of a device as the worker has; empty: none.
    std::vector<double> serve = {};
    std::vector<HopSeconds> hops = {};  // what a hop of each call computes; empty: nothing
  };
  double before = 0;  // update, all passes but the last, and its forward pass
  // Seconds of work on the whole gradient. Where there is any, all encoding follows the backward
  // pass.
  std::optional<double> whole;
  std::vector<Bucket> buckets;  // the work's buckets, in its order
  double after = 0;             // backward pass after the last bucket
};

// A StepClock prices steps.
class StepClock {
 public:
  explicit StepClock(TransferOptions options) : options_(std::move(options)) {}
  virtual ~StepClock() = default;

  // Returns the priced step. `factors` are the slow-downs of the workers (finite, > 0), or empty
  // for none. `decided` is the time at which inactive workers stop. Throws Error where something
  // has no price.
  virtual PricedStep Price(const StepWork& work, std::span<const double> factors,
                           TimeNs decided = 0) const;

  // Returns the time of update, forward and backward passes in step number `step` at each worker;
  // `factors` has one entry for each, and `batch_size` is that of each pass. These times are known
  // before the step is trained, so they can decide which workers are active.
  virtual std::vector<TimeNs> ComputeTimes(int64_t step, int64_t batch_size, int64_t passes,
                                           std::span<const double> factors) const = 0;

  // Returns the device seconds of a step at workers that are not slowed down: one entry for each
  // worker, or a single one that holds for all.
  virtual std::vector<StepSeconds> SecondsOf(const StepWork& work) const = 0;

 protected:
  StepClock(const StepClock&) = default;
  StepClock(StepClock&&) = default;
  const TransferOptions& transfers() const { return options_; }

 private:
  TransferOptions options_;
};

// Returns what a hop of the call computes; price(WorkList) are the seconds of work.
HopSeconds HopSecondsOf(const SentCall& call,
                        const std::function<double(const WorkList& work)>& price);

// Returns the times of hops that compute this, at members with these slow-downs; empty: none.
fabric::HopTimes HopTimesOf(const Hops& hops, const HopSeconds& seconds,
                            std::span<const double> factors);

// Throws Error unless there is one positive factor for each worker, or none.
void CheckFactors(std::span<const double> factors, int workers);

// Returns `seconds` at a worker with that slow-down, rounded to the nanosecond.
TimeNs ToNs(double seconds, double factor);

}  // namespace legacy

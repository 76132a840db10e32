// The clock: from what a step asks for (StepWork) to when it is ready at each worker
// (fabric::StepTraffic), by a cost model and never by the wall clock. Formulas and what is not
// modelled: docs/clock.md.
//
// Each worker has one device queue. It runs: the optimizer's update of the step before, the forward
// pass, then for each bucket in backward order the backward pass down to the bucket's last
// operation and the encoding of its first round: encoding never overlaps the backward pass for
// free. All device times are multiplied by the worker's straggler factor and rounded once per
// segment to the nanosecond. A worker that takes no part in a step stops, with its device free, when
// that is decided.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ns3-module/fabric/step.h"
#include "trainer/profile.h"
#include "trainer/step_work.h"
#include "trainer/transfers.h"

namespace legacy {

struct OperationCost;

// A step's traffic, and what its device times consist of, per worker in nanoseconds.
struct PricedStep {
  fabric::StepTraffic traffic;
  std::vector<fabric::TimeNs> compute;      // update, forward and backward, finished or abandoned
  std::vector<fabric::TimeNs> encode;       // first rounds; compute + encode = traffic.deviceFree
  std::vector<fabric::TimeNs> late_encode;  // later rounds: part of StepTiming::decodeBusy
  // [bucket][round][worker]: what the two above are sums of
  std::vector<std::vector<std::vector<fabric::TimeNs>>> round_encode;
};

class Clock {
 public:
  // `costs`: Model::Costs(). `layer_numel`: elements of each layer. Throws Error where an operation
  // is not priced.
  Clock(Profile profile, std::span<const OperationCost> costs, std::span<const int64_t> layer_numel,
        const TransferOptions& options = {});

  // `factors`: slow-down of each worker (finite, > 0), or empty for none. `decided`: when workers
  // that take no part stop. Throws Error where a kernel is not priced.
  PricedStep Price(const StepWork& work, std::span<const double> factors,
                   fabric::TimeNs decided = 0) const;

  // Of each worker, one for each factor: update, forward and backward pass. Known before the step
  // is trained, so it can decide who takes part.
  std::vector<fabric::TimeNs> ComputeTimes(int64_t batch_size,
                                           std::span<const double> factors) const;

  // Seconds of one step's update, forward and backward pass at factor 1: for reports and tests.
  double ComputeSeconds(int64_t batch_size) const;

  const Profile& profile() const { return profile_; }

 private:
  struct Operation {
    std::string kind;
    double flops = 0;  // forward, of one sample
    double bytes = 0;
    double weight_bytes = 0;  // of a batch
  };
  // `passes`: 1 for the forward pass, 2 for the backward pass.
  double Seconds(const Operation& operation, int64_t batch_size, double passes) const;
  double ForwardSeconds(int64_t batch_size) const;
  double BackwardSeconds(int from, int to, int64_t batch_size) const;
  double WorkSeconds(const std::vector<Work>& work) const;
  void PriceWorker(const StepWork& work, int worker, double factor, PricedStep& step) const;
  void PriceDropped(const StepWork& work, int worker, double factor, fabric::TimeNs decided,
                    PricedStep& step) const;
  void PriceRounds(const BucketWork& bucket, int worker, double factor, bool encodes, size_t index,
                   PricedStep& step) const;

  Profile profile_;
  TransferOptions options_;
  std::vector<Operation> operations_;
  std::vector<int> operation_of_layer_;
  int first_trained_ = 0;  // operations before it have no parameters: no backward pass
  int64_t elements_ = 0;
};

// Where a step's time went at one worker, in nanoseconds; the five parts add up to the step's
// total, exactly.
struct StepSplit {
  fabric::TimeNs compute = 0;  // update, forward, backward
  fabric::TimeNs encode = 0;   // of all rounds
  fabric::TimeNs decode = 0;
  fabric::TimeNs communication =
      0;  // device idle after the slowest worker had its gradients ready: exposed transfers
  fabric::TimeNs wait = 0;  // device idle because of slower workers: before the slowest had its
                            // gradients ready, and from this worker's finish to the barrier
  fabric::TimeNs Total() const { return compute + encode + decode + communication + wait; }
};

struct StepSplits {
  int critical_worker = 0;  // finishes last; the lowest of several
  StepSplit critical;
  StepSplit mean;  // over the workers, each part rounded down; `wait` takes the remainder (< 4 ns)
};

StepSplits SplitStep(const PricedStep& step, const fabric::StepTiming& timing);

}  // namespace legacy

// Ok-Topk sums sparse gradients so that a worker's volume does not grow with the number N of
// workers (Li and Hoefler, Near-Optimal Sparse Allreduce for Distributed Deep Learning, PPoPP
// 2022). With e = g + r, k the number of values that the density asks for, and a threshold tl of
// each worker and tg of all:
//
//   every `regions` steps     own bounds = positions that divide the set {|e| >= tl} in N parts of
//                             equal counts; the mean over the workers has the bounds of N regions
//   split and reduce          worker w sends its set's values in region q to worker q, which adds
//                             them up (all-to-all; their numbers go first)
//   every `thresholds` steps  tl = k-th magnitude of e; tg = k-th magnitude of all region sums, of
//                             which each worker gathers its k largest
//   select, balance, gather   each worker has the values |v| >= tg of its region; if one has more
//                             than `balance` times the mean, they are spread evenly (all-to-all);
//                             then all are gathered, and divided by N
//   r = e, but 0 at positions that are in the worker's set and in the result
//
// In other steps, tl is divided by 1.012 if the set has less than 2k/3 values, and multiplied if it
// has more than 5k/4; tg by 1.008 if the result has less than 2k/3 or more than 4k/3.
//
// A part of a message is empty, or an extended header, positions and fp32 values. Numbers of values
// are 4 bytes each and bounds 8, without a header. A worker's own part is in its message, but does
// not travel.
//
// Where this differs from public code: positions are whole numbers instead of fp32, bounds are
// ascending whatever the sets are, empty sets are allowed, and thresholds need only the k largest
// sums of a region.
#pragma once

#include <cstdint>
#include <vector>

#include "compress/exchange.h"
#include "compress/schemes/memory.h"

namespace legacy {

struct OkTopKOptions {
  int64_t thresholds = 32;  // steps between exact thresholds
  int64_t regions = 64;     // steps between bounds
  double balance = 2;
  bool error_feedback = true;
  double residual_decay = 1;

  MemoryOptions Memory() const {
    return {.kind = error_feedback ? MemoryKind::kResidual : MemoryKind::kNone,
            .decay = static_cast<float>(residual_decay)};
  }
};

// Describes the calls of one step: their collectives, and the work for a unit of `numel` elements
// in which `active` workers have `values` values each.
class OkTopKStep {
 public:
  OkTopKStep(const OkTopKOptions& options, int64_t numel, int64_t count, int active)
      : options_(options), numel_(numel), count_(count), active_(active) {}

  // Returns the work before the first call: the sum with the residual, exact thresholds, the set.
  WorkList SetWork(bool exact) const;
  CollectiveCall Bounds() const;
  CollectiveCall Counts() const;
  // `values`: in a worker's set, as their mean, here and below.
  CollectiveCall Parts(int64_t values) const;
  CollectiveCall RegionCounts() const;
  // `values`: of all workers together.
  CollectiveCall Magnitudes(int64_t values) const;
  CollectiveCall Selected() const;
  CollectiveCall Balance(int64_t values) const;
  // `all`: in the result.
  CollectiveCall Gather(int64_t values, int64_t all) const;
  // Returns the calls of a step without new bounds and thresholds, with as many values as asked.
  std::vector<PlannedCall> Expected() const;

 private:
  int64_t Region() const { return (numel_ + active_ - 1) / active_; }

  const OkTopKOptions& options_;
  int64_t numel_;
  int64_t count_;  // k
  int active_;
};

}  // namespace legacy

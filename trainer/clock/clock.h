// The cost model: device times of a step from what its operations and kernels cost (profile.h).
// Formulas and what is not modelled: docs/clock.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/clock/profile.h"
#include "trainer/clock/step_clock.h"

namespace legacy {

struct OperationCost;

class Clock : public StepClock {
 public:
  // `costs`: Model::Costs(). `layer_numel`: elements of each layer. Throws Error where an operation
  // is not priced.
  Clock(Profile profile, std::span<const OperationCost> costs, std::span<const int64_t> layer_numel,
        const TransferOptions& options = {});

  std::vector<fabric::TimeNs> ComputeTimes(int64_t step, int64_t batch_size,
                                           std::span<const double> factors) const override;

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
  StepSeconds SecondsOf(const StepWork& work, int worker) const override;

  Profile profile_;
  std::vector<Operation> operations_;
  std::vector<int> operation_of_layer_;
  int first_trained_ = 0;  // operations before it have no parameters: no backward pass
  int64_t elements_ = 0;
};

// Where a step's time went at one worker, in nanoseconds; the five parts add up to the step's
// total, exactly.
struct StepSplit {
  fabric::TimeNs compute = 0;  // update, forward, backward
  fabric::TimeNs encode = 0;   // of all calls
  fabric::TimeNs decode = 0;
  fabric::TimeNs communication =
      0;  // device idle after the slowest worker had its gradients ready: exposed transfers
  // device idle because of slower workers: before the slowest had its gradients ready, and from
  // this worker's finish to the barrier
  fabric::TimeNs wait = 0;
  fabric::TimeNs Total() const { return compute + encode + decode + communication + wait; }
};

struct StepSplits {
  int critical_worker = 0;  // finishes last; the lowest of several
  StepSplit critical;
  StepSplit mean;  // over the workers, each part rounded down; `wait` takes the remainder (< 4 ns)
};

StepSplits SplitStep(const PricedStep& step, const fabric::StepTiming& timing);

}  // namespace legacy

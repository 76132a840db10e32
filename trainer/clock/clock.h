// The cost model computes the device times of a step from the costs of its operations and kernels
// (profile.h). docs/clock.md has its formulas, and what it leaves out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "trainer/clock/compute_options.h"
#include "trainer/clock/operation_cost.h"
#include "trainer/clock/profile.h"
#include "trainer/clock/sharding.h"
#include "trainer/clock/step_clock.h"

namespace legacy {

// A Clock prices steps by a profile.
class Clock : public StepClock {
 public:
  // `costs` are those of CostsOf, and `layers` the model's. The `update_kernels` read the mean
  // gradient and update the weights, one after the other. Throws Error where an operation or a
  // kernel is not priced, or not in that precision.
  Clock(Profile profile, std::span<const OperationCost> costs, std::span<const Unit> layers,
        const TransferOptions& options = {},
        std::vector<std::string> update_kernels = {kOptimizerKernel},
        const ComputeOptions& compute = {}, const ShardingOptions& sharding = {});
  // The same of layers that are known by their elements alone.
  Clock(Profile profile, std::span<const OperationCost> costs, std::span<const int64_t> layer_numel,
        const TransferOptions& options = {},
        std::vector<std::string> update_kernels = {kOptimizerKernel},
        const ComputeOptions& compute = {});

  // Prices a sharded step where the options shard. Throws Error on steps whose gradients are not
  // summed value by value, and on those in which not all workers take part.
  PricedStep Price(const StepWork& work, std::span<const double> factors,
                   TimeNs decided = 0) const override;

  std::vector<TimeNs> ComputeTimes(int64_t step, int64_t batch_size, int64_t passes,
                                   std::span<const double> factors) const override;

  // Returns the seconds of one step's update, forward and backward passes without a straggler, for
  // reports and tests.
  double ComputeSeconds(int64_t batch_size, int64_t passes = 1) const;

  const Profile& profile() const { return profile_; }

 private:
  // PassSeconds are the seconds of each operation in one pass of a batch.
  struct PassSeconds {
    std::vector<double> forward, again, backward;  // backward includes what is computed again
  };
  // The first thread that asks for a batch size computes its entry; the others read it.
  struct Memory {
    std::mutex mutex;
    std::map<int64_t, PassSeconds> passes;
  };
  const PassSeconds& PassesOf(int64_t batch_size) const;
  // Return the seconds of an operation in one pass, without what is computed again.
  double ForwardOf(const OperationCost& operation, int64_t batch_size) const;
  double BackwardOf(const OperationCost& operation, int64_t batch_size) const;
  // Returns the seconds of an operation by rates of its kind. `passes` is 1 for the forward pass, 2
  // for the backward pass.
  double SecondsByRates(const OperationCost& operation, int64_t batch_size, double passes) const;
  double UpdateSeconds(int64_t elements) const;

  // Steps of divided models (sharded_clock.cc), stage by stage.
  struct Stage;
  using SegmentUse = std::function<void(fabric::ShardedSegment& segment, size_t from, size_t to)>;
  Stage CutStage(const StepWork& work, int number, std::vector<OperationRange> chunks) const;
  void ForEachSegment(const Stage& stage, size_t chunk, const SegmentUse& use) const;
  void AddPasses(const StepWork& work, const Stage& stage) const;
  void AddCasts(const StepWork& work, const Stage& stage) const;
  void AddWeights(const StepWork& work, const Stage& stage) const;
  void AddMessages(const StepWork& work, const Stage& stage) const;
  void PlaceInStage(int ranks, const Stage& stage) const;
  void AddActivations(const StepWork& work, int ranks, const Stage& stage) const;
  void AddPipeline(const StepWork& work, int ranks, const WireBytes& wire,
                   fabric::ShardedTraffic& step) const;
  void AddAnnouncements(const StepWork& work, int ranks, std::span<const double> factors,
                        fabric::ShardedTraffic& step) const;
  bool TimesAlone(const fabric::StepTraffic& traffic) const;

  // Return `seconds` and those of the forward pass, or of all passes but the last.
  double WithForward(double seconds, int64_t batch_size) const;
  double WithEarlierPasses(double seconds, int64_t batch_size, int64_t passes) const;
  double BackwardSeconds(size_t from, size_t to, int64_t batch_size) const;
  double HostSeconds(int64_t passes) const;
  void WaitForHost(const StepWork& work, StepSeconds& seconds) const;
  // Returns the operation down to which the backward pass runs for a bucket, from `done`.
  size_t FirstOperation(const BucketWork& bucket, size_t done) const;
  double WorkSeconds(const WorkList& work) const;
  std::vector<StepSeconds> SecondsOf(const StepWork& work) const override;

  Profile profile_;
  std::vector<std::string> update_kernels_;
  ComputeOptions compute_;
  ShardingOptions sharding_;
  std::vector<Unit> layers_;
  std::vector<OperationCost> operations_;
  std::vector<bool> again_;  // which of them run again in the backward pass
  std::vector<int> operation_of_layer_;
  size_t first_trained_ =
      0;  // first operation with parameters; those before it have no backward pass
  int64_t elements_ = 0;
  std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();  // never null; copies share it
};

// A StepSplit says where a step's time went at one worker, in nanoseconds. The five parts add up to
// the step's total, exactly.
struct StepSplit {
  TimeNs compute = 0;  // update, forward and backward pass
  TimeNs encode = 0;   // encoding of all calls
  TimeNs decode = 0;
  // Exposed transfers: the device is idle after the slowest worker had its gradients ready.
  TimeNs communication = 0;
  // The device is idle because of slower workers: before the slowest had its gradients ready, and
  // from this worker's finish to the barrier.
  TimeNs wait = 0;
  // Hidden transfers: a collective was carried while the device ran. This is no part of the step.
  TimeNs hidden = 0;
  TimeNs Total() const { return compute + encode + decode + communication + wait; }
};

// StepSplits are a step's split at its critical worker and on average.
struct StepSplits {
  int critical_worker = 0;  // the worker that finishes last, the lowest of several
  StepSplit critical;
  // Mean over the workers, each part rounded down; `wait` takes the remainder (< 4 ns).
  StepSplit mean;
};

// Returns the splits of a step that took `timing`. Of a sharded step, `communication` is what was
// exposed of all streams.
StepSplits SplitStep(const PricedStep& step, const fabric::StepTiming& timing);

}  // namespace legacy

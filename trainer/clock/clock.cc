#include "trainer/clock/clock.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <string>

#include "base/error.h"
#include "trainer/clock/operation_cost.h"

namespace legacy {
namespace {

constexpr double kForwardPasses = 1;
constexpr double kBackwardPasses = 2;  // gradients of inputs and of weights

TimeNs MeanNs(const std::vector<TimeNs>& values) {
  const auto sum = std::accumulate(values.begin(), values.end(), WideTime{0});
  return static_cast<TimeNs>(sum / static_cast<TimeNs>(values.size()));
}

}  // namespace

Clock::Clock(Profile profile, std::span<const OperationCost> costs,
             std::span<const int64_t> layer_numel, const TransferOptions& options,
             std::vector<std::string> update_kernels)
    : StepClock(options),
      profile_(std::move(profile)),
      update_kernels_(std::move(update_kernels)),
      operation_of_layer_(layer_numel.size(), -1),
      first_trained_(static_cast<int>(costs.size())),
      elements_(std::accumulate(layer_numel.begin(), layer_numel.end(), int64_t{0})) {
  for (const OperationCost& cost : costs) {
    const int position = static_cast<int>(operations_.size());
    operations_.push_back({cost.kind, cost.forward_flops, cost.forward_bytes, cost.weight_bytes});
    for (int layer : cost.parameters) operation_of_layer_.at(layer) = position;
    if (!cost.parameters.empty()) first_trained_ = std::min(first_trained_, position);
  }
  assert(std::count(operation_of_layer_.begin(), operation_of_layer_.end(), -1) == 0);
  ComputeSeconds(1);  // throws now, not in the first step, if an operation has no price
}

double Clock::Seconds(const Operation& operation, int64_t batch_size, double passes) const {
  const double samples = static_cast<double>(batch_size);
  return profile_.OperationSeconds(operation.kind, passes * samples * operation.flops,
                                   passes * (samples * operation.bytes + operation.weight_bytes));
}

double Clock::UpdateSeconds() const {
  double seconds = 0;
  for (const std::string& kernel : update_kernels_) {
    seconds += profile_.WorkSeconds({kernel, elements_, 1});
  }
  return seconds;
}

double Clock::WithForward(double seconds, int64_t batch_size) const {
  for (const Operation& operation : operations_) {
    seconds += Seconds(operation, batch_size, kForwardPasses);
  }
  return seconds;
}

// Each pass except the first adds its gradient to those before it.
double Clock::WithEarlierPasses(double seconds, int64_t batch_size, int64_t passes) const {
  if (passes == 1) return seconds;
  const double pass = WithForward(0, batch_size) +
                      BackwardSeconds(0, static_cast<int>(operations_.size()), batch_size);
  const double add = profile_.ComputeWorkSeconds({"accumulate", elements_, 1});
  return seconds + static_cast<double>(passes - 1) * (pass + add);
}

// Returns the seconds of the backward pass through operations [from, to).
double Clock::BackwardSeconds(int from, int to, int64_t batch_size) const {
  double seconds = 0;
  for (int i = std::max(from, first_trained_); i < to; ++i) {
    seconds += Seconds(operations_[i], batch_size, kBackwardPasses);
  }
  return seconds;
}

double Clock::WorkSeconds(const WorkList& work) const {
  double seconds = 0;
  for (const Work& entry : work) seconds += profile_.WorkSeconds(entry);
  return seconds;
}

double Clock::ComputeSeconds(int64_t batch_size, int64_t passes) const {
  return WithForward(WithEarlierPasses(UpdateSeconds(), batch_size, passes), batch_size) +
         BackwardSeconds(0, static_cast<int>(operations_.size()), batch_size);
}

std::vector<TimeNs> Clock::ComputeTimes(int64_t, int64_t batch_size, int64_t passes,
                                        std::span<const double> factors) const {
  const double seconds = ComputeSeconds(batch_size, passes);
  std::vector<TimeNs> times;
  for (const double factor : factors) times.push_back(ToNs(seconds, factor));
  return times;
}

StepSeconds Clock::SecondsOf(const StepWork& work, int) const {
  StepSeconds seconds;
  double update = work.update ? 0 : UpdateSeconds();
  for (const Work& entry : work.update.value_or(WorkList())) {
    update += profile_.ComputeWorkSeconds(entry);
  }
  seconds.before =
      WithForward(WithEarlierPasses(update, work.batch_size, work.passes), work.batch_size);
  if (!work.whole_gradient.empty()) seconds.whole = WorkSeconds(work.whole_gradient);
  // Operation down to which the backward pass has run.
  int done = static_cast<int>(operations_.size());
  for (const BucketWork& bucket : work.buckets) {
    StepSeconds::Bucket& priced = seconds.buckets.emplace_back();
    int down_to = done;
    for (int layer : bucket.layers) down_to = std::min(down_to, operation_of_layer_.at(layer));
    priced.compute = BackwardSeconds(down_to, done, work.batch_size);
    done = down_to;
    for (const SentCall& call : bucket.calls) {
      priced.encode.push_back(WorkSeconds(call.encode));
      priced.decode.push_back(WorkSeconds(call.decode));
    }
  }
  seconds.after = BackwardSeconds(0, done, work.batch_size);
  return seconds;
}

StepSplits SplitStep(const PricedStep& step, const fabric::StepTiming& timing) {
  const std::vector<TimeNs>& free = step.traffic.deviceFree;
  const size_t workers = free.size();
  assert(workers > 0 && timing.finish.size() == workers);
  const TimeNs slowest = *std::max_element(free.begin(), free.end());
  StepSplits splits;
  splits.critical_worker = static_cast<int>(
      std::max_element(timing.finish.begin(), timing.finish.end()) - timing.finish.begin());
  std::vector<TimeNs> encode(workers), decode(workers), communication(workers);
  for (size_t w = 0; w < workers; ++w) {
    encode[w] = step.encode[w] + step.late_encode[w];
    decode[w] = timing.decodeBusy[w] - step.late_encode[w];
    const TimeNs idle = timing.finish[w] - free[w] - timing.decodeBusy[w];
    assert(idle >= 0 && decode[w] >= 0);
    communication[w] = idle - std::min(idle, slowest - free[w]);
  }
  const auto fill = [&](TimeNs compute, TimeNs enc, TimeNs dec, TimeNs comm) {
    return StepSplit{compute, enc, dec, comm, timing.total - compute - enc - dec - comm};
  };
  const int c = splits.critical_worker;
  splits.critical = fill(step.compute[c], encode[c], decode[c], communication[c]);
  splits.mean = fill(MeanNs(step.compute), MeanNs(encode), MeanNs(decode), MeanNs(communication));
  return splits;
}

}  // namespace legacy

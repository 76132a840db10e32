#include "trainer/clock.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <string>

#include "compress/error.h"
#include "trainer/model.h"

namespace legacy {
namespace {

using fabric::TimeNs;

constexpr double kForwardPasses = 1;
constexpr double kBackwardPasses = 2;  // gradients of inputs and of weights

TimeNs ToNs(double seconds, double factor) { return std::llround(seconds * factor * 1e9); }

TimeNs MeanNs(const std::vector<TimeNs>& values) {
  return std::accumulate(values.begin(), values.end(), TimeNs{0}) /
         static_cast<TimeNs>(values.size());
}

void CheckFactors(std::span<const double> factors, int workers) {
  if (!factors.empty() && factors.size() != static_cast<size_t>(workers)) {
    throw Error("straggler factors", std::to_string(factors.size()), std::to_string(workers));
  }
  for (size_t w = 0; w < factors.size(); ++w) {
    if (std::isfinite(factors[w]) && factors[w] > 0) continue;
    throw Error("straggler factor of worker " + std::to_string(w), std::to_string(factors[w]),
                "positive numbers");
  }
}

}  // namespace

Clock::Clock(Profile profile, std::span<const OperationCost> costs,
             std::span<const int64_t> layer_numel, const TransferOptions& options)
    : profile_(std::move(profile)),
      options_(options),
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
  ComputeSeconds(1);  // throws here, not in the first step, where something is not priced
}

double Clock::Seconds(const Operation& operation, int64_t batch_size, double passes) const {
  const double samples = static_cast<double>(batch_size);
  return profile_.OperationSeconds(operation.kind, passes * samples * operation.flops,
                                   passes * (samples * operation.bytes + operation.weight_bytes));
}

double Clock::ForwardSeconds(int64_t batch_size) const {
  double seconds = profile_.WorkSeconds({kOptimizerKernel, elements_, 1});
  for (const Operation& operation : operations_) {
    seconds += Seconds(operation, batch_size, kForwardPasses);
  }
  return seconds;
}

// Of operations [from, to).
double Clock::BackwardSeconds(int from, int to, int64_t batch_size) const {
  double seconds = 0;
  for (int i = std::max(from, first_trained_); i < to; ++i) {
    seconds += Seconds(operations_[i], batch_size, kBackwardPasses);
  }
  return seconds;
}

double Clock::WorkSeconds(const std::vector<Work>& work) const {
  double seconds = 0;
  for (const Work& entry : work) seconds += profile_.WorkSeconds(entry);
  return seconds;
}

double Clock::ComputeSeconds(int64_t batch_size) const {
  return ForwardSeconds(batch_size) +
         BackwardSeconds(0, static_cast<int>(operations_.size()), batch_size);
}

std::vector<TimeNs> Clock::ComputeTimes(int64_t batch_size, std::span<const double> factors) const {
  const double seconds = ComputeSeconds(batch_size);
  std::vector<TimeNs> times;
  for (const double factor : factors) times.push_back(ToNs(seconds, factor));
  return times;
}

PricedStep Clock::Price(const StepWork& work, std::span<const double> factors,
                        TimeNs decided) const {
  CheckFactors(factors, work.workers);
  const auto workers = static_cast<size_t>(work.workers);
  PricedStep step;
  step.compute.resize(workers);
  step.encode.resize(workers);
  step.late_encode.resize(workers);
  step.traffic.workers = work.workers;
  step.traffic.deviceFree.resize(workers);
  for (const BucketWork& bucket : work.buckets) {
    fabric::BucketTraffic& traffic = step.traffic.buckets.emplace_back();
    traffic.ready.resize(workers);
    traffic.decode.resize(workers);
    step.round_encode.emplace_back(bucket.rounds.size(), std::vector<TimeNs>(workers));
    for (const RoundWork& round : bucket.rounds) {
      traffic.rounds.push_back({CollectiveOf(options_, bucket, round, !work.participants.empty()),
                                std::vector<TimeNs>(workers)});
    }
  }
  for (int w = 0; w < work.workers; ++w) {
    const double factor = factors.empty() ? 1.0 : factors[w];
    if (work.TakesPart(w)) {
      PriceWorker(work, w, factor, step);
    } else {
      PriceDropped(work, w, factor, decided, step);
    }
  }
  return step;
}

void Clock::PriceWorker(const StepWork& work, int worker, double factor, PricedStep& step) const {
  TimeNs compute = ToNs(ForwardSeconds(work.batch_size), factor);
  TimeNs encode = 0;
  int done = static_cast<int>(operations_.size());  // backward pass ran down to this operation
  for (size_t b = 0; b < work.buckets.size(); ++b) {
    const BucketWork& bucket = work.buckets[b];
    int down_to = done;
    for (int layer : bucket.layers) down_to = std::min(down_to, operation_of_layer_.at(layer));
    compute += ToNs(BackwardSeconds(down_to, done, work.batch_size), factor);
    done = down_to;
    if (!bucket.rounds.empty()) {
      TimeNs& first = step.round_encode[b][0][worker];
      first = ToNs(WorkSeconds(bucket.rounds[0].encode), factor);
      encode += first;
    }
    step.traffic.buckets[b].ready[worker] = compute + encode;
    PriceRounds(bucket, worker, factor, true, b, step);
  }
  compute += ToNs(BackwardSeconds(0, done, work.batch_size), factor);
  step.compute[worker] = compute;
  step.encode[worker] = encode;
  step.traffic.deviceFree[worker] = compute + encode;
}

// The worker abandons its batch and encodes nothing; it forwards and decodes as all do.
void Clock::PriceDropped(const StepWork& work, int worker, double factor, TimeNs decided,
                         PricedStep& step) const {
  for (size_t b = 0; b < work.buckets.size(); ++b) {
    step.traffic.buckets[b].ready[worker] = decided;
    PriceRounds(work.buckets[b], worker, factor, false, b, step);
  }
  step.compute[worker] = decided;
  step.traffic.deviceFree[worker] = decided;
}

// Device work after a round: its decoding, then the encoding of the next round where there is one.
void Clock::PriceRounds(const BucketWork& bucket, int worker, double factor, bool encodes,
                        size_t index, PricedStep& step) const {
  fabric::BucketTraffic& traffic = step.traffic.buckets[index];
  for (size_t r = 0; r < bucket.rounds.size(); ++r) {
    const TimeNs decode = ToNs(WorkSeconds(bucket.rounds[r].decode), factor);
    if (r + 1 == bucket.rounds.size()) {
      traffic.decode[worker] = decode;
      return;
    }
    const TimeNs encode = encodes ? ToNs(WorkSeconds(bucket.rounds[r + 1].encode), factor) : 0;
    traffic.rounds[r + 1].computeBefore[worker] = decode + encode;
    step.late_encode[worker] += encode;
    step.round_encode[index][r + 1][worker] = encode;
  }
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

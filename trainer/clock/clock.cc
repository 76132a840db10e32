#include "trainer/clock/clock.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.h"
#include "trainer/clock/sharded_clock.h"

namespace legacy {
namespace {

constexpr double kForwardPasses = 1;
constexpr double kBackwardPasses = 2;  // gradients of inputs and of weights

TimeNs MeanNs(const std::vector<TimeNs>& values) {
  const auto sum = std::accumulate(values.begin(), values.end(), WideTime{0});
  return static_cast<TimeNs>(sum / static_cast<TimeNs>(values.size()));
}

bool IsProduct(const OperationCost& operation) { return operation.forward_flops > 0; }

}  // namespace

std::vector<bool> ComputedAgain(std::span<const OperationCost> operations, RecomputeRule rule) {
  std::vector<bool> again;
  int block = kNoBlock, products = 0;
  for (const OperationCost& operation : operations) {
    const bool attention = operation.kind == "attention";
    if (operation.block != block) products = 0;
    block = operation.block;
    products += IsProduct(operation) && !attention;
    const bool chosen = block != kNoBlock && block % rule.every == 0;
    switch (rule.what) {
      case Recompute::kNone:
        again.push_back(false);
        break;
      case Recompute::kSelective:
        again.push_back(attention);
        break;
      case Recompute::kFull:
        again.push_back(chosen);
        break;
      case Recompute::kOperations:
        again.push_back(chosen && !attention && (!IsProduct(operation) || products % 2 == 0));
        break;
    }
  }
  return again;
}

namespace {

// Returns the operations with each chain of those that only move bytes as one, which takes as long
// as the one that moves most: the others work on what it has on the chip.
std::vector<OperationCost> InChains(std::span<const OperationCost> costs) {
  std::vector<OperationCost> chains;
  for (const OperationCost& cost : costs) {
    const bool joins = !chains.empty() && !IsProduct(cost) && !IsProduct(chains.back()) &&
                       cost.block == chains.back().block && cost.experts == chains.back().experts;
    if (!joins) {
      chains.push_back(cost);
      continue;
    }
    OperationCost& chain = chains.back();
    chain.forward_bytes = std::max(chain.forward_bytes, cost.forward_bytes);
    chain.weight_bytes = std::max(chain.weight_bytes, cost.weight_bytes);
    chain.parameters.insert(chain.parameters.end(), cost.parameters.begin(), cost.parameters.end());
  }
  return chains;
}

std::vector<Unit> LayersOf(std::span<const int64_t> numels) {
  std::vector<Unit> layers;
  int64_t offset = 0;
  for (const int64_t numel : numels) {
    layers.push_back({static_cast<uint32_t>(layers.size()), "", {numel}, offset, numel});
    offset += numel;
  }
  return layers;
}

}  // namespace

Clock::Clock(Profile profile, std::span<const OperationCost> costs,
             std::span<const int64_t> layer_numel, const TransferOptions& options,
             std::vector<std::string> update_kernels, const ComputeOptions& compute)
    : Clock(std::move(profile), costs, LayersOf(layer_numel), options, std::move(update_kernels),
            compute) {}

Clock::Clock(Profile profile, std::span<const OperationCost> costs, std::span<const Unit> layers,
             const TransferOptions& options, std::vector<std::string> update_kernels,
             const ComputeOptions& compute, const ShardingOptions& sharding)
    : StepClock(options),
      profile_(std::move(profile)),
      update_kernels_(std::move(update_kernels)),
      compute_(compute),
      sharding_(sharding),
      layers_(layers.begin(), layers.end()),
      operations_(compute.kernels == KernelEra::kCompiled
                      ? InChains(costs)
                      : std::vector<OperationCost>(costs.begin(), costs.end())),
      again_(ComputedAgain(operations_, compute_.recompute)),
      operation_of_layer_(layers.size(), -1),
      first_trained_(operations_.size()) {
  for (const Unit& layer : layers) elements_ += layer.numel;
  for (size_t i = 0; i < operations_.size(); ++i) {
    for (int layer : operations_[i].parameters) operation_of_layer_.at(layer) = static_cast<int>(i);
    if (!operations_[i].parameters.empty()) first_trained_ = std::min(first_trained_, i);
  }
  assert(std::count(operation_of_layer_.begin(), operation_of_layer_.end(), -1) == 0);
  profile_.CheckPrecision(compute_.precision);
  ComputeSeconds(1);  // throws now, not in the first step, if an operation has no price
}

double Clock::SecondsByRates(const OperationCost& operation, int64_t batch_size,
                             double passes) const {
  const double samples = static_cast<double>(batch_size);
  return profile_.OperationSeconds(
      operation.kind, passes * samples * operation.forward_flops,
      passes * (samples * operation.forward_bytes + operation.weight_bytes), compute_.precision);
}

double Clock::ForwardOf(const OperationCost& operation, int64_t batch_size) const {
  if (!profile_.device) return SecondsByRates(operation, batch_size, kForwardPasses);
  return std::max(profile_.launch_seconds, ForwardSecondsOn(*profile_.device, compute_, operation,
                                                            static_cast<double>(batch_size)));
}

double Clock::BackwardOf(const OperationCost& operation, int64_t batch_size) const {
  if (!profile_.device) return SecondsByRates(operation, batch_size, kBackwardPasses);
  return std::max(profile_.launch_seconds, BackwardSecondsOn(*profile_.device, compute_, operation,
                                                             static_cast<double>(batch_size)));
}

const Clock::PassSeconds& Clock::PassesOf(int64_t batch_size) const {
  const std::lock_guard lock(memory_->mutex);
  const auto [entry, added] = memory_->passes.try_emplace(batch_size);
  PassSeconds& passes = entry->second;
  if (!added) return passes;
  for (size_t i = 0; i < operations_.size(); ++i) {
    passes.forward.push_back(ForwardOf(operations_[i], batch_size));
    passes.again.push_back(again_[i] ? passes.forward[i] : 0);
    passes.backward.push_back(passes.again[i] + BackwardOf(operations_[i], batch_size));
  }
  return passes;
}

double Clock::UpdateSeconds(int64_t elements) const {
  double seconds = 0;
  for (const std::string& kernel : update_kernels_) {
    seconds += profile_.WorkSeconds({kernel, elements, 1});
  }
  return seconds;
}

double Clock::WithForward(double seconds, int64_t batch_size) const {
  for (const double pass : PassesOf(batch_size).forward) seconds += pass;
  return seconds;
}

// Each pass except the first adds its gradient to those before it.
double Clock::WithEarlierPasses(double seconds, int64_t batch_size, int64_t passes) const {
  if (passes == 1) return seconds;
  const double pass =
      WithForward(0, batch_size) + BackwardSeconds(0, operations_.size(), batch_size);
  const double add = profile_.ComputeWorkSeconds({"accumulate", elements_, 1});
  return seconds + static_cast<double>(passes - 1) * (pass + add);
}

// Returns the seconds of the backward pass through operations [from, to).
double Clock::BackwardSeconds(size_t from, size_t to, int64_t batch_size) const {
  const std::vector<double>& backward = PassesOf(batch_size).backward;
  double seconds = 0;
  for (size_t i = std::max(from, first_trained_); i < to; ++i) seconds += backward[i];
  return seconds;
}

double Clock::WorkSeconds(const WorkList& work) const {
  double seconds = 0;
  for (const Work& entry : work) seconds += profile_.WorkSeconds(entry);
  return seconds;
}

double Clock::ComputeSeconds(int64_t batch_size, int64_t passes) const {
  const double device =
      WithForward(WithEarlierPasses(UpdateSeconds(elements_), batch_size, passes), batch_size) +
      BackwardSeconds(0, operations_.size(), batch_size);
  return std::max(device, HostSeconds(passes));
}

// Returns the time of the host, which launches each operation once in the forward pass, and twice
// in the backward pass.
double Clock::HostSeconds(int64_t passes) const {
  if (!profile_.device) return 0;
  return profile_.device->host_seconds * static_cast<double>(passes) *
         (kForwardPasses + kBackwardPasses) * static_cast<double>(operations_.size());
}

std::vector<TimeNs> Clock::ComputeTimes(int64_t, int64_t batch_size, int64_t passes,
                                        std::span<const double> factors) const {
  const double seconds = ComputeSeconds(batch_size, passes);
  std::vector<TimeNs> times;
  for (const double factor : factors) times.push_back(ToNs(seconds, factor));
  return times;
}

// Makes each part of a step end no sooner than the host has launched its operations. The host
// begins with the step, and does not wait for the device.
void Clock::WaitForHost(const StepWork& work, StepSeconds& seconds) const {
  const double host = profile_.device ? profile_.device->host_seconds : 0;
  if (host == 0) return;
  const auto operations = static_cast<double>(operations_.size());
  double launched = HostSeconds(work.passes - 1) + host * operations;
  double ended = seconds.before = std::max(seconds.before, launched);
  size_t done = operations_.size();
  const auto part = [&](size_t down_to, double& device) {
    launched += host * kBackwardPasses * static_cast<double>(done - down_to);
    done = down_to;
    const double end = std::max(ended + device, launched);
    device = end - ended;
    ended = end;
  };
  for (size_t b = 0; b < work.buckets.size(); ++b) {
    part(FirstOperation(work.buckets[b], done), seconds.buckets[b].compute);
  }
  part(0, seconds.after);
}

size_t Clock::FirstOperation(const BucketWork& bucket, size_t done) const {
  for (const int layer : bucket.layers) {
    done = std::min(done, static_cast<size_t>(operation_of_layer_.at(layer)));
  }
  return done;
}

std::vector<StepSeconds> Clock::SecondsOf(const StepWork& work) const {
  StepSeconds seconds;
  double update = work.update ? 0 : UpdateSeconds(elements_);
  for (const Work& entry : work.update.value_or(WorkList())) {
    update += profile_.ComputeWorkSeconds(entry);
  }
  seconds.before =
      WithForward(WithEarlierPasses(update, work.batch_size, work.passes), work.batch_size);
  if (!work.whole_gradient.empty()) seconds.whole = WorkSeconds(work.whole_gradient);
  // Operation down to which the backward pass has run.
  size_t done = operations_.size();
  for (const BucketWork& bucket : work.buckets) {
    StepSeconds::Bucket& priced = seconds.buckets.emplace_back();
    const size_t down_to = FirstOperation(bucket, done);
    priced.compute = BackwardSeconds(down_to, done, work.batch_size);
    done = down_to;
    for (const SentCall& call : bucket.calls) {
      priced.encode.push_back(WorkSeconds(call.encode));
      priced.decode.push_back(WorkSeconds(call.decode));
      priced.serve.push_back(WorkSeconds(call.serve));
      priced.hops.push_back(
          HopSecondsOf(call, [&](const WorkList& list) { return WorkSeconds(list); }));
    }
  }
  seconds.after = BackwardSeconds(0, done, work.batch_size);
  WaitForHost(work, seconds);
  return {std::move(seconds)};
}

namespace {

// Returns the split of one worker of a sharded step.
StepSplit SplitOf(const fabric::StepParts& parts) {
  const auto of = [&](fabric::SegmentLabel label) {
    return parts.segments[static_cast<size_t>(label)];
  };
  const auto sum = [](const std::vector<TimeNs>& times) {
    return std::accumulate(times.begin(), times.end(), TimeNs{0});
  };
  using fabric::SegmentLabel;
  return {of(SegmentLabel::Compute) + of(SegmentLabel::Recompute) + of(SegmentLabel::Update),
          of(SegmentLabel::Encode),
          of(SegmentLabel::Decode),
          sum(parts.exposed),
          parts.wait + parts.scheduled,
          sum(parts.hidden)};
}

StepSplits SplitSharded(const fabric::StepTiming& timing) {
  StepSplits splits;
  splits.critical_worker = static_cast<int>(
      std::max_element(timing.finish.begin(), timing.finish.end()) - timing.finish.begin());
  splits.critical = SplitOf(timing.parts[splits.critical_worker]);
  std::vector<StepSplit> all;
  for (const fabric::StepParts& parts : timing.parts) all.push_back(SplitOf(parts));
  const auto mean = [&](TimeNs StepSplit::*part) {
    std::vector<TimeNs> times;
    for (const StepSplit& split : all) times.push_back(split.*part);
    return MeanNs(times);
  };
  StepSplit& m = splits.mean;
  m = {mean(&StepSplit::compute),
       mean(&StepSplit::encode),
       mean(&StepSplit::decode),
       mean(&StepSplit::communication),
       0,
       mean(&StepSplit::hidden)};
  m.wait = timing.total - m.Total();
  return splits;
}

}  // namespace

StepSplits SplitStep(const PricedStep& step, const fabric::StepTiming& timing) {
  if (step.traffic.sharded) return SplitSharded(timing);
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
  const auto fill = [&](TimeNs compute, TimeNs enc, TimeNs dec, TimeNs comm, TimeNs hidden) {
    return StepSplit{compute, enc, dec, comm, timing.total - compute - enc - dec - comm, hidden};
  };
  const int c = splits.critical_worker;
  splits.critical = fill(step.compute[c], encode[c], decode[c], communication[c], timing.hidden[c]);
  splits.mean = fill(MeanNs(step.compute), MeanNs(encode), MeanNs(decode), MeanNs(communication),
                     MeanNs(timing.hidden));
  return splits;
}

}  // namespace legacy

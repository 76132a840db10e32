// The clock's sharded steps.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "compress/message.h"
#include "trainer/clock/clock.h"

namespace legacy {
namespace {

// The kernel that moves values between a gathered buffer and tensors, 8 bytes an element.
constexpr const char* kCopyKernel = "copy";
constexpr double kCopiedBytes = 4;  // of an element, each way

[[noreturn]] void Refuse(const std::string& what) {
  throw Error("clock.sharding", what,
              "methods that sum gradients value by value (dense, fp16, bf16), with all workers in "
              "every step and one exchange a step");
}

// Returns the bytes of each value of a bucket's dense sum; 0: it is none. Messages have a header
// for each unit of compression, which is a layer or more.
double ValueBytes(const BucketWork& bucket) {
  if (bucket.calls.size() != 1) return 0;
  const SentCall& call = bucket.calls[0];
  if (call.collective != Collective::kAllReduce || call.reduction != Reduction::kSum) return 0;
  for (const int64_t bytes : {sizeof(float), sizeof(uint16_t)}) {
    const int64_t headers = call.bytes.front() - bytes * bucket.elements;
    if (headers >= kHeaderBytes && headers % kHeaderBytes == 0 &&
        headers <= kHeaderBytes * std::ssize(bucket.layers)) {
      return static_cast<double>(bytes);
    }
  }
  return 0;
}

// Returns the bytes that a step sends for each value of the gradient. Throws Error where it sends
// anything but one dense sum.
double GradientBytes(const StepWork& work) {
  if (!work.active_workers.empty()) Refuse("steps without some workers");
  if (!work.whole_gradient.empty()) Refuse("clipping of each worker's gradient");
  if (work.update || !work.local_steps.empty()) Refuse("local steps");
  if (work.buckets.empty()) Refuse("steps without an exchange");
  const double bytes = ValueBytes(work.buckets.front());
  for (const BucketWork& bucket : work.buckets) {
    if (bytes == 0 || ValueBytes(bucket) != bytes) {
      Refuse("a method whose messages are no dense sums");
    }
  }
  return bytes;
}

// Returns the times of workers that are slowed down by `factors`; one for all where there are none.
std::vector<TimeNs> TimesOf(double seconds, std::span<const double> factors) {
  if (factors.empty()) return {ToNs(seconds, 1)};
  std::vector<TimeNs> times;
  for (const double factor : factors) times.push_back(ToNs(seconds, factor));
  return times;
}

}  // namespace

PricedStep Clock::Price(const StepWork& work, std::span<const double> factors,
                        TimeNs decided) const {
  if (sharding_.sharding.kind == ShardingKind::kNone) {
    return StepClock::Price(work, factors, decided);
  }
  CheckFactors(factors, work.workers);
  const ShardedModel model = CutModel(sharding_, work.workers, operations_, layers_);
  PricedStep step;
  step.traffic.workers = work.workers;
  step.traffic.contention = transfers().contention;
  fabric::ShardedTraffic& sharded = step.traffic.sharded.emplace(
      ShardedTrafficOf(sharding_, transfers(), work.workers, model, layers_,
                       {BytesOf(compute_.precision), GradientBytes(work)}));
  sharded.passes = static_cast<int>(work.passes);
  AddDeviceTimes(work, model, factors, sharded);
  sharded.alone = sharding_.collectives == CollectiveTimes::kAlone;
  if (sharding_.collectives == CollectiveTimes::kAuto) {
    double flows = 0;
    fabric::ForEachCollective(step.traffic, [&](const fabric::CollectiveSpec& spec) {
      flows += fabric::EstimatedFlows(spec);
    });
    sharded.alone = flows > kMostFlowsTogether;
  }
  return step;
}

// Adds segments, copies and the update. Encoding is that of the work's own buckets, by elements;
// what is decoded is a worker's shard.
void Clock::AddDeviceTimes(const StepWork& work, const ShardedModel& model,
                           std::span<const double> factors, fabric::ShardedTraffic& step) const {
  const PassSeconds& passes = PassesOf(work.batch_size);
  const double host = profile_.device ? profile_.device->host_seconds : 0;
  const auto segment = [&](size_t from, size_t to) {
    fabric::ShardedSegment& added = step.segments.emplace_back();
    added.unit = model.unit_of_operation[from];
    double forward = 0, again = 0, backward = 0;
    for (size_t i = from; i < to; ++i) {
      forward += passes.forward[i];
      again += passes.again[i];
      if (i >= first_trained_) backward += passes.backward[i] - passes.again[i];
    }
    // The host launches each operation once in the forward pass, and twice in the backward pass.
    const double launched = host * static_cast<double>(to - from);
    added.forward = TimesOf(std::max(forward, launched), factors);
    if (again > 0) added.recompute = TimesOf(again, factors);
    added.backward = TimesOf(std::max(backward, 2 * launched), factors);
  };
  size_t from = 0;
  for (size_t i = 1; i <= operations_.size(); ++i) {
    if (i < operations_.size() && model.unit_of_operation[i] == model.unit_of_operation[from]) {
      continue;
    }
    segment(from, i);
    from = i;
  }
  double encode = 0, decode = 0;
  for (const BucketWork& bucket : work.buckets) {
    encode += WorkSeconds(bucket.calls[0].encode);
    decode += WorkSeconds(bucket.calls[0].decode);
  }
  const int shards = ShardsIn(sharding_, work.workers);
  const double bytes = BytesOf(compute_.precision);
  for (size_t u = 0; u < model.units.size(); ++u) {
    const auto elements = static_cast<double>(model.units[u].elements);
    const double copy =
        CopiesBuffers(sharding_)
            ? profile_.WorkSeconds(
                  {kCopyKernel, static_cast<int64_t>(elements * bytes / kCopiedBytes), 1})
            : 0;
    const double pack = encode * elements / static_cast<double>(elements_) + copy;
    step.units[u].unpack = TimesOf(copy, factors);
    step.units[u].pack = TimesOf(pack, factors);
  }
  step.update =
      TimesOf(UpdateSeconds((elements_ + shards - 1) / shards) + decode / shards, factors);
}

}  // namespace legacy

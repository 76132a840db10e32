// The clock's sharded steps.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

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
              "dense sums, or messages to the owners of slices, with all workers in every step and "
              "one exchange a step");
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

// Throws Error for steps that are no exchange among all workers.
void CheckWork(const StepWork& work) {
  if (!work.active_workers.empty()) Refuse("steps without some workers");
  if (!work.whole_gradient.empty()) Refuse("clipping of each worker's gradient");
  if (work.update || !work.local_steps.empty()) Refuse("local steps");
  if (work.buckets.empty()) Refuse("steps without an exchange");
}

// Returns whether a bucket's messages go to the owners of slices. Throws Error where only some do.
bool IsOwned(const BucketWork& bucket) {
  const auto owned = std::ranges::count_if(
      bucket.calls, [](const SentCall& call) { return call.owned.has_value(); });
  if (owned > 0 && owned < std::ssize(bucket.calls)) {
    Refuse("an agreement within the step, for which all units wait");
  }
  return owned > 0;
}

// Throws Error unless slices are those of `owners` workers, of rows or values.
void CheckSlices(const OwnedSlices& slices, int owners, bool by_rows) {
  if (slices.owners == owners && slices.rows == by_rows) return;
  const auto text = [](int count, bool rows) {
    return std::to_string(count) + " owners of slices of " + (rows ? "rows" : "values");
  };
  throw Error("clock.sharding", text(owners, by_rows),
              text(slices.owners, slices.rows) + ", for whom the messages were made");
}

// Returns whether messages go to the owners of slices. Throws Error where they were made for
// others.
bool SendsToOwners(const StepWork& work, int owners, bool by_rows) {
  bool owned = false;
  for (const BucketWork& bucket : work.buckets) {
    if (bucket.layers.empty()) continue;  // an announcement
    owned = IsOwned(bucket);
    if (owned) CheckSlices(*bucket.calls.front().owned, owners, by_rows);
  }
  return owned;
}

// Returns the bytes that a step sends for each value of the gradient. Throws Error where it sends
// anything but one dense sum.
double GradientBytes(const StepWork& work) {
  const double bytes = ValueBytes(work.buckets.front());
  for (const BucketWork& bucket : work.buckets) {
    if (bytes == 0 || ValueBytes(bucket) != bytes) {
      Refuse("a method whose messages are no dense sums");
    }
  }
  return bytes;
}

// Returns the bytes of an owned call from each worker to each.
std::vector<int64_t> PairsOf(const SentCall& call, int workers) {
  if (call.owned->bytes.empty()) return call.pair_bytes;
  const OwnedSlices& slices = *call.owned;
  const auto count = static_cast<size_t>(workers);
  std::vector<int64_t> pairs(count * count);
  for (int w = 0; w < workers; ++w) {
    const int first = w - w / slices.stride % slices.Members() * slices.stride;
    for (int i = 0; i < slices.Members(); ++i) {
      const int to = first + i * slices.stride;
      pairs[static_cast<size_t>(w) * count + static_cast<size_t>(to)] =
          slices.bytes[static_cast<size_t>(to % slices.owners)];
    }
  }
  return pairs;
}

// Adds the bytes of an owned call to those of others.
void JoinOwned(const SentCall& call, int workers, std::optional<SentCall>& total) {
  if (!total) {
    total = call;
    return;
  }
  std::vector<int64_t>& slices = total->owned->bytes;
  if (!slices.empty() && !call.owned->bytes.empty()) {
    for (size_t j = 0; j < slices.size(); ++j) slices[j] += call.owned->bytes[j];
    return;
  }
  std::vector<int64_t> pairs = PairsOf(*total, workers);
  const std::vector<int64_t> more = PairsOf(call, workers);
  for (size_t i = 0; i < pairs.size(); ++i) pairs[i] += more[i];
  total->pair_bytes = std::move(pairs);
  slices.clear();
}

// Returns the times of workers that are slowed down by `factors`; one for all where there are none.
std::vector<TimeNs> TimesOf(double seconds, std::span<const double> factors) {
  if (factors.empty()) return {ToNs(seconds, 1)};
  std::vector<TimeNs> times;
  for (const double factor : factors) times.push_back(ToNs(seconds, factor));
  return times;
}

// Adds `more` to each of `times`, which are as many.
void AddTimes(std::span<const TimeNs> more, std::vector<TimeNs>& times) {
  for (size_t i = 0; i < times.size(); ++i) times[i] += more[i];
}

}  // namespace

PricedStep Clock::Price(const StepWork& work, std::span<const double> factors,
                        TimeNs decided) const {
  if (sharding_.sharding.kind == ShardingKind::kNone) {
    return StepClock::Price(work, factors, decided);
  }
  CheckFactors(factors, work.workers);
  CheckWork(work);
  const ShardedModel model = CutModel(sharding_, work.workers, operations_, layers_);
  const bool owned = SendsToOwners(work, ShardsIn(sharding_, work.workers), CutsByRows(sharding_));
  PricedStep step;
  step.traffic.workers = work.workers;
  step.traffic.contention = transfers().contention;
  const double gradient = owned ? sizeof(float) : GradientBytes(work);
  fabric::ShardedTraffic& sharded = step.traffic.sharded.emplace(
      ShardedTrafficOf(sharding_, transfers(), work.workers, model, layers_,
                       {BytesOf(compute_.precision), gradient}));
  sharded.passes = static_cast<int>(work.passes);
  AddPasses(work, model, factors, sharded);
  if (!work.weights.empty()) AddWeights(work, model, factors, sharded);
  if (owned) {
    AddMessages(work, model, factors, sharded);
  } else {
    AddCasts(work, model, factors, sharded);
  }
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

// Adds segments, copies and the update.
void Clock::AddPasses(const StepWork& work, const ShardedModel& model,
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
  const double bytes = BytesOf(compute_.precision);
  for (size_t u = 0; u < model.units.size(); ++u) {
    const auto elements = static_cast<double>(model.units[u].elements);
    const double copy =
        CopiesBuffers(sharding_)
            ? profile_.WorkSeconds(
                  {kCopyKernel, static_cast<int64_t>(elements * bytes / kCopiedBytes), 1})
            : 0;
    step.units[u].unpack = TimesOf(copy, factors);
    step.units[u].pack = TimesOf(copy, factors);
  }
  const int shards = ShardsIn(sharding_, work.workers);
  step.update = TimesOf(UpdateSeconds((elements_ + shards - 1) / shards), factors);
}

// Lets messages of weights travel in place of the weights. Owners encode them once a step, after
// the update; whoever gathers them decodes them each time.
void Clock::AddWeights(const StepWork& work, const ShardedModel& model,
                       std::span<const double> factors, fabric::ShardedTraffic& step) const {
  std::vector<const WeightWork*> of_layer(layers_.size());
  double encode = 0;
  for (const WeightWork& weights : work.weights) {
    CheckSlices(weights.slices, ShardsIn(sharding_, work.workers), CutsByRows(sharding_));
    of_layer[static_cast<size_t>(weights.layer)] = &weights;
    encode += WorkSeconds(weights.encode);
  }
  for (size_t u = 0; u < model.units.size(); ++u) {
    std::vector<int64_t> bytes(static_cast<size_t>(ShardsIn(sharding_, work.workers)));
    WorkList decode;
    for (const int layer : model.units[u].layers) {
      const WeightWork* weights = of_layer[static_cast<size_t>(layer)];
      if (!weights) Refuse("messages of some weights alone");
      for (size_t j = 0; j < bytes.size(); ++j) bytes[j] += weights->slices.bytes[j];
      JoinWork(weights->decode, decode);
    }
    step.units[u].gather = FromOwners(transfers(), bytes, work.workers);
    AddTimes(TimesOf(WorkSeconds(decode), factors), step.units[u].unpack);
  }
  AddTimes(TimesOf(encode, factors), step.update);
}

// Adds the casts of dense sums to copies and update, by elements; what is cast back is a worker's
// shard.
void Clock::AddCasts(const StepWork& work, const ShardedModel& model,
                     std::span<const double> factors, fabric::ShardedTraffic& step) const {
  double encode = 0, decode = 0;
  for (const BucketWork& bucket : work.buckets) {
    encode += WorkSeconds(bucket.calls[0].encode);
    decode += WorkSeconds(bucket.calls[0].decode);
  }
  for (size_t u = 0; u < model.units.size(); ++u) {
    const auto elements = static_cast<double>(model.units[u].elements);
    AddTimes(TimesOf(encode * elements / static_cast<double>(elements_), factors),
             step.units[u].pack);
  }
  AddTimes(TimesOf(decode / ShardsIn(sharding_, work.workers), factors), step.update);
}

// Lets the messages of each unit's layers travel to their owners, in place of dense sums.
// Announcements follow them.
void Clock::AddMessages(const StepWork& work, const ShardedModel& model,
                        std::span<const double> factors, fabric::ShardedTraffic& step) const {
  step.reducesEach = false;  // messages are those of the gradients of all passes
  std::vector<const BucketWork*> of_layer(layers_.size());
  double announce = 0, read = 0;
  for (const BucketWork& bucket : work.buckets) {
    for (const int layer : bucket.layers) of_layer[layer] = &bucket;
    if (bucket.layers.size() > 1) Refuse("messages of several layers together");
    if (!bucket.layers.empty()) continue;
    for (const SentCall& call : bucket.calls) {
      announce += WorkSeconds(call.encode);
      read += WorkSeconds(call.decode);
      step.announcements.push_back(CollectiveOf(transfers(), call, 0));
    }
  }
  for (size_t u = 0; u < model.units.size(); ++u) {
    std::vector<BucketWork> layers;
    for (const int layer : model.units[u].layers) layers.push_back(*of_layer[layer]);
    fabric::ShardedUnit& unit = step.units[u];
    unit.reduce.clear();
    if (layers.empty()) continue;
    // Calls of the same kind travel together: first lengths, or messages inside nodes, where there
    // are any, and then all messages.
    std::optional<SentCall> first, messages;
    double encode = 0, between = 0, sum = 0;
    for (const BucketWork& merged : MergeUnits(layers)) {
      encode += WorkSeconds(merged.calls.front().encode);
      sum += WorkSeconds(merged.calls.back().decode);
      if (merged.calls.size() > 1) {
        between +=
            WorkSeconds(merged.calls.front().decode) + WorkSeconds(merged.calls.back().encode);
        JoinOwned(merged.calls.front(), work.workers, first);
      }
      JoinOwned(merged.calls.back(), work.workers, messages);
    }
    if (first) unit.first = ToOwners(transfers(), *first, work.workers);
    unit.reduce = ToOwners(transfers(), *messages, work.workers);
    unit.encode = TimesOf(encode, factors);
    if (between > 0) unit.between = TimesOf(between, factors);
    unit.sum = TimesOf(sum, factors);
  }
  if (!step.announcements.empty()) {
    step.announce = TimesOf(announce, factors);
    AddTimes(TimesOf(read, factors), step.update);
  }
}

}  // namespace legacy

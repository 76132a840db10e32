// This prices the steps of divided models, stage by stage.
#include "trainer/clock/sharded_clock.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "compress/message.h"
#include "ns3-module/fabric/step/last-collective.h"

namespace legacy {
namespace {

// The kernel that moves values between a gathered buffer and tensors, 8 bytes an element.
constexpr const char* kCopyKernel = "copy";
constexpr double kCopiedBytes = 4;  // of an element, each way

[[noreturn]] void Refuse(const std::string& what) {
  throw Error("clock.sharding", what,
              "dense sums, or with sharding messages to the owners of slices; all workers in every "
              "step, and one exchange a step");
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
    if (bucket.layers.empty()) continue;  // an agreement, or an announcement
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

// Throws Error where ranks that divide experts would gather messages of their weights.
void CheckExperts(const ParallelLayout& layout, bool messages) {
  if (layout.expert == 1 || !messages) return;
  throw Error("clock.parallel", "ep=" + std::to_string(layout.expert),
              "ep=1 with methods that gather weights as messages: experts have fewer owners");
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

// Adds `more` to each of `times`, which are as many.
void AddTimes(std::span<const TimeNs> more, std::vector<TimeNs>& times) {
  for (size_t i = 0; i < times.size(); ++i) times[i] += more[i];
}

}  // namespace

std::vector<TimeNs> SlowedTimes(double seconds, std::span<const double> factors) {
  if (factors.empty()) return {ToNs(seconds, 1)};
  std::vector<TimeNs> times;
  for (const double factor : factors) times.push_back(ToNs(seconds, factor));
  return times;
}

PricedStep Clock::Price(const StepWork& work, std::span<const double> factors,
                        TimeNs decided) const {
  if (!sharding_.DividesModel()) return StepClock::Price(work, factors, decided);
  const ParallelLayout& layout = sharding_.layout;
  const int ranks = work.workers * layout.tensor * layout.pipeline;
  CheckFactors(factors, ranks);
  CheckWork(work);
  const bool owned = SendsToOwners(work, ShardsIn(sharding_, work.workers), CutsByRows(sharding_));
  CheckExperts(layout, !work.weights.empty());
  const WireBytes wire{BytesOf(compute_.precision), owned ? sizeof(float) : GradientBytes(work)};
  PricedStep step;
  step.traffic.workers = ranks;
  step.traffic.contention = transfers().contention;
  fabric::ShardedTraffic& sharded = step.traffic.sharded.emplace(RulesOfStep(sharding_));
  sharded.passes = static_cast<int>(work.passes);
  sharded.stages.resize(static_cast<size_t>(layout.pipeline));
  const auto chunks = CutIntoStages(layout, sharding_.order, operations_);
  for (size_t s = 0; s < sharded.stages.size(); ++s) {
    Stage stage = CutStage(work, static_cast<int>(s), chunks[s]);
    stage.traffic = &sharded.stages[s];
    const std::vector<int> members = RanksOfStage(layout, ranks, stage.number);
    if (layout.Divides()) stage.traffic->workers = members;
    for (const int rank : members) {
      if (!factors.empty()) stage.factors.push_back(factors[static_cast<size_t>(rank)]);
    }
    stage.traffic->units = UnitTraffic(sharding_, InData(layout, transfers()), work.workers,
                                       stage.model, layers_, wire);
    AddPasses(work, stage);
    if (!work.weights.empty()) AddWeights(work, stage);
    if (owned) {
      AddMessages(work, stage);
    } else {
      AddCasts(work, stage);
    }
    PlaceInStage(ranks, stage);
    AddActivations(work, ranks, stage);
  }
  if (owned) AddAnnouncements(work, ranks, factors, sharded);
  if (layout.pipeline > 1) AddPipeline(work, ranks, wire, sharded);
  sharded.alone = TimesAlone(step.traffic);
  return step;
}

// Returns whether each collective takes the time that it does alone.
bool Clock::TimesAlone(const fabric::StepTraffic& traffic) const {
  if (sharding_.collectives != CollectiveTimes::kAuto) {
    return sharding_.collectives == CollectiveTimes::kAlone;
  }
  double flows = 0;
  fabric::LastCollective<double> last;
  fabric::ForEachCollective(traffic, [&](const fabric::CollectiveSpec& spec, int64_t times) {
    flows += static_cast<double>(times) * last.Of(spec, fabric::EstimatedFlows);
  });
  return flows > kMostFlowsTogether;
}

// Calls `use` with each segment of a chunk and its operations [from, to), those of one unit that
// follow each other.
void Clock::ForEachSegment(const Stage& stage, size_t chunk, const SegmentUse& use) const {
  const auto [first, last] = stage.chunks[chunk];
  const std::vector<int>& units = stage.unit_of[chunk];
  std::vector<fabric::ShardedSegment>& segments = stage.traffic->chunks[chunk];
  size_t number = 0;
  size_t from = first;
  for (size_t i = first + 1; i <= last; ++i) {
    if (i < last && units[i - first] == units[from - first]) continue;
    if (number == segments.size()) segments.emplace_back().unit = units[from - first];
    use(segments[number++], from, i);
    from = i;
  }
}

// Adds segments, copies and the update.
void Clock::AddPasses(const StepWork& work, const Stage& stage) const {
  const PassSeconds& passes = PassesOf(work.batch_size);
  const double host = profile_.device ? profile_.device->host_seconds : 0;
  stage.traffic->chunks.resize(stage.chunks.size());
  for (size_t c = 0; c < stage.chunks.size(); ++c) {
    ForEachSegment(stage, c, [&](fabric::ShardedSegment& segment, size_t from, size_t to) {
      double forward = 0, again = 0, backward = 0, weights = 0;
      for (size_t i = from; i < to; ++i) {
        forward += passes.forward[i];
        again += passes.again[i];
        if (i < first_trained_) continue;
        const double own = passes.backward[i] - passes.again[i];
        backward += own;
        // One of the two products of a layer's backward pass makes the gradient of its weights.
        if (operations_[i].weight_bytes > 0) weights += own / 2;
      }
      // The host launches each operation once in the forward pass, and twice in the backward pass.
      const double launched = host * static_cast<double>(to - from);
      segment.forward = SlowedTimes(std::max(forward, launched), stage.factors);
      if (again > 0) segment.recompute = SlowedTimes(again, stage.factors);
      segment.backward = SlowedTimes(std::max(backward, 2 * launched), stage.factors);
      segment.weights = SlowedTimes(weights, stage.factors);
    });
  }
  const double bytes = BytesOf(compute_.precision);
  std::array<int64_t, 2> held = {};  // without and with experts
  for (size_t u = 0; u < stage.model.units.size(); ++u) {
    const int64_t elements = stage.model.units[u].elements;
    held[stage.model.units[u].experts] += elements;
    const double copy =
        CopiesBuffers(sharding_)
            ? profile_.WorkSeconds(
                  {kCopyKernel,
                   static_cast<int64_t>(static_cast<double>(elements) * bytes / kCopiedBytes), 1})
            : 0;
    stage.traffic->units[u].unpack = SlowedTimes(copy, stage.factors);
    stage.traffic->units[u].pack = SlowedTimes(copy, stage.factors);
  }
  int64_t owned = 0;
  for (const bool experts : {false, true}) {
    const int shards = ShardsIn(sharding_, work.workers, experts);
    owned += (held[experts] + shards - 1) / shards;
  }
  stage.traffic->update = SlowedTimes(UpdateSeconds(owned), stage.factors);
}

// Lets messages of weights travel in place of the weights. Owners encode them once a step, after
// the update; whoever gathers them decodes them each time.
void Clock::AddWeights(const StepWork& work, const Stage& stage) const {
  std::vector<const WeightWork*> of_layer(layers_.size());
  for (const WeightWork& weights : work.weights) {
    CheckSlices(weights.slices, ShardsIn(sharding_, work.workers), CutsByRows(sharding_));
    of_layer[static_cast<size_t>(weights.layer)] = &weights;
  }
  double encode = 0;
  for (size_t u = 0; u < stage.model.units.size(); ++u) {
    std::vector<int64_t> bytes(static_cast<size_t>(ShardsIn(sharding_, work.workers)));
    WorkList decode;
    for (const int layer : stage.model.units[u].layers) {
      const WeightWork* weights = of_layer[static_cast<size_t>(layer)];
      if (!weights) Refuse("messages of some weights alone");
      for (size_t j = 0; j < bytes.size(); ++j) bytes[j] += weights->slices.bytes[j];
      JoinWork(weights->decode, decode);
      encode += WorkSeconds(weights->encode);
    }
    fabric::ShardedUnit& unit = stage.traffic->units[u];
    unit.gather = FromOwners(InData(sharding_.layout, transfers()), bytes, work.workers);
    AddTimes(SlowedTimes(WorkSeconds(decode), stage.factors), unit.unpack);
  }
  AddTimes(SlowedTimes(encode, stage.factors), stage.traffic->update);
}

// Adds the casts of dense sums to copies and update, by elements; what is cast back is a worker's
// shard.
void Clock::AddCasts(const StepWork& work, const Stage& stage) const {
  double encode = 0, decode = 0;
  for (const BucketWork& bucket : work.buckets) {
    encode += WorkSeconds(bucket.calls[0].encode);
    decode += WorkSeconds(bucket.calls[0].decode);
  }
  std::array<double, 2> parts = {};  // of the model, without and with experts
  for (size_t u = 0; u < stage.model.units.size(); ++u) {
    const double share =
        static_cast<double>(stage.model.units[u].elements) / static_cast<double>(elements_);
    parts[stage.model.units[u].experts] += share;
    AddTimes(SlowedTimes(encode * share, stage.factors), stage.traffic->units[u].pack);
  }
  double seconds = 0;
  for (const bool experts : {false, true}) {
    seconds += decode * parts[experts] / ShardsIn(sharding_, work.workers, experts);
  }
  AddTimes(SlowedTimes(seconds, stage.factors), stage.traffic->update);
}

// Lets the messages of each unit's layers travel to their owners, in place of dense sums.
void Clock::AddMessages(const StepWork& work, const Stage& stage) const {
  std::vector<const BucketWork*> of_layer(layers_.size());
  for (const BucketWork& bucket : work.buckets) {
    for (const int layer : bucket.layers) of_layer[layer] = &bucket;
    if (bucket.layers.size() > 1) Refuse("messages of several layers together");
  }
  const TransferOptions transfers = InData(sharding_.layout, this->transfers());
  for (size_t u = 0; u < stage.model.units.size(); ++u) {
    std::vector<BucketWork> layers;
    for (const int layer : stage.model.units[u].layers) layers.push_back(*of_layer[layer]);
    fabric::ShardedUnit& unit = stage.traffic->units[u];
    unit.reduce.clear();
    if (layers.empty()) continue;
    // Calls of the same kind travel together: first lengths, or messages inside nodes, where there
    // are any, and then all messages. Those that are sent whole go before sums by hops.
    std::optional<SentCall> first, messages, hops;
    double encode = 0, between = 0, sum = 0;
    for (const BucketWork& merged : MergeUnits(layers)) {
      encode += WorkSeconds(merged.calls.front().encode);
      sum += WorkSeconds(merged.calls.back().decode);
      if (merged.calls.size() > 1) {
        between +=
            WorkSeconds(merged.calls.front().decode) + WorkSeconds(merged.calls.back().encode);
        JoinOwned(merged.calls.front(), work.workers, first);
      }
      const SentCall& last = merged.calls.back();
      JoinOwned(last, work.workers, last.hops ? hops : messages);
    }
    if (hops) std::swap(first, messages);
    if (first) unit.first = ToOwners(transfers, *first, work.workers);
    unit.reduce = ToOwners(transfers, hops ? *hops : *messages, work.workers);
    if (hops) {
      const HopSeconds seconds =
          HopSecondsOf(*hops, [&](const WorkList& hop) { return WorkSeconds(hop); });
      for (auto& spec : unit.reduce) spec.hops = HopTimesOf(*hops->hops, seconds, {});
    }
    unit.encode = SlowedTimes(encode, stage.factors);
    if (between > 0) unit.between = SlowedTimes(between, stage.factors);
    unit.sum = SlowedTimes(sum, stage.factors);
  }
}

// Adds what workers agree on before the messages of a step, and what a policy announces after them.
void Clock::AddAnnouncements(const StepWork& work, int ranks, std::span<const double> factors,
                             fabric::ShardedTraffic& step) const {
  step.reducesEach = false;  // messages are those of the gradients of all passes
  double agree = 0, announce = 0, read = 0;
  bool sent = false;
  for (const BucketWork& bucket : work.buckets) {
    sent = sent || !bucket.layers.empty();
    if (!bucket.layers.empty()) continue;
    for (const SentCall& call : bucket.calls) {
      (sent ? announce : agree) += WorkSeconds(call.encode);
      read += WorkSeconds(call.decode);
      for (int s = 0; s < sharding_.layout.pipeline; ++s) {
        std::ranges::move(InStage(sharding_.layout, ranks, s,
                                  {CollectiveOf(InData(sharding_.layout, transfers()), call, 0)}),
                          std::back_inserter(sent ? step.announcements : step.agreement));
      }
    }
  }
  if (step.announcements.empty() && step.agreement.empty()) return;
  // With several stages, whose ranks send together, the slowest one's time is that of all.
  const size_t stages = step.stages.size();
  const double slowest = factors.empty() ? 1 : *std::ranges::max_element(factors);
  const auto times = [&](double seconds, size_t count) {
    return stages == 1 ? SlowedTimes(seconds, factors)
                       : std::vector<TimeNs>(count, ToNs(seconds, slowest));
  };
  if (!step.agreement.empty()) step.agree = times(agree, 1);
  if (!step.announcements.empty()) step.announce = times(announce, 1);
  for (fabric::ShardedStage& stage : step.stages) {
    AddTimes(times(read, stage.update.size()), stage.update);
  }
}

}  // namespace legacy

#include "scenarios/network/device_times.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>

#include "base/error.h"

namespace legacy {
namespace {

TimeNs Scaled(TimeNs time, double factor) {
  return RoundedTime(static_cast<double>(time) * factor);
}

TimeNs TimeOf(const std::vector<TimeNs>& times, int worker) {
  return times.empty() ? 0 : times[worker];
}

void CheckPart(size_t bucket, int worker, TimeNs part, TimeNs whole) {
  if (part >= 0 && part <= whole) return;
  throw Error(
      "encoding of bucket " + std::to_string(bucket) + " at worker " + std::to_string(worker),
      std::to_string(part) + " ns", "0 to " + std::to_string(whole) + " ns");
}

void CheckShape(const fabric::StepTraffic& traffic, const EncodeTimes& encode) {
  if (encode.empty()) return;
  bool fits = encode.size() == traffic.buckets.size();
  for (size_t b = 0; fits && b < encode.size(); ++b) {
    fits = encode[b].size() == traffic.buckets[b].calls.size();
    for (const std::vector<TimeNs>& call : encode[b]) {
      fits = fits && call.size() == static_cast<size_t>(traffic.workers);
    }
  }
  if (!fits) throw Error("times of encoding: one for each bucket, call and worker of the step");
}

// Scales the times before the end of the backward pass: compute, and the encoding of the first
// collective calls, in the order of `ready`.
void ScaleEarly(const EncodeTimes& encode, int worker, const DeviceScale& scale,
                fabric::StepTraffic& traffic) {
  std::vector<size_t> order(traffic.buckets.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return traffic.buckets[a].ready[worker] < traffic.buckets[b].ready[worker];
  });
  TimeNs encoding = 0;
  const auto scaled = [&](TimeNs time) {
    return Scaled(time - encoding, scale.compute) + Scaled(encoding, scale.encode);
  };
  for (const size_t b : order) {
    TimeNs& ready = traffic.buckets[b].ready[worker];
    const TimeNs own = encode.empty() || encode[b].empty() ? 0 : encode[b].front()[worker];
    CheckPart(b, worker, own, ready - encoding);
    encoding += own;
    ready = scaled(ready);
  }
  TimeNs& free = traffic.deviceFree[worker];
  if (free < encoding) throw Error("a worker's device is free before it has encoded");
  free = scaled(free);
}

// Scales the times that follow the backward pass and depend on the network.
void ScaleLate(const EncodeTimes& encode, int worker, const DeviceScale& scale,
               fabric::StepTraffic& traffic) {
  for (size_t b = 0; b < traffic.buckets.size(); ++b) {
    fabric::BucketTraffic& bucket = traffic.buckets[b];
    for (size_t r = 1; r < bucket.calls.size(); ++r) {
      if (bucket.calls[r].computeBefore.empty()) continue;
      TimeNs& work = bucket.calls[r].computeBefore[worker];
      const TimeNs encoding = encode.empty() ? work : encode[b][r][worker];
      CheckPart(b, worker, encoding, work);
      work = Scaled(encoding, scale.encode) + Scaled(work - encoding, scale.decode);
    }
    if (!bucket.decode.empty()) {
      bucket.decode[worker] = Scaled(bucket.decode[worker], scale.decode);
    }
  }
}

// Scales what members compute between the messages of a sum by hops.
void ScaleHops(const std::vector<DeviceScale>& scales, fabric::CollectiveSpec& spec) {
  if (spec.hops.launch == 0 && spec.hops.pace == 0) return;
  spec.hops.factors.resize(spec.bytes.size(), 1);
  for (size_t i = 0; i < spec.bytes.size(); ++i) {
    const int worker = spec.members.empty() ? static_cast<int>(i) : spec.members[i];
    spec.hops.factors[i] *= scales[static_cast<size_t>(worker)].encode;
  }
}

// Returns the place of a worker in its stage, or nothing where another stage has it.
std::optional<size_t> PlaceIn(const fabric::ShardedStage& stage, int worker) {
  if (stage.workers.empty()) return static_cast<size_t>(worker);
  const auto found = std::ranges::find(stage.workers, worker);
  if (found == stage.workers.end()) return std::nullopt;
  return static_cast<size_t>(found - stage.workers.begin());
}

// Returns the same of a step of a divided model.
TimeNs ShardedDeviceTime(const fabric::ShardedTraffic& step, int worker) {
  TimeNs time = 0;
  for (const fabric::ShardedStage& stage : step.stages) {
    const std::optional<size_t> place = PlaceIn(stage, worker);
    if (!place) continue;
    const auto add = [&](const std::vector<TimeNs>& times, int64_t count) {
      time += count * fabric::ByRank(times, static_cast<int>(*place), TimeNs{0});
    };
    for (const auto& chunk : stage.chunks) {
      for (const fabric::ShardedSegment& segment : chunk) {
        for (const auto* times : {&segment.forward, &segment.recompute, &segment.backward}) {
          add(*times, step.passes);
        }
      }
    }
    for (const fabric::ShardedUnit& unit : stage.units) {
      for (const auto* times : {&unit.unpack, &unit.pack, &unit.encode, &unit.between, &unit.sum}) {
        add(*times, 1);
      }
    }
    add(stage.update, 1);
  }
  return time;
}

// Scales the times of workers of a stage, which are one where all workers compute alike.
void ScaleStage(const std::vector<DeviceScale>& scales, fabric::ShardedStage& stage) {
  std::vector<int> members = stage.workers;
  if (members.empty()) {
    members.resize(scales.size());
    std::iota(members.begin(), members.end(), 0);
  }
  const auto scale = [&](std::vector<TimeNs>& times, double DeviceScale::*part) {
    if (times.empty()) return;
    const double first = scales[static_cast<size_t>(members.front())].*part;
    const bool alike = std::ranges::all_of(
        members, [&](int worker) { return scales[static_cast<size_t>(worker)].*part == first; });
    if (times.size() == 1 && !alike) times.resize(members.size(), times.front());
    for (size_t i = 0; i < times.size(); ++i) {
      times[i] = Scaled(times[i], scales[static_cast<size_t>(members[i])].*part);
    }
  };
  for (auto& chunk : stage.chunks) {
    for (fabric::ShardedSegment& segment : chunk) {
      for (auto* times :
           {&segment.forward, &segment.recompute, &segment.backward, &segment.weights}) {
        scale(*times, &DeviceScale::compute);
      }
    }
  }
  for (fabric::ShardedUnit& unit : stage.units) {
    scale(unit.unpack, &DeviceScale::compute);
    scale(unit.pack, &DeviceScale::compute);
    scale(unit.encode, &DeviceScale::encode);
    scale(unit.between, &DeviceScale::encode);
    scale(unit.sum, &DeviceScale::decode);
    for (fabric::CollectiveSpec& spec : unit.reduce) ScaleHops(scales, spec);
  }
  scale(stage.update, &DeviceScale::compute);
}

}  // namespace

TimeNs DeviceTime(const fabric::StepTraffic& traffic, int worker) {
  if (traffic.sharded) return ShardedDeviceTime(*traffic.sharded, worker);
  TimeNs time = traffic.deviceFree[worker];
  for (const fabric::BucketTraffic& bucket : traffic.buckets) {
    for (const fabric::CallTraffic& call : bucket.calls) {
      time += TimeOf(call.computeBefore, worker);
    }
    time += TimeOf(bucket.decode, worker);
  }
  return time;
}

fabric::StepTraffic ScaleDevices(const fabric::StepTraffic& traffic, const EncodeTimes& encode,
                                 const std::vector<DeviceScale>& scales) {
  CheckShape(traffic, encode);
  fabric::StepTraffic scaled = traffic;
  if (scaled.sharded) {
    for (fabric::ShardedStage& stage : scaled.sharded->stages) ScaleStage(scales, stage);
    return scaled;
  }
  for (int w = 0; w < traffic.workers; ++w) {
    ScaleEarly(encode, w, scales[w], scaled);
    ScaleLate(encode, w, scales[w], scaled);
  }
  for (fabric::BucketTraffic& bucket : scaled.buckets) {
    for (fabric::CallTraffic& call : bucket.calls) ScaleHops(scales, call.collective);
  }
  return scaled;
}

fabric::StepTraffic WithoutStream(fabric::StepTraffic traffic, fabric::ShardedStream stream) {
  using fabric::ShardedStream;
  const auto free = [](std::vector<fabric::CollectiveSpec>& groups) {
    for (fabric::CollectiveSpec& spec : groups) spec.times.assign(spec.bytes.size(), 0);
  };
  fabric::ShardedTraffic& step = *traffic.sharded;
  for (fabric::ShardedStage& stage : step.stages) {
    for (fabric::ShardedUnit& unit : stage.units) {
      for (auto* groups : {&unit.gather, &unit.gatherAgain}) {
        if (stream == ShardedStream::Gather) free(*groups);
      }
      for (auto* groups : {&unit.first, &unit.reduce}) {
        if (stream == ShardedStream::Reduce) free(*groups);
      }
      if (stream == ShardedStream::Replica) free(unit.replicas);
    }
    for (auto& chunk : stage.chunks) {
      for (fabric::ShardedSegment& segment : chunk) {
        for (fabric::TensorSums& sums : segment.sums) {
          if (stream == sums.stream) free(sums.sum);
        }
      }
    }
  }
  if (stream == ShardedStream::Reduce) {
    free(step.agreement);
    free(step.tied);
    free(step.announcements);
  }
  if (stream == ShardedStream::Pipe) step.messageBytes = 0;
  return traffic;
}

}  // namespace legacy

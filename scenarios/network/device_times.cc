#include "scenarios/network/device_times.h"

#include <algorithm>
#include <cmath>
#include <numeric>
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

}  // namespace

TimeNs DeviceTime(const fabric::StepTraffic& traffic, int worker) {
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
  for (int w = 0; w < traffic.workers; ++w) {
    ScaleEarly(encode, w, scales[w], scaled);
    ScaleLate(encode, w, scales[w], scaled);
  }
  return scaled;
}

}  // namespace legacy

// Device times are the parts of a step's device work. The same step can be scaled to faster or
// slower devices.
#pragma once

#include <vector>

#include "ns3-module/fabric/step/build-sharded.h"
#include "ns3-module/fabric/step/step.h"

namespace legacy {

// EncodeTimes are the device times of encoding, [bucket][call][worker] in nanoseconds. In call 0
// they are the last part of `ready`; in later calls they are a part of `computeBefore`, whose rest
// decodes the call before. Empty: `ready` is compute alone, and `computeBefore` is encoding alone.
using EncodeTimes = std::vector<std::vector<std::vector<TimeNs>>>;

// A DeviceScale has factors on one worker's device times.
struct DeviceScale {
  double compute = 1;
  double encode = 1;
  double decode = 1;
};

// Returns the time for which the worker's device is busy in a step.
TimeNs DeviceTime(const fabric::StepTraffic& traffic, int worker);

// Returns the step with scaled device times. `scales` has one entry for each worker, and each part
// is rounded to the nanosecond. Throws Error where `encode` does not belong to `traffic`.
fabric::StepTraffic ScaleDevices(const fabric::StepTraffic& traffic, const EncodeTimes& encode,
                                 const std::vector<DeviceScale>& scales);

// Returns the step of a divided model in which what one of its streams carries takes no time. Its
// messages between stages have no bytes, and keep their latency.
fabric::StepTraffic WithoutStream(fabric::StepTraffic traffic, fabric::ShardedStream stream);

}  // namespace legacy

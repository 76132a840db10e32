// What a step's device times consist of, and the same step on faster or slower devices.
#pragma once

#include <vector>

#include "ns3-module/fabric/step/step.h"

namespace legacy {

// Device time of encoding, [bucket][call][worker] in nanoseconds: in call 0 part of `ready`, at
// its end; later part of `computeBefore`, whose rest is decoding the call before. Empty: `ready`
// is compute alone, `computeBefore` is encoding alone.
using EncodeTimes = std::vector<std::vector<std::vector<fabric::TimeNs>>>;

// Factors on one worker's device times.
struct DeviceScale {
  double compute = 1;
  double encode = 1;
  double decode = 1;
};

// Everything that the worker's device does in a step.
fabric::TimeNs DeviceTime(const fabric::StepTraffic& traffic, int worker);

// `scales`: of each worker. Each part is rounded to the nanosecond. Throws Error where `encode`
// does not belong to `traffic`.
fabric::StepTraffic ScaleDevices(const fabric::StepTraffic& traffic, const EncodeTimes& encode,
                                 const std::vector<DeviceScale>& scales);

}  // namespace legacy

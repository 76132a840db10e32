// Device times are what a step's computing consists of, and the same step on faster or slower
// devices.
#pragma once

#include <vector>

#include "ns3-module/fabric/step/step.h"

namespace legacy {

// EncodeTimes are the device times of encoding, [bucket][call][worker] in nanoseconds: in call 0 a
// part of `ready`, at its end; later a part of `computeBefore`, whose rest is decoding the call
// before. Empty: `ready` is compute alone, `computeBefore` is encoding alone.
using EncodeTimes = std::vector<std::vector<std::vector<fabric::TimeNs>>>;

// A DeviceScale has factors on one worker's device times.
struct DeviceScale {
  double compute = 1;
  double encode = 1;
  double decode = 1;
};

// Returns the time of everything that the worker's device does in a step.
fabric::TimeNs DeviceTime(const fabric::StepTraffic& traffic, int worker);

// Returns the step with scaled device times. `scales` are those of each worker, and each part is
// rounded to the nanosecond. Throws Error where `encode` does not belong to `traffic`.
fabric::StepTraffic ScaleDevices(const fabric::StepTraffic& traffic, const EncodeTimes& encode,
                                 const std::vector<DeviceScale>& scales);

}  // namespace legacy

// Calibration measures this machine for a profile: rates of the models' operations and of the
// codecs, on one thread, in processor time. No other part of the toolkit reads the wall clock.
// Calibration produces a data file, never a result.
#pragma once

#include <string>

#include "trainer/calibration/scheme_speed.h"
#include "trainer/clock/profile.h"

namespace legacy {

// CalibrationOptions describe the profile.
struct CalibrationOptions {
  std::string name = "this-machine";  // name of the profile
  std::string machine;                // machine, for the profile's `source`
  std::string command;
  std::string date;
  Repetition repetition;
};

// Measures and returns the profile.
Profile Calibrate(const CalibrationOptions& options);

}  // namespace legacy

// Measures this machine for a profile: rates of the models' operations and of the codecs, on one
// thread, in processor time. The only place of the toolkit where the wall clock enters, and what it
// gives is a data file, never a result.
#pragma once

#include <string>

#include "trainer/calibration/scheme_speed.h"
#include "trainer/clock/profile.h"

namespace legacy {

struct CalibrationOptions {
  std::string name = "this-machine";  // of the profile
  std::string machine;                // for `source`
  std::string command;
  std::string date;
  Repetition repetition;
};

Profile Calibrate(const CalibrationOptions& options);

}  // namespace legacy

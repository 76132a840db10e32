#include "trainer/torch/calibration/calibrate.h"

#include "trainer/calibration/kernel_rates.h"
#include "trainer/torch/calibration/operations.h"
#include "trainer/torch/one_thread.h"

namespace legacy {

Profile Calibrate(const CalibrationOptions& options) {
  UseOneThread();
  Profile profile;
  profile.name = options.name;
  profile.source =
      "measured (" + options.machine + "; " + options.command + "; " + options.date + ")";
  profile.launches = Launches::kPerLayer;  // exchanges on the processor run unit by unit
  const auto seconds = [&](const std::function<void()>& work) {
    return MedianSeconds(work, options.repetition);
  };
  MeasureOperations(seconds, /*gpu=*/false, profile);
  MeasureKernels({}, options.repetition, profile);
  return profile;
}

}  // namespace legacy

// The measured clock gives device times as a trace measured them, divided by the speed-ups of
// device and codec that are asked for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/clock/ddp_trace.h"
#include "trainer/clock/step_clock.h"

namespace legacy {

// A MeasuredClock prices the steps of one traced training.
class MeasuredClock : public StepClock {
 public:
  // `training` outlives this. `device_speed` and `codec_speed` say how many times faster (> 0)
  // devices and codecs are than the measured ones.
  MeasuredClock(const TraceTraining& training, double device_speed, double codec_speed,
                const TransferOptions& options = {});

  // Returns the measured times, whatever `batch_size`. Throws std::out_of_range where the trace has
  // no such step.
  std::vector<fabric::TimeNs> ComputeTimes(int64_t step, int64_t batch_size, int64_t passes,
                                           std::span<const double> factors) const override;

 private:
  const TraceStep& StepAt(int64_t step) const;
  StepSeconds SecondsOf(const StepWork& work, int worker) const override;

  const TraceTraining& training_;
  // Number of steps up to the end of each of the training's entries.
  std::vector<int64_t> ends_;
  double device_speed_ = 1;
  double codec_speed_ = 1;
};

}  // namespace legacy

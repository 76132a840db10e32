// The clock of a trace: device times as they were measured, on devices and codecs that may be
// faster.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/clock/ddp_trace.h"
#include "trainer/clock/step_clock.h"

namespace legacy {

class MeasuredClock : public StepClock {
 public:
  // `training` outlives this. `device_speed`, `codec_speed`: how many times faster (> 0) than those
  // that were measured.
  MeasuredClock(const TraceTraining& training, double device_speed, double codec_speed,
                const TransferOptions& options = {});

  // Throws std::out_of_range where the trace has no such step. A batch is what it was.
  std::vector<fabric::TimeNs> ComputeTimes(int64_t step, int64_t batch_size,
                                           std::span<const double> factors) const override;

 private:
  const TraceStep& StepAt(int64_t step) const;
  StepSeconds SecondsOf(const StepWork& work, int worker) const override;

  const TraceTraining& training_;
  std::vector<int64_t> ends_;  // of each of the training's steps: steps up to its last
  double device_speed_ = 1;
  double codec_speed_ = 1;
};

}  // namespace legacy

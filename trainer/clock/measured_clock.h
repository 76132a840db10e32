// The measured clock gives device times as a trace measured them, divided by the speed-ups of
// device and codec that are asked for. Where other messages are sent than the trace's, only its
// computing is measured: a profile prices what encodes and decodes them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "trainer/clock/ddp_trace.h"
#include "trainer/clock/profile.h"
#include "trainer/clock/step_clock.h"

namespace legacy {

// A MeasuredClock prices the steps of one traced training.
class MeasuredClock : public StepClock {
 public:
  // `training` outlives this. `device_speed` and `codec_speed` say how many times faster (> 0)
  // devices and codecs are than the measured ones.
  MeasuredClock(const TraceTraining& training, double device_speed, double codec_speed,
                const TransferOptions& options = {});
  // Prices steps whose buckets send other messages than the training's. A bucket is ready when the
  // last of the training's buckets that has one of its layers is. `codec` prices work on messages
  // and on whole gradients; the training's computing has the update of the weights.
  MeasuredClock(const TraceTraining& training, double device_speed, Profile codec,
                const TransferOptions& options = {});

  // Returns the measured times, whatever `batch_size`. Throws std::out_of_range where the trace has
  // no such step.
  std::vector<TimeNs> ComputeTimes(int64_t step, int64_t batch_size, int64_t passes,
                                   std::span<const double> factors) const override;

 private:
  std::vector<StepSeconds> SecondsOf(const StepWork& work) const override;
  StepSeconds SecondsAt(const StepWork& work, const TraceStep& traced, int worker) const;
  StepSeconds PricedSecondsOf(const StepWork& work, const TraceStep& traced, int worker) const;

  TraceSteps steps_;
  double device_speed_ = 1;
  double codec_speed_ = 1;
  std::optional<Profile> codec_;  // nothing: the training's messages are sent
};

}  // namespace legacy

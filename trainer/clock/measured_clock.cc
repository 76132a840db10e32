#include "trainer/clock/measured_clock.h"

#include <algorithm>

namespace legacy {

MeasuredClock::MeasuredClock(const TraceTraining& training, double device_speed, double codec_speed,
                             const TransferOptions& options)
    : StepClock(options),
      training_(training),
      device_speed_(device_speed),
      codec_speed_(codec_speed) {
  int64_t end = 0;
  for (const TraceStep& step : training.steps) ends_.push_back(end += step.count);
}

const TraceStep& MeasuredClock::StepAt(int64_t step) const {
  return training_.steps.at(
      static_cast<size_t>(std::ranges::upper_bound(ends_, step) - ends_.begin()));
}

std::vector<fabric::TimeNs> MeasuredClock::ComputeTimes(int64_t step, int64_t, int64_t,
                                                        std::span<const double> factors) const {
  const TraceStep& traced = StepAt(step);
  std::vector<fabric::TimeNs> times;
  for (size_t w = 0; w < factors.size(); ++w) {
    times.push_back(ToNs(traced.compute.Of(static_cast<int>(w)) / device_speed_, factors[w]));
  }
  return times;
}

StepSeconds MeasuredClock::SecondsOf(const StepWork& work, int worker) const {
  const TraceStep& traced = StepAt(work.step);
  StepSeconds seconds;
  double done = 0;
  for (const TraceBucket& bucket : traced.buckets) {
    StepSeconds::Bucket& timed = seconds.buckets.emplace_back();
    const double ready = bucket.ready.Of(worker);
    timed.compute = (ready - done) / device_speed_;
    done = ready;
    for (const TraceCall& call : bucket.calls) {
      timed.encode.push_back(call.encode.Of(worker) / codec_speed_);
      timed.decode.push_back(call.decode.Of(worker) / codec_speed_);
    }
  }
  seconds.after = (traced.compute.Of(worker) - done) / device_speed_;
  return seconds;
}

}  // namespace legacy

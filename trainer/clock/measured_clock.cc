#include "trainer/clock/measured_clock.h"

#include <algorithm>
#include <utility>

namespace legacy {

MeasuredClock::MeasuredClock(const TraceTraining& training, double device_speed, double codec_speed,
                             const TransferOptions& options)
    : StepClock(options),
      steps_(training),
      device_speed_(device_speed),
      codec_speed_(codec_speed) {}

MeasuredClock::MeasuredClock(const TraceTraining& training, double device_speed, Profile codec,
                             const TransferOptions& options)
    : MeasuredClock(training, device_speed, 1, options) {
  codec_ = std::move(codec);
}

std::vector<TimeNs> MeasuredClock::ComputeTimes(int64_t step, int64_t, int64_t,
                                                std::span<const double> factors) const {
  const TraceStep& traced = steps_.At(step);
  std::vector<TimeNs> times;
  for (size_t w = 0; w < factors.size(); ++w) {
    times.push_back(ToNs(traced.compute.Of(static_cast<int>(w)) / device_speed_, factors[w]));
  }
  return times;
}

std::vector<StepSeconds> MeasuredClock::SecondsOf(const StepWork& work) const {
  const TraceStep& traced = steps_.At(work.step);
  std::vector<StepSeconds> all;
  for (int w = 0; w < work.workers; ++w) all.push_back(SecondsAt(work, traced, w));
  return all;
}

StepSeconds MeasuredClock::SecondsAt(const StepWork& work, const TraceStep& traced,
                                     int worker) const {
  if (codec_) return PricedSecondsOf(work, traced, worker);
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

StepSeconds MeasuredClock::PricedSecondsOf(const StepWork& work, const TraceStep& traced,
                                           int worker) const {
  const auto price = [&](const WorkList& list) {
    double seconds = 0;
    for (const Work& entry : list) seconds += codec_->WorkSeconds(entry);
    return seconds;
  };
  StepSeconds seconds;
  if (!work.whole_gradient.empty()) seconds.whole = price(work.whole_gradient);
  double done = 0;
  for (const BucketWork& bucket : work.buckets) {
    StepSeconds::Bucket& timed = seconds.buckets.emplace_back();
    // A bucket that belongs to no layer is sent after those before it.
    const std::optional<size_t> last = LastBucketOf(traced, bucket.layers);
    const double ready = last ? traced.buckets[*last].ready.Of(worker) : done;
    timed.compute = std::max(0.0, ready - done) / device_speed_;
    done = std::max(done, ready);
    for (const SentCall& call : bucket.calls) {
      timed.encode.push_back(price(call.encode));
      timed.decode.push_back(price(call.decode));
      timed.serve.push_back(price(call.serve));
      timed.hops.push_back(HopSecondsOf(call, price));
    }
  }
  seconds.after = (traced.compute.Of(worker) - done) / device_speed_;
  return seconds;
}

}  // namespace legacy

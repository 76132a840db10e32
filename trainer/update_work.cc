#include "trainer/update_work.h"

#include <algorithm>

#include "trainer/clock/profile.h"
#include "trainer/optimizer.h"
#include "trainer/training_options.h"

namespace legacy {

std::optional<double> WorkerClip(const Scheme& scheme, const TrainingOptions& options) {
  std::optional<double> limit = scheme.LocalClipNorm(options.workers);
  if (options.clip_worker > 0) {
    limit = std::min(limit.value_or(options.clip_worker), options.clip_worker);
  }
  return limit;
}

void WriteUpdateWork(const UpdateJob& job, StepWork& work) {
  const TrainingOptions& options = job.options;
  const Work clip{"clip", job.elements};
  const bool clips = WorkerClip(job.scheme, options).has_value();
  const bool rounds = HasSixteenBits(options.precision);
  const Work round{kRoundKernel, job.elements};
  const std::optional<int64_t> momentum_from = job.scheme.Traits().momentum_from;
  if (clips && job.exchanges) work.whole_gradient.push_back(clip);
  if (momentum_from && job.step >= *momentum_from) {
    // These kernels read and write as much as an update with a frozen variance, and as the
    // computation of momentum from a gradient.
    work.update = WorkList{{kOptimizerKernel, job.elements}, {"accumulate", job.elements}};
  }
  if (!options.Local()) {
    if (rounds && work.update) work.update->push_back(round);
    return;
  }
  work.update = WorkList{{OptimizerKernel(options.optimizer.kind), job.elements}};
  if (!job.exchanges) {
    if (clips) work.update->insert(work.update->begin(), clip);
    if (rounds) work.update->push_back(round);
    return;
  }
  work.whole_gradient.push_back({"accumulate", job.elements});
  if (options.clip_mean > 0) work.update->push_back(clip);
  work.update->push_back({OuterKernel(options.outer.value_or(OuterOptions())), job.elements});
  work.update->push_back({"copy", job.elements});
  if (rounds) work.update->push_back(round);
}

void ChargeCasts(const Scheme& scheme, const TrainingOptions& options,
                 std::span<BucketWork> buckets) {
  if (!HasSixteenBits(options.precision) || options.Local()) return;
  const bool sends_values = scheme.Traits().sends_values;
  for (BucketWork& bucket : buckets) {
    if (bucket.elements == 0) continue;  // an announcement
    WorkList& encode = bucket.calls.front().encode;
    if (!sends_values) AddWork(Work{"cast.decode", bucket.elements}, encode);
    for (Work& work : encode) {
      if (!sends_values) break;
      if (work.kernel == "copy") {
        work.kernel = "cast.decode";
      } else if (work.kernel == "cast.encode") {
        work.kernel = "copy";
        work.elements = (work.elements + 1) / 2;  // of fp32, which have as many bytes
      }
    }
  }
}

}  // namespace legacy

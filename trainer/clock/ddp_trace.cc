#include "trainer/clock/ddp_trace.h"

#include <algorithm>

namespace legacy {

int64_t TraceTraining::Steps() const {
  int64_t count = 0;
  for (const TraceStep& step : steps) count += step.count;
  return count;
}

TraceSteps::TraceSteps(const TraceTraining& training) : training_(training) {
  int64_t end = 0;
  for (const TraceStep& step : training.steps) ends_.push_back(end += step.count);
}

const TraceStep& TraceSteps::At(int64_t step) const {
  return training_.steps.at(
      static_cast<size_t>(std::ranges::upper_bound(ends_, step) - ends_.begin()));
}

std::optional<size_t> LastBucketOf(const TraceStep& step, std::span<const int> layers) {
  const auto has_one = [&](const std::pair<int, int>& range) {
    const int low = std::min(range.first, range.second);
    const int high = std::max(range.first, range.second);
    return std::ranges::any_of(layers, [&](int layer) { return low <= layer && layer <= high; });
  };
  for (size_t b = step.buckets.size(); b-- > 0;) {
    if (std::ranges::any_of(step.buckets[b].layers, has_one)) return b;
  }
  return std::nullopt;
}

StepWork WorkOf(const DdpTrace& trace, const TraceStep& traced, int64_t step) {
  StepWork work;
  work.step = step;
  work.workers = trace.workers;
  for (const TraceBucket& bucket : traced.buckets) {
    BucketWork& added = work.buckets.emplace_back();
    added.elements = bucket.elements;
    for (const auto& [first, last] : bucket.layers) {
      const size_t begin = added.layers.size();
      added.layers.resize(begin + static_cast<size_t>(std::abs(last - first)) + 1);
      const int direction = first <= last ? 1 : -1;
      for (size_t i = begin; i < added.layers.size(); ++i) {
        added.layers[i] = first + direction * static_cast<int>(i - begin);
      }
    }
    for (const TraceCall& call : bucket.calls) {
      SentCall& sent = added.calls.emplace_back();
      sent.collective = call.collective;
      sent.reduction =
          call.collective == Collective::kAllReduce ? Reduction::kSum : Reduction::kConcat;
      sent.root = call.root;
      for (int w = 0; w < trace.workers; ++w) sent.bytes.push_back(call.bytes.Of(w));
    }
  }
  return work;
}

}  // namespace legacy

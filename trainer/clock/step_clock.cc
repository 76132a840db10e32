#include "trainer/clock/step_clock.h"

#include <cassert>
#include <cmath>
#include <numeric>
#include <string>

#include "base/error.h"

namespace legacy {
namespace {

// Returns the traffic of `work`, without times.
PricedStep Unpriced(const StepWork& work, const TransferOptions& options) {
  const auto workers = static_cast<size_t>(work.workers);
  PricedStep step;
  step.compute.resize(workers);
  step.encode.resize(workers);
  step.late_encode.resize(workers);
  step.traffic.workers = work.workers;
  step.traffic.contention = options.contention;
  step.traffic.deviceFree.resize(workers);
  for (const BucketWork& bucket : work.buckets) {
    fabric::BucketTraffic& traffic = step.traffic.buckets.emplace_back();
    traffic.ready.resize(workers);
    traffic.decode.resize(workers);
    step.call_encode.emplace_back(bucket.calls.size(), std::vector<TimeNs>(workers));
    for (const SentCall& call : bucket.calls) {
      traffic.calls.push_back(
          {CollectiveOf(options, call, bucket.elements, !work.active_workers.empty()),
           std::vector<TimeNs>(workers)});
    }
  }
  return step;
}

// Writes what hops compute into the collectives of a step.
void PriceHops(const StepWork& work, const StepSeconds& seconds, std::span<const double> factors,
               PricedStep& step) {
  for (size_t b = 0; b < work.buckets.size(); ++b) {
    for (size_t r = 0; r < work.buckets[b].calls.size(); ++r) {
      const SentCall& call = work.buckets[b].calls[r];
      if (!call.hops || seconds.buckets[b].hops.empty()) continue;
      step.traffic.buckets[b].calls[r].collective.hops =
          HopTimesOf(*call.hops, seconds.buckets[b].hops[r], factors);
    }
  }
}

// A WorkerPricing writes one worker's times into a step.
class WorkerPricing {
 public:
  WorkerPricing(const StepSeconds& seconds, int worker, double factor, PricedStep& step)
      : seconds_(seconds), worker_(worker), factor_(factor), step_(step) {}

  void TakesPart() {
    TimeNs compute = ToNs(seconds_.before, factor_);
    TimeNs encode = 0;
    if (seconds_.whole) compute += BackwardPass();
    for (size_t b = 0; b < seconds_.buckets.size(); ++b) {
      const StepSeconds::Bucket& bucket = seconds_.buckets[b];
      if (!seconds_.whole) compute += ToNs(bucket.compute, factor_);
      if (!bucket.encode.empty()) {
        TimeNs& first = step_.call_encode[b][0][worker_];
        first = ToNs(bucket.encode[0] + (b == 0 ? seconds_.whole.value_or(0) : 0), factor_);
        encode += first;
      }
      step_.traffic.buckets[b].ready[worker_] = compute + encode;
      Calls(b, true);
    }
    if (!seconds_.whole) compute += ToNs(seconds_.after, factor_);
    step_.compute[worker_] = compute;
    step_.encode[worker_] = encode;
    step_.traffic.deviceFree[worker_] = compute + encode;
  }

  // Prices a worker that abandons its batch and encodes nothing; it passes messages on and decodes
  // as all workers do.
  void Drops(TimeNs decided) {
    for (size_t b = 0; b < seconds_.buckets.size(); ++b) {
      step_.traffic.buckets[b].ready[worker_] = decided;
      Calls(b, false);
    }
    step_.compute[worker_] = decided;
    step_.traffic.deviceFree[worker_] = decided;
  }

 private:
  TimeNs BackwardPass() const {
    TimeNs time = ToNs(seconds_.after, factor_);
    for (const StepSeconds::Bucket& bucket : seconds_.buckets) {
      time += ToNs(bucket.compute, factor_);
    }
    return time;
  }

  // Prices the device work after each collective call: its decoding, then the encoding of the next
  // call if there is one.
  void Calls(size_t index, bool encodes) {
    const StepSeconds::Bucket& bucket = seconds_.buckets[index];
    fabric::BucketTraffic& traffic = step_.traffic.buckets[index];
    for (size_t r = 0; r < bucket.decode.size(); ++r) {
      const TimeNs decode = ToNs(bucket.decode[r], factor_);
      if (r + 1 == bucket.decode.size()) {
        traffic.decode[worker_] = decode;
        return;
      }
      const TimeNs encode = encodes ? ToNs(bucket.encode[r + 1], factor_) : 0;
      traffic.calls[r + 1].computeBefore[worker_] = decode + encode;
      step_.late_encode[worker_] += encode;
      step_.call_encode[index][r + 1][worker_] = encode;
    }
  }

  const StepSeconds& seconds_;
  const int worker_;
  const double factor_;
  PricedStep& step_;
};

}  // namespace

void CheckFactors(std::span<const double> factors, int workers) {
  if (!factors.empty() && factors.size() != static_cast<size_t>(workers)) {
    throw Error("straggler factors", std::to_string(factors.size()), std::to_string(workers));
  }
  for (size_t w = 0; w < factors.size(); ++w) {
    if (std::isfinite(factors[w]) && factors[w] > 0) continue;
    throw Error("straggler factor of worker " + std::to_string(w), std::to_string(factors[w]),
                "positive numbers");
  }
}

HopSeconds HopSecondsOf(const SentCall& call,
                        const std::function<double(const WorkList& work)>& price) {
  if (!call.hops) return {};
  WorkList launches = call.hops->work;
  for (Work& work : launches) work.elements = 0;
  const double launch = price(launches);
  return {launch, price(call.hops->work) - launch};
}

fabric::HopTimes HopTimesOf(const Hops& hops, const HopSeconds& seconds,
                            std::span<const double> factors) {
  int64_t payload = 0;
  for (const HopSlice& slice : hops.slices) {
    payload = std::accumulate(slice.payload.begin(), slice.payload.end(), payload);
  }
  return {.launch = ToNs(seconds.launch, 1),
          .pace = payload > 0 ? seconds.all * 1e9 / static_cast<double>(payload) : 0,
          .factors = {factors.begin(), factors.end()}};
}

TimeNs ToNs(double seconds, double factor) { return RoundedTime(seconds * factor * 1e9); }

PricedStep StepClock::Price(const StepWork& work, std::span<const double> factors,
                            TimeNs decided) const {
  CheckFactors(factors, work.workers);
  PricedStep step = Unpriced(work, options_);
  const std::vector<StepSeconds> all = SecondsOf(work);
  assert(all.size() == 1 || all.size() == static_cast<size_t>(work.workers));
  for (size_t b = 0; b < work.buckets.size(); ++b) {
    const std::vector<double>& serve = all.front().buckets[b].serve;
    for (size_t r = 0; r < serve.size(); ++r) {
      fabric::CollectiveSpec& spec = step.traffic.buckets[b].calls[r].collective;
      if (fabric::IsServer(spec.algorithm)) spec.serve = ToNs(serve[r] / spec.servers, 1);
    }
  }
  PriceHops(work, all[0], factors, step);
  for (int w = 0; w < work.workers; ++w) {
    const StepSeconds& seconds = all[all.size() == 1 ? 0 : w];
    assert(seconds.buckets.size() == work.buckets.size());
    WorkerPricing pricing(seconds, w, factors.empty() ? 1.0 : factors[w], step);
    if (work.TakesPart(w)) {
      pricing.TakesPart();
    } else {
      pricing.Drops(decided);
    }
  }
  return step;
}

}  // namespace legacy

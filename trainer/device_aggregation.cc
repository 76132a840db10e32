#include "trainer/device_aggregation.h"

#include <string>
#include <utility>

#include "base/error.h"

namespace legacy {

DeviceAggregation::DeviceAggregation(UnitPlan plan, Policy& policy, int workers,
                                     std::unique_ptr<DeviceExchange> exchange)
    : Aggregation(std::move(plan), policy, workers), exchange_(std::move(exchange)) {}

void DeviceAggregation::Begin(uint64_t seed, const StepInfo& step,
                              std::span<const int> active_workers) {
  Decide(step, active_workers);
  if (!candidates_.empty()) {
    throw Error("policy " + std::string(policy_.Name()) +
                ": has candidates, which exchanges on a device do not take");
  }
  std::vector<double> parameters;
  for (const UnitBook& book : books_) parameters.push_back(book.parameter);
  exchange_->Begin({.seed = seed,
                    .step = step.step,
                    .parameters = parameters,
                    .active_workers = {active_workers.begin(), active_workers.end()}});
}

void DeviceAggregation::AddGradient(int worker, const float* gradient,
                                    const std::function<std::vector<float>()>& copy) {
  if (IsShown(worker)) {
    const std::vector<float> values = copy();
    for (size_t u = 0; u < plan_.units.size(); ++u) {
      const Unit& place = plan_.units[u];
      policy_.OnLocalGradient(u, std::span(values).subspan(place.offset, place.numel),
                              exchange_->CopyResidual(static_cast<int>(u), worker));
    }
  }
  exchange_->Encode(worker, gradient);
}

void DeviceAggregation::Finish(float* mean) {
  try {
    exchange_->Finish(mean);
  } catch (const Error& error) {
    throw Error("step " + std::to_string(step_) + ", " + error.what());
  }
  for (size_t u = 0; u < books_.size(); ++u) {
    const int unit = static_cast<int>(u);
    for (const DeviceExchange::SentCall& sent : exchange_->Calls(unit)) {
      CallWork work = WorkOf(sent.call, workers_);
      work.bytes = sent.bytes;
      books_[u].calls.push_back(std::move(work));
    }
    books_[u].elements = exchange_->ElementsSent(unit);
  }
  RunPolicyCall(PolicyMoment::kAnnouncement, {}, {});
}

}  // namespace legacy

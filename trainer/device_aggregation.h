// Device aggregation is of gradients that are, and stay, in the memory of a device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "compress/device_exchange.h"
#include "trainer/aggregation.h"

namespace legacy {

// A DeviceAggregation runs one DeviceExchange for all units.
class DeviceAggregation : public Aggregation {
 public:
  // `exchange` is of the plan's units. `policy` outlives this.
  DeviceAggregation(UnitPlan plan, Policy& policy, int workers,
                    std::unique_ptr<DeviceExchange> exchange);

  // Throws Error where the policy has candidates in the step: exchanges on a device take none.
  void Begin(uint64_t seed, const StepInfo& step, std::span<const int> active_workers) override;

  // Takes a worker's flat gradient and queues its encoding. `copy` brings it to the host, for a
  // policy that reads the first active worker's. It is called once for each active worker, in
  // order.
  void AddGradient(int worker, const float* gradient,
                   const std::function<std::vector<float>()>& copy);

  // Waits for the device, writes the flat mean and lets the policy announce. Throws Error as
  // DeviceExchange does.
  void Finish(float* mean);

  void RescaleResiduals(float factor) override { exchange_->RescaleResiduals(factor); }

 private:
  std::unique_ptr<DeviceExchange> exchange_;
};

}  // namespace legacy

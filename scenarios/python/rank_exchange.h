// The exchanges of one rank as Python has them: with the scenario's options, and with arguments
// that are checked.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "scenarios/python/compressed_model.h"
#include "scenarios/python/unit_exchanges.h"

namespace legacy::python {

using Addresses = std::vector<uintptr_t>;  // of fp32 memory, one for each unit

// A RankExchange checks what Python gives to UnitExchanges, and lets other threads run meanwhile.
class RankExchange {
 public:
  RankExchange(const ModelRequest& request, int workers)
      : request_(request), model_(BuildModel(request)) {
    names_.reserve(model_.plan.units.size());
    for (const Unit& unit : model_.plan.units) names_.push_back(unit.name);
    exchanges_.emplace(model_.plan, std::move(model_.built), workers);
  }

  UnitExchanges& of() { return *exchanges_; }
  const UnitExchanges& of() const { return *exchanges_; }
  const std::vector<std::string>& names() const { return names_; }
  const Scenario& scenario() const { return model_.scenario; }
  int64_t steps_per_epoch() const { return request_.steps_per_epoch; }
  double last_rate() const { return last_rate_; }
  void SetLastRate(double rate) { last_rate_ = rate; }

  StepInfo Info(int64_t step, double rate, double latency, double bandwidth) const {
    return {.seed = scenario().seed,
            .step = step,
            .total_steps = scenario().steps,
            .learning_rate = rate,
            .steps_per_epoch = request_.steps_per_epoch,
            .link = {.latency_seconds = latency, .seconds_per_byte = 8 / bandwidth},
            .active_workers = {}};
  }

  void Begin(const StepInfo& info, const DecidedStep& decided) {
    const double rate = info.learning_rate;
    if (scenario().rescale_residuals && rate > 0 && last_rate_ > 0 && rate != last_rate_) {
      of().RescaleResiduals(static_cast<float>(last_rate_ / rate));
    }
    if (rate > 0) last_rate_ = rate;
    of().Begin(info, decided);
  }

  void CheckUnits(std::span<const int> units) const {
    for (const int unit : units) {
      if (unit >= 0 && unit < std::ssize(names_)) continue;
      throw Error("unit", std::to_string(unit), "0 to " + std::to_string(names_.size() - 1));
    }
  }
  void CheckWorker(int worker) const {
    if (worker >= 0 && worker < of().workers()) return;
    throw Error("worker", std::to_string(worker), "0 to " + std::to_string(of().workers() - 1));
  }
  template <class Float>
  std::vector<Float*> Pointers(std::span<const int> units, const Addresses& addresses) const {
    CheckUnits(units);
    if (addresses.size() != units.size()) {
      throw Error("addresses", std::to_string(addresses.size()),
                  std::to_string(units.size()) + ", one for each unit");
    }
    std::vector<Float*> pointers;
    for (const uintptr_t address : addresses) {
      if (address == 0 || address % alignof(float) != 0) {
        throw Error("addresses", std::to_string(address), "those of float32 values in host memory");
      }
      pointers.push_back(reinterpret_cast<Float*>(address));  // NOLINT(performance-no-int-to-ptr)
    }
    return pointers;
  }

 private:
  ModelRequest request_;
  CompressedModel model_;  // without what was built
  std::vector<std::string> names_;
  std::optional<UnitExchanges> exchanges_;
  double last_rate_ = 0;
};

}  // namespace legacy::python

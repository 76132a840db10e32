// Step pricing gives the device times of a scenario's steps: its device's profile, its stragglers
// and its workers' rule of synchronisation. It simulates nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ns3-module/fabric/step/straggler.h"
#include "ns3-module/fabric/step/synchronisation.h"
#include "scenarios/network/engines/network.h"
#include "scenarios/options/scenario.h"
#include "trainer/clock/clock.h"
#include "trainer/clock/profile.h"
#include "trainer/clock/step_work.h"

namespace legacy {

// A StepStart has the facts about a step that are known before it is trained.
struct StepStart {
  std::vector<double> factors;  // factors of the stragglers, by worker
  fabric::Participation participation;
};

// A StepPricing prices the steps of one scenario.
class StepPricing {
 public:
  // `scenario` outlives this. Throws Error on stragglers and profiles that are not valid.
  explicit StepPricing(const Scenario& scenario);

  // Makes the device clock of workers on that network.
  Clock MakeClock(std::span<const OperationCost> costs, std::span<const Unit> layers,
                  const Network& network) const;
  // Returns the facts that are known before a step is trained.
  StepStart StartOf(const StepClock& clock, uint64_t seed, int64_t step) const;
  // Returns the step's traffic and device times.
  static PricedStep Price(const StepClock& clock, const StepWork& work, const StepStart& start) {
    return clock.Price(work, start.factors, start.participation.decided);
  }
  // True where stragglers differ from step to step.
  bool Transient() const { return stragglers_->Transient(); }
  const Profile& profile() const { return profile_; }

 private:
  const Scenario& scenario_;
  int batch_;  // batch that a step computes
  std::unique_ptr<fabric::StragglerModel> stragglers_;
  Profile profile_;
};

}  // namespace legacy

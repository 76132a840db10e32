#include "scenarios/run/step_pricing.h"

#include <string>

#include "scenarios/run/scenario_network.h"
#include "trainer/update_work.h"

namespace legacy {
namespace {

Profile ProfileOf(const Scenario& scenario) {
  Profile profile =
      Faster(LoadProfile(scenario.device_profile), scenario.device_speed, scenario.codec_speed);
  profile.launches = scenario.launches->value_or(profile.launches);
  return profile;
}

// Returns the kernels that apply the mean gradient to the weights.
std::vector<std::string> UpdateKernels(const Scenario& scenario) {
  std::vector<std::string> kernels;
  if (*scenario.precision == Precision::kFp16) kernels.push_back(kUnscaleKernel);
  if (scenario.clip_mean > 0) kernels.push_back("clip");
  kernels.push_back(OptimizerKernel(scenario.optimizer->kind));
  if (HasSixteenBits(*scenario.precision)) kernels.push_back(kRoundKernel);
  return kernels;
}

}  // namespace

StepPricing::StepPricing(const Scenario& scenario)
    : scenario_(scenario),
      batch_(TimedBatch(scenario)),
      stragglers_(fabric::MakeStragglers(scenario.stragglers)),
      profile_(ProfileOf(scenario)) {}

Clock StepPricing::MakeClock(std::span<const OperationCost> costs, std::span<const Unit> layers,
                             const Network& network) const {
  return {profile_,
          costs,
          layers,
          TransfersOf(scenario_, network),
          UpdateKernels(scenario_),
          ComputeOptionsOf(scenario_),
          ShardingOptionsOf(scenario_)};
}

StepStart StepPricing::StartOf(const StepClock& clock, uint64_t seed, int64_t step) const {
  StepStart start;
  start.factors = stragglers_->Factors(scenario_.workers, seed, static_cast<uint64_t>(step));
  start.participation =
      scenario_.sync->Decide(clock.ComputeTimes(step, batch_, scenario_.accumulate, start.factors));
  return start;
}

}  // namespace legacy

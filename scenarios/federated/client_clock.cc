#include "scenarios/federated/client_clock.h"

#include <algorithm>

namespace legacy {

LocalBatches BatchesOf(int64_t samples, int64_t batch_size, int64_t steps) {
  LocalBatches batches;
  batches.size = std::min(batch_size, samples);
  batches.rest = samples % batches.size;
  const int64_t per_epoch = samples / batches.size + (batches.rest > 0 ? 1 : 0);
  batches.shorts = batches.rest > 0 ? steps / per_epoch : 0;
  batches.whole = steps - batches.shorts;
  return batches;
}

LocalStepWork LocalStepWorkOf(OptimizerKind optimizer, double clip, const ClientRule& rule,
                              int64_t elements) {
  LocalStepWork work = {{OptimizerKernel(optimizer)}, {}};
  if (clip > 0) AddWork(Work{"clip", elements}, work.corrections);
  const int passes =
      (rule.proximal > 0 ? 1 : 0) + (rule.control ? 1 : 0) + (rule.dynamic > 0 ? 1 : 0);
  for (int pass = 0; pass < passes; ++pass) {
    AddWork(Work{"accumulate", elements}, work.corrections);
  }
  return work;
}

ClientClock::ClientClock(const Scenario& scenario, const fabric::Population& population,
                         std::vector<OperationCost> costs, std::span<const Unit> layers,
                         LocalStepWork step_work)
    : population_(population), common_(scenario.device_profile), step_work_(std::move(step_work)) {
  std::vector<int64_t> numels;
  for (const Unit& layer : layers) numels.push_back(layer.numel);
  const auto add = [&](const std::string& name) {
    if (devices_.contains(name)) return;
    Profile profile = Faster(LoadProfile(name), scenario.device_speed, scenario.codec_speed);
    if (*scenario.launches) profile.launches = **scenario.launches;
    devices_.emplace(name, Device(Clock(std::move(profile), costs, numels, {},
                                        step_work_.update_kernels, ComputeOptionsOf(scenario))));
  };
  add(common_);
  for (const fabric::Group& group : population.Groups()) {
    for (const std::string& name : group.profile.Words()) {
      if (!name.empty()) add(name);
    }
  }
}

ClientClock::Device& ClientClock::DeviceOf(int64_t client) {
  const std::string& own = population_.ProfileOf(client);
  return devices_.at(own.empty() ? common_ : own);
}

double ClientClock::StepSeconds(Device& device, int64_t samples) const {
  const auto [found, added] = device.step_seconds.try_emplace(samples);
  if (added) {
    found->second = device.clock.ComputeSeconds(samples);
    for (const Work& work : step_work_.corrections) {
      found->second += device.clock.profile().ComputeWorkSeconds(work);
    }
  }
  return found->second;
}

ClientSeconds ClientClock::SecondsOf(int64_t client, const TaskComputing& task) {
  Device& device = DeviceOf(client);
  ClientSeconds seconds;
  if (task.messages > 0) {
    seconds.decode = static_cast<double>(task.messages) * CodecSeconds(client, task.decode);
  }
  if (task.samples > 0) {
    const LocalBatches batches = BatchesOf(task.samples, task.batch, task.steps);
    if (batches.whole > 0) {
      seconds.local += static_cast<double>(batches.whole) * StepSeconds(device, batches.size);
    }
    if (batches.shorts > 0) {
      seconds.local += static_cast<double>(batches.shorts) * StepSeconds(device, batches.rest);
    }
  }
  const double slowdown = population_.SlowdownOf(client);
  return {.decode = seconds.decode,
          .local = slowdown * seconds.local,
          .encode = CodecSeconds(client, task.encode)};
}

double ClientClock::CodecSeconds(int64_t client, const WorkList& work) {
  const Profile& profile = DeviceOf(client).clock.profile();
  double seconds = 0;
  for (const Work& entry : work) seconds += profile.WorkSeconds(entry);
  return population_.SlowdownOf(client) * seconds;
}

double ClientClock::UpdateSeconds(int64_t client, const WorkList& work) {
  const Profile& profile = DeviceOf(client).clock.profile();
  double seconds = 0;
  for (const Work& entry : work) seconds += profile.ComputeWorkSeconds(entry);
  return population_.SlowdownOf(client) * seconds;
}

}  // namespace legacy

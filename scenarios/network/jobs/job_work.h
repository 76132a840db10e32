// A job work says what a job does on the fabric that it shares with others.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ns3-module/fabric/step/step.h"
#include "ns3-module/fabric/topology/placement.h"
#include "scenarios/network/engines/network.h"

namespace legacy {

// JobSteps are the steps of a job, one after the other, without an end.
struct JobSteps {
  std::function<fabric::StepTraffic(int64_t step)> traffic;
  int64_t steady_from = 0;  // from this step on, all are equal; INT64_MAX: never
  double bytes = 0;         // of a worker's messages in a step: the largest, or their mean
};

// A JobWork is a collective that repeats (collective_job.h), or a training
// (scenarios/replay/training_jobs.h).
class JobWork {
 public:
  virtual ~JobWork() = default;
  // Returns what tables call it: "ring-allreduce", "resnet50".
  virtual std::string Name() const = 0;
  // Returns the names of the methods that compress what it sends, of which each is measured; one
  // empty name where nothing has methods.
  virtual std::vector<std::string> Methods() const = 0;
  // Returns the ways to place its workers and servers. The first that the fabric allows is taken.
  virtual std::vector<fabric::PlacementRequest> Placements() const = 0;
  // Returns its steps by one of the methods. `network` is the fabric with the job's own placement;
  // at least `count` steps are run. Throws Error on what the fabric does not carry.
  virtual JobSteps StepsOn(const Network& network, size_t method, int64_t count) const = 0;
};

}  // namespace legacy

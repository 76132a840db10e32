// A job that repeats a collective.
#pragma once

#include "scenarios/network/jobs/job_work.h"
#include "scenarios/network/options/experiment.h"

namespace legacy {

class CollectiveJob : public JobWork {
 public:
  // The network of `experiment` is that of all jobs. Its algorithm is chosen.
  explicit CollectiveJob(Experiment experiment) : experiment_(std::move(experiment)) {}

  std::string Name() const override;
  std::vector<std::string> Methods() const override { return {""}; }
  std::vector<fabric::PlacementRequest> Placements() const override;
  JobSteps StepsOn(const Network& network, size_t method, int64_t count) const override;

 private:
  Experiment experiment_;
};

}  // namespace legacy

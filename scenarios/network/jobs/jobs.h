// Jobs share one fabric: each repeats its steps among its own workers.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scenarios/network/engines/network.h"
#include "scenarios/network/jobs/job_list.h"
#include "scenarios/network/options/experiment.h"

namespace legacy {

// A PlacedJob has its endpoints in the placement of all jobs from `first_endpoint` on: workers,
// servers, aggregators.
struct PlacedJob {
  JobRequest request;
  std::unique_ptr<Network> network;       // the fabric with the job's own placement
  int first_endpoint = 0;                 // its connections are its own, as those of endpoints are
  std::vector<std::string> methods = {};  // of its work
  std::vector<JobSteps> steps = {};       // by method
  std::vector<std::string> streams = {};  // of a step of its workers
};

// PreparedJobs are jobs in their places on one fabric.
struct PreparedJobs {
  std::vector<PlacedJob> jobs;
  std::unique_ptr<Network> network;  // the fabric, with the endpoints of all jobs as its hosts
  // The method of each job, as its position: all combinations, the last job's varying fastest.
  std::vector<std::vector<size_t>> cases;
  std::vector<double> offsets;  // of the starts, in steps of the first job; empty: none
  bool pairs = false;           // run without each of the jobs, too
  std::vector<Fidelity> fidelities;
  std::string fidelity_reason;  // reason for these fidelities, where they were chosen
};

// Places the jobs: those with hosts of their own first, then the others on what is free, in the
// order of the file. Tries everything that may be refused. Throws Error.
PreparedJobs PrepareJobs(std::vector<JobRequest> requests, const ExperimentOptions& options,
                         const std::map<std::string, std::string>& ns3_attributes);

// Returns the approximate wall time of the packet engine; 0 where it does not run.
double PacketSeconds(const PreparedJobs& prepared);

}  // namespace legacy

// Jobs share one fabric: each repeats a collective of its own among its own workers.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scenarios/network/engines/network.h"
#include "scenarios/network/options/experiment.h"

namespace legacy {

// A JobRequest is one job of a file.
struct JobRequest {
  std::string name;
  Experiment experiment;           // its collective; the network is that of all jobs
  std::vector<std::string> hosts;  // names or numbers of the workers' hosts; empty: by placement
  TimeNs start = 0;
  std::string where;  // "file:line:column: ", for messages
};

// Reads a YAML file:
//
//   jobs:
//     - {name: a, workers: 8, collective: ring-allreduce, bytes: 100MB, repeat: 10, compute: 5ms}
//     - {name: b, hosts: [host8, 9], bytes: 1GB, start: 20ms}
//
// Keys are the options of collectives, placement, name, hosts and start; `values` has what a job
// leaves out. Throws Error with file, line and column.
std::vector<JobRequest> ReadJobs(const std::string& path, const ExperimentOptions& options,
                                 const std::map<std::string, std::string>& ns3_attributes);

// A PlacedJob has its endpoints in the placement of all jobs from `first_endpoint` on: workers,
// servers, aggregators.
struct PlacedJob {
  JobRequest request;
  std::unique_ptr<Network> network;  // the fabric with the job's own placement
  int first_endpoint = 0;            // its connections are its own, as those of endpoints are
};

// PreparedJobs are jobs in their places on one fabric.
struct PreparedJobs {
  std::vector<PlacedJob> jobs;
  std::unique_ptr<Network> network;  // the fabric, with the endpoints of all jobs as its hosts
  std::vector<Fidelity> fidelities;
  std::string fidelity_reason;  // reason for these fidelities, where they were chosen
};

// Places the jobs: those with hosts of their own first, then the others on what is free, in the
// order of the file. Tries everything that may be refused. Throws Error.
PreparedJobs PrepareJobs(std::vector<JobRequest> requests, const ExperimentOptions& options,
                         const std::map<std::string, std::string>& ns3_attributes);

// A JobTiming says when the repetitions of a job ended, from the start of the run.
struct JobTiming {
  TimeNs start = 0;
  std::vector<TimeNs> ends;

  TimeNs Time() const { return ends.back() - start; }
};

// A JobsMeasurement is a run of all jobs, together and each alone, at one fidelity.
struct JobsMeasurement {
  Fidelity fidelity = Fidelity::kFlow;
  std::vector<JobTiming> alone;     // by job
  std::vector<JobTiming> together;  // by job
  fabric::StepTiming timing;        // of the run together: total, counters, links
  double wall_seconds = 0;

  // Returns the time together divided by the time alone; 1 where both are 0.
  double Slowdown(size_t job) const;
};

// Runs all fidelities in order. With warm connections every run is made twice on one engine, and
// the second one counts.
std::vector<JobsMeasurement> MeasureJobs(const PreparedJobs& prepared);

// Returns the approximate wall time of the packet engine; 0 where it does not run.
double PacketSeconds(const PreparedJobs& prepared);

}  // namespace legacy

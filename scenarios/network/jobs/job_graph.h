// The steps of a job as a graph of flows among those of other jobs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ns3-module/fabric/step/step.h"
#include "scenarios/network/jobs/job_work.h"

namespace legacy {

// A JobListener is told of the steps of jobs, and counts them.
class JobListener {
 public:
  virtual ~JobListener() = default;
  virtual void Started(size_t job) = 0;
  // A step has ended at `now`. `exposed` is the time by stream in which devices waited for what
  // travels, as a mean over the workers. Returns the number of steps that the job has done, with
  // those that the listener has taken as done.
  virtual int64_t Ended(size_t job, TimeNs now, std::vector<TimeNs> exposed,
                        fabric::FlowSink& sink) = 0;
};

// A JobGraph runs the steps of a job one after the other, on the job's endpoints among those of all
// jobs: each begins when the one before has ended at all workers.
class JobGraph : public fabric::FlowGraph {
 public:
  // `job` is its number for the listener. It has its endpoints from `first_endpoint` on, and ends
  // after `least` steps if it leaves then, or if a step takes no time. What references refer to
  // outlives this.
  JobGraph(size_t job, const JobSteps& steps, int first_endpoint, int64_t least, bool leaves,
           JobListener& listener)
      : job_(job),
        steps_(steps),
        first_endpoint_(first_endpoint),
        least_(least),
        leaves_(leaves),
        listener_(listener) {}

  void OnStart(fabric::FlowSink& sink) override;
  void OnDelivered(const fabric::Flow& flow, fabric::FlowSink& sink) override;
  void OnWake(uint64_t token, fabric::FlowSink& sink) override;
  bool Done() const override { return leaves_ && done_ >= least_; }

 private:
  class Sink;
  void MakeStep(const fabric::FlowSink& sink);
  template <class Call>
  void Tell(fabric::FlowSink& sink, Call call);

  const size_t job_;
  const JobSteps& steps_;
  const int first_endpoint_;
  const int64_t least_;
  bool leaves_;
  JobListener& listener_;
  std::unique_ptr<fabric::StepGraph> step_;
  uint64_t round_ = 0;  // of the step, by which wake-ups of those before are known
  TimeNs began_ = 0;    // of the step
  int64_t done_ = 0;
};

}  // namespace legacy

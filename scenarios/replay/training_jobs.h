// Trainings among the jobs that share a fabric: shapes of models and recorded runs, whose steps are
// priced on each job's own workers and carried together.
#pragma once

#include <cstdint>
#include <memory>

#include "scenarios/network/jobs/job_list.h"

namespace legacy {

// TrainingJobs read the entries of a file of jobs that are trainings:
//
//   {layers: resnet50, workers: 8, policies: [dense, topk@1%], precision: bf16}
//   {run: runs/mine, policies: [dense]}
//
// Keys are options of scenarios by their names alone: those of models, compression, devices and
// collectives. The fabric is that of all jobs.
class TrainingJobs : public TrainingReader {
 public:
  bool Reads(const JobEntry& entry) const override;
  std::unique_ptr<JobWork> Read(const JobEntry& entry, int64_t& steps) const override;
};

}  // namespace legacy

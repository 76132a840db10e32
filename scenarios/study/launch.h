// Studies on more than one machine: the same program, `legacy-study work`, once for each share, by
// mpirun or by Slurm's job arrays. Nothing is linked with either: a process finds its share in the
// environment, and says what it found in a journal of its own in the study's folder, which all
// machines see.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/program.h"
#include "scenarios/study/schedule.h"

namespace legacy {

// Rank and size as mpirun (Open MPI; MPICH and Intel MPI; MVAPICH) and srun say them, as the task
// of a Slurm array where it is in one. Nothing: no launcher started this process. Throws Error on
// what is no share.
using Environment = std::function<const char*(const char* name)>;
std::optional<Share> ShareOfEnvironment(const Environment& environment);

struct LaunchOptions {
  std::filesystem::path program;  // legacy-study
  std::filesystem::path study;    // folder
  int64_t trainings = 0;          // processes of that phase; 0: none is needed
  int64_t points = 0;
  bool retry_failed = false;
  std::vector<std::string> arguments;  // of mpirun, or of sbatch
};

// `mpirun -n N [arguments] legacy-study work DIR --phase=...`, for the trainings, then for the
// points. `tick` is called several times a second. What mpirun says goes to journal/mpi.log; throws
// Error with its end where it fails. False: stopped.
bool LaunchMpi(const LaunchOptions& options, const std::function<void()>& tick,
               const StopFlag& stop);

// slurm/{trainings,points,collect}.sbatch and slurm/submit.sh in the study's folder, in place of
// older ones. Returns the path of submit.sh.
std::filesystem::path WriteSlurmScripts(const LaunchOptions& options);

// Runs submit.sh; the identifiers of the jobs. Throws Error with what sbatch says.
std::vector<std::string> SubmitSlurm(const std::filesystem::path& submit);

// Until none of them is in the queue. False: stopped; the jobs go on.
bool WaitSlurm(const std::vector<std::string>& jobs, const std::function<void()>& tick,
               const StopFlag& stop);

}  // namespace legacy

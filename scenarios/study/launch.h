// Studies on more than one machine: the same program, `legacy-study work`, once for each share, by mpirun or by Slurm's
// job arrays. Nothing is linked with either: a process finds its share in the environment, and says what it found in a
// journal of its own in the study's folder, which all machines see.
#pragma once

#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/study/schedule.h"

namespace legacy {

// Rank and size as mpirun (Open MPI, MPICH and Intel MPI, MVAPICH) and srun say them, times the task of a Slurm array.
// Nothing: none is there. Throws Error on what is no number.
using Environment = std::function<const char*(const char* name)>;
std::optional<Share> ShareOfEnvironment(const Environment& environment);

struct LaunchOptions {
  std::filesystem::path program;  // legacy-study
  std::filesystem::path study;    // folder
  int jobs = 1;
  bool retry_failed = false;
  std::vector<std::string> arguments;  // of mpirun, or lines of #SBATCH
};

// `mpirun -n JOBS ... work DIR --phase=...`, first for the trainings, then for the points. `tick` is called several times a
// second. What mpirun says goes to journal/mpi.log; throws Error with its end where it fails. False: stopped.
bool LaunchMpi(const LaunchOptions& options, const std::function<void()>& tick,
               const volatile std::sig_atomic_t& stop);

// slurm/{trainings,points,collect}.sbatch and slurm/submit.sh in the study's folder; replaces older ones. `trainings`,
// `points`: tasks of the two arrays.
void WriteSlurmScripts(const LaunchOptions& options, int64_t trainings, int64_t points);

// Runs submit.sh; the identifiers of the three jobs. Throws Error with what sbatch says.
std::vector<std::string> SubmitSlurm(const std::filesystem::path& study);

// Until no job is in the queue. False: stopped; the jobs go on.
bool WaitSlurm(const std::vector<std::string>& jobs, const std::function<void()>& tick,
               const volatile std::sig_atomic_t& stop);

}  // namespace legacy

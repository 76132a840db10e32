// Studies run on more than one machine with the same program: mpirun or Slurm's job arrays start
// `legacy-study work` once for each share. The program is linked with neither: a process finds its
// share in the environment, and writes its results to a journal of its own in the study's folder,
// which all machines share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/programs/program.h"
#include "scenarios/study/schedule.h"

namespace legacy {

// Returns rank and size from the variables of mpirun (Open MPI; MPICH and Intel MPI; MVAPICH) or
// srun, or the task of a Slurm array; nothing where no launcher started the process. Throws Error
// on values that are not a share.
using Environment = std::function<const char*(const char* name)>;
std::optional<Share> ShareOfEnvironment(const Environment& environment);

// LaunchOptions say which work to launch.
struct LaunchOptions {
  std::filesystem::path program;  // legacy-study
  std::filesystem::path study;    // folder
  int64_t trainings = 0;          // processes of that phase; 0: none is needed
  int64_t points = 0;
  bool retry_failed = false;
  std::vector<std::string> arguments;  // arguments of mpirun, or of sbatch
};

// Runs `mpirun -n N [arguments] legacy-study work DIR --phase=...` for the trainings, then for the
// points. `tick` is called several times a second. The output of mpirun goes to journal/mpi.log.
// Throws Error with the end of that log where it fails. Returns false where it was stopped.
bool LaunchMpi(const LaunchOptions& options, const std::function<void()>& tick,
               const StopFlag& stop);

// Writes slurm/{trainings,points,collect}.sbatch and slurm/submit.sh into the study's folder,
// replacing older ones. Returns the path of submit.sh.
std::filesystem::path WriteSlurmScripts(const LaunchOptions& options);

// Runs submit.sh and returns the identifiers of the jobs. Throws Error with sbatch's message.
std::vector<std::string> SubmitSlurm(const std::filesystem::path& submit);

// Waits until none of the jobs is in the queue. Returns false where it was stopped; the jobs
// continue.
bool WaitSlurm(const std::vector<std::string>& jobs, const std::function<void()>& tick,
               const StopFlag& stop);

}  // namespace legacy

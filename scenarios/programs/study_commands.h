// Commands of legacy-study that work on a study. Each returns the program's exit status and reports
// its progress on standard error; user errors throw Error.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/programs/program.h"
#include "scenarios/study/run.h"

namespace legacy {

inline constexpr int kSomeFailed = 3;  // exit status: the work ended, but some points failed

enum class Launcher { kLocal, kMpi, kSlurm };
Launcher ParseLauncher(const std::string& text, const std::string& key);

// A RunCommand says how to run a study.
struct RunCommand {
  Launcher launcher = Launcher::kLocal;
  int jobs = 0;                        // 0: the launcher's default
  std::vector<std::string> arguments;  // arguments of mpirun or sbatch
  bool submit = true;                  // Slurm: submit the scripts after writing them
  bool wait = true;                    // Slurm: wait for the end
  bool retry_failed = false;
  std::filesystem::path records;  // folder of StudyRecords; "": none
  std::filesystem::path program;  // path of legacy-study, for launchers
};

// Makes `folder` with a new study of that definition, and runs it.
int RunNewStudy(const std::filesystem::path& folder, const std::string& text,
                const std::string& where, const RunCommand& command, const StopFlag& stop);

// Does the remaining work of a study.
int ResumeStudy(const std::filesystem::path& folder, const RunCommand& command,
                const StopFlag& stop);

// Does a share of one phase, without the database; launchers call it. Failed points do not make it
// fail.
int WorkOnStudy(const std::filesystem::path& folder, const StudyRunOptions& options,
                const StopFlag& stop);

// Collects the journals in the database.
int CollectStudy(const std::filesystem::path& folder);

}  // namespace legacy

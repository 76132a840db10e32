// The commands of legacy-study that work on a study. Each returns the program's exit status and
// says on standard error how far it is; user errors throw Error.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/program.h"
#include "scenarios/study/run.h"

namespace legacy {

inline constexpr int kSomeFailed = 3;  // exit status: the work ended, some points failed

enum class Launcher { kLocal, kMpi, kSlurm };

// A RunCommand says how a study is run.
struct RunCommand {
  Launcher launcher = Launcher::kLocal;
  int jobs = 0;                        // 0: the launcher's default
  std::vector<std::string> arguments;  // of mpirun or sbatch
  bool submit = true;                  // Slurm: else the scripts are written alone
  bool wait = true;                    // Slurm: for the end
  bool retry_failed = false;
  std::filesystem::path program;  // legacy-study, for launchers
};

// A new study, from its definition, in `folder`, which is made.
int RunNewStudy(const std::filesystem::path& folder, const std::string& text,
                const std::string& where, const RunCommand& command, const StopFlag& stop);

// Does what is left of a study.
int ResumeStudy(const std::filesystem::path& folder, const RunCommand& command,
                const StopFlag& stop);

// A share of one phase, without the database: what launchers call. Failed points are no failure of
// it.
int WorkOnStudy(const std::filesystem::path& folder, const StudyRunOptions& options,
                const StopFlag& stop);

// Journals into the database.
int CollectStudy(const std::filesystem::path& folder);

}  // namespace legacy

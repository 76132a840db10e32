// legacy-study runs and resumes studies (grids of networks), shows their progress, and writes
// reports.
#include <fmt/format.h>
#include <sys/prctl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files/whole_file.h"
#include "base/option_forms.h"
#include "base/parse.h"
#include "base/programs/arguments.h"
#include "base/programs/program.h"
#include "compress/registry/load_plugins.h"
#include "scenarios/options/presets.h"
#include "scenarios/programs/study_commands.h"
#include "scenarios/programs/study_subcommands.h"
#include "scenarios/study/folder.h"
#include "scenarios/study/launch.h"
#include "scenarios/study/shell.h"
#include "scenarios/study/status.h"
#include "scenarios/study/what_if/serve.h"

namespace {

namespace fs = std::filesystem;

std::vector<std::string> Words(const std::string& text) { return legacy::SplitList(text, ' '); }

using namespace legacy::option_forms;
using legacy::OptionTable;

constexpr int64_t kMostJobs = 100'000;

// RunFlags has the options that `run` and `resume` share.
struct RunFlags {
  std::optional<int> jobs;  // nothing: the launcher's default
  legacy::Parsed<legacy::ParseLauncher> launcher = "local";
  std::string records;
  std::string mpi_args;
  std::string slurm_args;
  bool submit = true;
  bool wait = true;

  legacy::RunCommand Command() const {
    legacy::RunCommand command;
    command.jobs = jobs.value_or(command.jobs);
    command.launcher = *launcher;
    command.records = records;
    if (*launcher == legacy::Launcher::kMpi) command.arguments = Words(mpi_args);
    if (*launcher == legacy::Launcher::kSlurm) command.arguments = Words(slurm_args);
    command.submit = submit;
    command.wait = wait;
    command.program = fs::read_symlink("/proc/self/exe");
    return command;
  }
};

// Adds the rows of RunFlags, which `Whole` has as `run`.
template <class Whole>
void AddRunRows(OptionTable<Whole>& options) {
  const OptionTable<RunFlags> rows = {
      WithAlias(Integer<&RunFlags::jobs, 1, kMostJobs>(
                    "jobs", "--jobs",
                    "number of processes to run in parallel; each runs one training, or times "
                    "points one after the other [one per core; slurm: 16 tasks]"),
                "-j"),
      Text<&RunFlags::launcher>("launcher", "--launcher", "local|mpi|slurm",
                                "launcher of the processes; local: on this machine; mpi: by "
                                "mpirun; slurm: as job arrays"),
      Text<&RunFlags::records>("records", "--records", "DIR",
                               "folder that keeps a small record of each finished training, "
                               "ID.tar.xz; trainings that it has are not done again"),
      Text<&RunFlags::mpi_args>("mpi-args", "--mpi-args", "TEXT",
                                "arguments for mpirun, as in \"--hostfile hosts\""),
      Text<&RunFlags::slurm_args>(
          "slurm-args", "--slurm-args", "TEXT",
          "arguments for sbatch, as in \"--partition=long --time=12:00:00\""),
      Switch<&RunFlags::submit>("submit", "--submit",
                                "with slurm: submit the scripts; off: only write them"),
      Switch<&RunFlags::wait>(
          "wait", "--wait",
          "with slurm: wait until the jobs end; off: exit once they are submitted"),
  };
  legacy::AddTableOfPart(
      options, rows, [](auto& whole) -> auto& { return whole.run; });
}

// NewStudy has the arguments and options of `run`.
struct NewStudy {
  std::string file;
  std::string out;
  std::vector<std::string> sets;
  bool dry_run = false;
  RunFlags run;
};

int RunNew(const NewStudy& asked) {
  const std::string text =
      legacy::CompleteDefinition(legacy::ReadWholeFile(asked.file), asked.file, asked.sets);
  const legacy::StudyDefinition definition = legacy::ParseStudy(text, asked.file);
  fmt::print(stderr, "{}", legacy::PresetText(definition.scenario));
  const legacy::StudyPlan plan = legacy::PlanStudy(definition);
  if (asked.dry_run) fmt::print("{}", legacy::PlanText(plan));
  if (*asked.run.launcher == legacy::Launcher::kLocal) {  // other machines may have their own data
    for (const legacy::PlannedTraining& training : plan.trainings) legacy::CheckData(training);
  }
  if (asked.dry_run) return 0;
  const fs::path out =
      asked.out.empty() ? fs::path("studies") / definition.name : fs::path(asked.out);
  return legacy::RunNewStudy(out, text, asked.file, asked.run.Command(), legacy::CatchStop());
}

void AddRun(CLI::App& app, legacy::StudyAction& chosen) {
  legacy::StudyCommand<NewStudy> command(app, "run", "run a new study");
  command.AddArgument("FILE", command.values().file, "YAML file that defines the study");
  OptionTable<NewStudy> rows = {
      Text<&NewStudy::out>("out", "--out", "DIR", "folder of the study [studies/<name>]"),
      Repeated<&NewStudy::sets>(
          "set", "--set", "KEY=VALUE",
          "set one key of the scenario, as in --set training.steps=600; repeatable"),
      Flag<&NewStudy::dry_run>("dry-run", "--dry-run", "print the plan and exit"),
  };
  AddRunRows(rows);
  command.AddOptions(rows, chosen, RunNew);
}

void AddResume(CLI::App& app, legacy::StudyAction& chosen) {
  struct Resumed {
    std::string folder;
    bool retry_failed = false;
    RunFlags run;
  };
  legacy::StudyCommand<Resumed> command(app, "resume", "continue a study");
  command.AddFolder(command.values().folder);
  OptionTable<Resumed> rows = {Flag<&Resumed::retry_failed>(
      "retry-failed", "--retry-failed", "run failed trainings and points again")};
  AddRunRows(rows);
  command.AddOptions(rows, chosen, [](const Resumed& asked) {
    legacy::RunCommand run = asked.run.Command();
    run.retry_failed = asked.retry_failed;
    return legacy::ResumeStudy(asked.folder, run, legacy::CatchStop());
  });
}

void AddStatus(CLI::App& app, legacy::StudyAction& chosen) {
  struct Asked {
    std::string folder;
    bool failed = false;
    std::optional<int64_t> point;
  };
  legacy::StudyCommand<Asked> command(app, "status", "print the progress of a study");
  command.AddFolder(command.values().folder);
  auto point = Integer<&Asked::point, 0, 1'000'000'000>(
      "point", "--point",
      "print one point in full, and the command that replays it into a run directory");
  point.metavar = "ID";
  command.AddOptions(
      {Flag<&Asked::failed>("failed", "--failed", "list failed points with their error messages"),
       point},
      chosen, [](const Asked& asked) {
        const legacy::analysis::Study study = legacy::ReadStudy(asked.folder);
        if (asked.point) {
          fmt::print("{}", legacy::PointText(legacy::StudyFolder::Open(asked.folder), study,
                                             *asked.point));
        } else {
          fmt::print("{}", asked.failed ? legacy::FailuresText(study) : legacy::StatusText(study));
        }
        return 0;
      });
}

void AddServe(CLI::App& app, legacy::StudyAction& chosen) {
  struct Asked {
    std::string folder;
    legacy::ServeOptions options;
  };
  using legacy::ServeOptions;
  legacy::StudyCommand<Asked> command(app, "serve",
                                      "serve the interactive page with a live what-if panel");
  command.AddFolder(command.values().folder);
  const OptionTable<ServeOptions> rows = {
      Text<&ServeOptions::bind>("bind", "--bind", "ADDRESS", "address to listen on"),
      Integer<&ServeOptions::port, 0, 65535>("port", "--port",
                                             "port to listen on; 0: any free port"),
  };
  OptionTable<Asked> options;
  legacy::AddTableOfPart(
      options, rows, [](auto& asked) -> auto& { return asked.options; });
  command.AddOptions(options, chosen, [](const Asked& asked) {
    return legacy::Serve(asked.folder, asked.options, legacy::CatchStop());
  });
}

// Makes this process end with its launcher. If an mpirun is killed with SIGKILL, its processes end
// in no other way.
void DieWithLauncher() {
  if (std::getenv("OMPI_COMM_WORLD_RANK") || std::getenv("PMI_RANK")) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
  }
}

legacy::StudyPhase ParsePhase(const std::string& text, const std::string& key) {
  return legacy::ParseChoice(text, key, {"trainings", "points"}) == "points"
             ? legacy::StudyPhase::kPoints
             : legacy::StudyPhase::kTrainings;
}

// StudyWork has the arguments and options of `work`.
struct StudyWork {
  std::string folder;
  legacy::Parsed<legacy::Given<ParsePhase>> phase = "";
  legacy::Parsed<legacy::Given<legacy::ParseShare>> share = "";
  int jobs = 1;
  bool retry_failed = false;
};

int Work(const StudyWork& asked) {
  DieWithLauncher();
  if (!*asked.phase) throw legacy::Error("--phase", "", "trainings, points");
  legacy::StudyRunOptions options;
  options.phase = **asked.phase;
  options.jobs = asked.jobs;
  options.retry_failed = asked.retry_failed;
  const auto here = legacy::ShareOfEnvironment([](const char* name) { return std::getenv(name); });
  if (*asked.share) {
    options.share = **asked.share;
  } else if (here) {
    options.share = *here;
  }
  return legacy::WorkOnStudy(asked.folder, options, legacy::CatchStop());
}

void AddWork(CLI::App& app, legacy::StudyAction& chosen) {
  legacy::StudyCommand<StudyWork> command(app, "work",
                                          "do a share of a study's work (called by launchers)");
  command.AddFolder(command.values().folder);
  command.AddOptions(
      {Text<&StudyWork::phase>(
           "phase", "--phase", "trainings|points",
           "phase of the work, which is needed; points come after all shares of the trainings"),
       Text<&StudyWork::share>("share", "--share", "I/N",
                               "share I of N to do, counted from 1 [as set by mpirun, srun or a "
                               "Slurm array, else 1/1]"),
       WithAlias(Integer<&StudyWork::jobs, 1, kMostJobs>("jobs", "--jobs",
                                                         "number of processes to run in parallel"),
                 "-j"),
       Flag<&StudyWork::retry_failed>("retry-failed", "--retry-failed",
                                      "run failed trainings and points again")},
      chosen, Work);
}

void AddCollect(CLI::App& app, legacy::StudyAction& chosen) {
  struct Asked {
    std::string folder;
  };
  legacy::StudyCommand<Asked> command(app, "collect",
                                      "collect the results of `work` in the database");
  command.AddFolder(command.values().folder);
  command.AddOptions({}, chosen,
                     [](const Asked& asked) { return legacy::CollectStudy(asked.folder); });
}

int Main(int argc, char** argv) {
  legacy::LoadPlugins(argc, argv);
  CLI::App app(
      "Runs studies: it times a grid of networks, methods and seeds with as few trainings as "
      "possible, and makes tables, figures and an interactive page of the results. A YAML file "
      "defines a study (docs/studies.md).",
      "legacy-study");
  app.require_subcommand(1);
  legacy::PrepareArguments(app);
  app.footer(
      "Examples:\n"
      "  legacy-study run scenarios/studies/latency.yaml\n"
      "  legacy-study report studies/latency\n"
      "  legacy-study serve studies/latency\n"
      "Exit status: 0 success, 1 error, 2 wrong option or value, 3 points failed or are pending,\n"
      "130 interrupted.\n"
      "Handbook: docs/studies.md.");
  legacy::AddPluginOption(app);
  legacy::StudyAction chosen;
  AddRun(app, chosen);
  AddResume(app, chosen);
  AddStatus(app, chosen);
  legacy::AddExport(app, chosen);
  legacy::AddReport(app, chosen);
  const std::vector<std::string> words(argv + 1, argv + argc);
  legacy::AddTables(app, "legacy-study " + legacy::ShellLine(words), chosen);
  AddServe(app, chosen);
  AddWork(app, chosen);
  AddCollect(app, chosen);
  if (const auto exit = legacy::ParseArguments(app, argc, argv)) return *exit;
  return chosen();
}

}  // namespace

int main(int argc, char** argv) {
  legacy::RunProgram("legacy-study", [&] { return Main(argc, argv); });
}

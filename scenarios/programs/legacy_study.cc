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
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files/whole_file.h"
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

// RunFlags are the options that run and resume share.
struct RunFlags {
  std::string launcher = "local";
  std::string jobs;
  std::string mpi_args;
  std::string slurm_args;
  std::string submit = "on";
  std::string wait = "on";
  bool retry_failed = false;

  void Add(CLI::App& app) {
    app.add_option("--jobs,-j", jobs,
                   "number of processes to run in parallel; each runs one training, or times "
                   "points one after the other [one per core; slurm: 16 tasks]")
        ->type_name("N");
    app.add_option("--launcher", launcher,
                   "launcher of the processes; local: on this machine; mpi: by mpirun; slurm: as "
                   "job arrays")
        ->check(CLI::IsMember({"local", "mpi", "slurm"}))
        ->capture_default_str();
    app.add_option("--mpi-args", mpi_args, "arguments for mpirun, as in \"--hostfile hosts\"");
    app.add_option("--slurm-args", slurm_args,
                   "arguments for sbatch, as in \"--partition=long --time=12:00:00\"");
    app.add_option("--submit", submit, "with slurm: submit the scripts; off: only write them")
        ->type_name("on|off")
        ->capture_default_str();
    app.add_option("--wait", wait,
                   "with slurm: wait until the jobs end; off: exit once they are submitted")
        ->type_name("on|off")
        ->capture_default_str();
  }

  legacy::RunCommand Command() const {
    legacy::RunCommand command;
    if (!jobs.empty()) {
      command.jobs = static_cast<int>(legacy::ParseInteger(jobs, "--jobs", 1, 100'000));
    }
    if (launcher == "mpi") {
      command.launcher = legacy::Launcher::kMpi;
      command.arguments = Words(mpi_args);
    } else if (launcher == "slurm") {
      command.launcher = legacy::Launcher::kSlurm;
      command.arguments = Words(slurm_args);
    }
    command.submit = legacy::ParseSwitch(submit, "--submit");
    command.wait = legacy::ParseSwitch(wait, "--wait");
    command.retry_failed = retry_failed;
    command.program = fs::read_symlink("/proc/self/exe");
    return command;
  }
};

void AddRun(CLI::App& app, legacy::StudyAction& chosen) {
  struct Flags : RunFlags {
    std::string file;
    std::string out;
    std::vector<std::string> sets;
    bool dry_run = false;
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* command = legacy::AddStudyCommand(app, "run", "run a new study", chosen, [flags] {
    const std::string text =
        legacy::CompleteDefinition(legacy::ReadWholeFile(flags->file), flags->file, flags->sets);
    const legacy::StudyDefinition definition = legacy::ParseStudy(text, flags->file);
    fmt::print(stderr, "{}", legacy::PresetText(definition.scenario));
    const legacy::StudyPlan plan = legacy::PlanStudy(definition);
    if (flags->dry_run) fmt::print("{}", legacy::PlanText(plan));
    if (flags->launcher == "local") {  // other machines may have their own data
      for (const legacy::PlannedTraining& training : plan.trainings) legacy::CheckData(training);
    }
    if (flags->dry_run) return 0;
    const fs::path out =
        flags->out.empty() ? fs::path("studies") / definition.name : fs::path(flags->out);
    return legacy::RunNewStudy(out, text, flags->file, flags->Command(), legacy::CatchStop());
  });
  command->add_option("FILE", flags->file, "YAML file that defines the study")->required();
  command->add_option("--out", flags->out, "folder of the study [studies/<name>]")
      ->type_name("DIR");
  command
      ->add_option("--set", flags->sets,
                   "set one key of the scenario, as in --set training.steps=600; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--dry-run", flags->dry_run, "print the plan and exit");
  flags->Add(*command);
}

void AddResume(CLI::App& app, legacy::StudyAction& chosen) {
  struct Flags : RunFlags {
    std::string folder;
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* command = legacy::AddStudyCommand(app, "resume", "continue a study", chosen, [flags] {
    return legacy::ResumeStudy(flags->folder, flags->Command(), legacy::CatchStop());
  });
  legacy::AddStudyFolder(*command, flags->folder);
  command->add_flag("--retry-failed", flags->retry_failed, "run failed trainings and points again");
  flags->Add(*command);
}

void AddStatus(CLI::App& app, legacy::StudyAction& chosen) {
  struct Flags {
    std::string folder;
    bool failed = false;
    std::string point;
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* command =
      legacy::AddStudyCommand(app, "status", "print the progress of a study", chosen, [flags] {
        const legacy::analysis::Study study = legacy::ReadStudy(flags->folder);
        if (!flags->point.empty()) {
          const int64_t id = legacy::ParseInteger(flags->point, "--point", 0, 1'000'000'000);
          fmt::print("{}", legacy::PointText(legacy::StudyFolder::Open(flags->folder), study, id));
        } else {
          fmt::print("{}", flags->failed ? legacy::FailuresText(study) : legacy::StatusText(study));
        }
        return 0;
      });
  legacy::AddStudyFolder(*command, flags->folder);
  command->add_flag("--failed", flags->failed, "list failed points with their error messages");
  command
      ->add_option("--point", flags->point,
                   "print one point in full, and the command that replays it into a run directory")
      ->type_name("ID");
}

void AddServe(CLI::App& app, legacy::StudyAction& chosen) {
  struct Flags {
    std::string folder;
    std::string port;
    legacy::ServeOptions options;
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* command = legacy::AddStudyCommand(
      app, "serve", "serve the interactive page with a live what-if panel", chosen, [flags] {
        if (!flags->port.empty()) {
          flags->options.port =
              static_cast<int>(legacy::ParseInteger(flags->port, "--port", 0, 65535));
        }
        return legacy::Serve(flags->folder, flags->options, legacy::CatchStop());
      });
  legacy::AddStudyFolder(*command, flags->folder);
  command->add_option("--bind", flags->options.bind, "address to listen on")->capture_default_str();
  command
      ->add_option("--port", flags->port,
                   fmt::format("port to listen on; 0: any free port [{}]", flags->options.port))
      ->type_name("N");
}

// Ends this process with its launcher. An mpirun that is killed outright ends its processes in no
// other way.
void DieWithLauncher() {
  if (std::getenv("OMPI_COMM_WORLD_RANK") || std::getenv("PMI_RANK")) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
  }
}

void AddWork(CLI::App& app, legacy::StudyAction& chosen) {
  struct Flags {
    std::string folder;
    std::string phase;
    std::string share;
    std::string jobs = "1";
    bool retry_failed = false;
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* command = legacy::AddStudyCommand(
      app, "work", "do a share of a study's work (called by launchers)", chosen, [flags] {
        DieWithLauncher();
        legacy::StudyRunOptions options;
        options.phase =
            flags->phase == "points" ? legacy::StudyPhase::kPoints : legacy::StudyPhase::kTrainings;
        options.jobs = static_cast<int>(legacy::ParseInteger(flags->jobs, "--jobs", 1, 100'000));
        options.retry_failed = flags->retry_failed;
        const auto here =
            legacy::ShareOfEnvironment([](const char* name) { return std::getenv(name); });
        if (!flags->share.empty()) {
          options.share = legacy::ParseShare(flags->share, "--share");
        } else if (here) {
          options.share = *here;
        }
        return legacy::WorkOnStudy(flags->folder, options, legacy::CatchStop());
      });
  legacy::AddStudyFolder(*command, flags->folder);
  command
      ->add_option("--phase", flags->phase,
                   "phase of the work; points come after all shares of the trainings")
      ->check(CLI::IsMember({"trainings", "points"}))
      ->required();
  command
      ->add_option(
          "--share", flags->share,
          "share I of N to do, counted from 1 [as set by mpirun, srun or a Slurm array, else 1/1]")
      ->type_name("I/N");
  command->add_option("--jobs,-j", flags->jobs, "number of processes to run in parallel")
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--retry-failed", flags->retry_failed, "run failed trainings and points again");
}

void AddCollect(CLI::App& app, legacy::StudyAction& chosen) {
  const auto folder = std::make_shared<std::string>();
  legacy::AddStudyFolder(
      *legacy::AddStudyCommand(app, "collect", "collect the results of `work` in the database",
                               chosen, [folder] { return legacy::CollectStudy(*folder); }),
      *folder);
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

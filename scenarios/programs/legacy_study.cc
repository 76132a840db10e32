// legacy-study runs and resumes studies (grids of networks), shows their progress, and writes
// reports.
#include <fmt/format.h>
#include <sys/prctl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/study/figures/study_figures.h"
#include "analysis/study/report/report.h"
#include "analysis/study/statistics.h"
#include "analysis/study/store.h"
#include "analysis/study/study_tables.h"
#include "analysis/study/table_choice.h"
#include "analysis/study/words.h"
#include "base/error.h"
#include "base/files/whole_file.h"
#include "base/parse.h"
#include "base/programs/arguments.h"
#include "base/programs/program.h"
#include "compress/registry/load_plugins.h"
#include "scenarios/options/presets.h"
#include "scenarios/programs/study_commands.h"
#include "scenarios/study/folder.h"
#include "scenarios/study/launch.h"
#include "scenarios/study/shell.h"
#include "scenarios/study/status.h"
#include "scenarios/study/what_if/closed_forms.h"
#include "scenarios/study/what_if/recorded_study.h"
#include "scenarios/study/what_if/serve.h"

namespace {

namespace fs = std::filesystem;

// An Action runs a subcommand whose options are parsed, and returns the exit status.
using Action = std::function<int()>;

void SayNotes(const legacy::analysis::Study& study) {
  for (const std::string& note : study.notes) fmt::print(stderr, "note: {}\n", note);
}

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

CLI::App* AddCommand(CLI::App& app, const std::string& name, const std::string& help,
                     Action& chosen, Action action) {
  CLI::App* command = app.add_subcommand(name, help);
  command->callback([&chosen, action = std::move(action)] { chosen = action; });
  return command;
}

void AddFolder(CLI::App& command, std::string& folder) {
  command.add_option("DIR", folder, "folder of the study")->required();
}

void AddRun(CLI::App& app, Action& chosen) {
  struct Flags : RunFlags {
    std::string file;
    std::string out;
    std::vector<std::string> sets;
    bool dry_run = false;
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* command = AddCommand(app, "run", "run a new study", chosen, [flags] {
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

void AddResume(CLI::App& app, Action& chosen) {
  struct Flags : RunFlags {
    std::string folder;
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* command = AddCommand(app, "resume", "continue a study", chosen, [flags] {
    return legacy::ResumeStudy(flags->folder, flags->Command(), legacy::CatchStop());
  });
  AddFolder(*command, flags->folder);
  command->add_flag("--retry-failed", flags->retry_failed, "run failed trainings and points again");
  flags->Add(*command);
}

void AddStatus(CLI::App& app, Action& chosen) {
  struct Flags {
    std::string folder;
    bool failed = false;
    std::string point;
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* command = AddCommand(app, "status", "print the progress of a study", chosen, [flags] {
    const legacy::analysis::Study study = legacy::ReadStudy(flags->folder);
    if (!flags->point.empty()) {
      const int64_t id = legacy::ParseInteger(flags->point, "--point", 0, 1'000'000'000);
      fmt::print("{}", legacy::PointText(legacy::StudyFolder::Open(flags->folder), study, id));
    } else {
      fmt::print("{}", flags->failed ? legacy::FailuresText(study) : legacy::StatusText(study));
    }
    return 0;
  });
  AddFolder(*command, flags->folder);
  command->add_flag("--failed", flags->failed, "list failed points with their error messages");
  command
      ->add_option("--point", flags->point,
                   "print one point in full, and the command that replays it into a run directory")
      ->type_name("ID");
}

void AddExport(CLI::App& app, Action& chosen) {
  struct Flags {
    std::string folder;
    std::string out;
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* command =
      AddCommand(app, "export", "export the results as CSV and JSON files", chosen, [flags] {
        const fs::path out =
            flags->out.empty() ? fs::path(flags->folder) / "export" : fs::path(flags->out);
        const legacy::analysis::Study study = legacy::ReadStudy(flags->folder);
        SayNotes(study);
        legacy::analysis::ExportStudy(study, out);
        fmt::print(stderr, "written: {}\n", out.string());
        return 0;
      });
  AddFolder(*command, flags->folder);
  command->add_option("--out", flags->out, "output folder [DIR/export]")->type_name("DIR");
}

// A View has the options that choose what reports and tables show.
struct View {
  std::string folder;
  std::string target;
  std::string baseline;

  void Add(CLI::App& command) {
    AddFolder(command, folder);
    command
        .add_option("--target", target,
                    "target, which may be of another metric of the task [the study's]")
        ->type_name("85%|METRIC=VALUE");
    command.add_option("--baseline", baseline, "policy to compare the others with [the study's]")
        ->type_name("POLICY");
  }
  legacy::analysis::Study Read() const {
    legacy::analysis::Study study = legacy::ReadStudy(folder);
    SayNotes(study);
    if (!target.empty()) legacy::SetTarget(study, legacy::ParseTarget(target, "--target"));
    if (!baseline.empty()) {
      legacy::analysis::PolicyIndex(study, baseline);
      study.baseline = baseline;
    }
    if (const std::string missed = legacy::analysis::MissedWords(study); !missed.empty()) {
      fmt::print(stderr, "note: {}\n", missed);
    }
    return study;
  }
};

// Returns what the page answers what-if questions with; "" where no record is there, or cannot be
// read, which is said.
std::string ClosedFormsOf(const std::string& folder, const legacy::analysis::Study& study) {
  try {
    legacy::WhatIfStudy recorded =
        legacy::ReadWhatIfStudy(folder, legacy::StudyFolder::Open(folder).plan());
    if (recorded.groups.empty()) return "";
    return legacy::ClosedForms(legacy::WhatIf(std::move(recorded)), study).dump();
  } catch (const std::exception& error) {  // a report needs no records
    fmt::print(stderr, "warning: the page cannot answer what-if questions: {}\n", error.what());
    return "";
  }
}

void AddReport(CLI::App& app, Action& chosen) {
  struct Flags {
    View view;
    std::string out;
    std::string figures = "on";
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* command = AddCommand(
      app, "report", "write a report with tables, figures, text and an interactive page", chosen,
      [flags] {
        const legacy::analysis::Study study = flags->view.Read();
        legacy::analysis::StudyReportOptions options;
        options.figures = legacy::ParseSwitch(flags->figures, "--figures");
        options.closed_forms = ClosedFormsOf(flags->view.folder, study);
        const fs::path out =
            flags->out.empty() ? fs::path(flags->view.folder) / "report" : fs::path(flags->out);
        const auto report = legacy::analysis::WriteStudyReport(study, out, options);
        for (const std::string& warning : report.warnings) {
          fmt::print(stderr, "warning: {}\n", warning);
        }
        fmt::print(stderr, "written: {} files in {}\n", report.files.size(), out.string());
        const std::string verdict = legacy::analysis::StudyVerdict(study);
        const bool noted = !legacy::analysis::MissedWords(study).empty();  // above
        if (!verdict.empty() && !noted) fmt::print("\n{}\n", verdict);
        fmt::print("\npage: {}\nnext: {} serve {}\n", (out / "index.html").string(),
                   legacy::CommandOf("legacy-study"), legacy::ShellWord(flags->view.folder));
        return 0;
      });
  flags->view.Add(*command);
  command->add_option("--out", flags->out, "output folder [DIR/report]")->type_name("DIR");
  command->add_option("--figures", flags->figures, "draw figures, which takes most of the time")
      ->type_name("on|off")
      ->capture_default_str();
}

const legacy::analysis::TableFormat& FormatNamed(const std::string& name) {
  const auto& formats = legacy::analysis::kTableFormats;
  std::vector<std::string> names;
  for (const auto& format : formats) names.emplace_back(format.name);
  legacy::ParseChoice(name, "--format", names);
  return *std::ranges::find(formats, name, &legacy::analysis::TableFormat::name);
}

// TablesFlags are the options of `tables`.
struct TablesFlags {
  View view;
  std::vector<std::string> names = {"summary"};
  std::vector<std::string> rows;
  std::string columns;
  std::string format = "markdown";
  std::string out;
  std::string figures;

  // Prints the tables, or writes them and the figures into --out. `typed` is the command line.
  void Run(const std::string& typed) const {
    const auto& file_format = FormatNamed(format);
    const std::vector<std::string> drawn = legacy::SplitList(figures);
    if (!drawn.empty() && out.empty()) throw legacy::Error::Refusal("--figures needs --out=DIR");
    const legacy::analysis::Study study = view.Read();
    const auto tables = legacy::analysis::StudyTables(study);
    std::vector<std::string> texts;
    for (const std::string& name : names) {
      auto table =
          Chosen(legacy::analysis::TableNamed(tables, name), {rows, legacy::SplitList(columns)});
      table.command = typed;
      texts.push_back(file_format.text(table));
    }
    if (out.empty()) {
      fmt::print("{}", legacy::Join(texts, "\n"));
    } else {
      Write(study, drawn, texts, file_format.suffix);
    }
  }

 private:
  void Write(const legacy::analysis::Study& study, const std::vector<std::string>& drawn,
             const std::vector<std::string>& texts, const std::string& suffix) const {
    std::vector<legacy::analysis::StudyFigure> chosen;
    const auto all = drawn.empty() ? chosen : legacy::analysis::MakeStudyFigures(study);
    for (const std::string& name : drawn) {
      chosen.push_back(legacy::analysis::FigureNamed(all, name));
    }
    legacy::MakeFolder(out);
    for (size_t i = 0; i < names.size(); ++i) {
      legacy::ReplaceFile(fs::path(out) / (names[i] + suffix), texts[i]);
    }
    const auto pictures = legacy::analysis::DrawStudyFigures(chosen, out);
    for (const std::string& warning : pictures.warnings) {
      fmt::print(stderr, "warning: {}\n", warning);
    }
    fmt::print(stderr, "written: {} files in {}\n", names.size() + pictures.files.size(), out);
  }
};

void AddTables(CLI::App& app, const std::string& typed, Action& chosen) {
  const auto flags = std::make_shared<TablesFlags>();
  CLI::App* command = AddCommand(app, "tables", "print tables of the report", chosen, [=] {
    flags->Run(typed);
    return 0;
  });
  flags->view.Add(*command);
  command
      ->add_option(
          "NAME", flags->names,
          "table to print: summary, time_to_target, break_even, step, volume, egress, failed")
      ->capture_default_str();
  command
      ->add_option("--rows", flags->rows,
                   "rows to print: policies, as in dense,topk, or values of a column, as in "
                   "bandwidth=1Gbps,10Gbps; repeatable: rows that all of them name [all]")
      ->type_name("VALUES|COLUMN=VALUES")
      ->allow_extra_args(false);
  command
      ->add_option("--columns", flags->columns,
                   "columns to print, in this order, by their headings or their names in CSV [all]")
      ->type_name("NAMES");
  command
      ->add_option("--format", flags->format,
                   "markdown; latex: a tabular for booktabs; csv: plain numbers in SI units")
      ->type_name("markdown|latex|csv")
      ->capture_default_str();
  command
      ->add_option("--out", flags->out,
                   "write each table into a file of this folder, in place of printing it")
      ->type_name("DIR");
  command
      ->add_option(
          "--figures", flags->figures,
          "figures of the whole study to draw into --out, as in metric-bytes,step-split [none]")
      ->type_name("NAMES");
}

void AddServe(CLI::App& app, Action& chosen) {
  struct Flags {
    std::string folder;
    std::string port;
    legacy::ServeOptions options;
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* command = AddCommand(
      app, "serve", "serve the interactive page with a live what-if panel", chosen, [flags] {
        if (!flags->port.empty()) {
          flags->options.port =
              static_cast<int>(legacy::ParseInteger(flags->port, "--port", 0, 65535));
        }
        return legacy::Serve(flags->folder, flags->options, legacy::CatchStop());
      });
  AddFolder(*command, flags->folder);
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

void AddWork(CLI::App& app, Action& chosen) {
  struct Flags {
    std::string folder;
    std::string phase;
    std::string share;
    std::string jobs = "1";
    bool retry_failed = false;
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* command = AddCommand(
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
  AddFolder(*command, flags->folder);
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

void AddCollect(CLI::App& app, Action& chosen) {
  const auto folder = std::make_shared<std::string>();
  AddFolder(*AddCommand(app, "collect", "collect the results of `work` in the database", chosen,
                        [folder] { return legacy::CollectStudy(*folder); }),
            *folder);
}

int Main(int argc, char** argv) {
  legacy::LoadPlugins(argc, argv);
  CLI::App app(
      "Runs studies: it times a grid of networks, policies and seeds with as few trainings as "
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
  Action chosen;
  AddRun(app, chosen);
  AddResume(app, chosen);
  AddStatus(app, chosen);
  AddExport(app, chosen);
  AddReport(app, chosen);
  const std::vector<std::string> words(argv + 1, argv + argc);
  AddTables(app, "legacy-study " + legacy::ShellLine(words), chosen);
  AddServe(app, chosen);
  AddWork(app, chosen);
  AddCollect(app, chosen);
  if (const auto exit = legacy::ParseArguments(app, argc, argv)) return *exit;
  return chosen();
}

}  // namespace

int main(int argc, char** argv) {
  return legacy::ProgramStatus("legacy-study", [&] { return Main(argc, argv); });
}

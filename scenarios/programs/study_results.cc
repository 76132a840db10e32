// Subcommands of legacy-study that show results: export, report, tables.
#include <algorithm>
#include <exception>
#include <filesystem>
#include <memory>
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
#include "base/programs/program.h"
#include "scenarios/programs/study_subcommands.h"
#include "scenarios/study/folder.h"
#include "scenarios/study/shell.h"
#include "scenarios/study/what_if/closed_forms.h"
#include "scenarios/study/what_if/recorded_study.h"

namespace legacy {

namespace fs = std::filesystem;

namespace {

// A View has the options that choose what reports and tables show.
struct View {
  std::string folder;
  std::string target;
  std::string baseline;

  void Add(CLI::App& command) {
    AddStudyFolder(command, folder);
    command
        .add_option("--target", target,
                    "target, which may be of another metric of the task [the study's]")
        ->type_name("85%|METRIC=VALUE");
    command.add_option("--baseline", baseline, "method to compare the others with [the study's]")
        ->type_name("METHOD");
  }
  analysis::Study Read() const {
    analysis::Study study = ReadStudy(folder);
    SayNotes(study);
    if (!target.empty()) SetTarget(study, ParseTarget(target, "--target"));
    if (!baseline.empty()) {
      analysis::PolicyIndex(study, baseline);
      study.baseline = baseline;
    }
    if (const std::string missed = analysis::MissedWords(study); !missed.empty()) {
      fmt::print(stderr, "note: {}\n", missed);
    }
    return study;
  }
};

// Returns what the page answers what-if questions with; "" where no record is there, or cannot be
// read, which is said.
std::string ClosedFormsOf(const std::string& folder, const analysis::Study& study) {
  try {
    WhatIfStudy recorded = ReadWhatIfStudy(folder, StudyFolder::Open(folder).plan());
    if (recorded.groups.empty()) return "";
    return ClosedForms(WhatIf(std::move(recorded)), study).dump();
  } catch (const std::exception& error) {  // a report needs no records
    fmt::print(stderr, "warning: the page cannot answer what-if questions: {}\n", error.what());
    return "";
  }
}

const analysis::TableFormat& FormatNamed(const std::string& name) {
  const auto& formats = analysis::kTableFormats;
  std::vector<std::string> names;
  for (const auto& format : formats) names.emplace_back(format.name);
  ParseChoice(name, "--format", names);
  return *std::ranges::find(formats, name, &analysis::TableFormat::name);
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
    const std::vector<std::string> drawn = SplitList(figures);
    if (!drawn.empty() && out.empty()) throw Error::Refusal("--figures needs --out=DIR");
    const analysis::Study study = view.Read();
    const auto tables = analysis::StudyTables(study);
    std::vector<std::string> texts;
    for (const std::string& name : names) {
      auto table = Chosen(analysis::TableNamed(tables, name), {rows, SplitList(columns)});
      table.command = typed;
      texts.push_back(file_format.text(table));
    }
    if (out.empty()) {
      fmt::print("{}", Join(texts, "\n"));
    } else {
      Write(study, drawn, texts, file_format.suffix);
    }
  }

 private:
  void Write(const analysis::Study& study, const std::vector<std::string>& drawn,
             const std::vector<std::string>& texts, const std::string& suffix) const {
    std::vector<analysis::StudyFigure> chosen;
    const auto all = drawn.empty() ? chosen : analysis::MakeStudyFigures(study);
    for (const std::string& name : drawn) {
      chosen.push_back(analysis::FigureNamed(all, name));
    }
    MakeFolder(out);
    for (size_t i = 0; i < names.size(); ++i) {
      ReplaceFile(fs::path(out) / (names[i] + suffix), texts[i]);
    }
    const auto pictures = analysis::DrawStudyFigures(chosen, out);
    for (const std::string& warning : pictures.warnings) {
      fmt::print(stderr, "warning: {}\n", warning);
    }
    fmt::print(stderr, "written: {} files in {}\n", names.size() + pictures.files.size(), out);
  }
};

}  // namespace

void AddExport(CLI::App& app, StudyAction& chosen) {
  struct Flags {
    std::string folder;
    std::string out;
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* command =
      AddStudyCommand(app, "export", "export the results as CSV and JSON files", chosen, [flags] {
        const fs::path out =
            flags->out.empty() ? fs::path(flags->folder) / "export" : fs::path(flags->out);
        const analysis::Study study = ReadStudy(flags->folder);
        SayNotes(study);
        analysis::ExportStudy(study, out);
        fmt::print(stderr, "written: {}\n", out.string());
        return 0;
      });
  AddStudyFolder(*command, flags->folder);
  command->add_option("--out", flags->out, "output folder [DIR/export]")->type_name("DIR");
}

void AddReport(CLI::App& app, StudyAction& chosen) {
  struct Flags {
    View view;
    std::string out;
    std::string figures = "on";
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* command = AddStudyCommand(
      app, "report", "write a report with tables, figures, text and an interactive page", chosen,
      [flags] {
        const analysis::Study study = flags->view.Read();
        analysis::StudyReportOptions options;
        options.figures = ParseSwitch(flags->figures, "--figures");
        options.closed_forms = ClosedFormsOf(flags->view.folder, study);
        const fs::path out =
            flags->out.empty() ? fs::path(flags->view.folder) / "report" : fs::path(flags->out);
        const auto report = analysis::WriteStudyReport(study, out, options);
        for (const std::string& warning : report.warnings) {
          fmt::print(stderr, "warning: {}\n", warning);
        }
        fmt::print(stderr, "written: {} files in {}\n", report.files.size(), out.string());
        const std::string verdict = analysis::StudyVerdict(study);
        const bool noted = !analysis::MissedWords(study).empty();  // above
        if (!verdict.empty() && !noted) fmt::print("\n{}\n", verdict);
        fmt::print("\npage: {}\nnext: {} serve {}\n", (out / "index.html").string(),
                   CommandOf("legacy-study"), ShellWord(flags->view.folder));
        return 0;
      });
  flags->view.Add(*command);
  command->add_option("--out", flags->out, "output folder [DIR/report]")->type_name("DIR");
  command->add_option("--figures", flags->figures, "draw figures, which takes most of the time")
      ->type_name("on|off")
      ->capture_default_str();
}

void AddTables(CLI::App& app, const std::string& typed, StudyAction& chosen) {
  const auto flags = std::make_shared<TablesFlags>();
  CLI::App* command = AddStudyCommand(app, "tables", "print tables of the report", chosen, [=] {
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
                   "rows to print: methods, as in dense,topk, or values of a column, as in "
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

}  // namespace legacy

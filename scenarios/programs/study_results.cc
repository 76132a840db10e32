// The subcommands of legacy-study that show results: export, report, tables.
#include <algorithm>
#include <exception>
#include <filesystem>
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
#include "base/option_forms.h"
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

using namespace option_forms;

// A View has the options that choose what reports and tables show.
struct View {
  std::string folder;
  Parsed<Given<ParseTarget>> target = "";
  std::string baseline;

  analysis::Study Read() const {
    analysis::Study study = ReadStudy(folder);
    SayNotes(study);
    if (*target) SetTarget(study, **target);
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

// Returns the option rows of a View that `Whole` has as its member `view`.
template <class Whole>
OptionTable<Whole> ViewRows() {
  const auto view = [](auto& whole) -> auto& { return whole.view; };
  return {
      OptionOfPart<Whole>(
          Text<&View::target>("target", "--target", "85%|METRIC=VALUE",
                              "target, which may be of another metric of the task [the study's]"),
          view),
      OptionOfPart<Whole>(Text<&View::baseline>("baseline", "--baseline", "METHOD",
                                                "method to compare the others with [the study's]"),
                          view),
  };
}

// Returns the data with which the page answers what-if questions. Returns "" if there is no record,
// or if it cannot be read, which is reported.
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

const analysis::TableFormat* ParseTableFormat(const std::string& text, const std::string& key) {
  const auto& formats = analysis::kTableFormats;
  std::vector<std::string> names;
  for (const auto& format : formats) names.emplace_back(format.name);
  ParseChoice(text, key, names);
  return &*std::ranges::find(formats, text, &analysis::TableFormat::name);
}

// Makes the row of an option that is a list of names.
template <auto Field>
Option<StructOf<Field>> Names(const std::string& name, const std::string& help) {
  return Listed<Field>(
      name, "--" + name, "NAMES", help,
      [](const std::string& item, const std::string&) { return item; },
      [](const std::string& item) { return item; });
}

// TablesFlags are the options of `tables`.
struct TablesFlags {
  View view;
  std::vector<std::string> names = {"summary"};
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  Parsed<ParseTableFormat> format = "markdown";
  std::string out;
  std::vector<std::string> figures;

  // Prints the tables, or writes them and the figures into --out. `typed` is the command line.
  void Run(const std::string& typed) const {
    if (!figures.empty() && out.empty()) throw Error::Refusal("--figures needs --out=DIR");
    const analysis::Study study = view.Read();
    const auto tables = analysis::StudyTables(study);
    std::vector<std::string> texts;
    for (const std::string& name : names) {
      auto table = Chosen(analysis::TableNamed(tables, name), {rows, columns});
      table.command = typed;
      texts.push_back((*format)->text(table));
    }
    if (out.empty()) {
      fmt::print("{}", Join(texts, "\n"));
    } else {
      Write(study, texts);
    }
  }

 private:
  void Write(const analysis::Study& study, const std::vector<std::string>& texts) const {
    std::vector<analysis::StudyFigure> chosen;
    const auto all = figures.empty() ? chosen : analysis::MakeStudyFigures(study);
    for (const std::string& name : figures) {
      chosen.push_back(analysis::FigureNamed(all, name));
    }
    MakeFolder(out);
    for (size_t i = 0; i < names.size(); ++i) {
      ReplaceFile(fs::path(out) / (names[i] + (*format)->suffix), texts[i]);
    }
    const auto pictures = analysis::DrawStudyFigures(chosen, out);
    for (const std::string& warning : pictures.warnings) {
      fmt::print(stderr, "warning: {}\n", warning);
    }
    fmt::print(stderr, "written: {} files in {}\n", names.size() + pictures.files.size(), out);
  }
};

OptionTable<TablesFlags> TablesRows() {
  return {
      Repeated<&TablesFlags::rows>(
          "rows", "--rows", "VALUES|COLUMN=VALUES",
          "rows to print: methods, as in dense,topk, or values of a column, as in "
          "bandwidth=1Gbps,10Gbps; repeatable: rows that all of them name [all]"),
      Names<&TablesFlags::columns>(
          "columns",
          "columns to print, in this order, by their headings or their names in CSV [all]"),
      Text<&TablesFlags::format>("format", "--format", "markdown|latex|csv",
                                 "markdown; latex: a tabular for booktabs; csv: plain numbers in "
                                 "SI units"),
      Text<&TablesFlags::out>("out", "--out", "DIR",
                              "write each table into a file of this folder, in place of printing "
                              "it"),
      Names<&TablesFlags::figures>(
          "figures",
          "figures of the whole study to draw into --out, as in metric-bytes,step-split [none]"),
  };
}

// ReportFlags are the options of `report`.
struct ReportFlags {
  View view;
  std::string out;
  bool figures = true;

  int Run() const {
    const analysis::Study study = view.Read();
    analysis::StudyReportOptions options;
    options.figures = figures;
    options.closed_forms = ClosedFormsOf(view.folder, study);
    const fs::path folder = out.empty() ? fs::path(view.folder) / "report" : fs::path(out);
    const auto report = analysis::WriteStudyReport(study, folder, options);
    for (const std::string& warning : report.warnings) {
      fmt::print(stderr, "warning: {}\n", warning);
    }
    fmt::print(stderr, "written: {} files in {}\n", report.files.size(), folder.string());
    const std::string verdict = analysis::StudyVerdict(study);
    const bool noted = !analysis::MissedWords(study).empty();  // by Read, earlier
    if (!verdict.empty() && !noted) fmt::print("\n{}\n", verdict);
    fmt::print("\npage: {}\nnext: {} serve {}\n", (folder / "index.html").string(),
               CommandOf("legacy-study"), ShellWord(view.folder));
    return 0;
  }
};

}  // namespace

void AddExport(CLI::App& app, StudyAction& chosen) {
  struct Asked {
    std::string folder;
    std::string out;
  };
  StudyCommand<Asked> command(app, "export", "export the results as CSV and JSON files");
  command.AddFolder(command.values().folder);
  command.AddOptions({Text<&Asked::out>("out", "--out", "DIR", "output folder [DIR/export]")},
                     chosen, [](const Asked& asked) {
                       const fs::path out = asked.out.empty() ? fs::path(asked.folder) / "export"
                                                              : fs::path(asked.out);
                       const analysis::Study study = ReadStudy(asked.folder);
                       SayNotes(study);
                       analysis::ExportStudy(study, out);
                       fmt::print(stderr, "written: {}\n", out.string());
                       return 0;
                     });
}

void AddReport(CLI::App& app, StudyAction& chosen) {
  StudyCommand<ReportFlags> command(
      app, "report", "write a report with tables, figures, text and an interactive page");
  command.AddFolder(command.values().view.folder);
  OptionTable<ReportFlags> rows = ViewRows<ReportFlags>();
  rows.push_back(Text<&ReportFlags::out>("out", "--out", "DIR", "output folder [DIR/report]"));
  rows.push_back(Switch<&ReportFlags::figures>("figures", "--figures",
                                               "draw figures, which takes most of the time"));
  command.AddOptions(rows, chosen, [](const ReportFlags& flags) { return flags.Run(); });
}

void AddTables(CLI::App& app, const std::string& typed, StudyAction& chosen) {
  StudyCommand<TablesFlags> command(app, "tables", "print tables of the report");
  command.AddFolder(command.values().view.folder);
  OptionTable<TablesFlags> rows = ViewRows<TablesFlags>();
  for (Option<TablesFlags>& row : TablesRows()) rows.push_back(std::move(row));
  CLI::App& sub = command.AddOptions(rows, chosen, [typed](const TablesFlags& flags) {
    flags.Run(typed);
    return 0;
  });
  sub.add_option(
         "NAME", command.values().names,
         "table to print: summary, time_to_target, break_even, step, volume, egress, failed")
      ->capture_default_str();
}

}  // namespace legacy

#include "analysis/study/report/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/run_directory.h"
#include "analysis/study/figures/study_figures.h"
#include "analysis/study/quantities.h"
#include "analysis/study/report/html.h"
#include "analysis/study/study_tables.h"
#include "analysis/study/words.h"
#include "base/files/whole_file.h"
#include "base/programs/program.h"

namespace legacy::analysis {
namespace {

namespace fs = std::filesystem;

constexpr size_t kOpenRows = 24;  // most rows of a table that is not folded away
constexpr size_t kOpenParagraphs = 3;

struct Counts {
  int64_t done = 0;
  int64_t failed = 0;
  int64_t pending = 0;
  int64_t all() const { return done + failed + pending; }
};

template <class Items>
Counts CountStates(const Items& items) {
  Counts counts;
  for (const auto& item : items) {
    counts.done += item.state == StudyState::kDone ? 1 : 0;
    counts.failed += item.state == StudyState::kFailed ? 1 : 0;
    counts.pending += item.state == StudyState::kPending ? 1 : 0;
  }
  return counts;
}

// Returns a text of the study for a line of Markdown, in one line and without markup.
std::string Plain(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i], next = i + 1 < text.size() ? text[i + 1] : ' ';
    const bool link = c == ']' && (next == '(' || next == '[' || next == ':');
    if (link || std::string_view("\\`*_<>|#").find(c) != std::string_view::npos) plain += '\\';
    plain += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return plain;
}

std::string Listed(const std::vector<std::string>& texts) {
  std::vector<std::string> plain;
  for (const std::string& text : texts) plain.push_back(Plain(text));
  return fmt::format("{}", fmt::join(plain, ", "));
}

// Returns the values of an axis: all of a short one, else its ends.
std::string AxisText(const StudyAxis& axis) {
  if (axis.values.size() <= 8) return Listed(axis.values);
  return fmt::format("{} values, {} to {}", axis.values.size(), Plain(axis.values.front()),
                     Plain(axis.values.back()));
}

std::string WhatIsMissing(const Study& study, const Counts& points, const Counts& trainings) {
  std::string text;
  if (points.pending > 0) {
    text += fmt::format(
        "**Not finished:** {} of {} points and {} of {} trainings wait; `{} resume` continues with "
        "them. All that follows is of the {} points that are done.\n\n",
        points.pending, points.all(), trainings.pending, trainings.all(), CommandOf("legacy-study"),
        points.done);
  }
  if (points.failed > 0) {
    text += fmt::format("**Failed:** {}; the table of failed points says why.\n\n",
                        ShowCount(points.failed, "point"));
  }
  if (const std::string missed = MissedWords(study); !missed.empty()) {
    text += fmt::format("**Target not reached:** {}\n\n", Plain(missed));
  }
  return text;
}

std::string WhatWasRun(const Study& study) {
  const Counts points = CountStates(study.points), trainings = CountStates(study.trainings);
  std::vector<std::string> seeds;
  for (const uint64_t seed : study.seeds) seeds.push_back(std::to_string(seed));
  std::vector<std::string> policies;
  for (const std::string& policy : study.policies) policies.push_back(MarkedName(study, policy));
  const bool marked = policies != study.policies;
  std::string text = fmt::format("# {}\n\n{}## What was run\n\n",
                                 Plain(study.title.empty() ? study.name : study.title),
                                 WhatIsMissing(study, points, trainings));
  text += "| | |\n|---|---|\n";
  text += fmt::format("| study | {} |\n", Plain(study.name));
  text += fmt::format("| points | {}, {} done |\n", points.all(), points.done);
  text += fmt::format("| trainings | {}, {} done |\n", trainings.all(), trainings.done);
  text += fmt::format("| methods | {}{} |\n", Listed(policies),
                      marked ? fmt::format(" ({})", kIdleLegend) : "");
  text += fmt::format("| baseline | {} |\n", Plain(study.baseline));
  text += fmt::format("| seeds | {}, paired across methods |\n", fmt::join(seeds, ", "));
  const Metric metric = ShownMetric(study);
  text += fmt::format(
      "| target{}{} | {} |\n", metric.name.empty() ? "" : " ", metric.title,
      study.target ? ShowValue(metric, study.target->value) : "none: no time to target");
  for (const StudyAxis& axis : study.axes) {
    text += fmt::format("| {} | {} |\n", Plain(ShowAxisName(axis)), AxisText(axis));
  }
  return text + "\n";
}

// Returns one paragraph for each panel. Those after the first few are folded away.
std::string WordsText(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    const bool folds = words.size() > kOpenParagraphs + 1;
    if (folds && i == kOpenParagraphs) {
      text += fmt::format("<details><summary>{} more</summary>\n\n", words.size() - i);
    }
    text += Plain(words[i]) + "\n\n";
    if (folds && i + 1 == words.size()) text += "</details>\n\n";
  }
  return text;
}

std::string FigureText(const StudyFigure& figure, bool drawn) {
  const std::string path = "figures/" + figure.name;
  std::string text = fmt::format("### {}\n\n", Plain(figure.heading));
  if (drawn) text += fmt::format("![{}]({}.svg)\n\n", Plain(figure.heading), path);
  text += WordsText(figure.words);
  if (!figure.note.empty()) text += Plain(figure.note) + "\n\n";
  if (drawn) text += fmt::format("[PNG]({0}.png) · [PDF]({0}.pdf) · ", path);
  return text + fmt::format("[data]({0}.dat) · [script]({0}.gp)\n\n", path);
}

std::string TableText(const StudyTable& table) {
  std::string text = MarkdownOf(table);
  if (!text.empty() && text.back() != '\n') text += '\n';
  if (table.rows.size() > kOpenRows) {
    text = fmt::format("<details><summary>{} ({})</summary>\n\n{}\n</details>\n", table.name,
                       ShowCount(static_cast<int64_t>(table.rows.size()), "row"), text);
  }
  return text + fmt::format("\n[CSV](tables/{0}.csv) · [LaTeX](tables/{0}.tex)\n\n", table.name);
}

std::string HowToRepeat(const Study& study) {
  std::string fence = "```";
  while (study.definition.find(fence) != std::string::npos) fence += '`';
  std::string definition = study.definition;
  if (!definition.empty() && definition.back() != '\n') definition += '\n';
  return fmt::format(
      "## How to repeat it\n\nWith the definition below as `study.yaml`:\n\n"
      "```sh\n{} run study.yaml\n```\n\n"
      "Equal definitions give equal results. The page `index.html` has the same figures to zoom "
      "and "
      "filter; `figures/NAME.gp` draws a figure again from its data: `gnuplot figures.gp` there "
      "draws all.\n\n{}yaml\n{}{}\n",
      CommandOf("legacy-study"), fence, definition, fence);
}

void WriteTables(const std::vector<StudyTable>& tables, const fs::path& directory,
                 StudyReport& report) {
  if (tables.empty()) return;
  MakeFolder(directory);
  for (const StudyTable& table : tables) {
    for (const TableFormat& format : kTableFormats) {
      report.files.push_back(directory / (table.name + format.suffix));
      ReplaceFile(report.files.back(), format.text(table));
    }
  }
}

std::string ReportText(const Study& study, const std::vector<StudyFigure>& figures,
                       const std::vector<StudyTable>& tables, const DrawnFigures& drawn) {
  std::string text = WhatWasRun(study);
  if (!figures.empty()) text += "## Figures\n\n";
  for (const StudyFigure& figure : figures) {
    const bool there =
        std::any_of(drawn.files.begin(), drawn.files.end(),
                    [&](const fs::path& path) { return path.filename() == figure.name + ".svg"; });
    text += FigureText(figure, there);
  }
  if (!tables.empty()) text += "## Tables\n\n";
  for (const StudyTable& table : tables) text += TableText(table);
  return text + HowToRepeat(study);
}

}  // namespace

StudyReport WriteStudyReport(const Study& study, const fs::path& directory,
                             const StudyReportOptions& options) {
  MakeFolder(directory);
  StudyReport report;
  const std::vector<StudyFigure> figures =
      options.figures ? MakeStudyFigures(study) : std::vector<StudyFigure>{};
  const DrawnFigures drawn = DrawStudyFigures(figures, directory / "figures", options.gnuplot);
  const std::vector<StudyTable> tables = StudyTables(study);
  report.files.push_back(directory / "report.md");
  ReplaceFile(report.files.back(), ReportText(study, figures, tables, drawn));
  if (options.html) {
    report.files.push_back(directory / "index.html");
    ReplaceFile(report.files.back(), StudyHtml(study, {.closed_forms = options.closed_forms}));
  }
  WriteTables(tables, directory / "tables", report);
  report.files.insert(report.files.end(), drawn.files.begin(), drawn.files.end());
  report.warnings = drawn.warnings;
  return report;
}

}  // namespace legacy::analysis

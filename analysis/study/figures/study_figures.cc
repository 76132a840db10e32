#include "analysis/study/figures/study_figures.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "analysis/drawing.h"
#include "analysis/gnuplot.h"
#include "analysis/run_directory.h"
#include "analysis/study/figures/figures.h"
#include "base/error.h"
#include "base/files/whole_file.h"

namespace legacy::analysis {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAllScripts = "figures.gp";

// A DrawingFolder is a temporary folder next to the figures in which they are drawn, so that a
// figure is complete or does not exist.
class DrawingFolder {
 public:
  explicit DrawingFolder(const fs::path& directory)
      : path_(directory / fmt::format(".drawing-{}", getpid())) {
    MakeFolder(path_);
  }
  ~DrawingFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  DrawingFolder(const DrawingFolder&) = delete;
  DrawingFolder& operator=(const DrawingFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Returns the study of shapes as one whose target every training reaches with its first step, so
// that times to the target, and everything that compares them, are mean times of a step.
Study InSteps(Study study) {
  study.metrics = {{"step", "step", Metric::Better::kHigher, false}};
  study.target = Target{"step", 1};
  for (StudyPoint& point : study.points) {
    point.curve.clear();
    if (point.state != StudyState::kDone) continue;
    point.figures.steps_to_target = 1;
    point.figures.time_to_target = point.figures.step_seconds;
  }
  return study;
}

bool IsDrawn(const fs::path& directory, const StudyFigure& figure) {
  const auto outputs = OutputFiles(directory, figure.name);
  return std::ranges::all_of(outputs, IsWholePicture);
}

void RemoveOutputs(const fs::path& directory, const StudyFigure& figure) {
  for (const fs::path& path : OutputFiles(directory, figure.name)) fs::remove(path);
}

// Writes data, scripts, and one script that runs all of them. Returns the file names.
std::vector<std::string> WriteScripts(const std::vector<StudyFigure>& figures,
                                      const fs::path& directory) {
  std::vector<std::string> names;
  std::string all = "# Draws all figures: gnuplot figures.gp\n";
  for (const StudyFigure& figure : figures) {
    names.push_back(figure.name + ".dat");
    ReplaceFile(directory / names.back(), figure.data);
    names.push_back(figure.name + ".gp");
    ReplaceFile(directory / names.back(), figure.script);
    all += fmt::format("load '{}.gp'\n", figure.name);
  }
  names.push_back(kAllScripts);
  ReplaceFile(directory / names.back(), all);
  return names;
}

// Draws each figure alone, because gnuplot ends at an error, and names the figure that fails.
void DrawOneByOne(const std::vector<StudyFigure>& figures, const fs::path& folder,
                  const std::string& gnuplot, std::vector<std::string>& warnings) {
  for (const StudyFigure& figure : figures) {
    RemoveOutputs(folder, figure);
    const GnuplotResult alone = RunGnuplot(folder, figure.name + ".gp", gnuplot);
    if (alone.ok && IsDrawn(folder, figure)) continue;
    RemoveOutputs(folder, figure);
    warnings.push_back(fmt::format("figure {} cannot be drawn: {}", figure.name, alone.message));
  }
}

}  // namespace

std::vector<StudyFigure> MakeStudyFigures(const Study& study, const FigureOptions& options) {
  std::vector<StudyFigure> figures;
  const auto add = [&](auto make, const Study& shown, const FigureOptions& with) {
    for (StudyFigure& figure : make(shown, with)) {
      std::erase(figure.words, "");
      figures.push_back(std::move(figure));
    }
  };
  const bool of_steps = study.metrics.empty();
  const Study timed = of_steps ? InSteps(study) : Study();
  const FigureOptions with{.facets = options.facets, .of_steps = of_steps};
  for (const auto make : {TimeFigures, GainFigures, SpeedupFigures, BreakEvenFigures}) {
    add(make, of_steps ? timed : study, with);
  }
  for (const auto make : {StepFigures, MetricFigures, VolumeFigures}) add(make, study, options);
  return figures;
}

const StudyFigure& FigureNamed(const std::vector<StudyFigure>& figures, const std::string& name) {
  std::vector<std::string> names;
  for (const StudyFigure& figure : figures) {
    if (figure.name == name) return figure;
    names.push_back(figure.name);
  }
  throw Error("figure", name, fmt::format("{}", fmt::join(names, ", ")));
}

DrawnFigures DrawStudyFigures(const std::vector<StudyFigure>& figures, const fs::path& directory,
                              const std::string& gnuplot) {
  DrawnFigures drawn;
  if (figures.empty()) return drawn;
  const DrawingFolder folder(directory);
  std::vector<std::string> names = WriteScripts(figures, folder.path());
  const GnuplotResult all = RunGnuplot(folder.path(), kAllScripts, gnuplot);
  if (!all.found) {
    drawn.warnings.push_back(fmt::format(
        "no figures: {} cannot be started (Debian: apt install gnuplot-nox); the scripts are {}",
        gnuplot, (directory / "*.gp").string()));
  } else if (!all.ok) {
    DrawOneByOne(figures, folder.path(), gnuplot, drawn.warnings);
  }
  for (const StudyFigure& figure : figures) {
    // No picture is older than its script.
    RemoveOutputs(directory, figure);
    if (!IsDrawn(folder.path(), figure)) continue;
    const auto outputs = OutputFiles(folder.path(), figure.name);
    UndatePdf(outputs.back());
    for (const fs::path& path : outputs) names.push_back(path.filename().string());
  }
  for (const std::string& name : names) {
    fs::rename(folder.path() / name, directory / name);
    drawn.files.push_back(directory / name);
  }
  return drawn;
}

}  // namespace legacy::analysis

// legacy.run, legacy.resume and legacy.replay run scenarios in this process.
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include "analysis/pictures/pictures.h"
#include "base/error.h"
#include "scenarios/options/default_run.h"
#include "scenarios/options/presets.h"
#include "scenarios/python/bindings.h"
#include "scenarios/python/interruptible.h"
#include "scenarios/python/options.h"
#include "scenarios/replay/replay_source.h"
#include "scenarios/run/run_report.h"
#include "scenarios/run/workers/comparison.h"

namespace legacy::python {
namespace {

// The parts of a scenario; later ones override earlier ones.
struct Parts {
  // Paths of files; or names, which messages use, with texts.
  std::vector<std::pair<std::string, std::optional<std::string>>> files;
  std::string preset;
  NamedTexts options;
  std::map<std::string, std::string> ns3;

  void LayOver(Scenario& scenario) const {
    for (const auto& [name, text] : files) {
      if (text) {
        LoadScenarioText(*text, name, scenario);
      } else {
        LoadScenario(name, scenario);
      }
    }
    if (!preset.empty()) ApplyPreset(preset, scenario);
    SetOptions(scenario, options);
    for (const auto& [name, value] : ns3) scenario.ns3[name] = value;
  }
};

// Returns the same scenario that legacy-scenario makes from its command line.
Scenario ScenarioOf(const Parts& parts) {
  return OverDefaults(parts.files.empty() ? DefaultRun() : Scenario(),
                      [&](Scenario& s) { parts.LayOver(s); });
}

void CheckScenario(const Scenario& scenario) {
  ValidateScenario(scenario);
  TargetOf(scenario);  // throws on a target that the task does not have
}

extern "C" ssize_t WriteToPython(void* cookie, const char* text, size_t size) {
  const py::gil_scoped_acquire lock;
  try {
    (*static_cast<const py::function*>(cookie))(py::str(text, size));
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("the log of a run");
  }
  return static_cast<ssize_t>(size);
}

// A Log says where a run reports its progress.
class Log {
 public:
  // None: nowhere. True: the standard error of the process, where a terminal shows a line that is
  // rewritten. A function is called with the text.
  explicit Log(const py::object& to) : write_(to) {
    if (to.is_none()) {
      file_ = std::fopen("/dev/null", "w");
    } else if (py::isinstance<py::bool_>(to)) {
      return;
    } else {
      const cookie_io_functions_t functions = {
          .read = nullptr, .write = WriteToPython, .seek = nullptr, .close = nullptr};
      file_ = fopencookie(&write_, "w", functions);
    }
    if (file_ == nullptr) throw Error("the log cannot be opened");
    std::setvbuf(file_, nullptr, _IOLBF, BUFSIZ);
  }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log() {
    if (file_ == nullptr) return;
    const py::gil_scoped_release others_run;
    std::fclose(file_);
  }

  std::FILE* file() const { return file_ == nullptr ? stderr : file_; }

 private:
  py::object write_;
  std::FILE* file_ = nullptr;
};

// Returns the directory and the text of a run. The run reads the flag that it is given. If it is
// interrupted, a note on how to continue is added to the exception.
template <typename Fill>
py::tuple RunWith(const py::object& log_to, const Scenario& scenario, const Fill& fill) {
  const Log log(log_to);
  RunResult result;
  RunText report;
  try {
    Interruptible([&](const StopFlag& stop) {
      result = fill(stop, log.file());
      report = WriteRunReport(result, {scenario.pictures && stop == 0, scenario.verbose});
      for (const std::string& warning : report.warnings) {
        std::fprintf(log.file(), "warning: %s\n", warning.c_str());
      }
    });
  } catch (const py::error_already_set& raised) {
    if (!result.note.empty()) raised.value().attr("add_note")(result.note);
    throw;
  }
  return py::make_tuple(result.directory.string(), report.text);
}

py::tuple RunScenario(const Scenario& scenario, bool resume, const std::string& call,
                      const py::object& log_to) {
  CheckScenario(scenario);
  static const StopFlag requests = 0;  // checkpoints are written only periodically
  return RunWith(log_to, scenario, [&](const StopFlag& stop, std::FILE* log) {
    std::fputs(PresetText(scenario).c_str(), log);
    if (scenario.layers.empty()) {
      std::fprintf(log, "data: %s\n", DataNote(scenario).c_str());
    }
    return RunComparison(scenario, kPythonProgram, call, stop, log,
                         {.resume = resume, .requests = &requests});
  });
}

py::tuple Run(const Parts& parts, const std::string& call, const py::object& log_to) {
  return RunScenario(ScenarioOf(parts), false, call, log_to);
}

py::tuple Resume(const std::string& directory, const Parts& parts, const std::string& call,
                 const py::object& log_to) {
  Scenario scenario = ResumeDefaults(directory, kPythonProgram);
  parts.LayOver(scenario);
  if (scenario.out != directory) throw Error("out", scenario.out, directory);
  return RunScenario(scenario, true, call, log_to);
}

py::tuple ReplayRun(const std::string& run, const Parts& parts, const std::string& call,
                    const py::object& log_to) {
  const std::unique_ptr<ReplaySource> source = ReadReplaySource(run);
  Scenario scenario = source->Defaults();
  parts.LayOver(scenario);
  source->Check(scenario);
  return RunWith(log_to, scenario, [&](const StopFlag& stop, std::FILE* log) {
    return source->Run(scenario, "legacy.replay", call, stop, log);
  });
}

// Returns the data of the picture metric-time of a run directory; None without evaluations.
py::object PlotOf(const std::string& directory) {
  const analysis::RunDirectory run = analysis::ReadRunDirectory(directory);
  const std::optional<analysis::MetricPlot> plot =
      analysis::TimePlot(run, analysis::Summarise(run));
  if (!plot) return py::none();
  py::list curves;
  for (const analysis::PlotCurve& curve : plot->curves) {
    py::dict entry(py::arg("policy") = curve.policy, py::arg("colour") = curve.style.colour,
                   py::arg("mark") = curve.style.mark, py::arg("dashes") = curve.style.dashes,
                   py::arg("band") = curve.band, py::arg("mark_every") = curve.mark_every);
    using Point = analysis::PlotPoint;
    const std::pair<const char*, double Point::*> columns[] = {
        {"x", &Point::x}, {"value", &Point::value}, {"low", &Point::low}, {"high", &Point::high}};
    for (const auto& [name, member] : columns) {
      py::list values;
      for (const Point& point : curve.points) values.append(point.*member);
      entry[name] = values;
    }
    curves.append(entry);
  }
  const auto axis = [](const analysis::PlotAxis& one) {
    return py::dict(py::arg("label") = one.label, py::arg("logarithmic") = one.logarithmic);
  };
  return py::dict(py::arg("title") = plot->title, py::arg("conditions") = plot->conditions,
                  py::arg("x") = axis(plot->x), py::arg("y") = axis(plot->y),
                  py::arg("curves") = curves, py::arg("others") = plot->others,
                  py::arg("target") = plot->target, py::arg("target_text") = plot->target_text);
}

py::list Options() {
  const Scenario defaults;
  py::list options;
  for (const ScenarioOption& option : ScenarioOptions()) {
    options.append(py::dict(py::arg("key") = option.key, py::arg("flag") = option.flag,
                            py::arg("kind") = KindName(option.kind),
                            py::arg("default") = option.get(defaults),
                            py::arg("allowed") = option.metavar, py::arg("help") = option.help));
  }
  return options;
}

}  // namespace

void BindRuns(py::module_& module) {
  py::class_<Parts>(module, "Parts")
      .def(py::init([](std::vector<std::pair<std::string, std::optional<std::string>>> files,
                       std::string preset, NamedTexts options,
                       std::map<std::string, std::string> ns3) {
        return Parts{std::move(files), std::move(preset), std::move(options), std::move(ns3)};
      }));
  module.def("scenario_text", [](const Parts& parts) {
    const Scenario scenario = ScenarioOf(parts);
    CheckScenario(scenario);
    return PrintScenario(scenario);
  });
  module.def("run", &Run);
  module.def("resume", &Resume);
  module.def("replay", &ReplayRun);
  module.def("plot_of", &PlotOf);
  module.def("scenario_options", &Options);
}

}  // namespace legacy::python

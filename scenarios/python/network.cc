// legacy.network simulates collectives and flows on a network.
#include "scenarios/network/measure.h"
#include "scenarios/network/options/experiment_options.h"
#include "scenarios/network/outputs.h"
#include "scenarios/network/results.h"
#include "scenarios/python/bindings.h"
#include "scenarios/python/interruptible.h"

namespace legacy::python {
namespace {

// The first flow that arrives after Ctrl-C throws a Stopped out of an engine. It is caught in this
// file.
struct Stopped {};

// A Simulation is a finished experiment.
class Simulation {
 public:
  // The caller holds Python's lock. Throws Error.
  Simulation(const std::map<std::string, std::string>& given,
             const std::map<std::string, std::string>& ns3_attributes, bool record_flows)
      : recorded_(record_flows) {
    for (const auto& [name, text] : given) {
      const auto& row =
          OptionNamed(ExperimentRows(), name, OptionNames::kFlags, "legacy.network.simulate");
      row.set(options_, row.flag, text);
    }
    Interruptible([&](const StopFlag& stop) {
      prepared_ = Prepare(ParseExperiment(options_, ns3_attributes));
      MeasureOptions options;
      options.record_flows = record_flows;
      options.on_delivered = [&stop] {
        if (stop != 0) throw Stopped();
      };
      measurements_ = Measure(prepared_, options);
    });
  }

  std::string Rows() const { return JsonText(ResultRows(options_, prepared_, measurements_)); }
  std::string Text() const { return ResultTable(prepared_, measurements_); }
  std::vector<std::string> Warned() const { return Warnings(prepared_, measurements_); }
  std::string Links() const { return LinksCsv(prepared_, measurements_); }
  std::string Svg() const { return UtilisationSvg(prepared_, measurements_.front()); }
  // Return CSV texts; "" if there are none: lists of flows have no workers, and flows are recorded
  // only on demand.
  std::string Workers() const {
    return prepared_.experiment.HasFlows() ? "" : FinishCsv(prepared_, measurements_);
  }
  std::string Flows() const {
    const bool has = recorded_ || prepared_.experiment.HasFlows();
    return has ? FlowsCsv(prepared_, measurements_) : "";
  }

 private:
  ExperimentOptions options_;
  bool recorded_;
  PreparedExperiment prepared_;
  std::vector<Measurement> measurements_;
};

py::list Options() {
  py::list options;
  const ExperimentOptions defaults;
  for (const Option<ExperimentOptions>& option : ExperimentRows()) {
    options.append(py::dict(py::arg("name") = option.Name(),
                            py::arg("kind") = KindName(option.kind),
                            py::arg("default") = option.get(defaults),
                            py::arg("allowed") = option.metavar, py::arg("help") = option.help));
  }
  return options;
}

}  // namespace

void BindNetwork(py::module_& module) {
  py::class_<Simulation>(module, "Simulation")
      .def(py::init<const std::map<std::string, std::string>&,
                    const std::map<std::string, std::string>&, bool>())
      .def("rows", &Simulation::Rows)
      .def("text", &Simulation::Text)
      .def("warnings", &Simulation::Warned)
      .def("workers", &Simulation::Workers)
      .def("links", &Simulation::Links)
      .def("flows", &Simulation::Flows)
      .def("svg", &Simulation::Svg);
  module.def("network_options", &Options);
}

}  // namespace legacy::python

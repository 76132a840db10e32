#include "scenarios/programs/network_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/parse.h"
#include "base/programs/arguments.h"
#include "base/programs/progress_line.h"
#include "base/programs/terminal.h"
#include "scenarios/network/jobs/jobs.h"
#include "scenarios/network/jobs/jobs_results.h"
#include "scenarios/network/jobs/jobs_run.h"
#include "scenarios/network/measure.h"
#include "scenarios/network/options/sweep.h"
#include "scenarios/network/outputs.h"
#include "scenarios/network/results.h"
#include "scenarios/network/step_doctor.h"
#include "scenarios/network/trace.h"
#include "scenarios/programs/network_output.h"

namespace legacy {
namespace {

void CheckFiles(const NetworkCommand& command) {
  if (!command.sweeps.empty()) {
    for (const auto& [option, path] : FilesOf(command, kOfOneRun)) {
      throw Error(option, path, "one experiment; with --sweep the files are --csv and --json");
    }
  }
  std::map<std::string, std::string> users;
  for (const auto& [option, path] : FilesOf(command)) {
    CheckOutput(path, option);
    const auto [user, added] = users.emplace(path, option);
    if (!added) throw Error(option, path, "a file of its own; " + user->second + " has this one");
  }
}

// A FlowProgress shows the simulations' progress on a terminal.
class FlowProgress {
 public:
  explicit FlowProgress(double flows) : flows_(flows), line_(isatty(STDERR_FILENO) != 0) {}
  void Clear() { line_.Clear(); }

  std::function<void()> Counter() {
    if (flows_ < kAnnouncedFlows || !line_.OnTerminal()) return {};
    return [this] {
      if (++done_ % kBatch == 0) Show();
    };
  }

 private:
  static constexpr int64_t kBatch = 1 << 16;

  void Show() {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    const auto done = static_cast<double>(done_);
    const auto left = static_cast<int64_t>(elapsed.count() * std::max(0.0, flows_ / done - 1));
    line_.Show(fmt::format("{:3.0f}% of {:.3g} flows  {:.1f} M/s  ETA {}:{:02}",
                           100 * done / flows_, flows_, 1e-6 * done / elapsed.count(), left / 60,
                           left % 60));
  }

  double flows_;  // flows of all simulations
  int64_t done_ = 0;
  RewrittenLine line_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void WriteDetails(const NetworkOutputs& outputs, const PreparedExperiment& prepared,
                  const std::vector<Measurement>& measurements) {
  if (!outputs.finish.empty()) WriteOutput(outputs.finish, FinishCsv(prepared, measurements));
  if (!outputs.links.empty()) WriteOutput(outputs.links, LinksCsv(prepared, measurements));
  if (!outputs.fct.empty()) WriteOutput(outputs.fct, FlowsCsv(prepared, measurements));
  if (!outputs.svg.empty()) {
    WriteOutput(outputs.svg, UtilisationSvg(prepared, measurements.front()));
  }
  if (!outputs.trace.empty()) {
    const std::set<int> shown = ParseEndpoints(
        outputs.trace_workers, prepared.network->placement.Endpoints(), "--trace-workers");
    const std::string& links = outputs.telemetry_links;
    WriteOutput(outputs.trace,
                TraceJson(prepared, measurements, shown, links.empty() ? "busiest:8" : links));
  }
  if (!outputs.telemetry.empty()) {
    const std::string& links = outputs.telemetry_links;
    WriteOutput(outputs.telemetry,
                TelemetryCsv(prepared, measurements, links.empty() ? "all" : links));
  }
  if (!outputs.queues.empty()) WriteOutput(outputs.queues, QueuesCsv(prepared, measurements));
}

// Returns the repetition of the first fidelity that has the median time; of two, the one with the
// lower time.
const Measurement& MedianMeasurement(const std::vector<Measurement>& measurements) {
  std::vector<const Measurement*> first;
  for (const Measurement& m : measurements) {
    if (m.fidelity == measurements.front().fidelity) first.push_back(&m);
  }
  std::stable_sort(first.begin(), first.end(), [](const Measurement* a, const Measurement* b) {
    return a->timing.total < b->timing.total;
  });
  return *first[(first.size() - 1) / 2];
}

void Consult(const NetworkCommand& command, const PreparedExperiment& prepared,
             const std::vector<Measurement>& measurements) {
  const Measurement& m = MedianMeasurement(measurements);
  const bool flows = prepared.experiment.HasFlows();
  const StepDiagnosis diagnosis =
      Diagnose({flows ? nullptr : &m.traffic,
                {},
                static_cast<uint64_t>(m.repetition),
                m.start,
                flows ? &prepared.flows : nullptr},
               prepared.network->request, FactoryOf(*command.doctor_fidelity, "--doctor-fidelity"));
  const NetworkOutputs& outputs = command.outputs;
  if (!command.quiet) {
    const std::string text =
        fmt::format("doctor, {} fidelity, repetition {}: {}", command.doctor_fidelity.text(),
                    m.repetition, DoctorText(diagnosis));
    std::fputs(Wrapped(text, TableColumns(command), 2).c_str(), TableStream(command));
  }
  const std::vector<Row> rows = DoctorRows(
      diagnosis, {{"fidelity", command.doctor_fidelity.text()}, {"repetition", m.repetition}});
  if (!outputs.doctor_csv.empty()) WriteOutput(outputs.doctor_csv, CsvText(rows));
  if (!outputs.doctor_json.empty()) WriteOutput(outputs.doctor_json, JsonText(rows));
}

// Throws Error if the doctor cannot run, before anything is simulated.
void CheckDoctor(const NetworkCommand& command, const PreparedExperiment& prepared) {
  if (!command.doctor) return;
  TryEngine(FactoryOf(*command.doctor_fidelity, "--doctor-fidelity"), *prepared.network);
  if (prepared.experiment.duration > 0) {
    throw Error::Refusal(
        "--doctor: needs a collective or flows with an end; those of --duration have none");
  }
}

// Returns the length of the windows of telemetry; 0 if none is requested. Throws Error if telemetry
// cannot be recorded, before anything is simulated.
TimeNs TelemetryWindow(const NetworkOutputs& outputs, const PreparedExperiment& prepared) {
  const bool in_trace = !outputs.telemetry_links.empty() && !outputs.trace.empty();
  if (outputs.telemetry.empty() && !in_trace) {
    for (const auto& [option, text] :
         {std::pair{"--telemetry-every", outputs.telemetry_every.text()},
          {"--telemetry-links", outputs.telemetry_links}}) {
      if (!text.empty()) throw Error(option, text, "nothing without --telemetry or --trace");
    }
    return 0;
  }
  if (prepared.experiment.fidelities == std::vector{Fidelity::kAnalytic}) {
    throw Error::Refusal(
        "--telemetry: needs packet or flow fidelity; analytic knows no rates over time");
  }
  if (!outputs.telemetry_links.empty()) {
    ChooseLinks(outputs.telemetry_links, "--telemetry-links", prepared.network->topology, {});
  }
  constexpr TimeNs kDefault = 100'000;
  return outputs.telemetry_every->value_or(kDefault);
}

// Returns the time between samples of queues; 0 if samples are not requested. Throws Error if there
// are no queues, before anything is simulated.
TimeNs QueueSamples(const NetworkOutputs& outputs, const PreparedExperiment& prepared) {
  if (outputs.queues.empty()) {
    if (*outputs.sample) {
      throw Error("--sample", outputs.sample.text(), "nothing without --queues");
    }
    return 0;
  }
  if (!prepared.network->request.transport.roce || !prepared.experiment.Asks(Fidelity::kPacket)) {
    throw Error(
        "--queues", outputs.queues,
        "nothing without --transport=roce at packet fidelity; --telemetry samples the links "
        "of other networks");
  }
  if (prepared.network->request.transport.skip != fabric::Skip::None) {
    throw Error("--queues", outputs.queues, "nothing beside --skip, which leaves queues empty");
  }
  constexpr TimeNs kDefault = 10'000;
  return outputs.sample->value_or(kDefault);
}

int RunOne(const NetworkCommand& command) {
  const NetworkOutputs& outputs = command.outputs;
  const PreparedExperiment prepared =
      Prepare(ParseExperiment(command.options, command.ns3_attributes));
  CheckDoctor(command, prepared);
  if (!outputs.trace.empty()) {
    ParseEndpoints(outputs.trace_workers, prepared.network->placement.Endpoints(),
                   "--trace-workers");
  }
  if (prepared.experiment.HasFlows() && !outputs.finish.empty()) {
    throw Error("--finish", outputs.finish, "a collective; flows have --fct");
  }
  for (const auto& [option, path] : {std::pair{"--fct", outputs.fct}, {"--trace", outputs.trace}}) {
    if (path.empty() || prepared.experiment.duration == 0) continue;
    throw Error(option, path, "flows with an end; those of --duration have none (--csv)");
  }
  if (outputs.packet.Any() && !prepared.experiment.Asks(Fidelity::kPacket)) {
    throw Error::Refusal(
        "--pcap, --flow-monitor, --netanim: only the packet engine writes them, but "
        "--fidelity is " +
        NamesOf(prepared.experiment.fidelities, ","));
  }
  Announce(PacketSeconds(prepared), command);
  AnnounceFlows(AllFlows(prepared));
  FlowProgress progress(AllFlows(prepared));
  MeasureOptions options;
  options.on_delivered = progress.Counter();
  options.files = outputs.packet;
  options.telemetry_every = TelemetryWindow(outputs, prepared);
  options.queues_every = QueueSamples(outputs, prepared);
  options.record_flows = !outputs.fct.empty() || !outputs.trace.empty();
  const std::vector<Measurement> measurements = Measure(prepared, options);
  progress.Clear();
  outputs.packet.RequireWhole();
  if (!command.quiet) {
    std::fputs(ResultTable(prepared, measurements, TableColumns(command)).c_str(),
               TableStream(command));
  }
  Say(Warnings(prepared, measurements));
  if (command.doctor) Consult(command, prepared, measurements);
  WriteRows(outputs, ResultRows(command.options, prepared, measurements));
  WriteDetails(outputs, prepared, measurements);
  return 0;
}

// Throws Error if an option has no meaning together with jobs.
void CheckJobs(const NetworkCommand& command) {
  for (const char* name : {"flows", "pattern", "duration"}) {
    const Option<ExperimentOptions>& row =
        OptionNamed(ExperimentRows(), name, OptionNames::kFlags, "--jobs");
    const std::string text = row.get(command.options);
    if (!text.empty()) throw Error(row.flag, text, "either this or --jobs");
  }
  if (!command.sweeps.empty()) throw Error::Refusal("--jobs: needs one run, not a sweep");
  if (command.doctor) throw Error::Refusal("--doctor: needs one collective, not --jobs");
  for (const auto& [option, path] : FilesOf(command, kOfOneRun)) {
    if (option == "--links" || option == "--svg") continue;
    throw Error(option, path,
                "one collective; with --jobs the files are --csv, --json, --links, --svg");
  }
}

int RunJobs(const NetworkCommand& command, const TrainingReader* trainings) {
  CheckJobs(command);
  const NetworkOutputs& outputs = command.outputs;
  const std::string& path = command.options.jobs;
  PreparedJobs prepared =
      PrepareJobs(ReadJobs(path, command.options, command.ns3_attributes, trainings),
                  command.options, command.ns3_attributes);
  Announce(PacketSeconds(prepared), command);
  const std::vector<JobsMeasurement> measurements = MeasureJobs(prepared);
  if (!command.quiet) {
    std::fputs(JobsTable(prepared, measurements, TableColumns(command)).c_str(),
               TableStream(command));
  }
  WriteRows(outputs, JobsRows(prepared, measurements));
  PreparedExperiment together;
  together.network = std::move(prepared.network);
  std::vector<Measurement> links;
  for (const JobsMeasurement& m : measurements) {
    links.emplace_back();
    const bool other = links.size() > 1 && links[links.size() - 2].fidelity == m.fidelity;
    links.back().repetition = other ? links[links.size() - 2].repetition + 1 : 0;
    links.back().fidelity = m.fidelity;
    links.back().timing = m.timing;
  }
  WriteDetails(outputs, together, links);
  return 0;
}

// Thrown to end the simulation of a point.
struct SweepStopped {};

PreparedExperiment PreparePoint(const NetworkCommand& command, const ExperimentOptions& point,
                                size_t points) {
  Experiment experiment = ParseExperiment(point, command.ns3_attributes);
  if (experiment.duration > 0)
    throw Error::Refusal("--duration: needs one experiment, not a sweep");
  experiment.packet_budget /= static_cast<double>(points);
  return Prepare(std::move(experiment));
}

// Finds mistakes and computes costs before the first simulation, and announces the costs.
void CheckPoints(const NetworkCommand& command, const std::vector<ExperimentOptions>& points) {
  const bool flows = ParseExperiment(points.front(), command.ns3_attributes).HasFlows();
  double seconds = 0;
  double flows_in_all = 0;
  for (const ExperimentOptions& point : points) {
    const PreparedExperiment prepared = PreparePoint(command, point, points.size());
    seconds += PacketSeconds(prepared);
    flows_in_all += AllFlows(prepared);
    if (prepared.experiment.HasFlows() != flows) {
      throw Error::Refusal("--sweep: either all points are collectives, or all are flows");
    }
  }
  Announce(seconds, command);
  AnnounceFlows(flows_in_all);
}

// Prints the table of a sweep, point by point. The constructor's arguments outlive it.
class SweepPrinter {
 public:
  SweepPrinter(const NetworkCommand& command, const std::vector<std::string>& swept,
               const std::vector<ExperimentOptions>& points)
      : command_(command), swept_(swept), points_(points) {}

  void Print(const ExperimentOptions& point, const PreparedExperiment& prepared,
             const std::vector<Measurement>& measurements) {
    if (command_.quiet) return;
    FILE* const stream = TableStream(command_);
    if (!table_) {
      const bool automatic = prepared.experiment.automatic;
      const std::vector<Fidelity> both = {Fidelity::kFlow, Fidelity::kPacket};
      table_.emplace(swept_, points_, automatic ? both : prepared.experiment.fidelities,
                     TableColumns(command_));
      std::fputs(table_->Header().c_str(), stream);
    }
    std::fputs(table_->Lines(point, prepared, measurements).c_str(), stream);
    std::fflush(stream);
  }

 private:
  const NetworkCommand& command_;
  const std::vector<std::string>& swept_;
  const std::vector<ExperimentOptions>& points_;
  std::optional<SweepTable> table_;  // none before the first point
};

int RunSweep(const NetworkCommand& command, const StopFlag& stop) {
  if (command.doctor) throw Error::Refusal("--doctor: needs one experiment, not a sweep");
  std::vector<Sweep> sweeps;
  std::vector<std::string> swept;
  for (const std::string& text : command.sweeps) {
    sweeps.push_back(ParseSweep(text));
    swept.push_back(sweeps.back().name);
  }
  const std::vector<ExperimentOptions> points = Grid(command.options, sweeps);
  CheckPoints(command, points);
  SweepPrinter printer(command, swept, points);
  ProgressLine progress(static_cast<int64_t>(points.size()), "points", isatty(STDERR_FILENO) != 0);
  std::vector<Row> rows;
  size_t done = 0;
  MeasureOptions options;
  options.on_delivered = [&stop] {
    if (stop != 0) throw SweepStopped();
  };
  for (const ExperimentOptions& point : points) {
    // The rows so far are written, unless a simulation delivers nothing for a long time.
    const StopScope scope(kSecondsToStop);
    if (stop != 0) break;
    const PreparedExperiment prepared = PreparePoint(command, point, points.size());
    std::vector<Measurement> measurements;
    try {
      measurements = Measure(prepared, options);
    } catch (const SweepStopped&) {
      break;
    }
    for (Row& row : ResultRows(point, prepared, measurements, swept)) {
      rows.push_back(std::move(row));
    }
    progress.Clear();
    printer.Print(point, prepared, measurements);
    Say(Warnings(prepared, measurements));
    progress.Advance(fmt::format("{} of {}", ++done, points.size()));
  }
  progress.Clear();
  if (!rows.empty()) WriteRows(command.outputs, rows);
  return stop != 0 ? kInterrupted : 0;
}

}  // namespace

int RunNetworkCommand(const NetworkCommand& command, const StopFlag& stop,
                      const TrainingReader* trainings) {
  CheckFiles(command);
  if (!command.options.jobs.empty()) return RunJobs(command, trainings);
  return command.sweeps.empty() ? RunOne(command) : RunSweep(command, stop);
}

}  // namespace legacy

#include "scenarios/network/outputs.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/csv.h"
#include "base/error.h"
#include "ns3-module/fabric/topology/report.h"
#include "scenarios/network/measure.h"
#include "scenarios/network/roce/figures.h"
#include "scenarios/network/trace.h"

namespace legacy {
namespace {

using analysis::CsvLine;
using analysis::CsvNumber;

std::string SecondsText(TimeNs time) { return CsvNumber(InSeconds(time)); }

std::string FieldText(int64_t value) { return std::to_string(value); }
std::string FieldText(double value) { return CsvNumber(value); }
std::string FieldText(const std::string& value) { return value; }

double Share(TimeNs part, TimeNs whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

// Adds the record of a flow; fields are empty if nothing is known.
void AddRoce(const fabric::Topology& topology, const std::optional<fabric::RoceFlow>& roce,
             std::vector<std::string>& fields) {
  if (!roce) {
    fields.resize(fields.size() + 6);
    return;
  }
  fields.insert(fields.end(), {CsvNumber(roce->rateAtEnd), std::to_string(roce->cnps),
                               std::to_string(roce->resent), SecondsText(roce->paused),
                               roce->pauseRoot < 0 ? "" : topology.LinkName(roce->pauseRoot),
                               roce->victim ? "1" : "0"});
}

std::string NodeName(const Network& network, int endpoint) {
  return network.topology.NodeName(network.placement.NodeOf(endpoint));
}

}  // namespace

std::string LinksCsv(const PreparedExperiment& prepared,
                     const std::vector<Measurement>& measurements) {
  const fabric::Topology& topology = prepared.network->topology;
  std::vector<std::string> columns = {"fidelity",
                                      "repetition",
                                      "link",
                                      "from",
                                      "to",
                                      "rate_bits_per_second",
                                      "bytes",
                                      "packets",
                                      "drops",
                                      "marks",
                                      "max_queue_bytes",
                                      "busy_seconds",
                                      "mean_utilisation",
                                      "peak_utilisation"};
  const bool background = prepared.network->background != nullptr;
  if (background) columns.emplace_back("background_bytes");
  const bool roce = prepared.network->request.transport.roce != nullptr;
  analysis::PauseFigures pauses;
  const auto add_pauses = [&](const auto& add) {
    if (roce) analysis::PauseFigures::Columns(pauses, add);
  };
  add_pauses([&](const char* name, const char*, const auto&) { columns.emplace_back(name); });
  std::string text = CsvLine(columns);
  for (const Measurement& m : measurements) {
    for (size_t i = 0; i < m.timing.links.size(); ++i) {
      const fabric::LinkCounters& link = m.timing.links[i];
      const auto directed = static_cast<fabric::DirectedLink>(i);
      const std::string& from = topology.NodeName(topology.From(directed));
      const std::string& to = topology.NodeName(topology.To(directed));
      std::vector<std::string> fields = {NameOf(m.fidelity),
                                         std::to_string(m.repetition),
                                         topology.LinkName(directed),
                                         from,
                                         to,
                                         std::to_string(topology.MeanRate(directed)),
                                         std::to_string(link.bytes),
                                         std::to_string(link.packets),
                                         std::to_string(link.drops),
                                         std::to_string(link.marks),
                                         std::to_string(link.maxQueueBytes),
                                         SecondsText(link.busy),
                                         CsvNumber(Share(link.busy, m.timing.total)),
                                         CsvNumber(link.peak)};
      if (background) fields.push_back(std::to_string(link.backgroundBytes));
      pauses = PauseFiguresOf(topology, link);
      add_pauses([&](const char*, const char*, const auto& member) {
        fields.push_back(FieldText(member));
      });
      text += CsvLine(fields);
    }
  }
  return text;
}

std::string FlowsCsv(const PreparedExperiment& prepared,
                     const std::vector<Measurement>& measurements) {
  const Network& network = *prepared.network;
  const bool list = prepared.experiment.HasFlows();
  std::vector<std::string> columns = {"fidelity",      "repetition",  "source",
                                      "destination",   "bytes",       list ? "line" : "bucket",
                                      "start_seconds", "end_seconds", "fct_seconds",
                                      "ideal_seconds", "slowdown"};
  const bool roce = network.request.transport.roce != nullptr;
  if (roce) {
    columns.insert(columns.end(),
                   {"rate_at_end", "cnps", "resent", "paused_seconds", "pause_root", "victim"});
  }
  std::string text = CsvLine(columns);
  for (const Measurement& m : measurements) {
    for (const RecordedFlow& recorded : m.flows) {
      const fabric::Flow& flow = recorded.flow;
      const TimeNs time = recorded.end - recorded.start;
      const TimeNs ideal = IdealTime(
          {flow.source, flow.destination, flow.bytes, recorded.start, flow.lane}, network);
      std::vector<std::string> fields = {
          NameOf(m.fidelity),
          std::to_string(m.repetition),
          NodeName(network, flow.source),
          NodeName(network, flow.destination),
          std::to_string(flow.bytes),
          std::to_string(list ? flow.tag : flow.tag >> fabric::kTagShift),
          SecondsText(recorded.start),
          SecondsText(recorded.end),
          SecondsText(time),
          SecondsText(ideal),
          CsvNumber(ideal > 0 ? Share(time, ideal) : 1)};
      if (roce) AddRoce(network.topology, recorded.roce, fields);
      text += CsvLine(fields);
    }
  }
  return text;
}

std::string FinishCsv(const PreparedExperiment& prepared,
                      const std::vector<Measurement>& measurements) {
  std::string text =
      CsvLine({"fidelity", "repetition", "worker", "host", "ready_seconds", "finish_seconds"});
  for (const Measurement& m : measurements) {
    for (size_t w = 0; w < m.timing.finish.size(); ++w) {
      text += CsvLine({NameOf(m.fidelity), std::to_string(m.repetition), std::to_string(w),
                       NodeName(*prepared.network, static_cast<int>(w)),
                       SecondsText(m.traffic.buckets.front().ready[w]),
                       SecondsText(m.timing.finish[w])});
    }
  }
  return text;
}

std::string TelemetryCsv(const PreparedExperiment& prepared,
                         const std::vector<Measurement>& measurements, const std::string& links) {
  const fabric::Topology& topology = prepared.network->topology;
  std::string text =
      CsvLine({"fidelity", "repetition", "start_seconds", "end_seconds", "link", "from", "to",
               "bits_per_second", "utilisation", "present_bits_per_second", "queue_bytes"});
  for (const Measurement& m : measurements) {
    const bool packets = m.fidelity == Fidelity::kPacket;
    for (const fabric::DirectedLink link :
         ChooseLinks(links, "--telemetry-links", topology, m.telemetry)) {
      const auto capacity = static_cast<double>(topology.PortOf(link).rateBps);
      const std::string name = topology.LinkName(link);
      for (const TelemetrySample& sample : m.telemetry) {
        const double rate = sample.Rate(link);
        const fabric::LinkActivity& end = sample.links[link];
        text +=
            CsvLine({NameOf(m.fidelity), std::to_string(m.repetition), SecondsText(sample.start),
                     SecondsText(sample.end), name, topology.NodeName(topology.From(link)),
                     topology.NodeName(topology.To(link)), CsvNumber(rate),
                     CsvNumber(rate / capacity), packets ? "" : CsvNumber(end.bitsPerSecond),
                     packets ? std::to_string(end.queueBytes) : ""});
      }
    }
  }
  return text;
}

std::string QueuesCsv(const PreparedExperiment& prepared,
                      const std::vector<Measurement>& measurements) {
  const fabric::Topology& topology = prepared.network->topology;
  std::string text =
      CsvLine({"repetition", "seconds", "kind", "name", "bytes", "bits_per_second", "paused"});
  for (const Measurement& m : measurements) {
    for (const TelemetrySample& sample : m.queues) {
      const auto add = [&](const char* kind, const std::string& name, int64_t bytes,
                           const std::string& rate, const std::string& paused) {
        text += CsvLine({std::to_string(m.repetition), SecondsText(sample.end), kind, name,
                         std::to_string(bytes), rate, paused});
      };
      for (size_t i = 0; i < sample.links.size(); ++i) {
        const fabric::LinkActivity& port = sample.links[i];
        if (port.bytes == 0 && port.queueBytes == 0 && !port.paused) continue;
        const auto link = static_cast<fabric::DirectedLink>(i);
        add("port", topology.LinkName(link), port.queueBytes, CsvNumber(sample.Rate(link)),
            port.paused ? "1" : "0");
      }
      for (size_t node = 0; node < sample.roce.buffers.size(); ++node) {
        if (sample.roce.buffers[node] == 0) continue;
        add("switch", topology.NodeName(static_cast<int>(node)), sample.roce.buffers[node], "", "");
      }
      for (const fabric::RoceActivity::Pair& pair : sample.roce.pairs) {
        add("pair",
            topology.NodeName(pair.source) + ">" + topology.NodeName(pair.destination) +
                (pair.number > 0 ? "/" + std::to_string(pair.number) : ""),
            pair.inFlight, CsvNumber(pair.bitsPerSecond), "");
      }
    }
  }
  return text;
}

namespace {

// Adds the rates and queues of links to the trace; they begin at `start`.
void AddCounters(const fabric::Topology& topology, const Measurement& m, const std::string& links,
                 TimeNs start, Trace& trace) {
  for (const fabric::DirectedLink link :
       ChooseLinks(links, "--telemetry-links", topology, m.telemetry)) {
    const std::string name = topology.LinkName(link);
    for (const TelemetrySample& sample : m.telemetry) {
      trace.AddCounter(name + " rate", "Gbit/s", start + sample.start, 1e-9 * sample.Rate(link));
      if (m.fidelity != Fidelity::kPacket) continue;
      trace.AddCounter(name + " queue", "kB", start + sample.end,
                       1e-3 * static_cast<double>(sample.links[link].queueBytes));
    }
    if (!m.telemetry.empty()) {
      trace.AddCounter(name + " rate", "Gbit/s", start + m.telemetry.back().end, 0);
    }
  }
}

}  // namespace

std::string TraceJson(const PreparedExperiment& prepared,
                      const std::vector<Measurement>& measurements, const std::set<int>& shown,
                      const std::string& links) {
  const Network& network = *prepared.network;
  Trace trace(EndpointNames(network.topology, network.placement), shown);
  TimeNs now = 0;
  for (const Measurement& m : measurements) {
    if (m.fidelity != measurements.front().fidelity) continue;
    TracedStep step;
    if (prepared.experiment.options.repeat > 1) step.name = fmt::format("step {}", m.repetition);
    step.start = now;
    if (!prepared.experiment.HasFlows()) {
      step.traffic = &m.traffic;
      step.timing = &m.timing;
    }
    step.flows = m.flows;
    trace.Add(step);
    if (!m.telemetry.empty()) AddCounters(network.topology, m, links, now, trace);
    now += m.timing.total;
  }
  return trace.Finish();
}

std::string UtilisationSvg(const PreparedExperiment& prepared, const Measurement& measurement) {
  fabric::Drawing drawing;
  drawing.title = prepared.network->topology.Name() + ", mean utilisation, " +
                  NameOf(measurement.fidelity) + " fidelity";
  for (const fabric::LinkCounters& link : measurement.timing.links) {
    drawing.utilisation.push_back(std::min(1.0, Share(link.busy, measurement.timing.total)));
    drawing.bytes.push_back(link.bytes);
  }
  return fabric::DrawTopology(prepared.network->topology, drawing);
}

}  // namespace legacy

#include "scenarios/programs/network_command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/parse.h"
#include "base/programs/arguments.h"
#include "base/units.h"
#include "scenarios/programs/table_options.h"

namespace legacy {
namespace {

constexpr const char* kDescription =
    "Times a collective or a list of flows on a simulated network, and compares fidelities: packet "
    "(ns-3 with real TCP), flow (max-min fair fluid model) and analytic (alpha-beta model).";

constexpr const char* kExamples =
    "Examples:\n"
    "  legacy-network --topo=leaf-spine:oversubscription=4 --placement=strided --bytes=4MB\n"
    "  legacy-network --collective=ring-allgather --density=1% --bytes=44.7MB --fidelity=flow\n"
    "  legacy-network --sweep=bytes=1KB..1GB:x4 --sweep=workers=4..64:x2 --fidelity=flow "
    "--csv=s.csv\n"
    "  legacy-network --pattern=incast:15 --bytes=1MB --fct=fct.csv --links=links.csv\n"
    "Options such as --ns3::TcpSocket::SegmentSize=1000 set attributes of ns-3.\n";

void AddFile(CLI::App& app, const std::string& flag, std::string& value, const std::string& help) {
  app.add_option(flag, value, help)->type_name("FILE")->group("Output");
}

void AddOutputs(CLI::App& app, NetworkCommand& command) {
  NetworkOutputs& outputs = command.outputs;
  AddFile(app, "--csv", outputs.csv,
          "CSV file of the results, one row per fidelity and repetition; -: standard output");
  AddFile(app, "--json", outputs.json,
          "JSON file of the results, with the finish times of all workers");
  AddFile(app, "--finish", outputs.finish,
          "CSV file of the times at which each worker was ready and finished");
  AddFile(app, "--links", outputs.links,
          "CSV file of bytes, utilisation, drops, marks, queue and (roce) pauses of each link");
  AddFile(
      app, "--fct", outputs.fct,
      "CSV file of start, end and slowdown of each flow, with roce also its rate, CNPs and pauses");
  AddFile(app, "--trace", outputs.trace,
          "file for a Chrome or Perfetto trace of the first fidelity");
  app.add_option("--trace-workers", outputs.trace_workers,
                 "endpoints to show in the trace: 0-3,7 or all [" + outputs.trace_workers + "]")
      ->type_name("LIST")
      ->group("Output");
  AddFile(app, "--telemetry", outputs.telemetry,
          "CSV file of the rate and queue of links over time, with packet and flow fidelity");
  app.add_option("--telemetry-every", outputs.telemetry_every,
                 "length of the windows of telemetry [100us]")
      ->type_name("TIME")
      ->group("Output");
  app.add_option("--telemetry-links", outputs.telemetry_links,
                 "links of the telemetry, also as counters in --trace: all, busiest:N, or names as "
                 "in --links [all; in the trace busiest:8]")
      ->type_name("LIST")
      ->group("Output");
  AddFile(app, "--queues", outputs.queues,
          "with packet fidelity and --transport=roce: CSV file of queues, buffers of switches and "
          "rates of queue pairs over time");
  app.add_option("--sample", outputs.sample, "time from sample to sample of --queues [10us]")
      ->type_name("TIME")
      ->group("Output");
  AddFile(app, "--svg", outputs.svg, "SVG picture of the fabric, coloured by utilisation");
  AddFile(app, "--pcap", outputs.packet.pcap,
          "with packet fidelity: prefix of pcap files, one per host and port");
  AddFile(app, "--flow-monitor", outputs.packet.flow_monitor,
          "with packet fidelity: XML file for the output of ns-3's FlowMonitor");
  AddFile(app, "--netanim", outputs.packet.netanim,
          "with packet fidelity: XML file for the NetAnim player (large)");
  app.add_flag(
         "--doctor", command.doctor,
         "diagnose the bottleneck of the step or of a list of flows, and what would make it faster")
      ->group("Output");
  app.add_option_function<std::string>(
         "--doctor-fidelity",
         [&command](const std::string& text) {
           command.doctor_fidelity = {text, "--doctor-fidelity"};
         },
         "network simulation that the doctor uses, about a dozen times [" +
             command.doctor_fidelity.text() + "]")
      ->type_name(NamesOf(Fidelities(), "|"))
      ->group("Output");
  AddFile(app, "--doctor-csv", outputs.doctor_csv,
          "CSV file of the remedies that the doctor tried; implies --doctor");
  AddFile(app, "--doctor-json", outputs.doctor_json,
          "JSON file of the remedies that the doctor tried; implies --doctor");
  app.add_flag("--quiet", command.quiet, "do not print the table")->group("Output");
}

struct TopoTexts {
  std::string bandwidth = "1Gbps";
  std::string delay = "10us";
  int hosts = 0;
};

void AddTexts(CLI::App& sub, TopoTexts& texts) {
  sub.add_option("--bandwidth", texts.bandwidth,
                 "rate of links for which the topology sets none [1Gbps]")
      ->type_name("RATE");
  sub.add_option("--delay", texts.delay, "delay of links for which the topology sets none [10us]")
      ->type_name("TIME");
  sub.add_option("--hosts", texts.hosts, "number of hosts of a topology without a size [16]")
      ->type_name("N");
}

void Read(const TopoTexts& texts, fabric::TopologyRequest& topology) {
  topology.rateBps = ParseRate(texts.bandwidth, "--bandwidth");
  topology.delay = ParseTime(texts.delay, "--delay");
  topology.hostsNeeded = texts.hosts;
}

CLI::App* AddTopo(CLI::App& app, TopoCommand& topo, TopoTexts& texts) {
  CLI::App* sub = app.add_subcommand("topo", "describe, check or convert a topology");
  sub->footer(
      "Examples:\n"
      "  legacy-network topo show rail-optimised\n"
      "  legacy-network topo show gml:Abilene.gml,default_rate=1Gbps\n"
      "  legacy-network topo check Abilene.graphml --strict\n"
      "  legacy-network topo convert fat-tree:k=4 --to=svg --out=fat-tree.svg\n"
      "Exit status: 0 success, 1 error or likely mistakes found by check, 2 wrong option or "
      "value.");
  sub->add_option("ACTION", topo.action,
                  "show: print properties of the topology; check: report likely mistakes in it; "
                  "convert: write it in another format")
      ->required()
      ->type_name("check|show|convert");
  sub->add_option("TOPOLOGY", topo.topology.text, "topology, as for --topo")
      ->required()
      ->type_name("");
  sub->add_flag("--strict", topo.strict,
                "check: whatever a map left open and was assumed is an error");
  sub->add_option("--to,--format", topo.format, "output format of convert [yaml]")
      ->type_name("yaml|hpcc|graphml|dot|svg");
  sub->add_option("--out", topo.out, "output file of convert (default: standard output)")
      ->type_name("FILE");
  AddTexts(*sub, texts);
  return sub;
}

CLI::App* AddPfc(CLI::App& app, PfcCommand& pfc, TopoTexts& texts) {
  CLI::App* sub = app.add_subcommand(
      "pfc", "check whether pauses of RoCEv2 may deadlock, and what buffers have to share");
  sub->footer(
      "Examples:\n"
      "  legacy-network pfc check leaf-spine:oversubscription=4\n"
      "  legacy-network pfc check ring:hosts=5 --transport=roce:buffer=2MiB --bandwidth=100Gbps\n"
      "Exit status: 0 no deadlock, 1 error or a cycle, 2 wrong option or value.");
  sub->add_option("ACTION", pfc.action,
                  "check: find cyclic buffer dependencies among all shortest paths of all hosts, "
                  "as connections take any of them")
      ->required()
      ->type_name("check");
  sub->add_option("TOPOLOGY", pfc.topology.text, "topology, as for --topo")
      ->required()
      ->type_name("");
  sub->add_option("--transport", pfc.transport, "roce, with its options [roce]")->type_name("roce");
  AddTexts(*sub, texts);
  return sub;
}

CLI::App* AddValidate(CLI::App& app, ValidationOptions& options) {
  CLI::App* sub =
      app.add_subcommand("validate",
                         "compare the simulation with published figures of other simulators, with "
                         "closed forms, and the fidelities with each other: " +
                             Join(ValidationSections(), ", "));
  sub->footer(
      "Example:\n"
      "  legacy-network validate --sample\n"
      "Exit status: 0 success, 1 error or figures outside their bounds, 2 wrong option or value.");
  sub->add_option(
         "--out", options.out_directory,
         "folder of the CSV files [docs/results/validation; with --sample the toolkit's own]")
      ->type_name("DIR");
  sub->add_option("--document", options.document, "Markdown file whose tables to rewrite")
      ->type_name("FILE");
  sub->add_option("--sections", options.sections, "sections to run (default: all)")
      ->delimiter(',')
      ->type_name("A,B");
  sub->add_flag("--sample", options.sample,
                "run only quick cases, and compare them with the CSV files");
  sub->add_option("--traces", options.traces,
                  "CSV file of rates over time, for the section schedules [drawn ones]");
  sub->add_option("--processes", options.processes, "number of simulations to run in parallel [1]")
      ->type_name("N");
  return sub;
}

}  // namespace

NetworkCommandLine ParseNetworkCommandLine(int argc, char** argv) {
  NetworkCommandLine line;
  NetworkCommand command;
  std::vector<std::string> arguments = TakeNs3Attributes(argc, argv, command.ns3_attributes);

  CLI::App app(kDescription, "legacy-network");
  PrepareArguments(app);
  app.footer(std::string(kExamples) + kExitStatuses + "Handbook: docs/legacy-network.md.");
  const TableOptions<ExperimentOptions> options(app, ExperimentRows(), ExperimentOptions());
  app.add_flag_callback(
         "--warm", [&] { command.options.connections = "warm"; }, "short for --connections=warm")
      ->group("Network");
  app.add_flag_callback(
         "--cold", [&] { command.options.connections = "cold"; }, "short for --connections=cold")
      ->group("Network");
  app.add_option("--sweep", command.sweeps,
                 "values of an option above, as in bytes=1KB..1GB:x4, workers=4..64:+4 or "
                 "bandwidth=1Gbps,10Gbps; repeatable, for a grid")
      ->type_name("NAME=VALUES")
      ->allow_extra_args(false)
      ->group("Sweep");
  AddOutputs(app, command);
  TopoCommand topo;
  TopoTexts texts;
  CLI::App* topo_app = AddTopo(app, topo, texts);
  PfcCommand pfc;
  CLI::App* pfc_app = AddPfc(app, pfc, texts);
  ValidationOptions validation;
  CLI::App* validate_app = AddValidate(app, validation);
  app.require_subcommand(0, 1);

  line.exit = ParseArguments(app, std::move(arguments));
  if (line.exit) return line;
  if (*topo_app) {
    Read(texts, topo.topology);
    line.command = topo;
  } else if (*pfc_app) {
    Read(texts, pfc.topology);
    line.command = pfc;
  } else if (*validate_app) {
    line.command = validation;
  } else {
    options.Apply(command.options);
    const NetworkOutputs& outputs = command.outputs;
    command.doctor |= !outputs.doctor_csv.empty() || !outputs.doctor_json.empty();
    line.command = command;
  }
  return line;
}

}  // namespace legacy

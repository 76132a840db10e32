#include "scenarios/programs/network_command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/arguments.h"
#include "base/parse.h"
#include "ns3-module/fabric/base/units.h"

namespace legacy {
namespace {

constexpr const char* kDescription =
    "Times collectives and any other traffic on a simulated network, at several fidelities side by "
    "side: packet (ns-3 with real TCP), flow (fluid max-min), analytic (alpha-beta).";

constexpr const char* kExamples =
    "Examples:\n"
    "  legacy-network                                 a ring all-reduce on a fat-tree\n"
    "  legacy-network --topo=leaf-spine:oversubscription=4 --placement=strided --bytes=4MB\n"
    "  legacy-network --collective=auto --bytes=64KB --topo=dumbbell --fidelity=flow\n"
    "  legacy-network --collective=ring-allgather --density=1% --bytes=44.7MB --fidelity=flow\n"
    "  legacy-network --sweep=bytes=1KB..1GB:x4 --sweep=workers=4..64:x2 --fidelity=flow "
    "--csv=s.csv\n"
    "  legacy-network --pattern=incast:15 --bytes=1MB --fct=fct.csv --links=links.csv\n"
    "  legacy-network --buckets=4 --compute=5ms --stragglers=lognormal:sigma=0.3 --trace=t.json\n"
    "  legacy-network topo show rail-optimised\n"
    "  legacy-network topo convert fat-tree:k=4 --format=svg --out=fat-tree.svg\n"
    "ns-3 attributes: --ns3::TcpSocket::SegmentSize=1000 and the like reach ns-3.\n"
    "Exit status: 0 done, 1 something cannot be (it is said what and what is allowed), 2 the line "
    "is "
    "wrong.\n"
    "Handbook: docs/legacy-network.md.";

void AddFile(CLI::App& app, const std::string& flag, std::string& value, const std::string& help) {
  app.add_option(flag, value, help)->type_name("FILE")->group("Output");
}

void AddOutputs(CLI::App& app, NetworkCommand& command) {
  NetworkOutputs& outputs = command.outputs;
  AddFile(app, "--csv", outputs.csv,
          "results, one row for each fidelity and repetition; -: stdout");
  AddFile(app, "--json", outputs.json, "the same with the finish times of all workers");
  AddFile(app, "--finish", outputs.finish, "CSV: when each worker was ready and finished");
  AddFile(app, "--links", outputs.links,
          "CSV: bytes, utilisation, drops, marks, queue of each link");
  AddFile(app, "--fct", outputs.fct, "CSV: start, end and slowdown of each flow");
  AddFile(app, "--trace", outputs.trace, "Chrome or Perfetto trace of the first fidelity");
  app.add_option("--trace-workers", outputs.trace_workers,
                 "endpoints in the trace: 0-3,7 or all [" + outputs.trace_workers + "]")
      ->type_name("LIST")
      ->group("Output");
  AddFile(app, "--svg", outputs.svg, "picture of the fabric coloured by utilisation");
  AddFile(app, "--pcap", outputs.packet.pcap,
          "packet: prefix of pcap files, one for each host's port");
  AddFile(app, "--flow-monitor", outputs.packet.flow_monitor, "packet: ns-3's FlowMonitor, XML");
  AddFile(app, "--netanim", outputs.packet.netanim, "packet: for the NetAnim player, XML; large");
  app.add_flag("--doctor", command.doctor,
               "say what the step is bound by, and what would make it faster")
      ->group("Output");
  app.add_option("--doctor-fidelity", command.doctor_fidelity,
                 "of the doctor's simulations, about a dozen [" + command.doctor_fidelity + "]")
      ->type_name(Join(Fidelities(), "|"))
      ->group("Output");
  AddFile(app, "--doctor-csv", outputs.doctor_csv, "CSV: what the doctor tried; implies --doctor");
  AddFile(app, "--doctor-json", outputs.doctor_json, "the same as JSON");
  app.add_flag("--quiet", command.quiet, "print no table")->group("Output");
}

// The texts of the table's options, with whether they were given.
struct Given {
  const NetworkOption* option = nullptr;
  std::string text;
  CLI::Option* parsed = nullptr;
};

void AddTable(CLI::App& app, std::vector<Given>& given) {
  given.resize(NetworkOptions().size());
  for (size_t i = 0; i < given.size(); ++i) {
    const NetworkOption& option = NetworkOptions()[i];
    given[i].option = &option;
    given[i].parsed =
        app.add_option("--" + option.name, given[i].text,
                       option.help + (option.fallback.empty() ? "" : " [" + option.fallback + "]"))
            ->take_last()
            ->type_name(option.metavar)
            ->group(option.group);
  }
}

struct TopoTexts {
  std::string bandwidth = "1Gbps";
  std::string delay = "10us";
  int hosts = 0;
};

CLI::App* AddTopo(CLI::App& app, TopoCommand& topo, TopoTexts& texts) {
  CLI::App* sub = app.add_subcommand("topo", "what a topology is");
  sub->footer("");
  sub->add_option("ACTION", topo.action,
                  "check: what is odd about it; show: its facts; convert: into another form")
      ->required()
      ->type_name("check|show|convert");
  sub->add_option("TOPOLOGY", topo.topology.text, "as for --topo")->required()->type_name("");
  sub->add_option("--format", topo.format, "of convert [yaml]")->type_name("yaml|hpcc|dot|svg");
  sub->add_option("--out", topo.out, "of convert; default: standard output")->type_name("FILE");
  sub->add_option("--bandwidth", texts.bandwidth, "of links that say nothing else [1Gbps]")
      ->type_name("RATE");
  sub->add_option("--delay", texts.delay, "likewise [10us]")->type_name("TIME");
  sub->add_option("--hosts", texts.hosts, "that are needed, where no size is given [16]")
      ->type_name("N");
  return sub;
}

CLI::App* AddValidate(CLI::App& app, ValidationOptions& options) {
  CLI::App* sub = app.add_subcommand(
      "validate",
      "published figures of other simulators, closed forms, and the fidelities against "
      "each other: " +
          Join(ValidationSections(), ", "));
  sub->footer("");
  sub->add_option("--out", options.out_directory,
                  "folder of the CSV files [docs/validation; of --sample the toolkit's own]")
      ->type_name("DIR");
  sub->add_option("--document", options.document, "Markdown file whose tables are written anew")
      ->type_name("FILE");
  sub->add_option("--sections", options.sections, "only these")->delimiter(',')->type_name("A,B");
  sub->add_flag("--sample", options.sample, "only the quick cases, compared with the CSV files");
  sub->add_option("--processes", options.processes, "simulations at once [1]")->type_name("N");
  return sub;
}

}  // namespace

NetworkCommandLine ParseNetworkCommandLine(int argc, char** argv) {
  NetworkCommandLine line;
  NetworkCommand command;
  std::vector<std::string> arguments = TakeNs3Attributes(argc, argv, command.ns3_attributes);

  CLI::App app(kDescription, "legacy-network");
  PrepareArguments(app);
  app.footer(kExamples);
  std::vector<Given> given;
  AddTable(app, given);
  app.add_flag_callback(
         "--warm", [&] { command.values["connections"] = "warm"; }, "--connections=warm")
      ->group("Network");
  app.add_flag_callback(
         "--cold", [&] { command.values["connections"] = "cold"; }, "--connections=cold")
      ->group("Network");
  app.add_option("--sweep", command.sweeps,
                 "a grid over any option above: bytes=1KB..1GB:x4, workers=4..64:+4, "
                 "bandwidth=1Gbps,10Gbps; repeatable")
      ->type_name("NAME=VALUES")
      ->allow_extra_args(false)
      ->group("Sweep");
  AddOutputs(app, command);
  TopoCommand topo;
  TopoTexts texts;
  CLI::App* topo_app = AddTopo(app, topo, texts);
  ValidationOptions validation;
  CLI::App* validate_app = AddValidate(app, validation);
  app.require_subcommand(0, 1);

  line.exit = ParseArguments(app, std::move(arguments));
  if (line.exit) return line;
  if (*topo_app) {
    topo.topology.rateBps = fabric::ParseRate(texts.bandwidth, "--bandwidth");
    topo.topology.delay = fabric::ParseTime(texts.delay, "--delay");
    topo.topology.hostsNeeded = texts.hosts;
    line.command = topo;
  } else if (*validate_app) {
    line.command = validation;
  } else {
    for (const Given& one : given) {
      if (one.parsed->count() > 0) command.values[one.option->name] = one.text;
    }
    const NetworkOutputs& outputs = command.outputs;
    command.doctor |= !outputs.doctor_csv.empty() || !outputs.doctor_json.empty();
    line.command = command;
  }
  return line;
}

}  // namespace legacy

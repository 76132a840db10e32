#include "scenarios/programs/network_command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/parse.h"
#include "base/programs/arguments.h"
#include "scenarios/programs/table_options.h"

namespace legacy {
namespace {

constexpr const char* kDescription =
    "Times a collective or a list of flows on a simulated network, and compares fidelities: packet "
    "(TCP or RoCEv2 on ns-3's clock), flow (max-min fair fluid model) and analytic (alpha-beta "
    "model).";

constexpr const char* kExamples =
    "Examples:\n"
    "  legacy-network --topo=leaf-spine:oversubscription=4 --placement=strided --bytes=4MB\n"
    "  legacy-network --collective=ring-allgather --density=1% --bytes=44.7MB --fidelity=flow\n"
    "  legacy-network --sweep=bytes=1KB..1GB:x4 --sweep=workers=4..64:x2 --fidelity=flow "
    "--csv=s.csv\n"
    "  legacy-network --pattern=incast:15 --bytes=1MB --fct=fct.csv --links=links.csv\n"
    "With --transport=ns3:datacenter, options such as --ns3::TcpSocket::SegmentSize=1000 set\n"
    "attributes of ns-3.\n";

CLI::App* AddTopo(CLI::App& app, TopoCommand& topo) {
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
  return sub;
}

CLI::App* AddPfc(CLI::App& app, PfcCommand& pfc) {
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
  const TableOptions<NetworkCommand> outputs(app, NetworkRows(), NetworkCommand());
  TopoCommand topo;
  CLI::App* topo_app = AddTopo(app, topo);
  const TableOptions<TopoCommand> topo_options(*topo_app, TopoRows(), topo);
  PfcCommand pfc;
  CLI::App* pfc_app = AddPfc(app, pfc);
  const TableOptions<PfcCommand> pfc_options(*pfc_app, PfcRows(), pfc);
  ValidationOptions validation;
  CLI::App* validate_app = AddValidate(app, validation);
  app.require_subcommand(0, 1);

  line.exit = ParseArguments(app, std::move(arguments));
  if (line.exit) return line;
  if (*topo_app) {
    topo_options.Apply(topo);
    line.command = topo;
  } else if (*pfc_app) {
    pfc_options.Apply(pfc);
    line.command = pfc;
  } else if (*validate_app) {
    line.command = validation;
  } else {
    options.Apply(command.options);
    outputs.Apply(command);
    command.doctor |= !command.outputs.doctor_csv.empty() || !command.outputs.doctor_json.empty();
    line.command = command;
  }
  return line;
}

}  // namespace legacy

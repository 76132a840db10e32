#include "scenarios/programs/topo_command.h"

#include <cstdio>
#include <sstream>

#include "analysis/result_rows.h"
#include "base/option_forms.h"
#include "base/parse.h"
#include "ns3-module/fabric/topology/file.h"
#include "ns3-module/fabric/topology/report.h"

namespace legacy {
namespace {

void PrintUnused(const fabric::ImportReport& report) {
  const std::string unused = report.Unused();
  if (!unused.empty()) std::printf("not used: %s\n", unused.c_str());
}

int Check(const fabric::ImportedTopology& imported, bool strict) {
  const fabric::Topology& topology = imported.topology;
  const std::vector<std::string> odd = fabric::CheckTopology(topology);
  for (const std::string& sentence : odd) std::printf("%s\n", sentence.c_str());
  for (const fabric::Assumption& assumption : imported.report.All()) {
    std::printf("%s: %s\n", strict ? "error" : "assumed", assumption.text.c_str());
  }
  PrintUnused(imported.report);
  if (!odd.empty() || (strict && !imported.report.Empty())) return 1;
  std::printf("%s: %zu hosts, %zu links; no likely mistakes\n", topology.Name().c_str(),
              topology.Hosts().size(), topology.Links().size());
  return 0;
}

std::string Converted(const fabric::Topology& topology, const std::string& format) {
  if (format == "svg") return fabric::DrawTopology(topology);
  std::ostringstream text;
  fabric::WriteTopology(topology, fabric::ParseTopologyFormat(format), text);
  return text.str();
}

}  // namespace

fabric::TopologyRequest GivenTopology::Request() const {
  fabric::TopologyRequest request;
  request.text = text;
  request.rateBps = *bandwidth;
  request.delay = *delay;
  request.hostsNeeded = hosts.value_or(0);
  return request;
}

std::string ParseConvertFormat(const std::string& text, const std::string& key) {
  return ParseChoice(text, key, {"yaml", "hpcc", "graphml", "dot", "svg"});
}

OptionTable<GivenTopology> TopologyRows() {
  return {
      option_forms::Text<&GivenTopology::bandwidth>(
          "bandwidth", "--bandwidth", "RATE", "rate of links for which the topology sets none"),
      option_forms::Text<&GivenTopology::delay>("delay", "--delay", "TIME",
                                                "delay of links for which the topology sets none"),
      option_forms::Integer<&GivenTopology::hosts, 0>(
          "hosts", "--hosts", "number of hosts of a topology without a size [16]"),
  };
}

OptionTable<TopoCommand> TopoRows() {
  using option_forms::Flag;
  using option_forms::Text;
  OptionTable<TopoCommand> rows = {
      Flag<&TopoCommand::strict>("strict", "--strict",
                                 "check: whatever a map left open and was assumed is an error"),
      WithAlias(Text<&TopoCommand::format>("to", "--to", "yaml|hpcc|graphml|dot|svg",
                                           "output format of convert"),
                "--format"),
      Text<&TopoCommand::out>("out", "--out", "FILE",
                              "output file of convert (default: standard output)"),
  };
  AddTableOfPart(
      rows, TopologyRows(), [](auto& command) -> auto& { return command.topology; });
  return FewOptions(std::move(rows));
}

int RunTopoCommand(const TopoCommand& command) {
  ParseChoice(command.action, "topo", {"check", "show", "convert"});
  CheckOutput(command.out, "--out");
  const fabric::ImportedTopology imported = fabric::ImportTopology(command.topology.Request());
  const fabric::Topology& topology = imported.topology;
  if (command.action == "check") return Check(imported, command.strict);
  if (command.action == "show") {
    std::fputs(fabric::DescribeTopology(topology).c_str(), stdout);
    for (const fabric::Assumption& assumption : imported.report.All()) {
      std::printf("assumed: %s\n", assumption.text.c_str());
    }
    PrintUnused(imported.report);
    for (const std::string& sentence : fabric::CheckTopology(topology)) {
      std::printf("note: %s\n", sentence.c_str());
    }
    return 0;
  }
  WriteOutput(command.out.empty() ? "-" : command.out, Converted(topology, *command.format));
  return 0;
}

}  // namespace legacy

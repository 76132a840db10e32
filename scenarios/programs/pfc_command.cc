#include "scenarios/programs/pfc_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/option_forms.h"
#include "base/parse.h"
#include "ns3-module/fabric/engine/transport.h"
#include "ns3-module/fabric/roce/buffers.h"
#include "ns3-module/fabric/roce/pfc-check.h"
#include "scenarios/network/engines/network.h"

namespace legacy {
namespace {

// Returns a line about the switch whose ports leave the least buffer to share.
std::string BufferLine(const fabric::Topology& topology, const fabric::RoceSettings& settings) {
  std::string text = "no switch has a buffer\n";
  double least = 2;
  for (int node = 0; node < topology.NodeCount(); ++node) {
    if (topology.IsHost(node)) continue;
    const auto buffer = fabric::MakeSwitchBuffer(topology, node, settings);
    const double share =
        static_cast<double>(buffer->Shared()) / static_cast<double>(buffer->Size());
    if (share >= least) continue;
    least = share;
    int64_t headroom = 0;
    for (const fabric::DirectedLink out : topology.Out(node)) {
      headroom += settings.pfc ? fabric::HeadroomOf(topology, out ^ 1, settings) : 0;
    }
    text = fmt::format(
        "least to share: {} of the {} of {}, besides {} of headroom for {} ports ({:.3g} %)\n",
        FormatBytes(buffer->Shared()), FormatBytes(buffer->Size()), topology.NodeName(node),
        FormatBytes(headroom), topology.Out(node).size(),
        100 * static_cast<double>(headroom) / static_cast<double>(buffer->Size()));
  }
  return text;
}

}  // namespace

OptionTable<PfcCommand> PfcRows() {
  OptionTable<PfcCommand> rows = {option_forms::Text<&PfcCommand::transport>(
      "transport", "--transport", "roce", "roce, with its options")};
  AddTableOfPart(
      rows, TopologyRows(), [](auto& command) -> auto& { return command.topology; });
  return FewOptions(std::move(rows));
}

int RunPfcCommand(const PfcCommand& command) {
  ParseChoice(command.action, "pfc", {"check"});
  const fabric::Transport& transport = *command.transport;
  if (!transport.roce) {
    throw Error("--transport", command.transport.text(),
                "roce, roce:key=value,...: TCP has no pauses");
  }
  const fabric::ImportedTopology imported = fabric::ImportTopology(command.topology.Request());
  SayImported(command.topology.text, imported.report);
  const fabric::Topology& topology = imported.topology;
  fabric::CheckRoce(topology, *transport.roce);
  std::fputs(BufferLine(topology, *transport.roce).c_str(), stdout);
  const auto cycle = fabric::FindBufferCycle(topology, topology.Hosts());
  if (cycle.empty()) {
    std::printf(
        "%s: no cyclic buffer dependency among all shortest paths of %zu hosts: no deadlock\n",
        topology.Name().c_str(), topology.Hosts().size());
    return 0;
  }
  std::string text = topology.Name() + ": cyclic buffer dependency, PFC can deadlock:\n";
  for (size_t i = 0; i < cycle.size(); ++i) {
    const fabric::BufferDependency& next = cycle[(i + 1) % cycle.size()];
    text += fmt::format("  {} waits for {} (route {} to {})\n", topology.LinkName(cycle[i].link),
                        topology.LinkName(next.link), topology.NodeName(cycle[i].route.first),
                        topology.NodeName(cycle[i].route.second));
  }
  std::fputs(text.c_str(), stdout);
  return 1;
}

}  // namespace legacy

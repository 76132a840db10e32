// This turns the name of a fidelity into the engine that simulates at it, and alone knows which
// there are.
#pragma once

#include <string>
#include <vector>

#include "ns3-module/fabric/engine/engine.h"

namespace legacy {

// Returns "packet" (with ns-3 only), "flow" and "analytic": from the closest look to the fastest.
std::vector<std::string> Fidelities();

// PacketFiles are ns-3's own records of packet simulations; empty: none. Of several simulations,
// those after the first add -2, -3, ...
struct PacketFiles {
  std::string pcap;          // prefix: PREFIX-NODE-DEVICE.pcap
  std::string flow_monitor;  // XML
  std::string netanim;       // XML
  bool Any() const { return !pcap.empty() || !flow_monitor.empty() || !netanim.empty(); }
};

// Returns the factory of a fidelity. Engines other than packet write no `files`. Throws Error
// naming `option`, and what this build has.
fabric::EngineFactory FactoryOf(const std::string& fidelity, const std::string& option,
                                const PacketFiles& files = {});

// Returns the ns-3 that this build links: "3.37", or "none".
std::string Ns3Version();

}  // namespace legacy

// From the name of a fidelity to the engine that simulates at it: the only place that knows which
// there are.
#pragma once

#include <string>
#include <vector>

#include "ns3-module/fabric/engine/engine.h"

namespace legacy {

// "packet" (with ns-3 only), "flow", "analytic": from the closest look to the fastest.
std::vector<std::string> Fidelities();

// ns-3's own records of packet simulations; empty: none. Of several simulations, those after the
// first add -2, -3, ...
struct PacketFiles {
  std::string pcap;          // prefix: PREFIX-NODE-DEVICE.pcap
  std::string flow_monitor;  // XML
  std::string netanim;       // XML
  bool Any() const { return !pcap.empty() || !flow_monitor.empty() || !netanim.empty(); }
};

// Throws Error naming `option`, and what this build has. Engines other than packet write no
// `files`.
fabric::EngineFactory FactoryOf(const std::string& fidelity, const std::string& option,
                                const PacketFiles& files = {});

// What ns-3 this build links: "3.37", or "none".
std::string Ns3Version();

}  // namespace legacy

#include "scenarios/network/engines.h"

#include "base/error.h"
#include "base/parse.h"
#ifdef LEGACY_WITH_NS3
#include "ns3-module/helper/packet-engine-helper.h"
#endif

namespace legacy {

std::vector<std::string> Fidelities() {
#ifdef LEGACY_WITH_NS3
  return {"packet", "flow", "analytic"};
#else
  return {"flow", "analytic"};
#endif
}

fabric::EngineFactory FactoryOf(const std::string& fidelity, const std::string& option,
                                [[maybe_unused]] const PacketFiles& files) {
  if (fidelity == "flow") return fabric::MakeFlowEngine;
  if (fidelity == "analytic") return fabric::MakeAnalyticEngine;
#ifdef LEGACY_WITH_NS3
  if (fidelity == "packet") {
    if (!files.Any()) return fabric::MakePacketEngine;
    return fabric::MakePacketEngineFactory({files.pcap, files.flow_monitor, files.netanim});
  }
#else
  if (fidelity == "packet") {
    throw Error(option, fidelity,
                Join(Fidelities(), ", ") + ": this build has no ns-3 (LEGACY_NS3=OFF)");
  }
#endif
  throw Error(option, fidelity, Join(Fidelities(), ", "));
}

std::string Ns3Version() {
#ifdef LEGACY_WITH_NS3
  return LEGACY_NS3_VERSION;
#else
  return "none";
#endif
}

}  // namespace legacy

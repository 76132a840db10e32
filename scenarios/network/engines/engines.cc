#include "scenarios/network/engines/engines.h"

#include "base/error.h"
#include "base/parse.h"
#ifdef LEGACY_WITH_NS3
#include "ns3-module/helper/packet-engine-helper.h"
#endif

namespace legacy {

Fidelity ParseEngineFidelity(const std::string& text, const std::string& key) {
  return ParseFidelity(ParseChoice(text, key, {"packet", "flow", "analytic"}), key);
}

std::vector<Fidelity> Fidelities() {
#ifdef LEGACY_WITH_NS3
  return {Fidelity::kPacket, Fidelity::kFlow, Fidelity::kAnalytic};
#else
  return {Fidelity::kFlow, Fidelity::kAnalytic};
#endif
}

std::string NamesOf(const std::vector<Fidelity>& fidelities, const std::string& separator) {
  std::vector<std::string> names;
  for (const Fidelity fidelity : fidelities) names.push_back(NameOf(fidelity));
  return Join(names, separator);
}

fabric::EngineFactory FactoryOf(Fidelity fidelity, const std::string& option,
                                [[maybe_unused]] const PacketFiles& files) {
  if (fidelity == Fidelity::kFlow) return fabric::MakeFlowEngine;
  if (fidelity == Fidelity::kAnalytic) return fabric::MakeAnalyticEngine;
  std::string allowed = NamesOf(Fidelities());
  if (fidelity == Fidelity::kPacket) {
#ifdef LEGACY_WITH_NS3
    if (!files.Any()) return fabric::MakePacketEngine;
    return fabric::MakePacketEngineFactory(
        {files.pcap, files.flow_monitor, files.netanim, files.lost});
#else
    allowed += ": this build has no ns-3 (LEGACY_NS3=OFF)";
#endif
  }
  throw Error(option, NameOf(fidelity), allowed);
}

void PacketFiles::RequireWhole() const {
  if (lost->empty()) return;
  throw Error(*lost + ": cannot be written: it was cut, as on a full disk");
}

std::string Ns3Version() {
#ifdef LEGACY_WITH_NS3
  return LEGACY_NS3_VERSION;
#else
  return "none";
#endif
}

}  // namespace legacy

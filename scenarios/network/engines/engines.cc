#include "scenarios/network/engines/engines.h"

#include "base/error.h"
#include "base/parse.h"
#include "scenarios/network/engines/packet_engine.h"
#include "scenarios/network/engines/packet_process.h"
#ifdef LEGACY_PACKET_INSIDE
#include "scenarios/network/engines/packets_inside.h"
#endif

namespace legacy {
namespace {

PacketSource& Source() {
#ifdef LEGACY_PACKET_INSIDE
  static PacketSource source = PacketsInside;
#else
  static PacketSource source = nullptr;
#endif
  return source;
}

bool HasPackets() { return Source() != nullptr || FindPacketProgram(); }

}  // namespace

void SetPacketSource(PacketSource source) { Source() = source; }

bool PacketsRunAtOnce() { return Source() == nullptr; }

Fidelity ParseEngineFidelity(const std::string& text, const std::string& key) {
  return ParseFidelity(ParseChoice(text, key, {"packet", "flow", "analytic"}), key);
}

std::vector<Fidelity> Fidelities() {
  if (HasPackets()) return {Fidelity::kPacket, Fidelity::kFlow, Fidelity::kAnalytic};
  return {Fidelity::kFlow, Fidelity::kAnalytic};
}

std::string NamesOf(const std::vector<Fidelity>& fidelities, const std::string& separator) {
  std::vector<std::string> names;
  for (const Fidelity fidelity : fidelities) names.push_back(NameOf(fidelity));
  return Join(names, separator);
}

fabric::EngineFactory FactoryOf(Fidelity fidelity, const std::string& option,
                                const PacketFiles& files) {
  if (fidelity == Fidelity::kFlow) return fabric::MakeFlowEngine;
  if (fidelity == Fidelity::kAnalytic) return fabric::MakeAnalyticEngine;
  if (fidelity == Fidelity::kPacket && Source() != nullptr) return Source()(files);
  if (fidelity == Fidelity::kPacket && FindPacketProgram()) {
    return PacketProgramEngines({files.pcap, files.flow_monitor, files.netanim}, files.lost);
  }
  std::string allowed = NamesOf(Fidelities());
  if (fidelity == Fidelity::kPacket) {
    allowed += ": packets are simulated by the program legacy-packet, which is not here";
  }
  throw Error(option, NameOf(fidelity), allowed);
}

void PacketFiles::RequireWhole() const {
  if (lost->empty()) return;
  throw Error(*lost + ": cannot be written: it was cut, as on a full disk");
}

std::string Ns3Version() { return HasPackets() ? LEGACY_NS3_VERSION : "none"; }

}  // namespace legacy

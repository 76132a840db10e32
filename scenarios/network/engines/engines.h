// Fidelities, and the engines that simulate at them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/parse.h"
#include "base/parsed.h"
#include "ns3-module/fabric/engine/engine.h"

namespace legacy {

// A Fidelity says how closely the network is simulated, from the most detailed to the fastest.
// kAuto: packets where they are affordable (fidelity.h).
enum class Fidelity : uint8_t { kPacket, kFlow, kAnalytic, kAuto };
inline constexpr std::array<const char*, 4> kFidelityTexts = {"packet", "flow", "analytic", "auto"};

inline std::string NameOf(Fidelity fidelity) {
  return kFidelityTexts[static_cast<size_t>(fidelity)];
}
// Returns the fidelity of that name. Throws Error naming `key`.
inline Fidelity ParseFidelity(const std::string& text, const std::string& key) {
  return ParseChoice<Fidelity>(text, key, kFidelityTexts);
}

// Returns one that has an engine, not kAuto.
Fidelity ParseEngineFidelity(const std::string& text, const std::string& key);
using ParsedFidelity = Parsed<ParseFidelity>;

// Returns those that there are here: kPacket with legacy-packet or a PacketSource alone, and never
// kAuto.
std::vector<Fidelity> Fidelities();
// Returns their names: "packet, flow, analytic".
std::string NamesOf(const std::vector<Fidelity>& fidelities, const std::string& separator = ", ");

// PacketFiles are ns-3's own records of packet simulations; empty: none. The files of a second,
// third, ... simulation get -2, -3, ...
struct PacketFiles {
  std::string pcap;          // prefix: PREFIX-NODE-DEVICE.pcap
  std::string flow_monitor;  // XML
  std::string netanim;       // XML
  // Set by simulations that are over: the first file that was not written as a whole, as on a full
  // disk; "": none. Copies share it.
  std::shared_ptr<std::string> lost = std::make_shared<std::string>();

  // Throws Error where a file was lost.
  void RequireWhole() const;
  bool Any() const { return !pcap.empty() || !flow_monitor.empty() || !netanim.empty(); }
};

// Returns the factory of a fidelity. Engines other than packet write no `files`. Throws Error
// naming `option`, and which fidelities there are.
fabric::EngineFactory FactoryOf(Fidelity fidelity, const std::string& option,
                                const PacketFiles& files = {});

// Returns the ns-3 that this build simulates packets with: "3.37", or "none" where it cannot.
std::string Ns3Version();

// A PacketSource makes the factory of packet fidelity. Unless it is set, engines are processes of
// legacy-packet (packet_engine.h).
using PacketSource = fabric::EngineFactory (*)(const PacketFiles& files);
void SetPacketSource(PacketSource source);
// Returns true where several threads may simulate packets at once: not where they do so in this
// process.
bool PacketsRunAtOnce();

}  // namespace legacy

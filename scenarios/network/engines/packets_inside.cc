#include "scenarios/network/engines/packets_inside.h"

#include "ns3-module/helper/packet-engine-helper.h"

namespace legacy {

fabric::EngineFactory PacketsInside(const PacketFiles& files) {
  if (!files.Any()) return fabric::MakePacketEngine;
  return fabric::MakePacketEngineFactory(
      {files.pcap, files.flow_monitor, files.netanim, files.lost});
}

}  // namespace legacy

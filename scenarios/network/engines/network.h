// A network is a simulated fabric with placement, transport and the engine of a fidelity.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ns3-module/fabric/collective/protocol.h"
#include "ns3-module/fabric/engine/connection.h"
#include "ns3-module/fabric/engine/engine.h"
#include "ns3-module/fabric/import/make.h"
#include "scenarios/network/engines/background.h"

namespace legacy {

// A NetworkRequest says which network to build.
struct NetworkRequest {
  // Its hostsNeeded follows from the placement, where that gives a number.
  fabric::TopologyRequest topology;
  fabric::PlacementRequest placement;  // workers 0: one on each host
  fabric::Transport transport;
  BackgroundRequest background;
  std::string background_key = "--background";  // what messages about it name
  uint64_t seed = 1;
};

// A Network is a fabric with endpoints, ready for engines.
struct Network {
  fabric::Topology topology;
  fabric::Placement placement;
  std::vector<fabric::Demand> demands;            // of the topology's file
  std::map<int64_t, int> numbers;                 // of nodes in the topology's file; may be empty
  int channels = 0;                               // of the topology's file; 0: it has none
  std::unique_ptr<BackgroundTraffic> background;  // nullptr: none
  fabric::EngineRequest request;                  // points at those above
  std::unique_ptr<const fabric::ConnectionNames> connections;  // of the placement's endpoints
  std::unique_ptr<const fabric::Stripes> stripes;              // connections that share a flow

  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
};

// Builds a network. Says what was assumed of its topology (SayImported). Throws Error on a
// fabric that cannot be built or is too small.
std::unique_ptr<Network> BuildNetwork(const NetworkRequest& request);
// Sets what engines are asked for on a network that has its topology and its placement: transport,
// seed and background traffic. Names its connections, and how they
// share flows.
void MakeReady(Network& network, const NetworkRequest& request);

// Says on standard error, once for each text in a process, what a topology's file left open and
// what in it was not used. These lines are for people; no result depends on them.
void SayImported(const std::string& text, const fabric::ImportReport& report);

// Returns `channels`, or where that is 0 those of the topology's file, else those of NCCL's search
// where the protocol is NCCL's choice (nullopt), else 1.
int ChannelsOf(int channels, const Network& network,
               const std::optional<fabric::Protocol>& protocol);

// Throws what the engine refuses (such as ns-3 attributes) now, not after the first step.
void TryEngine(const fabric::EngineFactory& factory, const Network& network);

// Returns what the name stands for: "ecmp", "spray". Throws Error naming `key` and what is allowed.
fabric::Multipath ParseMultipath(const std::string& text, const std::string& key);
// Parses --skip: none or steady.
fabric::Skip ParseSkip(const std::string& text, const std::string& key);

// Returns the congestion control of that name; "" for "", which stands for the transport's. Throws
// Error naming `key` and what is allowed.
std::string ParseCongestion(const std::string& text, const std::string& key);

// Most connections between two endpoints that share a flow.
inline constexpr int kMostStreams = 256;

}  // namespace legacy

// RoCEv2 at packet fidelity: random small fabrics with options of all kinds.
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "ns3-module/helper/roce-trial.h"
#include "tests/fuzz/readers.h"

namespace legacy::fuzz {
namespace {

constexpr const char* kControls[] = {"none",
                                     "dcqcn",
                                     "dcqcn:parameters=mellanox",
                                     "dcqcn:parameters=hpcc",
                                     "dcqcn:np=window",
                                     "hpcc",
                                     "hpcc:int=wire",
                                     "timely",
                                     "timely:patched=on+pacing=frame",
                                     "swift"};
constexpr const char* kLossless[] = {"xon=1KB",       "quanta=50",
                                     "quanta=300",    "pfc-response=1us",
                                     "watchdog=50us", "storm=host=0+from=1us+for=20us",
                                     "train=2",       "train=8"};
constexpr const char* kLossy[] = {"recovery=go-back-n,retries=2,rto=200us", "egress-alpha=0.25"};
constexpr const char* kAny[] = {
    "ack-priority=off", "window=bdp", "window=64KB",      "mark-at=enqueue",   "vlan=on",
    "switch-delay=1us", "idle=keep",  "idle=message",     "alpha-by-rate=off", "ecn=0B/0B/1@25Gbps",
    "retries=2",        "rto=200us",  "message-header=0", "ack-bytes=48",      "header=36"};

}  // namespace

// When a run has come to its end, nothing is left: no frame, no byte in a buffer, no pause. No
// frame of the lossless class is dropped for lack of room.
void FuzzRoceFabric(ByteSpan bytes) {
  Input input(bytes);
  const auto draw = [&](uint64_t least, uint64_t most) {
    return least + input.Take(3) % (most - least + 1);
  };
  std::string options = std::string("cc=") + kControls[draw(0, std::size(kControls) - 1)];
  const bool lossless = draw(0, 2) > 0;
  if (!lossless) options += ",pfc=off";
  std::vector<std::string> keys;
  for (uint64_t extra = draw(0, 4); extra > 0; --extra) {
    const uint64_t any = draw(0, std::size(kAny) - 1);
    const auto own = lossless ? std::span<const char* const>(kLossless) : kLossy;
    const uint64_t one = draw(0, own.size() - 1);
    const std::string option = draw(0, 1) == 0 ? own[one] : kAny[any];
    const std::string key = option.substr(0, option.find('='));
    if (std::ranges::find(keys, key) != keys.end()) continue;
    keys.push_back(key);
    options += "," + option;
  }
  const double loss = draw(0, 3) == 0 ? static_cast<double>(draw(1, 100)) / 1000 : 0;
  fabric::RandomRoceCase random(draw);
  const bool spray = draw(0, 3) == 0;
  if (spray) {
    const int hosts = static_cast<int>(random.topology.Hosts().size());
    if (random.topology.NodeCount() == hosts + 2) {  // a second link between the switches
      random.topology.AddLink({hosts, hosts + 1, 1'000, fabric::Port{10'000'000'000}});
    }
    random.topology.SetMultipath(fabric::Multipath::Spray);
    if (lossless) options += ",recovery=selective,window=64KB";
  }
  const uint64_t lossy = draw(0, 100);
  const fabric::Topology topology = random.topology.WithLinks([&](int index, fabric::Link& link) {
    const bool chosen = static_cast<uint64_t>(index) == lossy % random.topology.Links().size();
    link.ports[0].errorRate = chosen ? loss : 0;
  });
  try {
    fabric::RoceTrial trial(topology, random.Transport(0, options));
    for (const fabric::Flow& flow : random.flows) trial.Send(flow);
    trial.RunUntil();
    trial.Drain(2'000'000'000);
    Require(trial.GetBalance().Holds());
  } catch (const Error& error) {
    // Queue pairs give up on losses; headroom is always enough.
    Require(std::string(error.what()).find("room for a frame of the lossless") ==
            std::string::npos);
  }
}

std::vector<Bytes> RoceFabricSeeds() {
  std::vector<Bytes> seeds;
  for (uint32_t seed = 0; seed < 24; ++seed) {
    Output output;
    uint32_t state = seed;
    for (int i = 0; i < 60; ++i) {
      state = state * 1664525 + 1013904223;
      output.Put(state >> 8, 3);
    }
    seeds.push_back(output.Take());
  }
  return seeds;
}

}  // namespace legacy::fuzz

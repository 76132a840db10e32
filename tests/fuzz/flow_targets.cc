// Lists of flows and distributions of their sizes, as legacy-network reads them.
#include "base/units.h"
#include "scenarios/network/engines/flow_sizes.h"
#include "scenarios/network/flow_list.h"
#include "tests/fuzz/readers.h"

namespace legacy::fuzz {
namespace {

const Network& SmallNetwork() {
  static const std::unique_ptr<Network> network = [] {
    NetworkRequest request;
    request.topology.text = "star:hosts=8";
    return BuildNetwork(request);
  }();
  return *network;
}

void ReadList(const MemoryFile& file) {
  for (const FlowRequest& flow : ReadFlows(file.path(), SmallNetwork())) {
    const int workers = SmallNetwork().placement.Workers();
    Require(flow.source >= 0 && flow.source < workers && flow.source != flow.destination);
    Require(flow.destination >= 0 && flow.destination < workers);
    Require(flow.bytes >= 0 && flow.start >= 0);
    IdealTime(flow, SmallNetwork());
  }
}

void ReadSizes(const MemoryFile& file) {
  const FlowSizes sizes = FlowSizes::FromText(file.path(), "--pattern");
  Require(sizes.Mean() >= 0);
  for (const double u : {1e-9, 0.3, 0.999999999}) {
    Require(sizes.At(u) >= 1 && sizes.At(u) <= kMostBytes);
  }
  MakePattern("poisson:flows=20,cdf=" + file.path(), 1, 1, SmallNetwork());
}

}  // namespace

void FuzzFlows(ByteSpan bytes) {
  static MemoryFile file;
  Input input(bytes);
  const bool list = input.Take(1) % 2 == 0;
  file.Put(input.Rest());
  Refusable([&] { list ? ReadList(file) : ReadSizes(file); });
}

std::vector<Bytes> FlowsSeeds() {
  std::vector<Bytes> seeds = TextSeeds({"source,destination,bytes,start\n# all to one\n1, 0, "
                                        "64KiB, 0\nhost2,0,1.5MB,1e-3\r\n3,0,7\n"},
                                       std::string(1, '\0'));
  for (Bytes& seed :
       TextSeeds({"Nodes 8\nConnections 2\n0->5 id 1 start 0 size 2000000\n1->2 start "
                  "1e6 size 10 prio 3\n",
                  "2\n0 5 3 100 2000000 2.0\n1 2 3 100 7 0\n"},
                 std::string(1, '\0'))) {
    seeds.push_back(std::move(seed));
  }
  for (Bytes& seed :
       TextSeeds({"# bytes, percent\n100 0\n2000,15\r\n1e6 90\n3e7 100\n", "0 .5\n0 1\n"}, "\1")) {
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

}  // namespace legacy::fuzz

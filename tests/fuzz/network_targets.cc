// Descriptions of networks: topologies and stragglers.
#include "base/whole_file.h"
#include "ns3-module/fabric/step/straggler.h"
#include "ns3-module/fabric/topology/file.h"
#include "tests/fuzz/readers.h"

namespace legacy::fuzz {
namespace {

std::string Topology(const std::string& name) {
  return ReadWholeFile(std::string(LEGACY_ROOT "/topologies/") + name);
}

}  // namespace

void FuzzTopology(ByteSpan input) {
  static MemoryFile file;
  file.Put(input);
  Refusable([] { fabric::ReadYamlFile(file.path(), {1'000'000'000, 1000, 100'000}); });
}

std::vector<Bytes> TopologySeeds() {
  return TextSeeds({Topology("two-sites.yaml"), Topology("leaf-spine-4to1.yaml"),
                    "type: links\nhosts: [a, b]\nlinks: &l\n- [a, b]\n",
                    "a: &a {b: *a}\ntype: star\n"});
}

void FuzzHpcc(ByteSpan input) {
  static MemoryFile file;
  file.Put(input);
  Refusable([] { fabric::ReadHpccFile(file.path()); });
}

std::vector<Bytes> HpccSeeds() { return TextSeeds({Topology("two-racks.topo")}); }

void FuzzStragglers(ByteSpan input) {
  static MemoryFile file;
  file.Put(input);
  for (const char* keys : {"", ",unit=run,workers=4+1", ",time=a+time,unit=factor"}) {
    Refusable([&] {
      const auto model = fabric::MakeStragglers("trace:file=" + file.path() + keys);
      for (uint64_t step = 0; step < 3; ++step) model->Factors(2, 1, step);
    });
  }
}

std::vector<Bytes> StragglersSeeds() {
  return TextSeeds(
      {"step,worker,time,a\n7,1,20,1\n7,4,10,2\n7,9,30,3\r\n5,9,300,1\n5,4,100,1\n5,1,100,.5\n"});
}

}  // namespace legacy::fuzz

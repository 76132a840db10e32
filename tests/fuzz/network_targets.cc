// Descriptions of networks: topologies and stragglers.
#include "base/files/text_file.h"
#include "base/files/whole_file.h"
#include "ns3-module/fabric/engine/transport.h"
#include "ns3-module/fabric/import/data-centre.h"
#include "ns3-module/fabric/import/make.h"
#include "ns3-module/fabric/step/straggler.h"
#include "ns3-module/fabric/topology/file.h"
#include "tests/fuzz/readers.h"

namespace legacy::fuzz {
namespace {

std::string Topology(const std::string& name) {
  return ReadWholeFile(std::string(LEGACY_ROOT "/topologies/") + name);
}

std::string BrokenMap(const std::string& name) {
  return ReadWholeFile(std::string(LEGACY_ROOT "/tests/fabric/import/broken/") + name);
}

// Formats of maps, as prefix and options of a request. The first byte of an input chooses one.
struct MapFormat {
  const char* prefix;
  const char* options;
  const char* seed;  // a file that is read to its end
};

constexpr MapFormat kMapFormats[] = {
    {"graphml:", ",hosts=2",
     "<graphml><key id='l' attr.name='LinkSpeedRaw'/><key id='y' attr.name='Latitude'/>"
     "<key id='x' attr.name='Longitude'/><graph edgedefault='undirected'><node id='a'>"
     "<data key='x'>1</data><data key='y'>-2.5</data></node><node id='b'/><node id='c'/>"
     "<edge source='a' target='b'><data key='l'>1e9</data></edge><edge source='a' target='a'/>"
     "</graph></graphml>"},
    {"gml:", ",default_rate=1Mbps,hosts=1+2",
     "graph [ directed 1 node [ id 1 label \"a&amp;\" graphics [ x 1 ] Latitude 1 Longitude 2 ]\n"
     "node [ id 2 label \"2\" ] node [ id 3 label \"1\" ] edge [ source 1 target 2 LinkLabel "
     "\"2x OC-48\" ]\nedge [ source 2 target 3 LinkLabel \"1-20Gbps\" ] ]\n"},
    {"node-link:", ",delay_unit=1ms",
     "{\"directed\": true, \"graph\": {}, \"nodes\": [{\"id\": 1, \"pos\": [1, 2]}, {\"id\": "
     "\"b\", \"lat\": 3, \"lon\": null}],\n\"edges\": [{\"source\": 1, \"target\": \"b\", "
     "\"delay\": 3, \"key\": 0}]}"},
    {"sndlib:", ",unit=1Mbps,stretch=2",
     "?SNDlib native format; type: network; version: 1.0\nMETA (\n unit = MBITPERSEC\n)\nNODES (\n"
     " A ( 1 2 )\n B ( 3 4 )\n)\nLINKS (\n L ( A B ) 0 0 0 0 ( 1.5 2 )\n)\nDEMANDS (\n D ( A B ) 1 "
     "2.5 3\n)\nADMISSIBLE_PATHS (\n D (\n P ( L )\n )\n)\n"},
    {"sndlib:", ",unit=1kbps",
     "<network><networkStructure><nodes><node id='A'><coordinates><x>1</x><y>2</y></coordinates>"
     "</node><node id='B'><coordinates><x>1</x><y>2</y></coordinates></node></nodes><links>"
     "<link id='L'><source>A</source><target>B</target><preInstalledModule><capacity>3</capacity>"
     "</preInstalledModule></link></links></networkStructure></network>"},
    {"htsim:", "",
     "Nodes 8\nTiers 3\nPodsize 4\nTier 0\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 2\n"
     "Downlink_Latency_ns 1000\nOversubscribed 1\nTier 1\nDownlink_speed_Gbps 200\nRadix_Down "
     "2\nRadix_Up 4\nDownlink_Latency_ns 5\nSwitch_Latency_ns 3\nQueue 7\nTier 2\n"
     "Downlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 1\nBundle 2\n"},
    {"astra-sim:", ",unit=GiB",
     "topology: [ Ring, FullyConnected, Switch ]\nnpus_count: [ 4, 3, 2 ]\nbandwidth: [ 50.0, 1, 2 "
     "]\nlatency: [ 500.0, 1, 0 ]\n"},
    {"rtt-matrix:", ",unit=ms,missing=median,server=1", "0\t1.5\t2\n1\t0\t0\n2\t3\t0\n"},
};

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
  Refusable([] { fabric::ReadHpccText(file.path(), ReadText(file.path())); });
}

std::vector<Bytes> HpccSeeds() { return TextSeeds({Topology("two-racks.topo")}); }

void FuzzMaps(ByteSpan bytes) {
  static MemoryFile file;
  Input input(bytes);
  const MapFormat& format = kMapFormats[input.Take(1) % std::size(kMapFormats)];
  file.Put(input.Rest());
  Refusable([&] {
    fabric::TopologyRequest request;
    request.text = format.prefix + file.path() + format.options;
    const fabric::ImportedTopology imported = fabric::ImportTopology(request);
    for (const fabric::Demand& demand : imported.demands) {
      Require(demand.source >= 0 && demand.source < imported.topology.NodeCount());
      Require(demand.destination >= 0 && demand.destination < imported.topology.NodeCount());
    }
    imported.report.Short();
  });
}

// Reads a file of regions with its matrix, one of which is the input.
void FuzzRegions(ByteSpan bytes) {
  static MemoryFolder folder({"r.yaml", "m.csv"});
  Input input(bytes);
  const size_t chosen = input.Take(1) % 2;
  const Bytes files[] = {BytesOf("matrix: m.csv\nregions: [a, b]\nhosts: {a: 2}\nmissing: 1Gbps\n"),
                         BytesOf("src,dst,gbps,rtt_ms,rtt_suspect\na,b,1,2,0\nb,a,3,4,0\n")};
  for (size_t i = 0; i < 2; ++i)
    folder.file(i).Put(i == chosen ? input.Rest() : ByteSpan(files[i]));
  Refusable([&] {
    fabric::TopologyRequest request;
    request.text = "regions:" + (folder.path() / "r.yaml").string() + ",suspect=allow";
    fabric::ImportTopology(request);
  });
}

std::vector<Bytes> RegionsSeeds() {
  std::vector<Bytes> seeds =
      TextSeeds({"matrix: m.csv\nregions: [a, b]\nhosts: {a: 2, b: 1}\ncore: shared\nscale: 0.5\n",
                 "matrix: m.csv\nregions: all\nhosts: 3\nhost_rate: 1Gbps\nqueue: 64KiB\n"},
                std::string(1, '\0'));
  for (Bytes& seed : TextSeeds({"src,dst,gbps,rtt_ms,rtt_suspect\na,b,1.5,20,0\nb,a,1,22,1\n"
                                "\"a\",c,1,1,0\n"},
                               "\1")) {
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

std::vector<Bytes> MapsSeeds() {
  std::vector<Bytes> seeds;
  for (size_t i = 0; i < std::size(kMapFormats); ++i) {
    const std::string choice(1, static_cast<char>(i));
    for (Bytes& seed : TextSeeds({kMapFormats[i].seed}, choice)) seeds.push_back(std::move(seed));
  }
  for (Bytes& seed : TextSeeds({BrokenMap("entity-bomb.graphml")}, std::string(1, '\0'))) {
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

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

// An accepted text has one fingerprint, which reading the text again gives, too.
void FuzzRoceText(ByteSpan input) {
  const std::string text = "roce:" + TextOf(input);
  Refusable([&] {
    const fabric::Transport transport = fabric::MakeTransport(text);
    Require(transport.roce != nullptr);
    Require(transport.Fingerprint() == fabric::MakeTransport(text).Fingerprint());
    Require(transport.WireBytes(1) > 0);
  });
}

std::vector<Bytes> RoceTextSeeds() {
  return TextSeeds(
      {"cc=dcqcn:parameters=mellanox+cnp=4us+np=window+bytes=2MB+ai=5Mbps,pfc=off,egress-alpha=2",
       "cc=hpcc:eta=0.9+stages=0+ai=40Mbps+int=wire,mtu=1024,ack=1,vlan=on,idle=message",
       "cc=timely:patched=on+low=50us+high=500us+segment=16KB+pacing=frame+deepest=0.5",
       "cc=swift:base=25us+fs-min=0.1+fs-max=100+mdf=0.5,window=bdp,buffer=2MiB,alpha=0.25",
       "cc=none,quanta=100,xon=3KB,headroom=100KB,pfc-response=1us,pfc-drops=allow,watchdog=1ms",
       "ecn=5KB/200KB/0.01@40Gbps+100KB/400KB/0.2@25Gbps,mark-at=enqueue,rto=1ms,retries=3",
       "cc=dcqcn,train=8,ack=8",
       "storm=host=3+from=1ms+for=2ms,header=36,message-header=0,ack-bytes=48,switch-delay=1us"});
}

}  // namespace legacy::fuzz

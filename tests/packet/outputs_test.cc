// Files of ns-3 that the packet engine writes on demand.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "tests/packet/scenario.h"

namespace legacy::packet_test {
namespace {

class OutputsTest : public testing::Test {
 protected:
  OutputsTest() : folder_(testing::TempDir() + "packet-outputs-" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
    scenario_.workers = 2;
    scenario_.transport = fabric::MakeTransport("ns3:datacenter");
  }
  ~OutputsTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  static std::string Read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

  std::string folder_;
  Scenario scenario_;
};

constexpr int64_t kBytes = 14'480;  // ten segments

TimeNs Simulated(const fabric::EngineFactory& factory, const Fabric& fabric) {
  auto engine = factory(fabric.request);
  Burst burst({{0, 1, kBytes, 0}});
  engine->Submit(burst, 0);
  EXPECT_TRUE(engine->RunUntil(kNever));
  return burst.arrived[0];
}

// NetAnim needs most modules of ns-3, which would take most of the time of starting a program.
// Other tests load it, so this one is the first.
TEST_F(OutputsTest, NetAnimIsLoadedWhenItsFileIsAskedFor) {
  const auto loaded = [] { return Read("/proc/self/maps").find("netanim") != std::string::npos; };
  fabric::MakePacketEngineFactory({Path("ring"), Path("flows.xml"), ""});
  EXPECT_FALSE(loaded());
  fabric::MakePacketEngineFactory({"", "", Path("animation.xml")});
  EXPECT_TRUE(loaded());
}

TEST_F(OutputsTest, AreWrittenByEachEngineAndChangeNothing) {
  const Fabric fabric(scenario_);
  const fabric::PacketOutputs outputs{Path("ring.v1"), Path("flows.xml"), Path("animation.xml")};
  const fabric::EngineFactory factory = fabric::MakePacketEngineFactory(outputs);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  const TimeNs plain = Simulated(fabric::MakePacketEngine, fabric);
  EXPECT_EQ(Simulated(factory, fabric), plain);
  EXPECT_EQ(Simulated(factory, fabric), plain);

  for (const std::string suffix : {"", "-2"}) {
    const std::string flows = Read(Path("flows" + suffix + ".xml"));
    EXPECT_NE(flows.find("</FlowMonitor>"), std::string::npos);
    // Ten segments have 52 bytes of IPv4, TCP and timestamps each; the SYN and one ACK come on top.
    EXPECT_NE(flows.find("txPackets=\"12\""), std::string::npos) << flows;
    const std::string animation = Read(Path("animation" + suffix + ".xml"));
    EXPECT_NE(animation.find("</anim>"), std::string::npos);
    EXPECT_NE(animation.find(fabric.topology.NodeName(fabric.placement.hosts[1])),
              std::string::npos);
    for (int host : fabric.placement.hosts) {
      const std::string pcap =
          Read(Path("ring.v1" + suffix + "-" + std::to_string(host) + "-1.pcap"));
      ASSERT_GE(pcap.size(), 24u) << host;
      uint32_t magic = 0;
      std::memcpy(&magic, pcap.data(), sizeof magic);
      EXPECT_EQ(magic, 0xa1b2c3d4u);  // microseconds, in this machine's byte order
      // Records have headers of 16 bytes, then 128 bytes of a full segment, or the whole of a
      // shorter one.
      EXPECT_GT(pcap.size(), 24 + 10 * (16 + 128u));
      EXPECT_LT(pcap.size(), static_cast<size_t>(kBytes));
    }
  }
}

// A monitor looks every second, for ever, which must not keep a run alive.
TEST_F(OutputsTest, DoNotHideAStandstill) {
  class Waits : public fabric::FlowGraph {
   public:
    void OnStart(fabric::FlowSink& sink) override { sink.Send({0, 1, 1'000, 0}); }
    void OnDelivered(const fabric::Flow&, fabric::FlowSink&) override {}
    void OnWake(uint64_t, fabric::FlowSink&) override {}
    bool Done() const override { return false; }
  };
  const Fabric fabric(scenario_);
  const auto factory = fabric::MakePacketEngineFactory({"", Path("flows.xml"), ""});
  auto engine = factory(fabric.request);
  Waits waits;
  engine->Submit(waits, 0);
  EXPECT_THROW(engine->RunUntil(kNever), Error);
  EXPECT_LT(engine->Now(), 1'000'000);
}

TEST_F(OutputsTest, FilesThatAFullDiskCutsAreNamed) {
  const Fabric fabric(scenario_);
  const std::string host = std::to_string(fabric.placement.hosts[0]);
  const std::pair<fabric::PacketOutputs, std::string> cases[] = {
      {{Path("cut"), "", ""}, Path("cut-" + host + "-1.pcap")},
      {{"", Path("flows.xml"), ""}, Path("flows.xml")},
      {{"", "", Path("animation.xml")}, Path("animation.xml")}};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  for (const rlim_t most : {before.rlim_cur, rlim_t{512}}) {
    for (const auto& [outputs, path] : cases) {
      const auto factory = fabric::MakePacketEngineFactory(outputs);
      const rlimit limit = {most, before.rlim_max};
      setrlimit(RLIMIT_FSIZE, &limit);
      Simulated(factory, fabric);
      setrlimit(RLIMIT_FSIZE, &before);
      EXPECT_EQ(*outputs.lost, most == 512 ? path : "");
    }
  }
  std::signal(SIGXFSZ, handler);
}

TEST_F(OutputsTest, PathsThatCannotBeWrittenAreRefusedBeforeTheRun) {
  const std::string bad = Path("no/such/folder/file");
  const fabric::PacketOutputs requests[] = {{bad, "", ""}, {"", bad, ""}, {"", "", folder_}};
  const std::string options[] = {"pcap prefix", "FlowMonitor file", "NetAnim file"};
  for (int i = 0; i < 3; ++i) {
    try {
      fabric::MakePacketEngineFactory(requests[i]);
      FAIL() << options[i];
    } catch (const Error& error) {
      const std::string what = error.what();
      EXPECT_NE(what.find(options[i]), std::string::npos) << what;
      EXPECT_NE(what.find(i == 2 ? folder_ : bad), std::string::npos) << what;
    }
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace legacy::packet_test

// Regions of clouds from matrices and prices.
#include <set>

#include "tests/fabric/import/import_testing.h"

namespace legacy::fabric::regions_test {
namespace {

constexpr int64_t kMega = 1'000'000;

constexpr const char* kMatrix =
    "src,dst,gbps,rtt_ms,rtt_suspect\n"
    "x:a,x:b,1.5,20,0\n"
    "x:b,x:a,1.0,22,0\n"
    "x:a,y:c,4.0,100,0\n"
    "y:c,x:a,0.5,100,0\n"
    "x:b,y:c,3.0,60,1\n"
    "y:c,x:b,2.0,60,1\n";
constexpr const char* kPrices =
    "src,dst,usd_per_gb\nx:a,x:b,0.02\nx:b,x:a,0.03\nx:a,y:c,0.09\nz:q,x:a,7\n";

class Regions : public testing::Test {
 protected:
  Regions() {
    files_.Write("m.csv", kMatrix);
    files_.Write("p.csv", kPrices);
  }

  // Imports a file with these lines after those of matrix and prices.
  ImportedTopology Make(const std::string& yaml, const std::string& options = "") {
    const std::string path = files_.Write("r.yaml", "matrix: m.csv\nprices: p.csv\n" + yaml + "\n");
    return Import("regions:" + path + options);
  }

  std::string Mistake(const std::string& yaml, const std::string& options = "") {
    std::string message = MessageOf([&] { Make(yaml, options); });
    for (size_t at; (at = message.find(files_.folder())) != std::string::npos;) {
      message.erase(at, files_.folder().size());
    }
    return message;
  }

  ImportFiles files_;
};

TEST_F(Regions, GiveEachHostTheMeasuredRates) {
  const ImportedTopology imported = Make("suspect: allow\nhosts: {x:a: 3, y:c: 1}");
  const Topology& topology = imported.topology;
  EXPECT_EQ(topology.Name(), "r");
  ASSERT_EQ(topology.NodeCount(), 4 + 3);
  EXPECT_EQ(topology.NodeName(0), "x:a/0");
  EXPECT_EQ(topology.NodeName(3), "y:c/0");
  EXPECT_EQ(topology.NodeName(4), "x:a");
  ASSERT_EQ(topology.Links().size(), 4 + 3);
  const Link host = LinkBetween(topology, "x:a/2", "x:a");
  EXPECT_EQ(host.ports[0].rateBps, 4000 * kMega) << "the largest of the row";
  EXPECT_EQ(host.ports[1].rateBps, 1000 * kMega) << "the largest of the column";
  EXPECT_EQ(host.delay, 10'000);
  const Link ab = LinkBetween(topology, "x:a", "x:b");
  EXPECT_EQ(ab.ports[0].rateBps, 3 * 1500 * kMega);
  EXPECT_EQ(ab.ports[1].rateBps, 1000 * kMega) << "a region without hosts counts as one";
  EXPECT_EQ(ab.delay, 10'500'000) << "half of the mean of 20 and 22 ms";
  EXPECT_EQ(ab.ports[0].usdPerGb, 0.02);
  EXPECT_EQ(ab.ports[1].usdPerGb, 0.03);
  const Link ac = LinkBetween(topology, "x:a", "y:c");
  EXPECT_EQ(ac.ports[0].rateBps, 3 * 4000 * kMega);
  EXPECT_EQ(ac.ports[1].rateBps, 500 * kMega);
  EXPECT_EQ(ac.ports[1].usdPerGb, 0);
  EXPECT_EQ(imported.report.Count(Assumed::Suspect), 2);
  EXPECT_EQ(imported.report.Count(Assumed::Price), 3);
  EXPECT_EQ(imported.report.All().size(), 2);
}

TEST_F(Regions, ShareTheLineOnDemand) {
  const ImportedTopology imported =
      Make("suspect: allow\ncore: shared\nhosts: 2\nhost_rate: 7Gbps\nhost_delay: 1ms\nscale: 0.5");
  const Topology& topology = imported.topology;
  EXPECT_EQ(topology.Hosts().size(), 6);
  EXPECT_EQ(LinkBetween(topology, "x:a", "x:b").ports[0].rateBps, 750 * kMega);
  EXPECT_EQ(LinkBetween(topology, "x:a/1", "x:a").ports[1].rateBps, 7000 * kMega);
  EXPECT_EQ(LinkBetween(topology, "x:a/1", "x:a").delay, 1'000'000);
  // Options after the path have precedence.
  const Topology other = Make("suspect: allow\ncore: shared\nhosts: 2",
                              ",core=per-host,hosts=5,"
                              "host_rate=2Gbps,scale=2,queue=1MiB")
                             .topology;
  EXPECT_EQ(other.Hosts().size(), 15);
  EXPECT_EQ(LinkBetween(other, "x:a", "x:b").ports[0].rateBps, 5 * 2 * 1500 * kMega);
  EXPECT_EQ(LinkBetween(other, "x:a", "x:b").ports[1].queueBytes, 1 << 20);
  EXPECT_EQ(LinkBetween(other, "x:a/4", "x:a").ports[0].rateBps, 2000 * kMega);
}

TEST_F(Regions, AreThoseThatTheFileLists) {
  const ImportedTopology imported = Make("regions: [x:b, x:a]");
  EXPECT_EQ(imported.topology.Links().size(), 2 + 1);
  EXPECT_EQ(imported.topology.NodeName(2), "x:b");
  EXPECT_TRUE(imported.report.Empty()) << "the suspect pairs are others";
  EXPECT_EQ(Make("regions: [y:c]").topology.NodeCount(), 2) << "a single region has no link";
}

TEST_F(Regions, TakeARateForMissingPairs) {
  files_.Write("m.csv", "src,dst,gbps,rtt_ms\nx:a,x:b,1.5,20\nx:a,y:c,4,100\ny:c,x:b,1,50\n");
  EXPECT_EQ(Mistake(""),
            "r.yaml:1:1: matrix: got 'no row of x:b, x:a and 2 more'; allowed: every ordered pair, "
            "or a rate as missing: 1Gbps");
  const ImportedTopology imported = Make("missing: 100Mbps");
  EXPECT_EQ(imported.report.Count(Assumed::MissingPair), 3);
  const Link ab = LinkBetween(imported.topology, "x:a", "x:b");
  EXPECT_EQ(ab.ports[0].rateBps, 1500 * kMega);
  EXPECT_EQ(ab.ports[1].rateBps, 100 * kMega);
  EXPECT_EQ(ab.delay, 10'000'000);
  files_.Write("m.csv", "src,dst,gbps,rtt_ms\nx:a,x:b,1.5,20\nx:a,y:c,4,100\n");
  EXPECT_EQ(Mistake("missing: 100Mbps"),
            "r.yaml:1:1: matrix: got 'no row of x:b, y:c in either direction'; allowed: a "
            "round-trip time of every two regions");
}

TEST_F(Regions, RefuseWhatIsWrong) {
  EXPECT_EQ(Mistake(""),
            "m.csv:6: rtt_suspect: got '1, as of 2 pairs'; allowed: 0, other regions, or suspect: "
            "allow");
  EXPECT_EQ(Mistake("regions: [x:a, x:q]"),
            "r.yaml:3:16: regions: got 'x:q'; allowed: a region of m.csv");
  EXPECT_EQ(Mistake("regions: [x:a, x:a]"),
            "r.yaml:3:16: regions: got 'x:a'; allowed: each region once");
  EXPECT_EQ(Mistake("regions: some"), "r.yaml:3:1: regions: got 'some'; allowed: all, or a list");
  EXPECT_EQ(Mistake("core: none"), "r.yaml:3:1: core: got 'none'; allowed: per-host, shared");
  EXPECT_EQ(Mistake("suspect: allow\nhosts: {x:q: 1}"),
            "r.yaml:4:9: hosts: got 'x:q'; allowed: regions of this file");
  EXPECT_EQ(Mistake("suspect: allow\nhosts: -1"),
            "r.yaml:4:1: hosts: got '-1'; allowed: an integer from 0 to 65536");
  EXPECT_EQ(Mistake("suspect: allow\nspeed: 1").substr(0, 47),
            "r.yaml:4:1: unknown key of regions: got 'speed'");
  EXPECT_EQ(Mistake("suspect: allow", ",core=both"),
            "topology: core: got 'both'; allowed: per-host, shared");
  EXPECT_EQ(Mistake("suspect: allow\nhosts: 30000").substr(0, 32),
            "r.yaml:4:1: hosts: got '90000 in");
  EXPECT_EQ(Mistake("suspect: allow\nscale: 1e6\nhosts: 9").find("m.csv:2: rate of 9 hosts"), 0);
}

TEST_F(Regions, AreThoseThatWereMeasured) {
  const std::filesystem::path folder = RealData() / "wan_cloud";
  if (RealData().empty() || !std::filesystem::exists(folder)) GTEST_SKIP() << "no regions";
  const std::string files = "matrix: " + (folder / "wan_links_joined.csv").string() +
                            "\nprices: " + (folder / "egress_cost_2022.csv").string() + "\n";
  const std::string all = files_.Write("all.yaml", files + "regions: all\n");
  EXPECT_NE(ImportError("regions:" + all, files_.folder()).find("as of 42 pairs"),
            std::string::npos);
  const ImportedTopology imported = Import("regions:" + all + ",suspect=allow");
  EXPECT_EQ(imported.topology.Hosts().size(), 60);
  EXPECT_EQ(imported.topology.Links().size(), 60 + 3540 / 2);
  EXPECT_EQ(imported.report.Count(Assumed::Suspect), 42);
  EXPECT_EQ(imported.report.Count(Assumed::Price), 784);

  // A round of ten silos and a server in Frankfurt: each sends an update of a ResNet-18 and
  // acknowledges a model of that size, and the other way round.
  constexpr double kWireGb = 46'362'720e-9;
  constexpr double kAckGb = 833'436e-9;
  double up = 0;
  double down = 0;
  int64_t slowest = INT64_MAX;
  for (const char* silo : {"us-east-1", "us-west-2", "sa-east-1", "eu-west-1", "af-south-1",
                           "ap-south-1", "ap-northeast-1", "ap-southeast-1", "ap-southeast-2"}) {
    const Link link =
        LinkBetween(imported.topology, std::string("aws:") + silo, "aws:eu-central-1");
    const bool first = imported.topology.NodeName(link.a) != "aws:eu-central-1";
    const Port& to = link.ports[first ? 0 : 1];
    const Port& from = link.ports[first ? 1 : 0];
    up += kWireGb * to.usdPerGb + kAckGb * from.usdPerGb;
    down += kWireGb * from.usdPerGb + kAckGb * to.usdPerGb;
    slowest = std::min(slowest, to.rateBps);
  }
  EXPECT_NEAR(up, 0.0330212, 1e-6);
  EXPECT_NEAR(down, 0.0089362, 1e-6);
  EXPECT_EQ(slowest, 2'631'200'000);

  const ImportedTopology four = Import(
      "regions:" +
      files_.Write("four.yaml", files + "regions: [aws:us-east-1, aws:us-west-2, aws:eu-west-1, "
                                        "aws:ap-northeast-1]\n"));
  EXPECT_TRUE(four.report.Empty());
  const Link hop = LinkBetween(four.topology, "aws:us-east-1", "aws:ap-northeast-1");
  EXPECT_EQ(hop.ports[1].rateBps, 3'656'900'000);
  EXPECT_EQ(LinkBetween(four.topology, "aws:eu-west-1", "aws:ap-northeast-1").ports[0].rateBps,
            3'139'600'000);
}

}  // namespace
}  // namespace legacy::fabric::regions_test

// Whole-program runs of legacy-network: checks what is printed and which files are left behind.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "tests/programs.h"

namespace legacy::program_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class NetworkProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::path(::testing::TempDir()) /
                 (std::string("legacy-network-") +
                  ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  // Returns standard output and error together.
  Result Run(const std::string& arguments) const {
    return Shell("cd " + directory_.string() + " && " LEGACY_NETWORK_PROGRAM " " + arguments +
                 " 2>&1");
  }

  std::vector<std::vector<std::string>> Csv(const std::string& file) const {
    return CsvOf(directory_ / file);
  }

  // Escapes semicolons, which would separate commands.
  static std::string Escaped(std::string arguments) {
    for (size_t at = 0; (at = arguments.find(';', at)) != std::string::npos; at += 2) {
      arguments.insert(at, 1, '\\');
    }
    return arguments;
  }

  size_t Files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(directory_), {}));
  }

  fs::path directory_;
};

TEST_F(NetworkProgram, WithoutOptionsItRunsEveryFidelity) {
  const Result result = Run("");
  EXPECT_EQ(result.status, 0) << result.text;
  for (const char* word : {"ring-allreduce", "flow", "analytic", "busbw"}) {
    EXPECT_NE(result.text.find(word), std::string::npos) << result.text;
  }
  EXPECT_EQ(result.text.find("packet ") != std::string::npos, LEGACY_HAS_PACKETS == 1);
  EXPECT_EQ(Files(), 0u);
}

// With ns-3, on an idle star, the fidelities agree up to the time that TCP adds.
TEST_F(NetworkProgram, FidelitiesAgreeOnAStar) {
  if (!LEGACY_HAS_PACKETS) GTEST_SKIP() << "built without ns-3";
  const Result result =
      Run("--topo=star --workers=4 --bytes=400KB --fidelity=packet,flow,analytic --json=- --quiet");
  ASSERT_EQ(result.status, 0) << result.text;
  const json rows = json::parse(result.text);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_GT(rows[0]["packets"], 1000);
  for (const json& row : rows) {
    EXPECT_NEAR(row["time_seconds"].get<double>() / row["closed_form_seconds"].get<double>(), 1,
                0.03);
  }
}

// RoCEv2 in an incast: fidelities agree, and the events of switches are in the table and the files.
TEST_F(NetworkProgram, RoceSaysWhatSwitchesDid) {
  if (!LEGACY_HAS_PACKETS) GTEST_SKIP() << "built without ns-3";
  const std::string line =
      "--transport=roce:cc=none,buffer=2MiB --topo=star --workers=9 --pattern=incast:8 "
      "--bytes=1MB --bandwidth=100Gbps --delay=1us --fidelity=packet,flow,analytic";
  const Result result = Run(line + " --links=l.csv --csv=r.csv");
  ASSERT_EQ(result.status, 0) << result.text;
  EXPECT_NE(result.text.find("\nroce: "), std::string::npos) << result.text;
  EXPECT_NE(result.text.find(" pauses, "), std::string::npos) << result.text;
  EXPECT_NE(result.text.find("roce transport, none"), std::string::npos) << result.text;
  const auto links = Csv("l.csv");
  const std::vector<std::string> last(links[0].end() - 3, links[0].end());
  EXPECT_EQ(last, (std::vector<std::string>{"pauses", "paused_seconds", "pause_root"}));
  EXPECT_TRUE(std::any_of(links.begin() + 1, links.end(), [](const auto& row) {
    return row[row.size() - 3] != "0" && !row.back().empty();
  }));
  const auto results = Csv("r.csv");
  ASSERT_EQ(results.size(), 4u);
  const auto column = [&](const char* name) {
    return std::find(results[0].begin(), results[0].end(), name) - results[0].begin();
  };
  const double packet = std::stod(results[1][column("time_seconds")]);
  const double flow = std::stod(results[2][column("time_seconds")]);
  EXPECT_NEAR(packet / flow, 1, 0.01);
  EXPECT_GT(std::stoi(results[1][column("pauses")]), 0);
  EXPECT_EQ(results[2][column("pauses")], "0");
}

// Pauses around a ring may wait for each other; those of a tree never do.
TEST_F(NetworkProgram, PfcCheckFindsCycles) {
  const Result tree = Run("pfc check leaf-spine:oversubscription=4 --bandwidth=100Gbps");
  EXPECT_EQ(tree.status, 0) << tree.text;
  EXPECT_NE(tree.text.find("no deadlock"), std::string::npos) << tree.text;
  const Result ring = Run("pfc check ring:hosts=5 --bandwidth=100Gbps --delay=1us");
  EXPECT_EQ(ring.status, 1) << ring.text;
  EXPECT_NE(ring.text.find("PFC can deadlock"), std::string::npos) << ring.text;
  EXPECT_EQ(Run("pfc check torus:x=3,y=3").status, 1);
}

// The same command writes the same files, byte for byte; another seed writes others.
TEST_F(NetworkProgram, FilesAreTheSameEachTime) {
  const std::string line =
      "--fidelity=flow,analytic --buckets=2 --compute=1ms --stragglers=lognormal:sigma=0.3"
      " --repeat=2 --quiet";
  const auto files = [](const std::string& name) {
    std::string text;
    for (const char* kind : {"csv", "json", "finish", "links", "fct", "trace", "svg"}) {
      text += std::string(" --") + kind + "=" + name + "." + kind;
    }
    return text;
  };
  ASSERT_EQ(Run(line + files("a")).text, "");
  ASSERT_EQ(Run(line + files("b")).text, "");
  ASSERT_EQ(Run(line + " --seed=2" + files("c")).text, "");
  for (const char* kind : {"csv", "json", "finish", "links", "fct", "trace", "svg"}) {
    const std::string a = Read(directory_ / (std::string("a.") + kind));
    EXPECT_GT(a.size(), 100u) << kind;
    EXPECT_EQ(a, Read(directory_ / (std::string("b.") + kind))) << kind;
    EXPECT_NE(a, Read(directory_ / (std::string("c.") + kind))) << kind;
  }
  EXPECT_EQ(Csv("a.csv").size(), 1u + 2 * 2);
  EXPECT_EQ(Csv("a.finish").size(), 1u + 2 * 2 * 16);
  EXPECT_TRUE(json::parse(Read(directory_ / "a.trace")).contains("traceEvents"));
  EXPECT_EQ(Read(directory_ / "a.svg").find("<svg") == std::string::npos, false);
}

TEST_F(NetworkProgram, TheDoctorFindsOversubscription) {
  const std::string line =
      "--topo=leaf-spine:oversubscription=4 --placement=strided --bytes=1MB --delay=1us";
  const Result result =
      Run(line + " --bandwidth=10Gbps --fidelity=flow --doctor --doctor-csv=d.csv --doctor-json=d");
  ASSERT_EQ(result.status, 0) << result.text;
  EXPECT_NE(result.text.find("doctor, flow fidelity, repetition 0: bound by bandwidth: "
                             "4 links between tiers 1 and 2 twice as fast"),
            std::string::npos)
      << result.text;
  const json rows = json::parse(Read(directory_ / "d"));
  EXPECT_EQ(rows[0]["remedy"], "none");
  EXPECT_EQ(Csv("d.csv").size(), 1 + rows.size());
  // The doctor's time for all links is that of a network with twice the bandwidth.
  ASSERT_EQ(Run(line + " --fidelity=flow --bandwidth=20Gbps --quiet --json=fast").status, 0);
  const auto all = std::find_if(rows.begin(), rows.end(),
                                [](const json& row) { return row["remedy"] == "all-links"; });
  ASSERT_NE(all, rows.end());
  EXPECT_EQ((*all)["step_seconds"], json::parse(Read(directory_ / "fast"))[0]["time_seconds"]);
}

TEST_F(NetworkProgram, PacketsFillQueuesOfLinks) {
  if (!LEGACY_HAS_PACKETS) GTEST_SKIP() << "built without ns-3";
  const std::string line =
      "--topo=star --workers=5 --pattern=incast:4 --bytes=1MB --quiet "
      "--fidelity=packet --links=";
  ASSERT_EQ(Run(line + "deep.csv").status, 0);
  ASSERT_EQ(Run(line + "shallow.csv --queue=30KB").status, 0);
  const auto most = [&](const std::string& file, const std::string& name) {
    const auto rows = Csv(file);
    const auto column = std::find(rows[0].begin(), rows[0].end(), name) - rows[0].begin();
    double largest = 0;
    for (size_t i = 1; i < rows.size(); ++i)
      largest = std::max(largest, std::stod(rows[i][column]));
    return largest;
  };
  EXPECT_EQ(most("deep.csv", "drops"), 0);
  EXPECT_GT(most("deep.csv", "marks"), 0);
  EXPECT_GT(most("deep.csv", "max_queue_bytes"), 30'000);
  EXPECT_GT(most("shallow.csv", "drops"), 0);
  EXPECT_GE(most("deep.csv", "peak_utilisation"), most("deep.csv", "mean_utilisation"));
  EXPECT_LE(most("deep.csv", "peak_utilisation"), 1.01);
}

TEST_F(NetworkProgram, SweepsAreGridsWithARowEach) {
  const Result result = Run(
      "--sweep=bytes=1KB..100KB:x10 --sweep=workers=2,4 --fidelity=flow,analytic --csv=sweep.csv");
  ASSERT_EQ(result.status, 0) << result.text;
  const auto rows = Csv("sweep.csv");
  ASSERT_EQ(rows.size(), 1u + 3 * 2 * 2);
  const auto column = [&](const std::string& name) {
    return static_cast<size_t>(std::find(rows[0].begin(), rows[0].end(), name) - rows[0].begin());
  };
  EXPECT_EQ(rows[5][column("bytes")], "10000");
  EXPECT_EQ(rows[5][column("workers")], "2");
  const double small = std::stod(rows[1][column("time_seconds")]);
  EXPECT_LT(small, std::stod(rows[9][column("time_seconds")]));
  EXPECT_EQ(std::count(result.text.begin(), result.text.end(), '\n'), 1 + 3 * 2);
}

TEST_F(NetworkProgram, FlowFilesAndPatterns) {
  std::ofstream(directory_ / "flows.csv") << "source,destination,bytes,start\n"
                                             "host0,host1,1MB,0\n"
                                             "2,host1,1MB,0\n"
                                             "3,4,1MB,0.001\n";
  const Result result = Run("--flows=flows.csv --topo=star --fidelity=flow --fct=fct.csv");
  ASSERT_EQ(result.status, 0) << result.text;
  const auto rows = Csv("fct.csv");
  ASSERT_EQ(rows.size(), 4u);
  for (size_t i = 1; i < rows.size(); ++i) {  // two flows share a link; the third has its own
    EXPECT_NEAR(std::stod(rows[i][10]), rows[i][5] == "2" ? 1 : 2, 0.1) << rows[i][5];
  }
  for (const char* pattern :
       {"permutation", "incast:8", "all-to-all", "poisson:load=0.3,cdf=datamining,flows=50"}) {
    EXPECT_EQ(Run(std::string("--fidelity=flow --pattern=") + pattern).status, 0) << pattern;
  }
}

// With a list of flows, the fabric has as many hosts as --workers says, or as the topology has.
TEST_F(NetworkProgram, WorkersSetTheHostsOfFlowLists) {
  std::ofstream(directory_ / "flows.csv") << "0,3,1MB\n";
  const std::string with = "--flows=flows.csv --fidelity=flow --topo=star";
  EXPECT_NE(Run(with + " --workers=4").text.find("star (4 hosts)"), std::string::npos);
  EXPECT_NE(Run(with + ":hosts=5").text.find("star (5 hosts)"), std::string::npos);
  EXPECT_EQ(Run(with + " --workers=3").status, 2);
}

TEST_F(NetworkProgram, SaysWhyNothingWasSent) {
  const std::string nothing = "warning: nothing crossed the network: ";
  const auto said = [&](const std::string& arguments) {
    return Run("--topo=star --fidelity=flow " + arguments).text;
  };
  EXPECT_NE(said("--workers=1").find(nothing + "one worker"), std::string::npos);
  EXPECT_NE(said("--workers=4 --bytes=0").find(nothing + "messages are empty"), std::string::npos);
  EXPECT_EQ(said("--workers=4 --bytes=1").find(nothing), std::string::npos);
}

TEST_F(NetworkProgram, PacketRecordsAreWritten) {
  if (!LEGACY_HAS_PACKETS) GTEST_SKIP() << "built without ns-3";
  const Result result =
      Run("--topo=star --workers=2 --bytes=10KB --fidelity=packet --transport=ns3:wan --pcap=p"
          " --flow-monitor=m.xml --ns3::TcpSocket::SegmentSize=1000");
  ASSERT_EQ(result.status, 0) << result.text;
  EXPECT_EQ(Files(), 3u);  // two hosts and the monitor
  EXPECT_NE(Read(directory_ / "m.xml").find("FlowMonitor"), std::string::npos);
}

TEST_F(NetworkProgram, TopologiesAreShownCheckedAndConverted) {
  EXPECT_NE(Run("topo show fat-tree:k=4").text.find("16 hosts, 20 switches"), std::string::npos);
  EXPECT_EQ(Run("topo check fat-tree:k=4").status, 0);
  ASSERT_EQ(Run("topo convert leaf-spine:leaves=2,hosts=2 --out=fabric.yaml").text, "");
  ASSERT_EQ(Run("topo convert fabric.yaml --format=hpcc --out=fabric.txt").text, "");
  for (const char* fabric : {"leaf-spine:leaves=2,hosts=2", "fabric.yaml", "fabric.txt"}) {
    const Result result =
        Run(std::string("--workers=4 --fidelity=analytic --quiet --csv=- --topo=") + fabric);
    std::ofstream(directory_ / "results.txt", std::ios::app)
        << result.text.substr(result.text.find(",analytic,")) << "\n";
  }
  std::ifstream results(directory_ / "results.txt");
  std::string first;
  std::getline(results, first);
  EXPECT_GT(first.size(), 50u);
  for (std::string line; std::getline(results, line);) {
    if (line.empty()) continue;
    EXPECT_EQ(line, first);
  }
  EXPECT_NE(Run("topo convert star --format=svg").text.find("<svg"), std::string::npos);
}

// A Point is a place in a drawing, and a DrawnLink one direction of a link: the curve of Bezier
// from one end around the bend to the other.
struct Point {
  double x = 0, y = 0;
};
struct DrawnLink {
  Point begin, bend, end;
  std::string colour, from, to;
  double percent = 0;  // utilisation

  Point At(double part) const {
    const double a = (1 - part) * (1 - part), b = 2 * part * (1 - part), c = part * part;
    return {a * begin.x + b * bend.x + c * end.x, a * begin.y + b * bend.y + c * end.y};
  }
};

double Distance(const Point& a, const Point& b) { return std::hypot(a.x - b.x, a.y - b.y); }

// A DrawnFabric has the links and nodes of a fabric as drawn. A box is filed by its middle.
struct DrawnFabric {
  explicit DrawnFabric(const std::string& svg) {
    const auto each = [&](const std::string& form, const auto& take) {
      const std::regex wanted(form);
      for (std::sregex_iterator it(svg.begin(), svg.end(), wanted), end; it != end; ++it) take(*it);
    };
    const auto number = [](const auto& part) { return std::stod(part.str()); };
    each(R"re(<circle cx="([\d.]+)" cy="([\d.]+)" r="5" fill="(#\w+)"><title>([^<]*))re",
         [&](const std::smatch& node) {
           nodes[node[4]] = {number(node[1]), number(node[2])};
           host_colours.insert(node[3]);
         });
    hosts = nodes.size();
    each(R"re(<rect x="([\d.]+)" y="([\d.]+)" width="14"[^>]*fill="(#\w+)"><title>([^<]*))re",
         [&](const std::smatch& node) {
           nodes[node[4]] = {number(node[1]) + 7, number(node[2]) + 5};
           switch_colours.insert(node[3]);
         });
    each(R"re(M([-\d.]+) ([-\d.]+) Q([-\d.]+) ([-\d.]+) ([-\d.]+) ([-\d.]+)")re"
         R"re([^>]*stroke="(#\w+)"[^>]*><title>(.*?) to (.*?): ([^<]*))re",
         [&](const std::smatch& link) {
           const std::string told = link[10];
           const size_t percent = told.rfind(", ");
           links.push_back({{number(link[1]), number(link[2])},
                            {number(link[3]), number(link[4])},
                            {number(link[5]), number(link[6])},
                            link[7],
                            link[8],
                            link[9],
                            told.ends_with(" %") ? std::stod(told.substr(percent + 2)) : NAN});
         });
    each(R"re(<text x="([\d.]+)" y="([\d.]+)" text-anchor="middle" paint[^>]*>([^<]*))re",
         [&](const std::smatch& name) {
           names[name[3]] = {number(name[1]), number(name[2])};
         });
    each(R"re(<text x="([\d.]+)" y="[\d.]+" text-anchor="middle">(\d+) %)re",
         [&](const std::smatch& tick) { ticks[std::stoi(tick[2])] = number(tick[1]); });
    each(R"re(<rect x="([\d.]+)" y="[\d.]+" width="4.5" height="10" fill="(#\w+)")re",
         [&](const std::smatch& step) { scale[number(step[1])] = step[2]; });
  }

  std::map<std::string, Point> nodes, names;
  std::set<std::string> host_colours, switch_colours;
  size_t hosts = 0;
  std::vector<DrawnLink> links;
  std::map<int, double> ticks;          // places of the percentages below the scale
  std::map<double, std::string> scale;  // colours of the scale from the left
};

// Every link leads from its node to its node and over no other one, every name is at its node, and
// hosts, switches and links differ.
TEST_F(NetworkProgram, DrawingsOfFabricsCanBeRead) {
  const std::map<std::string, size_t> fabrics = {{"star:hosts=6", 7},
                                                 {"leaf-spine", 24},
                                                 {"fat-tree", 36},
                                                 {"torus:x=4,y=4", 32},
                                                 {"dragonfly:groups=5,routers=4,hosts=2", 60},
                                                 {"ring", 32}};
  for (const auto& [fabric, nodes] : fabrics) {
    const DrawnFabric drawn(Run("topo convert " + fabric + " --to=svg").text);
    ASSERT_EQ(drawn.nodes.size(), nodes) << fabric;
    EXPECT_GT(drawn.hosts, 0u);
    EXPECT_GE(drawn.links.size(), 2 * (nodes - 1)) << fabric;
    EXPECT_EQ(drawn.host_colours.size(), 1u);
    EXPECT_EQ(drawn.switch_colours.size(), 1u);
    EXPECT_NE(drawn.host_colours, drawn.switch_colours);
    for (const auto& [name, place] : drawn.nodes) {
      for (const auto& [other, its] : drawn.nodes) {
        if (name == other) continue;
        EXPECT_GT(Distance(place, its), 10) << fabric << name << other;
      }
    }
    for (const DrawnLink& link : drawn.links) {
      EXPECT_LT(Distance(link.begin, drawn.nodes.at(link.from)), 5) << fabric;
      EXPECT_LT(Distance(link.end, drawn.nodes.at(link.to)), 5) << fabric;
      EXPECT_FALSE(drawn.host_colours.contains(link.colour));
      EXPECT_FALSE(drawn.switch_colours.contains(link.colour));
      for (const auto& [name, place] : drawn.nodes) {
        if (name == link.from || name == link.to) continue;
        for (double part = 0; part <= 1; part += 0.02) {
          ASSERT_GT(Distance(link.At(part), place), 5) << fabric << link.from << link.to << name;
        }
      }
    }
    EXPECT_FALSE(drawn.names.empty()) << fabric;
    for (const auto& [name, place] : drawn.names) {
      EXPECT_NEAR(place.x, drawn.nodes.at(name).x, 0.11) << fabric;
      EXPECT_NEAR(place.y, drawn.nodes.at(name).y, 18) << fabric;
    }
  }
}

// The colour of a link in use is that of the scale at its percentage.
TEST_F(NetworkProgram, LinksHaveTheColourOfTheirUse) {
  ASSERT_EQ(Run("--topo=leaf-spine:oversubscription=4 --workers=6 --placement=strided --bytes=1MB "
                "--fidelity=flow --quiet --svg=use.svg")
                .status,
            0);
  const DrawnFabric drawn(Read(directory_ / "use.svg"));
  ASSERT_EQ(drawn.ticks.size(), 3u);
  ASSERT_GT(drawn.scale.size(), 20u);
  const double zero = drawn.ticks.at(0), one = drawn.ticks.at(100);
  EXPECT_NEAR(drawn.ticks.at(50), (zero + one) / 2, 0.11);
  const auto part = [](const std::string& colour, int i) {
    return std::stoi(colour.substr(1 + 2 * static_cast<size_t>(i), 2), nullptr, 16);
  };
  std::set<std::string> colours;
  for (const DrawnLink& link : drawn.links) {
    colours.insert(link.colour);
    const double wanted = zero + link.percent / 100 * (one - zero);
    const auto above = drawn.scale.upper_bound(wanted);
    const std::string& scale = std::prev(above)->second;
    for (int i = 0; i < 3; ++i) {
      EXPECT_NEAR(part(link.colour, i), part(scale, i), 8) << link.percent << " " << scale;
    }
  }
  EXPECT_GT(colours.size(), 2u);
}

// The command topo tells what a map leaves open, and a program that uses the map tells it once, in
// short.
TEST_F(NetworkProgram, MapsSayWhatWasAssumed) {
  std::ofstream(directory_ / "map.gml") << "graph [ node [ id 0 label \"a\" ] node [ id 1 label "
                                           "\"b\" ] edge [ source 0 target 1 ] ]\n";
  const Result shown = Run("topo show map.gml,hosts=2");
  EXPECT_NE(shown.text.find("4 hosts, 2 switches, 5 links"), std::string::npos);
  EXPECT_NE(shown.text.find("assumed: 1 of 1 line without a speed: 10 Gbit/s each (default_rate)\n"
                            "assumed: 1 of 1 link without a delay or places: 1 ms each\n"),
            std::string::npos)
      << shown.text;
  EXPECT_EQ(Run("topo check map.gml").status, 0);
  const Result strict = Run("topo check map.gml --strict");
  EXPECT_EQ(strict.status, 1);
  EXPECT_NE(strict.text.find("error: 1 of 1 line without a speed"), std::string::npos);
  EXPECT_EQ(Run("topo check fat-tree:k=4 --strict").status, 0);

  const Result used =
      Run("--topo=map.gml,hosts=2 --workers=4 --fidelity=flow,analytic --bytes=1MB --quiet");
  const std::string note = "map.gml,hosts=2: assumed: 1 speed, 1 delay (legacy-network topo show";
  const size_t first = used.text.find(note);
  EXPECT_NE(first, std::string::npos) << used.text;
  EXPECT_EQ(used.text.find(note, first + 1), std::string::npos) << used.text;

  ASSERT_EQ(Run("topo convert map.gml --to=graphml --out=map.graphml").text, "");
  const Result converted = Run("topo check map.graphml --strict");
  EXPECT_EQ(converted.status, 0) << converted.text;
}

// The first line says what the links are, if a file sets all of them.
TEST_F(NetworkProgram, LinksOfFilesAreTheirOwn) {
  std::ofstream(directory_ / "own.yaml") << "type: links\nname: own\nhosts: [a, b]\nswitches: [s]\n"
                                            "links:\n  - {a: a, b: s, rate: 25Gbps, delay: 2us}\n"
                                            "  - {a: b, b: s, rate: 100Gbps, delay: 500ns}\n";
  const std::string flow = " --workers=2 --fidelity=analytic";
  const std::string own = Run("--topo=own.yaml" + flow).text;
  EXPECT_NE(own.find("links of 25 Gbit/s to 100 Gbit/s, 500 ns to 2 us;"), std::string::npos)
      << own;
  const std::string star = Run("--topo=star" + flow).text;
  EXPECT_NE(star.find("links of 1 Gbit/s, 10 us;"), std::string::npos) << star;
}

// Each kind of mistake gives a message with option, value and what is allowed, and leaves no file
// behind.
TEST_F(NetworkProgram, MistakesGiveOneClearMessage) {
  std::ofstream(directory_ / "bad.csv") << "0,1,10\n0,99,10\n";
  const size_t before = Files();
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--topo=moebius", "fat-tree"},
      {"--topo=missing.yaml", "missing.yaml"},
      {"--topo=fat-tree:k=2 --workers=16", "16 are needed"},
      {"--bandwidth=quick", "--bandwidth: got 'quick'"},
      {"--bandwidth=10", "a rate with its unit"},
      {"--delay=-1us", "--delay: got '-1us'"},
      {"--delay=9000000000s", "more than 292 years"},
      {"--topo=star --workers=4 --bandwidth=1bps --delay=0s --bytes=10GB", "more than 292 years"},
      {"--mtu=575", "--mtu: got '575'"},
      {"--mtu=65536", "<= 65535"},
      {"--topo=star --workers=4000 --flow-limit=1000000", "3.2e+07 or more"},
      {"--collective=auto --workers=4 --flow-limit=1", "--flow-limit: got '1'"},
      {"--multipath=all", "ecmp, spray"},
      {"--placement=diagonal", "packed"},
      {"--transport=rdma", "datacenter, wan"},
      {"--transport=roce:mut=1024", "did you mean mtu?"},
      {"--transport=roce:cc=hpcc:eta=2", "eta"},
      {"--transport=roce:cc=dcqcn,ecn=off", "marks"},
      {"--transport=roce --connections=tls", "nothing beside roce"},
      {"--transport=roce --congestion=cubic", "it is roce:cc="},
      {"--transport=roce --mtu=9000", "roce:mtu="},
      {"--transport=roce --multipath=spray", "go-back-n"},
      {"--transport=roce --topo=star --queue=1MB", "the shared buffer is the limit"},
      {"--transport=roce --ns3::TcpSocket::SegmentSize=1000",
       "ns3::TcpSocket::SegmentSize: got '1000'; allowed: nothing beside roce"},
      {"--connections=hot", "warm, cold"},
      {"--fidelity=exact", "flow, analytic"},
      {"--fidelity=flow,flow", "each once"},
      {"--fidelity=,", "--fidelity"},
      {"--collective=ring", "ring-allreduce"},
      {"--collective=ring-allreduce --bytes=1,2 --workers=2", "summed messages have one length"},
      {"--collective=recursive-doubling-allgather --workers=6", "bruck-allgather takes any number"},
      {"--collective=all-to-allv --matrix=missing.csv", "missing.csv"},
      {"--matrix=bad.csv", "nothing beside --collective=ring-allreduce"},
      {"--order=index", "--order: got 'index'"},
      {"--pattern=permutation --duration=1s --fct=out.csv", "--fct: got 'out.csv'"},
      {"--pattern=permutation --duration=1s --sweep=seed=1,2", "--duration: needs one experiment"},
      {"--jobs=missing.yaml", "missing.yaml"},
      {"--jobs=jobs.yaml --pattern=permutation", "either this or --jobs"},
      {"--sweep=jobs=jobs.yaml", "nothing in a sweep"},
      {"--jobs=jobs.yaml --fct=out.csv", "--fct: got 'out.csv'"},
      {"--jobs=jobs.yaml --sweep=seed=1,2", "--jobs: needs one run"},
      {"--telemetry-every=1ms", "nothing without --telemetry"},
      {"--sample=1us", "--sample: got '1us'; allowed: nothing without --queues"},
      {"--queues=q.csv --topo=star", "nothing without --transport=roce at packet fidelity"},
      {"--queues=q.csv --transport=roce --fidelity=flow", "at packet fidelity"},
      {"--telemetry=out.csv --fidelity=analytic", "needs packet or flow fidelity"},
      {"--telemetry=out.csv --telemetry-links=x", "--telemetry-links: got 'x'"},
      {"--telemetry=out.csv --telemetry-every=0s", "--telemetry-every: got '0s'"},
      {"--workers=0", "--workers: got '0'"},
      {"--bytes=1MB,2MB", "one for each of 16 workers"},
      {"--bytes=,", "--bytes"},
      {"--density=150", "--density"},
      {"--root=16 --collective=broadcast", "--root: got '16'"},
      {"--group=-1", "--group: got '-1'"},
      {"--protocol=LL", "--protocol: got 'LL'; allowed: auto, none, ll, ll128, simple"},
      {"--protocol=ll --collective=broadcast", "--protocol: got 'll'; allowed: none beside"},
      {"--pxn=on", "--pxn: got 'on'; allowed: off beside --collective=ring-allreduce"},
      {"--channels=65", "--channels: got '65'"},
      {"--channels=2 --collective=broadcast", "--channels: got '2'; allowed: 1 beside"},
      {"--buckets=0", "--buckets: got '0'"},
      {"--stragglers=often", "lognormal"},
      {"--stragglers=fixed:workers=99,factor=2", "99"},
      {"--repeat=0", "--repeat: got '0'"},
      {"--flows=missing.csv", "missing.csv"},
      {"--flows=bad.csv", "bad.csv:2: destination: got '99'"},
      {"--flows=bad.csv --pattern=permutation", "either this or --flows"},
      {"--flows=bad.csv --density=1%", "--density: got '1%'; allowed: nothing beside --flows"},
      {"--flows=bad.csv --placement=strided", "--placement: got 'strided'"},
      {"--pattern=permutation --collective=broadcast", "nothing beside --pattern"},
      {"--pattern=storm", "incast:N"},
      {"--sweep=size=1..2:x2", "--sweep: unknown option 'size'"},
      {"--sweep=bytes=1..2:x2 --fct=out.csv", "--fct"},
      {"--sweep=topo=star;moebius", "moebius"},
      {"--csv=nowhere/out.csv", "--csv: got 'nowhere/out.csv'"},
      {"--csv=out.csv --json=out.csv", "a file of its own"},
      {"--trace=out.json --trace-workers=40", "--trace-workers: got '40'"},
      {"--pattern=permutation --finish=out.csv", "--fct"},
      {"--fidelity=flow --pcap=out", "--fidelity is flow"},
      {"--ns3::TcpSocket::SegmentSize", "=VALUE"},
      {"topo look star", "check, show, convert"},
      {"pfc look star", "check"},
      {"pfc check star --transport=wan", "TCP has no pauses"},
      {"pfc check star --transport=roce:buffer=100KB", "to share"},
      {"topo convert star --format=xml", "yaml, hpcc, graphml, dot, svg"},
      {"validate --sections=luck", "luck"},
  };
  for (const auto& [arguments, expected] : cases) {
    // The cheapest engine runs if no engine is given; options come before subcommands.
    const bool fast = arguments.find("--fidelity") == std::string::npos;
    const Result result = Run((fast ? "--fidelity=flow " : "") + Escaped(arguments));
    EXPECT_EQ(result.status, 2) << arguments << "\n" << result.text;
    EXPECT_NE(result.text.find(expected), std::string::npos) << arguments << "\n" << result.text;
    EXPECT_EQ(std::count(result.text.begin(), result.text.end(), '\n'), 1) << result.text;
    EXPECT_EQ(Files(), before) << arguments;
  }
  EXPECT_EQ(Run("--no-such-option").status, 2);
  EXPECT_EQ(Run("topo show").status, 2);
  EXPECT_EQ(Run("--help").status, 0);
}

// Two trainings that share a spine: what each slows, and what compressing one of them does.
TEST_F(NetworkProgram, TrainingsShareTheNetwork) {
  std::ofstream(directory_ / "jobs.yaml")
      << "jobs:\n"
         "  - {name: a, hosts: [0, 2], layers: resnet18, policies: [dense, topk@1%]}\n"
         "  - {name: b, hosts: [1, 3], layers: resnet18, sharding: fsdp}\n";
  const std::string line =
      "--jobs=jobs.yaml --topo=leaf-spine:leaves=2,hosts=2,spines=1,oversubscription=2 --steps=5 "
      "--bandwidth=10Gbps --fidelity=flow --links=l.csv ";
  const Result result = Run(line + "--pairs=on --csv=a.csv");
  ASSERT_EQ(result.status, 0) << result.text;
  for (const char* word : {"resnet18 fsdp", "a: topk@1%", "gather", "by b", "fairness", "faster"}) {
    EXPECT_NE(result.text.find(word), std::string::npos) << word << "\n" << result.text;
  }
  const auto rows = Csv("a.csv");
  ASSERT_EQ(rows.size(), 1u + 2 * 2);
  const auto value = [&](size_t row, const char* name) {
    const auto column = std::find(rows[0].begin(), rows[0].end(), name) - rows[0].begin();
    return rows[row][column];
  };
  EXPECT_GT(std::stod(value(1, "slowdown")), std::stod(value(3, "slowdown")));
  EXPECT_EQ(value(2, "slowdown_by_a"), value(2, "slowdown"));
  EXPECT_EQ(value(1, "exposed_gather_alone_seconds"), "");
  EXPECT_GT(std::stod(value(2, "exposed_gather_together_seconds")), 0);
  ASSERT_EQ(Run(line + "--pairs=on --csv=b.csv --quiet").text, "");
  EXPECT_EQ(Read(directory_ / "a.csv"), Read(directory_ / "b.csv"));
  EXPECT_EQ(Run(line + "--offsets=0..1:x2 --csv=c.csv --quiet").status, 0);
  EXPECT_EQ(Csv("c.csv").size(), 1u + 2 * 2 * 2);
}

// Every command of the handbook runs.
TEST_F(NetworkProgram, CommandsOfTheHandbookRun) {
  std::ofstream(directory_ / "flows.csv") << "0,1,1000\n";
  std::ofstream(directory_ / "jobs.yaml")
      << "jobs: [{name: a, workers: 6, bytes: 1MB}, {name: b, hosts: [0, 15], repeat: 2}]\n";
  fs::create_directory_symlink(fs::path(LEGACY_NETWORK_HANDBOOK).parent_path() / "../scenarios",
                               directory_ / "scenarios");
  std::istringstream handbook(Read(LEGACY_NETWORK_HANDBOOK));
  const std::string start = "./waf --run legacy-network ";
  int commands = 0;
  for (std::string line; std::getline(handbook, line);) {
    if (line.rfind(start, 0) != 0) continue;
    const std::string arguments = line.substr(start.size());
    const bool packets = arguments.find("packet") != std::string::npos ||
                         arguments.find("--fidelity") == std::string::npos;
    if (packets && arguments.rfind("topo", 0) != 0) continue;  // takes too long for a test
    const Result result = Run(arguments);
    EXPECT_EQ(result.status, 0) << line << "\n" << result.text;
    ++commands;
  }
  EXPECT_GE(commands, 5);
}

// The recorded files are found where the program was built.
TEST_F(NetworkProgram, SamplesAreComparedWithTheRecordedFiles) {
  const Result result = Run("validate --sample --sections=astra-sim");
  EXPECT_EQ(result.status, 0) << result.text;
}

}  // namespace
}  // namespace legacy::program_test
// Further networks of a run: their options, and that they give the files of a training there.
#include "scenarios/run/further_networks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "analysis/run_directory.h"
#include "base/error.h"
#include "scenarios/run/workers/comparison.h"
#include "tests/message_of.h"
#include "tests/programs.h"

namespace legacy::further_networks_test {
namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t never = 0;

std::vector<std::string> Names(const Scenario& scenario) {
  std::vector<std::string> names;
  for (const FurtherNetwork& network : FurtherNetworks(scenario)) names.push_back(network.name);
  return names;
}

std::string Complaint(const std::string& text) {
  Scenario scenario;
  scenario.further = text;
  return MessageOf([&] { FurtherNetworks(scenario); });
}

TEST(FurtherNetworks, AutoIsThreeOrNoneIfTheNetworkWasChosen) {
  Scenario scenario;
  EXPECT_TRUE(Names(scenario).empty());
  scenario.further = "auto";
  EXPECT_EQ(Names(scenario), (std::vector<std::string>{"10Gbps", "100Gbps", "wan"}));
  scenario.topology = "star";
  EXPECT_EQ(Names(scenario).size(), 3u);
  scenario.bandwidth = "10Gbps";
  EXPECT_TRUE(Names(scenario).empty());
  scenario = {};
  scenario.further = "auto";
  scenario.sync = "backup:k=2";
  EXPECT_TRUE(Names(scenario).empty());
}

TEST(FurtherNetworks, DifferFromTheRunsNetworkInTheNamedOptions) {
  Scenario scenario;
  scenario.workers = 5;
  scenario.doctor = "on";
  scenario.further = "a:topology=leaf-spine:leaves=2,hosts=4,delay=1ms;b:bandwidth=3Gbps";
  const std::vector<FurtherNetwork> networks = FurtherNetworks(scenario);
  ASSERT_EQ(networks.size(), 2u);
  EXPECT_EQ(networks[0].scenario.topology, "leaf-spine:leaves=2,hosts=4");
  EXPECT_EQ(networks[0].scenario.delay.text(), "1ms");
  EXPECT_EQ(networks[0].scenario.bandwidth.text(), "1Gbps");
  EXPECT_EQ(networks[0].scenario.doctor, "off");
  EXPECT_EQ(networks[1].scenario.workers, 5);
  EXPECT_EQ(networks[1].scenario.bandwidth.text(), "3Gbps");
}

TEST(FurtherNetworks, RefuseOtherOptions) {
  EXPECT_NE(Complaint("fast").find("network.further: got 'fast'; allowed: none, auto"),
            std::string::npos);
  EXPECT_NE(Complaint("a:steps=3").find("a: steps=3"), std::string::npos);
  EXPECT_NE(Complaint("a:bandwidth=quick").find("network.further: a: network.bandwidth"),
            std::string::npos);
  EXPECT_NE(Complaint("../a:bandwidth=1Mbps").find("a name of letters"), std::string::npos);
  EXPECT_NE(Complaint("a:delay=1ms;a:delay=2ms").find("each name once"), std::string::npos);
  EXPECT_NE(Complaint("1Gbps:delay=1ms").find("run's own network"), std::string::npos);
  Scenario scenario;
  scenario.sync = "backup:k=2";
  scenario.further = "a:delay=1ms";
  EXPECT_NE(MessageOf([&] { FurtherNetworks(scenario); }).find("network.sync"), std::string::npos);
}

TEST(FurtherNetworks, NameTheOwnNetwork) {
  const auto name = [](const std::string& topology, const std::string& bandwidth) {
    Scenario scenario;
    SetOption(scenario, "network.topology", topology);
    SetOption(scenario, "network.bandwidth", bandwidth);
    scenario.workers = 4;
    return OwnNetworkName(scenario);
  };
  EXPECT_EQ(name("fat-tree", "1Gbps"), "1Gbps");
  EXPECT_EQ(name("nodes:gpus=8,node.rate=2Tbps,network.rate=400Gbps", "1Gbps"), "nodes");
  EXPECT_EQ(name("nodes:gpus=8,node.rate=2Tbps", "25Gbps"), "25Gbps");
  EXPECT_EQ(name("star:rate=2Gbps", "25Gbps"), "star");
  const fs::path file =
      fs::path(::testing::TempDir()) / ("rack-" + std::to_string(getpid()) + ".topo");
  std::ofstream(file)
      << "5 1 4\n4\n0 4 1Gbps 1us 0\n1 4 1Gbps 1us 0\n2 4 1Gbps 1us 0\n3 4 1Gbps 1us 0\n";
  EXPECT_EQ(name(file.string(), "25Gbps"), file.stem().string());
  fs::remove(file);
}

// Returns a scenario whose trainings take a second. gravac reads the clock and is trained on each
// network; the others are trained once.
Scenario ShortRun() {
  Scenario scenario;
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"training.model", "small-cnn"},
           {"training.workers", "4"},
           {"training.batch", "4"},
           {"training.steps", "4"},
           {"training.evaluate_every", "2"},
           {"training.warmup_steps", "2"},
           {"training.train_limit", "200"},
           {"training.test_limit", "40"},
           {"training.dataset", "glyphs"},
           {"compression.policies", "dense,topk,gravac"},
           {"run.seeds", "2"},
           {"run.pictures", "off"},
           {"network.fidelity", "flow"},
           {"network.topology", "star"}}) {
    SetOption(scenario, key, value);
  }
  scenario.methods["gravac"] = {"gravac", "topk", "layer", "gravac:window=1"};
  return scenario;
}

TEST(FurtherNetworks, LeaveTheFilesOfATrainingOnThem) {
  const fs::path folder = fs::path(::testing::TempDir()) / ("further-" + std::to_string(getpid()));
  fs::remove_all(folder);
  const Scenario scenario = ShortRun();
  Scenario both = scenario;
  both.further = "far:delay=3ms,bandwidth=20Mbps";
  both.out = (folder / "both").string();
  RunComparison(both, "legacy-scenario", "test", never);
  Scenario far = scenario;
  far.delay = "3ms";
  far.bandwidth = "20Mbps";
  far.out = (folder / "far").string();
  RunComparison(far, "legacy-scenario", "test", never);
  for (const char* file :
       {"steps.csv", "evaluations.csv", "layers.csv", "links.csv", "network.csv"}) {
    const std::string direct = Read(folder / "far" / file);
    EXPECT_GT(direct.size(), 200u) << file;
    EXPECT_EQ(direct, Read(folder / "both/networks/far" / file)) << file;
  }
  EXPECT_NE(Read(folder / "both/steps.csv"), Read(folder / "both/networks/far/steps.csv"));
  EXPECT_NE(Read(folder / "both/manifest.json").find("\"networks/far\""), std::string::npos);
  fs::remove_all(folder);
}

// Methods that read the network are trained once for the networks on which every decision is the
// same. Their files are those of trainings there, whether decisions differ from the start, in the
// middle, or never.
TEST(FurtherNetworks, ShareTrainingsWhoseDecisionsAreTheSame) {
  const fs::path folder = fs::path(::testing::TempDir()) / ("shared-" + std::to_string(getpid()));
  fs::remove_all(folder);
  Scenario scenario = ShortRun();
  scenario.steps = 8;
  scenario.methods["fixed"] = {"fixed", "topk", "layer", "kimad:budget=0.004"};
  scenario.methods["times"] = {"times", "topk", "layer", "lgreco:period=3,cost=time"};
  scenario.policies = {"gravac", "topk", "kimad", "fixed", "times", "flexible", "flexible-topk"};
  const std::vector<std::array<std::string, 3>> networks = {{"near", "60us", "900Mbps"},
                                                            {"far", "30ms", "20Mbps"}};
  Scenario all = scenario;
  all.further = "near:delay=60us,bandwidth=900Mbps;far:delay=30ms,bandwidth=20Mbps";
  all.out = (folder / "all").string();
  const RunResult result = RunComparison(all, "legacy-scenario", "test", never);
  for (const auto& [name, delay, bandwidth] : networks) {
    Scenario alone = scenario;
    SetOption(alone, "network.delay", delay);
    SetOption(alone, "network.bandwidth", bandwidth);
    alone.out = (folder / name).string();
    RunComparison(alone, "legacy-scenario", "test", never);
    for (const char* file : {"steps.csv", "evaluations.csv", "layers.csv", "decisions.csv",
                             "links.csv", "network.csv"}) {
      EXPECT_EQ(Read(folder / name / file), Read(folder / "all/networks" / name / file))
          << name << " " << file;
    }
  }
  // Two seeds on three networks would be six trainings.
  EXPECT_NE(result.note.find("gravac: 2 trainings in the place of 6"), std::string::npos)
      << result.note;
  EXPECT_EQ(("\n" + result.note).find("\ntopk:"), std::string::npos) << result.note;
  EXPECT_EQ(result.note.find("fixed: 2 trainings"), std::string::npos) << result.note;
  fs::remove_all(folder);
}

// The requested bytes are the scheme's at the anchor, the same on every network; pilots find the
// anchor for each network.
TEST(FurtherNetworks, HavePilotsOfTheirOwnWhereThePolicyReadsTheClock) {
  const fs::path folder = fs::path(::testing::TempDir()) / ("piloted-" + std::to_string(getpid()));
  fs::remove_all(folder);
  Scenario both = ShortRun();
  SetOption(both, "compression.volume", "bytes");
  SetOption(both, "compression.policies", "topk,gravac");
  both.out = (folder / "both").string();
  both.further = "far:delay=3ms,bandwidth=20Mbps";
  ::testing::internal::CaptureStderr();
  RunComparison(both, "legacy-scenario", "test", never);
  const std::string said = ::testing::internal::GetCapturedStderr();
  const size_t own = said.find("bytes a step asked for");
  const size_t far = said.find("on 4 workers on star", own);
  ASSERT_NE(far, std::string::npos) << said;
  EXPECT_NE(said.find("gravac", far), std::string::npos);
  EXPECT_NE(said.find("bytes a step asked for", far), std::string::npos);
  const auto asked = analysis::ReadRunDirectory(folder / "both").manifest.requested_bytes;
  EXPECT_EQ(asked.size(), 2u);
  EXPECT_EQ(analysis::ReadRunDirectory(folder / "both/networks/far").manifest.requested_bytes,
            asked);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace legacy::further_networks_test
// One training is timed on several networks: checks the table, the file and the sentences about it.
#include "analysis/report/network_comparison.h"

#include <gtest/gtest.h>

#include "tests/analysis/fixture.h"
#include "tests/message_of.h"

namespace legacy::analysis::network_comparison_test {
namespace {

using ::testing::Test;

// On slow links "sparse" wins by shorter steps. Where its codec takes longer than the communication
// that it saves, "dense" wins.
NetworkResult Network(const std::string& name, double dense_communication,
                      double sparse_communication) {
  RunDirectory run = MakeRun({"dense", "sparse"}, {1, 2});
  for (const uint64_t seed : {1, 2}) {
    AddTraining(run, "dense", seed, 1e-3 + dense_communication, {0.5, 0.8, 0.8, 0.8});
    AddTraining(run, "sparse", seed, 2e-3 + sparse_communication, {0.5, 0.8, 0.8, 0.8});
  }
  for (StepRow& row : run.steps) {
    const bool dense = row.policy == "dense";
    row.compute_seconds = 1e-3;
    row.communication_seconds = dense ? dense_communication : sparse_communication;
    row.encode_seconds = dense ? 0 : 4e-4;
    row.decode_seconds = dense ? 0 : 6e-4;
  }
  return {name, Summarise(run), {{"resnet50 x 32 images", dense_communication * 100}}};
}

std::vector<NetworkResult> SlowAndFast() {
  return {Network("1Gbps", 64e-3, 2e-3), Network("100Gbps", 0.5e-3, 0.1e-3)};
}

TEST(NetworkComparison, ShowsATimeForEachNetworkAndTheRatioOfCommunication) {
  const std::string text = NetworksText(SlowAndFast());
  // There are 40 steps; the mean of three evaluations reaches 0.8 at the last one.
  EXPECT_NE(text.find("80.00  0.160 (16.2x)  0.0840 (0.714x)"), std::string::npos) << text;
  EXPECT_NE(text.find("dense, compute : communication"), std::string::npos) << text;
  EXPECT_NE(text.find("1 : 64.0"), std::string::npos) << text;
  EXPECT_NE(text.find("1 : 0.500"), std::string::npos) << text;
  EXPECT_NE(text.find("resnet50 x 32 images, dense step"), std::string::npos) << text;
  EXPECT_NE(text.find("1 : 6.40"), std::string::npos) << text;
}

TEST(NetworkComparison, ShowsForHowLongLinksArePausedWhereAnyIs) {
  std::vector<NetworkResult> networks = SlowAndFast();
  EXPECT_EQ(NetworksText(networks).find("paused"), std::string::npos);
  networks[1].summary.policies[0].network.roce.paused_share = .0125;
  networks[1].summary.policies[0].network.roce.pauses = 7;
  const std::string text = NetworksText(networks);
  const size_t row = text.find("dense, link time paused %");
  ASSERT_NE(row, std::string::npos) << text;
  const std::string line = text.substr(row, text.find('\n', row) - row);
  EXPECT_NE(line.find("0.00"), std::string::npos) << line;
  EXPECT_NE(line.find("1.25"), std::string::npos) << line;
  EXPECT_NE(NetworksCsv(networks).find(",7,0.0125\n"), std::string::npos);
}

TEST(NetworkComparison, ShowsStepsWithoutATarget) {
  std::vector<NetworkResult> networks = SlowAndFast();
  for (NetworkResult& network : networks) network.summary.target.reset();
  const std::string text = NetworksText(networks);
  EXPECT_NE(text.find("The mean step in ms on each network"), std::string::npos) << text;
  EXPECT_EQ(text.find("reached"), std::string::npos) << text;
  EXPECT_EQ(text.find("final"), std::string::npos) << text;
  EXPECT_NE(text.find("4.00 (16."), std::string::npos) << text;
  EXPECT_NE(text.find("2.10 (0.714x)"), std::string::npos) << text;
}

TEST(NetworkComparison, WritesALineForEachNetworkAndPolicy) {
  const std::string text = NetworksCsv(SlowAndFast());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5);
  EXPECT_NE(text.find("\n1Gbps,sparse,2,2,0.16,0,16.25,0.8,"), std::string::npos) << text;
  EXPECT_NE(text.find("\n100Gbps,dense,2,2,0.06,0,1,0.8,"), std::string::npos) << text;
}

TEST(NetworkComparison, RefusesAManifestWithoutAListOfNetworks) {
  RunDirectory run = MakeRun({"dense"}, {1});
  run.manifest.document["networks"] = {{{"name", 3}}};
  EXPECT_EQ(MessageOf([&] { ReadNetworks(run, Summarise(run), {}); }).substr(0, 24),
            "manifest.json: networks:");
}

}  // namespace
}  // namespace legacy::analysis::network_comparison_test
#include "trainer/federated/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/error.h"
#include "trainer/federated/partition_view.h"

namespace legacy::partition_test {
namespace {

// 1,000 samples of ten classes; class k has 100, and neighbouring samples are of different ones.
struct Data {
  Data() {
    for (int32_t i = 0; i < 1000; ++i) labels.push_back(i % 10), groups.push_back(i / 77);
  }
  SampleLabels View() const {
    return {.samples = 1000, .labels = labels, .classes = 10, .groups = groups, .group_count = 13};
  }
  std::vector<int32_t> labels, groups;
};

std::string MessageOf(const std::string& text, const SampleLabels& data, int64_t clients) {
  try {
    MakePartition(text, data, clients, 1);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::vector<int64_t> All(const Partition& partition) {
  std::vector<int64_t> all;
  for (int64_t client = 0; client < partition.Clients(); ++client) {
    const std::vector<int64_t> samples = partition.SamplesOf(client);
    EXPECT_EQ(std::ssize(samples), partition.SizeOf(client));
    all.insert(all.end(), samples.begin(), samples.end());
  }
  std::ranges::sort(all);
  return all;
}

TEST(Partition, GivesEachSampleToOneClientAtMost) {
  const Data data;
  for (const char* text :
       {"iid", "dirichlet:alpha=0.5", "dirichlet:alpha=100,balance=off", "dirichlet-client",
        "dirichlet-client:alpha=0.01,prior=uniform", "shards", "shards:per_client=5",
        "labels:per_client=10", "labels:per_client=3", "quantity:alpha=5", "quantity:lognormal=1",
        "power-law", "power-law:labels=10,least=1"}) {
    const auto partition = MakePartition(text, data.View(), 12, 3);
    const std::vector<int64_t> all = All(*partition);
    std::vector<int64_t> expected(1000);
    for (int64_t i = 0; i < 1000; ++i) expected[i] = i;
    EXPECT_EQ(all, expected) << text;
  }
}

TEST(Partition, IsAFunctionOfItsSeed) {
  const Data data;
  for (const PartitionRule& rule : PartitionRules()) {
    if (rule.info.name == "natural") continue;
    const auto once = MakePartition(rule.info.name, data.View(), 10, 3);
    const auto again = MakePartition(rule.info.name, data.View(), 10, 3);
    const auto other = MakePartition(rule.info.name, data.View(), 10, 4);
    bool same = true;
    for (int64_t client = 0; client < 10; ++client) {
      EXPECT_EQ(once->SamplesOf(client), again->SamplesOf(client)) << rule.info.name;
      same = same && once->SamplesOf(client) == other->SamplesOf(client);
    }
    EXPECT_EQ(same, rule.info.name == "groups") << rule.info.name;
  }
}

// Other names of the classes give each client as many samples of class k, and the same ones of it.
TEST(Partition, PermutesAsItsClassesDo) {
  constexpr int32_t kNames[] = {3, 7, 0, 9, 1, 8, 2, 6, 5, 4};
  const Data data;
  Data renamed;
  int64_t sample_of[10];  // the first one that has a name
  for (int32_t k = 0; k < 10; ++k) sample_of[kNames[k]] = k;
  for (int32_t& label : renamed.labels) label = kNames[label];
  for (const char* text : {"dirichlet", "dirichlet:alpha=0.1,least=0,balance=off", "shards",
                           "dirichlet-client:alpha=0.3", "labels:per_client=3", "power-law"}) {
    const auto once = MakePartition(text, data.View(), 10, 3);
    const auto again = MakePartition(text, renamed.View(), 10, 3);
    for (int64_t client = 0; client < 10; ++client) {
      std::vector<int64_t> expected = once->SamplesOf(client);
      for (int64_t& sample : expected) sample += sample_of[sample % 10] - sample % 10;
      EXPECT_EQ(again->SamplesOf(client), expected) << text;
    }
  }
}

TEST(Partition, KeepsTheListsOfASeed) {
  const Data data;
  const auto first = [&](const char* text) {
    std::vector<int64_t> samples = MakePartition(text, data.View(), 10, 1)->SamplesOf(3);
    samples.resize(4);
    return samples;
  };
  using List = std::vector<int64_t>;
  EXPECT_EQ(first("iid"), List({283, 309, 634, 445}));
  EXPECT_EQ(first("dirichlet"), List({880, 860, 580, 370}));
  EXPECT_EQ(first("dirichlet-client"), List({232, 542, 532, 812}));
  EXPECT_EQ(first("shards"), List({992, 822, 762, 212}));
  EXPECT_EQ(first("labels"), List({373, 533, 603, 813}));
  EXPECT_EQ(first("quantity"), List({27, 724, 913, 128}));
  EXPECT_EQ(first("power-law"), List({263, 303, 983, 503}));
}

TEST(Partition, CutsEvenly) {
  const Data data;
  const auto partition = MakePartition("iid", data.View(), 7, 1);
  for (int64_t client = 0; client < 7; ++client) {
    EXPECT_EQ(partition->SizeOf(client), client < 6 ? 143 : 142);
  }
  EXPECT_EQ(MakePartition("iid:samples=3", data.View(), 7, 1)->SizeOf(6), 3);
  EXPECT_EQ(MakePartition("iid", data.View(), 1000, 1)->SizeOf(999), 1);
}

TEST(Partition, DrawsWithReplacement) {
  const Data data;
  const auto partition = MakePartition("iid:samples=400,replace=on", data.View(), 5000, 1);
  EXPECT_EQ(partition->Clients(), 5000);
  const std::vector<int64_t> samples = partition->SamplesOf(4999);
  EXPECT_EQ(std::ssize(samples), 400);
  // 400 draws of 1,000 meet 1000 (1 - .999^400) = 330 different ones.
  EXPECT_NEAR(static_cast<double>(std::set(samples.begin(), samples.end()).size()), 330, 30);
  EXPECT_NE(samples, partition->SamplesOf(4998));
  EXPECT_LT(std::ranges::max(samples), 1000);
}

// With small alpha clients have few classes, and with large ones they are like the whole.
TEST(Partition, FollowsAlpha) {
  const Data data;
  for (const char* rule : {"dirichlet:least=0,balance=off,alpha=", "dirichlet-client:alpha="}) {
    double before = 1;
    for (const char* alpha : {"0.05", "0.5", "5", "1000"}) {
      double distance = 0;
      for (uint64_t seed = 1; seed <= 5; ++seed) {
        const auto partition = MakePartition(std::string(rule) + alpha, data.View(), 5, seed);
        distance += ViewPartition(*partition, data.View()).distance / 5;
      }
      EXPECT_LT(distance, before) << rule << alpha;
      before = distance;
    }
    EXPECT_LT(before, 0.15);
  }
}

TEST(Partition, BalancesDirichlet) {
  const Data data;
  const auto most = [&](const char* text) {
    return ViewPartition(*MakePartition(text, data.View(), 5, 2), data.View()).most;
  };
  EXPECT_LT(most("dirichlet:alpha=0.3,least=0,balance=on"),
            most("dirichlet:alpha=0.3,least=0,balance=off"));
}

TEST(Partition, GivesClientsTheirLabels) {
  const Data data;
  const auto labels = [&](const char* text, int64_t clients) {
    const auto partition = MakePartition(text, data.View(), clients, 1);
    return ViewPartition(*partition, data.View());
  };
  const PartitionView three = labels("labels:per_client=3", 20);
  EXPECT_EQ(three.labels, 3);
  for (int64_t client = 0; client < 20; ++client) {
    EXPECT_GT(three.counts[client][client % 10], 0) << client;
  }
  // 20 shards of 50 samples each: none of them spans two labels.
  const PartitionView shards = labels("shards:per_client=2", 10);
  for (const auto& counts : shards.counts) {
    EXPECT_LE(std::ranges::count_if(counts, [](int64_t n) { return n > 0; }), 2);
  }
  EXPECT_EQ(labels("shards:per_client=1", 10).labels, 1);
  const PartitionView power = labels("power-law:labels=2,least=5", 10);
  EXPECT_EQ(power.labels, 2);
  EXPECT_GE(power.least, 10);
  // One client and one label: the other labels are left out.
  const auto one = MakePartition("labels:per_client=1", data.View(), 1, 1);
  EXPECT_EQ(ViewPartition(*one, data.View()).left_out, 900);
}

TEST(Partition, TakesTheGroupsOfTheData) {
  const Data data;
  const auto groups = MakePartition("groups", data.View(), 13, 1);
  EXPECT_EQ(groups->SizeOf(0), 77);
  EXPECT_EQ(groups->SizeOf(12), 76);
  EXPECT_EQ(groups->SamplesOf(12).front(), 924);
  EXPECT_EQ(MessageOf("groups:least=77", data.View(), 13),
            "clients: got '13'; allowed: at most 12, the groups of 77 samples or more");
  const SampleLabels none = {.samples = 10};
  EXPECT_EQ(MessageOf("groups", none, 2),
            "partition: got 'groups'; allowed: another rule, as the data have no groups of their "
            "own");
  EXPECT_EQ(MessageOf("dirichlet", none, 2),
            "partition: got 'dirichlet'; allowed: iid, quantity, natural or groups, as the data "
            "have no classes");
}

class PartitionFile : public testing::Test {
 protected:
  std::string Write(const std::string& text) {
    std::ofstream(path_) << text;
    return "natural:file=" + path_;
  }
  void TearDown() override { std::filesystem::remove(path_); }
  std::string path_ = testing::TempDir() + "partition_test.csv";
  Data data_;
};

TEST_F(PartitionFile, IsRead) {
  const auto partition = MakePartition(Write("client,sample\n1,5\n0,7\n1,2\n"), data_.View(), 2, 1);
  EXPECT_EQ(partition->SamplesOf(0), std::vector<int64_t>({7}));
  EXPECT_EQ(partition->SamplesOf(1), std::vector<int64_t>({5, 2}));
  EXPECT_EQ(ViewPartition(*partition, data_.View()).left_out, 997);
}

TEST_F(PartitionFile, IsRefusedWithItsLine) {
  const auto message = [&](const std::string& text) {
    return MessageOf(Write(text), data_.View(), 2);
  };
  EXPECT_EQ(message("client,sample\n0,1\n1,1\n"),
            path_ + ":3: sample: got '1'; allowed: each sample once");
  EXPECT_NE(message("client,sample\n0,1000\n").find(":2: sample: got '1000'"), std::string::npos);
  EXPECT_NE(message("client,sample\n2,1\n").find(":2: client: got '2'"), std::string::npos);
  EXPECT_NE(message("client,pixel\n2,1\n").find("sample"), std::string::npos);
  EXPECT_EQ(message("client,sample\n"), "partition: got 'natural:file=" + path_ +
                                            "'; allowed: one in which some client has samples");
}

TEST_F(PartitionFile, LeavesClientsWithoutSamples) {
  const auto partition = MakePartition(Write("client,sample\n2,1\n2,7\n"), data_.View(), 4, 1);
  EXPECT_EQ(partition->Clients(), 4);
  EXPECT_EQ(partition->Holders(), 1);
  EXPECT_EQ(partition->SizeOf(0), 0);
  EXPECT_TRUE(partition->SamplesOf(3).empty());
  const PartitionView view = ViewPartition(*partition, data_.View());
  EXPECT_EQ(view.without, 3);
  EXPECT_EQ(view.left_out, 998);
  EXPECT_EQ(view.least, 0);
  EXPECT_EQ(view.distances[0], 0);
  EXPECT_EQ(view.distance, view.distances[2]) << "the mean is over clients with samples";
}

// Concentrated shares leave most clients with nothing: with least=0 that is a partition.
TEST(Partition, MayLeaveClientsWithoutSamples) {
  const Data data;
  for (const char* rule : {"dirichlet:alpha=0.01,least=0", "quantity:alpha=0.01,least=0"}) {
    const auto partition = MakePartition(rule, data.View(), 100, 1);
    EXPECT_GT(partition->Holders(), 0) << rule;
    EXPECT_LT(partition->Holders(), 100) << rule;
    const PartitionView view = ViewPartition(*partition, data.View());
    EXPECT_EQ(view.without, 100 - partition->Holders());
    EXPECT_EQ(view.samples, 1000);
    EXPECT_TRUE(std::isfinite(view.distance));
  }
  EXPECT_NE(MessageOf("dirichlet:alpha=0.01", data.View(), 100)
                .find("least: got '10'; allowed: at most 0, the most"),
            std::string::npos);
}

TEST(Partition, SaysWhatIsAllowed) {
  const Data data;
  EXPECT_NE(MessageOf("dirichlt", data.View(), 2).find("dirichlet"), std::string::npos);
  EXPECT_EQ(MessageOf("iid", data.View(), 1001),
            "clients: got '1001'; allowed: at most the 1000 training samples");
  EXPECT_EQ(MessageOf("iid:samples=200", data.View(), 10),
            "partition: samples: got '200'; allowed: at most 100 for 10 clients, or replace=on");
  EXPECT_NE(MessageOf("dirichlet:alpha=0.01,least=50", data.View(), 12).find("at most"),
            std::string::npos);
  EXPECT_NE(MessageOf("dirichlet:alpha=nan", data.View(), 12).find("alpha"), std::string::npos);
  EXPECT_NE(MessageOf("labels:per_client=11", data.View(), 12).find("per_client"),
            std::string::npos);
  EXPECT_NE(MessageOf("power-law:least=60", data.View(), 10).find("at most 50"), std::string::npos);
}

TEST(Partition, ATextIsCheckedWithoutData) {
  for (const PartitionRule& rule : PartitionRules()) {
    const bool reads_file = rule.info.name == "natural";
    EXPECT_NO_THROW(CheckPartition(rule.info.name + (reads_file ? ":file=later.csv" : "")));
    EXPECT_THROW(CheckPartition(rule.info.name + ":nothing=1"), Error);
    for (const OptionSpec& option : rule.info.options) {
      if (option.name == "file") continue;
      EXPECT_THROW(CheckPartition(rule.info.name + ":" + option.name + "=-1"), Error)
          << rule.info.name << " " << option.name;
    }
  }
  EXPECT_THROW(CheckPartition("natural"), Error);
  EXPECT_THROW(MakePartition("iid", {}, 1, 1), Error);
}

}  // namespace
}  // namespace legacy::partition_test

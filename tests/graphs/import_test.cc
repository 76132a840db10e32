// Traces become plans: times by hand, roles, groups, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "tests/graphs/graph_testing.h"
#include "tests/message_of.h"

namespace legacy::graphs::import_test {
namespace {

using fabric::CollectiveAlgorithm;
using fabric::OperationKind;
using graph_test::Compute;
using graph_test::Folder;
using graph_test::Message;
using graph_test::Sums;
using graph_test::TimesOf;

using Ranks = std::vector<std::vector<TraceNode>>;

ImportedPlan Imported(const Ranks& ranks, const ImportOptions& options = {},
                      const std::string& groups = "") {
  const Folder folder;
  graph_test::WriteRanks(folder, ranks);
  const std::string file = groups.empty() ? "" : folder.Write("groups.json", groups);
  return ImportTrace(folder.Path(), file, options);
}

std::string Refusal(const Ranks& ranks, const std::string& groups = "",
                    const ImportOptions& options = {}) {
  const std::string message = MessageOf([&] { Imported(ranks, options, groups); });
  size_t name = message.find("/t.");  // a file's name, after a folder's that may begin so, too
  while (name != std::string::npos && std::isdigit(message[name + 3]) == 0) {
    name = message.find("/t.", name + 1);
  }
  return name == std::string::npos ? message : message.substr(name + 1);
}

// Four ranks compute for 7 us and gather: one role, and the times of the plan written by hand.
TEST(Import, EqualRanksAreOneRole) {
  const std::vector<TraceNode> rank = {
      Compute(0, 7000), Sums(1, CollectiveType::kAllGather, 1000, {0}), Compute(2, 3000, {1})};
  const ImportedPlan imported = Imported({rank, rank, rank, rank});
  const fabric::StepPlan& plan = imported.plan;
  EXPECT_EQ(fabric::ToText(plan),
            "4 ranks\n"
            "stream compute, any order\n"
            "stream all ranks\n"
            "collective 0: ring-allgather of 1000 B among all\n"
            "role 0: ranks 0-3\n"
            "  0 compute 0: segment compute of 7000 ns, on compute\n"
            "  1 all-gather: collective 0, on all ranks, after 0\n"
            "  2 compute 2: segment compute of 3000 ns, on compute, after 1\n");
  const fabric::PlanTiming times = TimesOf(plan);
  EXPECT_EQ(times.roles[0][1].begin, std::vector<TimeNs>(4, 7000));
  EXPECT_GT(times.roles[0][1].end[0], 7000 + 3 * 1000);
  EXPECT_EQ(times.total, times.roles[0][1].end[0] + 3000);
  EXPECT_EQ(imported.counts.nodes, 12);
}

// Ids, durations, peers and groups may differ within a role; operations may not.
TEST(Import, RolesHaveTheirRanksDurationsAndPeers) {
  const auto rank = [](uint64_t id, TimeNs duration, int peer) {
    return std::vector<TraceNode>{Compute(id, duration), Message(id + 1, true, peer, 100, {id}),
                                  Message(id + 2, false, peer, 100)};
  };
  std::vector<TraceNode> first = rank(0, 5000, 1), second = rank(70, 9000, 0);
  second[0].name = first[0].name;
  const fabric::StepPlan plan = Imported({first, second}).plan;
  ASSERT_EQ(plan.roles.size(), 1U);
  EXPECT_EQ(plan.roles[0].operations[0].duration, (std::vector<TimeNs>{5000, 9000}));
  EXPECT_EQ(plan.roles[0].operations[1].peer, (std::vector<int>{1, 0}));
  second.push_back(Compute(80, 1));
  EXPECT_EQ(Imported({first, second}).plan.roles.size(), 2U);
}

// Each collective's sizes: all-gathers by what ranks give, or with comm_size=output by what they
// have in the end.
TEST(Import, SizesAreThoseOfAstraSim) {
  Ranks ranks(3);
  for (size_t r = 0; r < 3; ++r) {
    ranks[r] = {Sums(0, CollectiveType::kAllGather, 10 + static_cast<int64_t>(r)),
                Sums(1, CollectiveType::kReduceScatter, 90),
                Sums(2, CollectiveType::kAllToAll, 30),
                Sums(3, CollectiveType::kBroadcast, 7),
                Sums(4, CollectiveType::kGather, 5),
                Sums(5, CollectiveType::kBarrier, 0)};
    ranks[r][3].source = 2;
    ranks[r][4].destination = 1;
  }
  const auto collectives = Imported(ranks).plan.collectives;
  ASSERT_EQ(collectives.size(), 6U);
  EXPECT_EQ(collectives[0].bytes, (std::vector<int64_t>{10, 11, 12}));
  EXPECT_EQ(collectives[1].algorithm, CollectiveAlgorithm::RingReduceScatter);
  EXPECT_EQ(collectives[1].bytes, std::vector<int64_t>(3, 90));
  EXPECT_EQ(collectives[2].algorithm, CollectiveAlgorithm::AllToAll);
  EXPECT_EQ(collectives[3].root, 2);
  EXPECT_EQ(collectives[4].pairBytes, (std::vector<int64_t>{0, 5, 0, 0, 5, 0, 0, 5, 0}));
  EXPECT_EQ(collectives[5].bytes, std::vector<int64_t>(3, 4));
  for (auto& rank : ranks) rank = {Sums(0, CollectiveType::kAllGather, 10)};
  ImportOptions output;
  output.gathered_sizes = true;
  EXPECT_EQ(Imported(ranks, output).plan.collectives[0].bytes, (std::vector<int64_t>{4, 3, 3}));
}

// Groups of one size share a stream, whatever they are called; a second group of a rank with that
// size has another one.
TEST(Import, StreamsAreThoseOfGroupSizes) {
  Ranks ranks(4);
  for (int r = 0; r < 4; ++r) {
    ranks[r] = {Sums(0, CollectiveType::kAllReduce, 8, {}, r < 2 ? "tp0" : "tp1"),
                Sums(1, CollectiveType::kAllReduce, 8, {}, r % 2 == 0 ? "dp0" : "dp1"),
                Sums(2, CollectiveType::kAllReduce, 8)};
  }
  const std::string groups = R"({"tp0": [0, 1], "tp1": [2, 3], "dp0": [0, 2], "dp1": [1, 3]})";
  const fabric::StepPlan plan = Imported(ranks, {}, groups).plan;
  ASSERT_EQ(plan.roles.size(), 1U);
  ASSERT_EQ(plan.streams.size(), 3U);
  EXPECT_EQ(plan.streams[0].name, "groups of 2");
  EXPECT_EQ(plan.streams[1].name, "groups of 2 (2)");
  EXPECT_EQ(plan.streams[2].name, "all ranks");
  EXPECT_EQ(plan.roles[0].operations[0].collective, (std::vector<int>{0, 0, 4, 4}));
  ImportOptions one;
  one.one_stream = true;
  EXPECT_EQ(Imported(ranks, one, groups).plan.streams.size(), 1U);
}

TEST(Import, MetadataNodesDefineGroups) {
  TraceNode metadata;
  metadata.kind = NodeKind::kOther;
  metadata.name = "## process_group:init ##";
  Ranks ranks(2, {Sums(1, CollectiveType::kAllReduce, 8, {}, "3")});
  EXPECT_NE(Refusal(ranks).find("node 1 'all-reduce': group: got '3'; allowed: none"),
            std::string::npos);
  TraceGroups groups(4);
  groups.AddMetadata(R"(["[{\"pg_name\": \"3\", \"ranks\": [2, 1]}, {\"pg_name\": 4}]"])");
  EXPECT_EQ(groups.At(groups.Find("3")).members, (std::vector<int>{2, 1}));
  EXPECT_TRUE(groups.At(groups.Find("4")).members.empty());
}

// A processor and a GPU of one rank work at once, and each does one thing at a time.
TEST(Import, ProcessorAndDeviceRunBesideEachOther) {
  std::vector<TraceNode> rank;
  for (uint64_t id = 0; id < 4; ++id) {
    rank.push_back(Compute(id, 10'000));
    rank.back().device = static_cast<int>(id % 2);
  }
  const fabric::PlanTiming times = TimesOf(Imported({rank}).plan);
  EXPECT_EQ(times.total, 20'000);
  rank.push_back(Compute(4, 1'000, {1, 3}));
  const ImportedPlan imported = Imported({rank});
  EXPECT_EQ(TimesOf(imported.plan).total, 21'000);
}

TEST(Import, OrderFollowsDependenciesWhereTheFileDoesNot) {
  const fabric::StepPlan plan =
      Imported({{Compute(5, 1000, {9}), Compute(2, 2000), Compute(9, 4000, {2})}}).plan;
  const auto& operations = plan.roles[0].operations;
  EXPECT_EQ(operations[0].name, "compute 2");
  EXPECT_EQ(operations[1].name, "compute 9");
  EXPECT_EQ(operations[1].after, std::vector<int>{0});
  EXPECT_EQ(operations[2].name, "compute 5");
  EXPECT_EQ(operations[2].after, std::vector<int>{1});
}

TEST(Import, RooflinePricesWhatHasASize) {
  TraceNode sized = Compute(0, 0);
  sized.operations = 2'000'000;
  sized.tensor_bytes = 1000;
  const ImportedPlan recorded = Imported({{sized}});
  EXPECT_EQ(recorded.plan.roles[0].operations[0].duration, std::vector<TimeNs>{0});
  EXPECT_EQ(recorded.counts.timeless, 1);
  ImportOptions options;
  options.roofline = {1e12, 1e9};  // 2 us, 1 us
  EXPECT_EQ(Imported({{sized}}, options).plan.roles[0].operations[0].duration,
            std::vector<TimeNs>{2000});
  options.roofline = {1e12, 1e8};
  EXPECT_EQ(Imported({{sized}}, options).plan.roles[0].operations[0].duration,
            std::vector<TimeNs>{10'000});
}

TEST(Import, RefusesWhatCannotBeAPlan) {
  const TraceNode sum = Sums(3, CollectiveType::kAllReduce, 8);
  EXPECT_EQ(Refusal({{Compute(1, 5, {1})}}),
            "t.0.et: byte 8: node 1 'compute 1': waits for itself");
  EXPECT_EQ(Refusal({{Compute(1, 5, {2}), Compute(2, 5, {3}), Compute(3, 5, {1})}}),
            "t.0.et: nodes wait for each other in a circle: node 1 'compute 1', node 2 'compute "
            "2', node 3 'compute 3', node 1 'compute 1'");
  EXPECT_EQ(Refusal({{Compute(1, 5, {7})}}),
            "t.0.et: node 1 'compute 1': waits for node 7, which is not in the file");
  EXPECT_EQ(Refusal({{Compute(1, 5), Compute(1, 6)}}),
            "t.0.et: node 1 'compute 1': another node has this id");
  EXPECT_EQ(Refusal({{sum}, {}}),
            "t.0.et: node 3 'all-reduce': rank 1 of its group takes no part in it");
  EXPECT_NE(Refusal({{sum}, {Sums(4, CollectiveType::kAllToAll, 8)}})
                .find("t.1.et: node 4 'all-to-all': is all-to-all, and the same collective is "
                      "all-reduce at "),
            std::string::npos);
  EXPECT_NE(Refusal({{sum}, {Sums(4, CollectiveType::kAllReduce, 9)}})
                .find("t.1.et: node 4 'all-reduce': comm_size: got '9'; allowed: 8, as at "),
            std::string::npos);
  EXPECT_EQ(Refusal({{Message(6, true, 1, 5)}, {}}),
            "t.0.et: node 6 'send': sends to rank 1 with tag 0, which never receives that");
  EXPECT_EQ(Refusal({{Message(6, true, 4, 5)}, {}}),
            "t.0.et: byte 8: node 6 'send': comm_dst: got '4'; allowed: 0 to 1, and not the rank "
            "itself");
}

TEST(Import, RefusesGroupsThatAreNone) {
  const Ranks ranks(3, {Sums(3, CollectiveType::kAllReduce, 8, {}, "1")});
  const auto refusal = [&](const std::string& groups) {
    const std::string message = MessageOf([&] { Imported(ranks, {}, groups); });
    return message.substr(message.find_last_of('/') + 1);
  };
  EXPECT_EQ(refusal(R"({"1": [0, 1]})"),
            "t.2.et: byte 8: node 3 'all-reduce': rank 2 is not in its group 1");
  EXPECT_EQ(refusal(R"({"1": [0, 1, 1]})"),
            "groups.json: group 1: got 'rank 1 twice'; allowed: each rank once");
  EXPECT_EQ(refusal(R"({"1": [0, 1, 3]})"),
            "groups.json: group 1: rank: got '3'; allowed: a whole number from 0 to 2");
  EXPECT_EQ(refusal(R"({"2": [0, 1, 2]})"),
            "t.0.et: byte 8: node 3 'all-reduce': group: got '1'; allowed: 2");
}

// Two ranks that run the collectives of two groups in opposite orders never end.
TEST(Import, RefusesOrdersThatNeverEnd) {
  const auto rank = [](const char* first, const char* second) {
    return std::vector<TraceNode>{Sums(0, CollectiveType::kAllReduce, 8, {}, first),
                                  Sums(1, CollectiveType::kAllReduce, 8, {0}, second)};
  };
  const std::string refusal = MessageOf([&] {
    Imported({rank("a", "b"), rank("b", "a")}, {}, R"({"a": [0, 1], "b": [0, 1]})");
  });
  EXPECT_NE(refusal.find("deadlock: rank 0 waits for"), std::string::npos) << refusal;
}

// Dependencies of control are followed where the user says so, and then their nodes must be there.
TEST(Import, ControlDependenciesAreFollowedIfStrict) {
  TraceNode node = Compute(1, 5);
  node.control_after = {0};
  const ImportedPlan loose = Imported({{Compute(0, 5), node}});
  EXPECT_EQ(loose.counts.dropped, 1);
  EXPECT_TRUE(loose.plan.roles[0].operations[1].after.empty());
  ImportOptions strict;
  strict.strict = true;
  EXPECT_EQ(Imported({{Compute(0, 5), node}}, strict).plan.roles[0].operations[1].after,
            std::vector<int>{0});
  node.control_after = {99};
  EXPECT_EQ(Imported({{node}}).counts.dropped, 1);
  EXPECT_EQ(Refusal({{node}}, "", strict),
            "t.0.et: node 1 'compute 1': waits for node 99, which is not in the file");
}

// A collective without a type takes its recorded time beside compute, or is refused.
TEST(Import, CollectivesWithoutATypeTakeTheirTime) {
  TraceNode node = Sums(1, CollectiveType::kAllReduce, 8);
  node.type.reset();
  node.duration = 7000;
  const ImportedPlan imported = Imported({{Compute(0, 5000), node}, {Compute(0, 5000), node}});
  EXPECT_EQ(imported.counts.replayed, 2);
  EXPECT_EQ(TimesOf(imported.plan).total, 7000);
  ImportOptions strict;
  strict.strict = true;
  EXPECT_EQ(Refusal({{node}}, "", strict), "t.0.et: byte 8: node 1 'all-reduce': has no comm_type");
}

TEST(Import, FoldersHaveOneTraceOfAllRanks) {
  const Folder folder;
  const auto refusal = [&] {
    const std::string message = MessageOf([&] { ImportTrace(folder.Path(), "", {}); });
    return message.substr(std::min(message.size(), folder.Path().size()));
  };
  EXPECT_EQ(refusal(), ": has no files NAME.RANK.et or .json");
  folder.Write("a.0.et", graph_test::FileOf({Compute(0, 1)}));
  folder.Write("a.2.et", graph_test::FileOf({Compute(0, 1)}));
  EXPECT_EQ(refusal(), ": has no file of rank 1, and one of rank 2");
  folder.Write("b.0.et", graph_test::FileOf({Compute(0, 1)}));
  EXPECT_NE(refusal().find(": has several traces"), std::string::npos);
  EXPECT_EQ(ImportTrace(folder / "b", "", {}).plan.ranks, 1);
  EXPECT_EQ(ImportTrace(folder / "b.0.et", "", {}).plan.ranks, 1);
}

}  // namespace
}  // namespace legacy::graphs::import_test

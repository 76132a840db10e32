// Makes traces, and imports them, in tests.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ns3-module/fabric/engine/engine.h"
#include "ns3-module/fabric/step/plan-graph.h"
#include "ns3-module/fabric/topology/builders.h"
#include "scenarios/graphs/chakra_writer.h"
#include "scenarios/graphs/trace_import.h"

namespace legacy::graphs::graph_test {

// A folder of a test, which is empty when the test begins and gone when it ends.
class Folder {
 public:
  Folder() : path_(std::filesystem::path(testing::TempDir()) / ("graphs-" + Name())) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string Path() const { return path_.string(); }
  std::string Write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }

 private:
  static std::string Name() {
    const testing::TestInfo* const test = testing::UnitTest::GetInstance()->current_test_info();
    return std::string(test->test_suite_name()) + "." + test->name();
  }
  std::filesystem::path path_;
};

inline TraceNode Compute(uint64_t id, TimeNs duration, std::vector<uint64_t> after = {}) {
  TraceNode node;
  node.id = id;
  node.name = "compute " + std::to_string(id);
  node.kind = NodeKind::kCompute;
  node.duration = duration;
  node.data_after = std::move(after);
  return node;
}

inline TraceNode Sums(uint64_t id, CollectiveType type, int64_t bytes,
                      std::vector<uint64_t> after = {}, const std::string& group = "") {
  TraceNode node;
  node.id = id;
  node.name = ToString(type);
  node.kind = NodeKind::kCollective;
  node.type = type;
  node.bytes = bytes;
  node.data_after = std::move(after);
  node.group = group;
  return node;
}

inline TraceNode Message(uint64_t id, bool send, int peer, int64_t bytes,
                         std::vector<uint64_t> after = {}) {
  TraceNode node;
  node.id = id;
  node.name = send ? "send" : "receive";
  node.kind = send ? NodeKind::kSend : NodeKind::kReceive;
  (send ? node.destination : node.source) = peer;
  node.bytes = bytes;
  node.data_after = std::move(after);
  return node;
}

inline std::string FileOf(const std::vector<TraceNode>& nodes) {
  std::string file = ChakraHeader(std::nullopt);
  for (const TraceNode& node : nodes) file += ChakraNode(node);
  return file;
}

// Writes a file for each rank.
inline void WriteRanks(const Folder& folder, const std::vector<std::vector<TraceNode>>& ranks) {
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    folder.Write("t." + std::to_string(rank) + ".et", FileOf(ranks[rank]));
  }
}

// Times a plan on a star of 8 Gbit/s links of 1 us, at flow fidelity.
inline fabric::PlanTiming TimesOf(const fabric::StepPlan& plan) {
  const fabric::Topology topology = fabric::BuildStar(plan.ranks, {8'000'000'000, 1'000, 0});
  const fabric::Placement placement = fabric::MakePlacement({"packed", plan.ranks}, topology);
  fabric::EngineRequest request;
  request.topology = &topology;
  request.placement = &placement;
  const auto engine = fabric::MakeFlowEngine(request);
  fabric::PlanGraph graph(plan);
  engine->Submit(graph, 0);
  EXPECT_TRUE(engine->RunUntil(kNever));
  return graph.Times();
}

}  // namespace legacy::graphs::graph_test

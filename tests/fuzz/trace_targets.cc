// Execution traces: Chakra in both schemas and in JSON, files of groups, and GOAL.
#include <nlohmann/json.hpp>

#include "scenarios/graphs/chakra_writer.h"
#include "scenarios/graphs/goal_writer.h"
#include "scenarios/graphs/trace_import.h"
#include "tests/fuzz/readers.h"

namespace legacy::fuzz {
namespace {

using graphs::TraceNode;

// What was read is a plan that ends, and GOAL that was read can be written.
void CheckImported(const graphs::ImportedPlan& imported, bool goal) {
  fabric::CheckPlan(imported.plan);
  Require(imported.settled.size() == imported.plan.collectives.size());
  if (goal) graphs::GoalText(imported.plan);
}

graphs::ImportOptions OptionsOf(uint64_t choice) {
  graphs::ImportOptions options;
  options.gathered_sizes = choice % 2 == 1;
  options.one_stream = choice / 2 % 2 == 1;
  options.strict = choice / 4 % 2 == 1;
  if (choice / 8 % 2 == 1) options.roofline = {1e12, 1e9};
  return options;
}

// A trace of two ranks with the same bytes, and groups of these.
class TwoRanks {
 public:
  TwoRanks() : et_({"t.0.et", "t.1.et", "groups"}), json_({"t.0.json", "t.1.json", "groups"}) {}

  graphs::ImportedPlan Import(ByteSpan bytes, bool json, const graphs::ImportOptions& options) {
    MemoryFolder& folder = json ? json_ : et_;
    folder.file(0).Put(bytes);
    folder.file(1).Put(bytes);
    static const Bytes groups = BytesOf(R"({"1": [0, 1], "2": [1, 0]})");
    folder.file(2).Put(groups);
    return graphs::ImportTrace(folder.path().string(), (folder.path() / "groups").string(),
                               options);
  }

 private:
  MemoryFolder et_, json_;
};

TraceNode Node(uint64_t id, graphs::NodeKind kind) {
  TraceNode node;
  node.id = id;
  node.kind = kind;
  node.name = "n";
  if (id > 0) node.data_after = {id - 1};
  node.duration = 1000;
  return node;
}

Bytes SeedOf(const std::vector<TraceNode>& nodes,
             const std::optional<graphs::PlanFields>& plan = std::nullopt) {
  std::string file(2, '\0');
  file += graphs::ChakraHeader(plan);
  for (const TraceNode& node : nodes) file += graphs::ChakraNode(node);
  return BytesOf(file);
}

}  // namespace

void FuzzChakra(ByteSpan bytes) {
  static TwoRanks ranks;
  Input input(bytes);
  const bool json = input.Take(1) % 2 == 1;
  const graphs::ImportOptions options = OptionsOf(input.Take(1));
  const ByteSpan rest = input.Rest();
  Refusable([&] { CheckImported(ranks.Import(rest, json, options), false); });
}

std::vector<Bytes> ChakraSeeds() {
  TraceNode sum = Node(1, graphs::NodeKind::kCollective);
  sum.type = graphs::CollectiveType::kAllReduce;
  sum.bytes = 1000;
  TraceNode gather = sum;
  gather.id = 2;
  gather.type = graphs::CollectiveType::kAllGather;
  gather.group = "2";
  gather.control_after = {0};
  const TraceNode compute = Node(0, graphs::NodeKind::kCompute);
  std::vector<Bytes> seeds = {SeedOf({compute, sum, gather})};
  graphs::PlanFields plan;
  plan.ranks = 2;
  plan.streams = {"compute", "reduce"};
  plan.ordered = {0, 1};
  plan.devices = {0, 0};
  plan.communicators = {"all"};
  TraceNode own = compute, reduced = sum;
  own.own.emplace().earliest = 5;
  reduced.own.emplace().stream = 1;
  reduced.own->collective = 0;
  reduced.own->algorithm = "ring-allreduce";
  reduced.own->communicator = 0;
  seeds.push_back(SeedOf({own, reduced}, plan));
  const std::string json =
      R"({"workload_graph": [{"Id": 1, "Name": "a", "NodeType": 4, "runtime": 5},)"
      R"({"Id": 2, "NodeType": 7, "data_deps": [1], "comm_type": 2, "comm_size": 8}]})";
  for (Bytes& seed : TextSeeds({json}, std::string("\1\0", 2))) seeds.push_back(std::move(seed));
  return seeds;
}

void FuzzGoal(ByteSpan bytes) {
  static MemoryFile file;
  Input input(bytes);
  const graphs::ImportOptions options = OptionsOf(input.Take(1));
  file.Put(input.Rest());
  Refusable([&] { CheckImported(graphs::ImportTrace(file.path(), "", options), true); });
}

std::vector<Bytes> GoalSeeds() {
  return TextSeeds({"num_ranks 2\nrank 0 {\nl1: send 8b to 1 tag 2 cpu 0 nic 0\nl2: calc 5 cpu 1\n"
                    "l2 requires l1\n}\nrank 1 { l1: recv 8b from 0 tag 2 l2: calc 3 l2 irequires "
                    "l1 }\n"},
                   std::string(1, '\0'));
}

}  // namespace legacy::fuzz

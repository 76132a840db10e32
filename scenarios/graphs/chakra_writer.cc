#include "scenarios/graphs/chakra_writer.h"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/files/whole_file.h"
#include "scenarios/graphs/chakra_format.h"
#include "scenarios/graphs/collective_specs.h"
#include "scenarios/graphs/protobuf_fields.h"
#include "scenarios/graphs/trace_groups.h"

namespace legacy::graphs {
namespace {

using fabric::OperationKind;
using fabric::StepOperation;
using fabric::StepPlan;

namespace fs = std::filesystem;

// Adds an attribute whose value is a message's field.
void AddAttribute(MessageWriter& message, int field, const char* name,
                  const std::function<void(MessageWriter& attribute)>& value) {
  MessageWriter attribute;
  attribute.Text(chakra::kAttributeName, name);
  value(attribute);
  message.Text(field, attribute.Bytes());
}

// An AttributeWriter adds attributes to a message at one field.
class AttributeWriter {
 public:
  AttributeWriter(MessageWriter& message, int field) : message_(message), field_(field) {}

  void Number(const char* name, int type, int64_t value) {
    AddAttribute(message_, field_, name, [&](MessageWriter& attribute) {
      attribute.Number(type, static_cast<uint64_t>(value), true);
    });
  }
  void Text(const char* name, int type, const std::string& text) {
    AddAttribute(message_, field_, name,
                 [&](MessageWriter& attribute) { attribute.Text(type, text, true); });
  }
  void Double(const char* name, double value) {
    AddAttribute(message_, field_, name,
                 [&](MessageWriter& attribute) { attribute.Double(chakra::kDouble, value); });
  }
  void Numbers(const char* name, int type, const std::vector<int64_t>& values) {
    MessageWriter list;
    list.Packed(chakra::kValues, {values.begin(), values.end()});
    Text(name, type + 1, list.Bytes());
  }
  void Texts(const char* name, const std::vector<std::string>& texts) {
    MessageWriter list;
    for (const std::string& text : texts) list.Text(chakra::kValues, text, true);
    Text(name, chakra::kString + 1, list.Bytes());
  }

 private:
  MessageWriter& message_;
  const int field_;
};

int TypeOfNode(NodeKind kind) {
  switch (kind) {
    case NodeKind::kOther:
      return chakra::kMetadataNode;
    case NodeKind::kCompute:
      return chakra::kComputeNode;
    case NodeKind::kMemory:
      return chakra::kLoadNode;
    case NodeKind::kSend:
      return chakra::kSendNode;
    case NodeKind::kReceive:
      return chakra::kReceiveNode;
    case NodeKind::kCollective:
      break;
  }
  return chakra::kCollectiveNode;
}

// Returns the microseconds of a duration; 1 for what is shorter, as others take 0 for unknown.
uint64_t Microseconds(TimeNs duration) {
  constexpr TimeNs kMicrosecond = 1000;
  if (duration <= 0) return 0;
  return static_cast<uint64_t>(
      std::max<TimeNs>(1, duration / kMicrosecond + (duration % kMicrosecond >= 500 ? 1 : 0)));
}

void AddOwn(const TraceNode& node, AttributeWriter& attributes) {
  const OwnFields& own = *node.own;
  attributes.Number(chakra::kStream, chakra::kInt32, own.stream);
  if (own.label != 0) attributes.Number(chakra::kLabel, chakra::kInt32, own.label);
  if (node.duration.value_or(0) > 0) {
    attributes.Number(chakra::kDurationNs, chakra::kInt64, *node.duration);
  }
  if (own.earliest) attributes.Number(chakra::kEarliestNs, chakra::kInt64, *own.earliest);
  if (!own.collective) return;
  attributes.Number(chakra::kCollective, chakra::kInt32, *own.collective);
  attributes.Text(chakra::kAlgorithm, chakra::kString, own.algorithm);
  if (!own.spec.empty()) attributes.Text(chakra::kSpec, chakra::kBytes, own.spec);
  if (own.communicator < 0) return;
  attributes.Number(chakra::kCommunicator, chakra::kInt32, own.communicator);
  attributes.Number(chakra::kIssue, chakra::kInt32, own.issue);
}

// A RankPlace is where a rank is in the plan.
struct RankPlace {
  const fabric::StepRole* role = nullptr;
  int position = 0;
};

// The groups of a plan's collectives, by their members.
using GroupNames = std::map<std::vector<int>, std::string>;

GroupNames GroupsOf(const StepPlan& plan) {
  GroupNames names;
  for (const fabric::CollectiveSpec& spec : plan.collectives) {
    if (spec.members.empty() || names.contains(spec.members)) continue;
    names.emplace(spec.members, std::to_string(names.size() + 1));
  }
  return names;
}

void SetCollective(const StepPlan& plan, const GroupNames& groups, int collective, int rank,
                   TraceNode& node) {
  const fabric::CollectiveSpec& spec = plan.collectives[collective];
  node.kind = NodeKind::kCollective;
  node.type = TypeOf(spec.algorithm);
  int64_t place = rank;
  if (!spec.members.empty()) {
    node.group = groups.at(spec.members);
    place = std::ranges::find(spec.members, rank) - spec.members.begin();
  }
  node.bytes = spec.bytes[place];
  if (*node.type == CollectiveType::kBroadcast) {
    node.source = spec.members.empty() ? spec.root : spec.members[spec.root];
  }
  node.own->collective = collective;
  node.own->algorithm = fabric::ToString(spec.algorithm);
  node.own->spec = SpecBytes(spec);
}

// Returns the node of an operation at one of its role's ranks.
TraceNode NodeOf(const StepPlan& plan, const GroupNames& groups, const RankPlace& place,
                 int number) {
  const StepOperation& operation = place.role->operations[number];
  TraceNode node;
  node.id = number;
  node.name = operation.name;
  node.data_after.assign(operation.after.begin(), operation.after.end());
  std::ranges::sort(node.data_after);
  OwnFields& own = node.own.emplace();
  own.stream = operation.stream;
  own.label = static_cast<int>(operation.label);
  own.communicator = operation.communicator;
  own.issue = operation.issue;
  if (!operation.earliest.empty()) {
    own.earliest = fabric::ByRank(operation.earliest, place.position, TimeNs{0});
  }
  const int peer = fabric::ByRank(operation.peer, place.position, 0);
  switch (operation.kind) {
    case OperationKind::Barrier:
      node.kind = NodeKind::kOther;
      break;
    case OperationKind::Segment:
      node.kind = NodeKind::kCompute;
      node.duration = fabric::ByRank(operation.duration, place.position, TimeNs{0});
      node.device = plan.streams[operation.stream].device;
      break;
    case OperationKind::Send:
      node.kind = NodeKind::kSend;
      node.destination = peer;
      node.source = place.role->ranks[place.position];
      node.bytes = operation.bytes;
      node.tag = operation.tag;
      break;
    case OperationKind::Transfer:
      throw Error("Chakra", "a transfer of a given time", "collectives and messages");
    case OperationKind::Receive:
      node.kind = NodeKind::kReceive;
      node.source = peer;
      node.destination = place.role->ranks[place.position];
      node.tag = operation.tag;
      break;
    case OperationKind::Collective:
      SetCollective(plan, groups, fabric::ByRank(operation.collective, place.position, -1),
                    place.role->ranks[place.position], node);
      break;
  }
  return node;
}

PlanFields FieldsOf(const StepPlan& plan) {
  PlanFields fields;
  fields.ranks = plan.ranks;
  for (const fabric::StepStream& stream : plan.streams) {
    fields.streams.push_back(stream.name);
    fields.ordered.push_back(stream.ordered ? 1 : 0);
    fields.devices.push_back(stream.device);
  }
  fields.communicators = plan.communicators;
  fields.contention = plan.contention;
  fields.host_limit = plan.hostLimit;
  return fields;
}

// Returns the name of an attribute, "" of other fields.
std::string_view AttributeName(const Field& field) {
  if (field.number != chakra::kAttribute) return "";
  Fields attribute(field.bytes);  // its name is first
  return attribute.Next() ? attribute->bytes : "";
}

// Returns a node with the fields alone in which its message differs from another one's, "" where
// none does; nothing where that one has a field or an attribute that the node does not have.
std::optional<std::string> Differences(std::string_view node, std::string_view first, uint64_t id) {
  using Value = std::pair<uint64_t, std::string_view>;
  std::map<std::pair<int, std::string_view>, Value> known;
  for (Fields fields(first); fields.Next();) {
    known[{fields->number, AttributeName(*fields)}] = {fields->bits, fields->bytes};
  }
  MessageWriter differing;
  for (Fields fields(node); fields.Next();) {
    const Value value(fields->bits, fields->bytes);
    const auto found = known.find({fields->number, AttributeName(*fields)});
    const bool equal = found != known.end() && found->second == value;
    if (found != known.end()) known.erase(found);
    if (equal) continue;
    if (fields->type == WireType::kBytes) {
      differing.Text(fields->number, value.second);
    } else {
      differing.Number(fields->number, value.first);
    }
  }
  if (!known.empty()) return std::nullopt;
  if (!differing.Bytes().empty()) differing.Number(chakra::kId, id, true);
  return differing.Bytes();
}

// Returns the nodes of a rank, each as AppendMessage has it.
std::vector<std::string> NodesOf(const StepPlan& plan, const GroupNames& groups,
                                 const RankPlace& place) {
  std::vector<std::string> nodes;
  for (size_t number = 0; number < place.role->operations.size(); ++number) {
    nodes.push_back(ChakraNode(NodeOf(plan, groups, place, static_cast<int>(number))));
  }
  return nodes;
}

// Returns the file of what differs in the nodes of a rank from those of the first one of its role;
// nothing where that one's have something which the rank's do not have.
std::optional<std::string> DifferencesOf(const std::vector<std::string>& nodes,
                                         const std::vector<std::string>& first, int first_rank) {
  MessageWriter header;
  header.Text(chakra::kVersion, chakra::kOurVersion);
  AttributeWriter(header, chakra::kMetadataAttribute)
      .Number(chakra::kFirstRank, chakra::kInt64, first_rank);
  std::string file;
  AppendMessage(file, header.Bytes());
  for (size_t number = 0; number < nodes.size(); ++number) {
    std::string_view node = nodes[number], other = first[number];
    TakeVarint(node);  // lengths
    TakeVarint(other);
    const std::optional<std::string> differences = Differences(node, other, number);
    if (!differences) return std::nullopt;
    if (!differences->empty()) AppendMessage(file, *differences);
  }
  return file;
}

// Throws Error where the folder has traces, with which these would be mixed.
void CheckFolder(const fs::path& folder) {
  std::error_code failed;
  if (!fs::exists(folder, failed)) return;
  if (!fs::is_directory(folder, failed)) throw Error("--out", folder.string(), "a folder");
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const fs::path extension = entry.path().extension();
    if (extension != chakra::kExtension && extension != chakra::kDifferences &&
        entry.path().filename() != kGroupsFile) {
      continue;
    }
    throw Error("--out", folder.string(),
                "a folder without traces; it has " + entry.path().filename().string());
  }
}

void WriteGroups(const GroupNames& groups, const fs::path& path) {
  nlohmann::ordered_json document = nlohmann::ordered_json::object();
  std::map<int, const std::vector<int>*> numbered;
  for (const auto& [members, name] : groups) numbered[std::stoi(name)] = &members;
  for (const auto& [number, members] : numbered) document[std::to_string(number)] = *members;
  WriteWholeFile(path, document.dump() + "\n");
}

}  // namespace

std::string ChakraHeader(const std::optional<PlanFields>& plan) {
  MessageWriter message;
  message.Text(chakra::kVersion, chakra::kOurVersion);
  if (plan) {
    AttributeWriter attributes(message, chakra::kMetadataAttribute);
    attributes.Number(chakra::kRanks, chakra::kInt64, plan->ranks);
    attributes.Texts(chakra::kStreams, plan->streams);
    attributes.Numbers(chakra::kOrdered, chakra::kBool, plan->ordered);
    attributes.Numbers(chakra::kDevices, chakra::kInt32, plan->devices);
    attributes.Texts(chakra::kCommunicators, plan->communicators);
    if (plan->contention > 0) attributes.Double(chakra::kContention, plan->contention);
    if (plan->host_limit > 0) {
      attributes.Number(chakra::kHostLimit, chakra::kInt64, plan->host_limit);
    }
  }
  std::string file;
  AppendMessage(file, message.Bytes());
  return file;
}

std::string ChakraNode(const TraceNode& node) {
  MessageWriter message;
  message.Number(chakra::kId, node.id);
  message.Text(chakra::kName, node.name);
  message.Number(chakra::kType, TypeOfNode(node.kind));
  message.Packed(chakra::kControlDeps, node.control_after);
  message.Packed(chakra::kDataDeps, node.data_after);
  message.Number(chakra::kDuration, Microseconds(node.duration.value_or(0)));
  AttributeWriter attributes(message, chakra::kAttribute);
  attributes.Number("is_cpu_op", chakra::kBool, node.device == 1 ? 1 : 0);
  if (node.operations > 0) attributes.Number("num_ops", chakra::kInt64, node.operations);
  if (node.tensor_bytes > 0) attributes.Number("tensor_size", chakra::kUint64, node.tensor_bytes);
  if (node.type) {
    attributes.Number("comm_type", chakra::kInt64, static_cast<int64_t>(*node.type));
  }
  if (node.bytes) attributes.Number("comm_size", chakra::kInt64, *node.bytes);
  if (node.source) attributes.Number("comm_src", chakra::kInt32, *node.source);
  if (node.destination) attributes.Number("comm_dst", chakra::kInt32, *node.destination);
  if (node.tag) attributes.Number("comm_tag", chakra::kInt32, *node.tag);
  if (!node.group.empty()) attributes.Text("pg_name", chakra::kString, node.group);
  if (node.own) AddOwn(node, attributes);
  std::string file;
  AppendMessage(file, message.Bytes());
  return file;
}

void WriteChakra(const StepPlan& plan, const fs::path& folder, const std::string& name,
                 bool per_role) {
  CheckFolder(folder);
  MakeFolder(folder);
  const GroupNames groups = GroupsOf(plan);
  if (!groups.empty()) WriteGroups(groups, folder / kGroupsFile);
  const std::string header = ChakraHeader(FieldsOf(plan));
  for (const fabric::StepRole& role : plan.roles) {
    const std::vector<std::string> first = NodesOf(plan, groups, {&role, 0});
    for (size_t i = 0; i < role.ranks.size(); ++i) {
      const std::vector<std::string> nodes =
          i == 0 ? first : NodesOf(plan, groups, {&role, static_cast<int>(i)});
      const fs::path place = folder / (name + "." + std::to_string(role.ranks[i]));
      if (per_role && i > 0) {
        if (const auto differences = DifferencesOf(nodes, first, role.ranks.front())) {
          WriteWholeFile(place.string() + chakra::kDifferences, *differences);
          continue;
        }
      }
      std::string file = header;
      for (const std::string& node : nodes) file += node;
      WriteWholeFile(place.string() + chakra::kExtension, file);
    }
  }
}

}  // namespace legacy::graphs

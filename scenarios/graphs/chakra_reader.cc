#include "scenarios/graphs/chakra_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "base/error.h"
#include "base/words.h"
#include "ns3-module/fabric/step/step-plan.h"
#include "scenarios/graphs/attribute.h"
#include "scenarios/graphs/chakra_format.h"
#include "scenarios/graphs/protobuf_fields.h"

namespace legacy::graphs {
namespace {

constexpr int64_t kMostNumber = INT64_MAX;

// A Reader reads an attribute of a node into what it is for.
using Reader = void (*)(const Attribute& attribute, TraceNode& node);

OwnFields& Own(TraceNode& node) { return node.own ? *node.own : node.own.emplace(); }

int SmallNumber(const Attribute& attribute) {
  return static_cast<int>(attribute.Whole(0, INT32_MAX));
}

void ReadDimensions(const Attribute& attribute, TraceNode& node) {
  const std::vector<int64_t> dimensions = attribute.WholeList(0, 1);
  node.all_dimensions = std::ranges::all_of(dimensions, [](int64_t in) { return in == 1; });
}

const std::unordered_map<std::string_view, Reader>& Readers() {
  static const std::unordered_map<std::string_view, Reader> readers = {
      {"is_cpu_op", [](const Attribute& a, TraceNode& n) { n.device = a.Whole(0, 1) != 0; }},
      {"num_ops", [](const Attribute& a, TraceNode& n) { n.operations = a.Whole(0, kMostNumber); }},
      {"tensor_size",
       [](const Attribute& a, TraceNode& n) { n.tensor_bytes = a.Whole(0, kMostNumber); }},
      {"comm_type",
       [](const Attribute& a, TraceNode& n) {
         n.type = CollectiveOf(a.Whole(INT64_MIN, INT64_MAX), "attribute comm_type");
       }},
      {"comm_size", [](const Attribute& a, TraceNode& n) { n.bytes = a.Whole(0, kMostBytes); }},
      {"comm_src",
       [](const Attribute& a, TraceNode& n) { n.source = a.Whole(0, kMostTraceRanks); }},
      {"comm_dst",
       [](const Attribute& a, TraceNode& n) { n.destination = a.Whole(0, kMostTraceRanks); }},
      {"comm_tag", [](const Attribute& a, TraceNode& n) { n.tag = a.Whole(0, INT32_MAX); }},
      {"pg_name", [](const Attribute& a, TraceNode& n) { n.group = a.Text(); }},
      {"comm_group", [](const Attribute& a, TraceNode& n) { n.group = a.Text(); }},
      {"involved_dim", ReadDimensions},
      {chakra::kStream, [](const Attribute& a, TraceNode& n) { Own(n).stream = SmallNumber(a); }},
      {chakra::kLabel,
       [](const Attribute& a, TraceNode& n) {
         Own(n).label = static_cast<int>(a.Whole(0, fabric::kSegmentLabels - 1));
       }},
      {chakra::kDurationNs,
       [](const Attribute& a, TraceNode& n) { n.duration = a.Whole(0, kMostNumber); }},
      {chakra::kEarliestNs,
       [](const Attribute& a, TraceNode& n) { Own(n).earliest = a.Whole(0, kMostNumber); }},
      {chakra::kCollective,
       [](const Attribute& a, TraceNode& n) { Own(n).collective = SmallNumber(a); }},
      {chakra::kAlgorithm, [](const Attribute& a, TraceNode& n) { Own(n).algorithm = a.Text(); }},
      {chakra::kSpec, [](const Attribute& a, TraceNode& n) { Own(n).spec = a.Text(); }},
      {chakra::kCommunicator,
       [](const Attribute& a, TraceNode& n) { Own(n).communicator = SmallNumber(a); }},
      {chakra::kIssue, [](const Attribute& a, TraceNode& n) { Own(n).issue = SmallNumber(a); }},
  };
  return readers;
}

TimeNs FromMicroseconds(uint64_t micros) {
  constexpr uint64_t kMost = INT64_MAX / 1000;
  if (micros > kMost) {
    throw Error("duration_micros", std::to_string(micros), "0 to " + std::to_string(kMost));
  }
  return static_cast<TimeNs>(micros) * 1000;
}

// NodeParts are what fields of a node say together.
struct NodeParts {
  int64_t type = 0;
  uint64_t micros = 0;
  std::string_view inputs;
};

// Reads fields of a node of today's schema.
void ReadFields(std::string_view message, TraceNode& node, NodeParts& parts) {
  Attribute attribute;
  for (Fields fields(message); fields.Next();) {
    const Field& field = *fields;
    switch (field.number) {
      case chakra::kId:
        node.id = field.Unsigned();
        break;
      case chakra::kName:
        node.name = field.Text();
        break;
      case chakra::kType:
        parts.type = static_cast<int64_t>(field.Unsigned());
        break;
      case chakra::kControlDeps:
        field.AppendNumbers(node.control_after);
        break;
      case chakra::kDataDeps:
        field.AppendNumbers(node.data_after);
        break;
      case chakra::kDuration:
        parts.micros = field.Unsigned();
        break;
      case chakra::kInputs:
        parts.inputs = field.Text();
        break;
      case chakra::kAttribute: {
        attribute.Read(field.Text());
        const auto reader = Readers().find(attribute.Name());
        if (reader != Readers().end()) reader->second(attribute, node);
        break;
      }
      default:
        break;  // others mean nothing here
    }
  }
}

// Reads a node of today's schema, and the fields that another rank has in place of its own.
void ReadNode(std::string_view message, std::string_view differences, TraceNode& node) {
  NodeParts parts;
  ReadFields(message, node, parts);
  ReadFields(differences, node, parts);
  node.kind = KindOf(parts.type, "type");
  if (!node.duration) node.duration = FromMicroseconds(parts.micros);
  if (node.kind != NodeKind::kOther || parts.inputs.empty()) return;
  for (Fields fields(parts.inputs); fields.Next();) {
    if (fields->number == chakra::kValues) node.groups = fields->Text();
  }
}

// Reads a node of schema 0.0.1.
void ReadOldNode(std::string_view message, TraceNode& node) {
  constexpr std::array<CollectiveType, 5> kTypes = {
      CollectiveType::kAllReduce, CollectiveType::kAllReduce, CollectiveType::kAllToAll,
      CollectiveType::kAllGather, CollectiveType::kReduceScatter};
  int64_t type = -1;
  uint64_t collective = 0, micros = 0;
  const auto whole = [](const Field& field, int64_t most) {
    const uint64_t value = field.Unsigned();
    if (value > static_cast<uint64_t>(most)) {
      throw Error("field " + std::to_string(field.number), std::to_string(value),
                  "0 to " + std::to_string(most));
    }
    return static_cast<int64_t>(value);
  };
  std::vector<uint64_t> dimensions;
  for (Fields fields(message); fields.Next();) {
    const Field& field = *fields;
    switch (field.number) {
      case chakra::kId:
        node.id = field.Unsigned();
        break;
      case chakra::kName:
        node.name = field.Text();
        break;
      case chakra::kType:
        type = static_cast<int64_t>(field.Unsigned());
        break;
      case chakra::old::kParent:
        field.AppendNumbers(node.data_after);
        break;
      case chakra::old::kTensorBytes:
        node.tensor_bytes = whole(field, kMostNumber);
        break;
      case chakra::old::kRunTime:
        micros = field.Unsigned();
        break;
      case chakra::old::kOperations:
        node.operations = whole(field, kMostNumber);
        break;
      case chakra::old::kCommType:
        collective = field.Unsigned();
        break;
      case chakra::old::kDimensions:
        field.AppendNumbers(dimensions);
        break;
      case chakra::old::kCommunicator:
        node.group = std::to_string(field.Unsigned());
        break;
      case chakra::old::kSource:
        node.source = whole(field, kMostTraceRanks);
        break;
      case chakra::old::kDestination:
        node.destination = whole(field, kMostTraceRanks);
        break;
      case chakra::old::kBytes:
        node.bytes = whole(field, kMostBytes);
        break;
      case chakra::old::kTag:
        node.tag = whole(field, INT32_MAX);
        break;
      default:
        break;
    }
  }
  node.kind = type == 0 ? NodeKind::kOther : KindOf(type < 0 ? type : type + 1, "node_type");
  node.duration = FromMicroseconds(micros);
  node.all_dimensions = std::ranges::all_of(dimensions, [](uint64_t in) { return in != 0; });
  if (node.kind != NodeKind::kCollective) return;
  if (collective == 0 || collective >= kTypes.size()) {
    throw Error("comm_type", std::to_string(collective), "1 to 4, in schema 0.0.1");
  }
  node.type = kTypes[collective];
}

// Returns whether a message is a node, which has a type, and not the file's metadata.
bool IsNode(std::string_view message) {
  for (Fields fields(message); fields.Next();) {
    if (fields->number == chakra::kType && fields->type == WireType::kVarint) return true;
  }
  return false;
}

// Says which schema a file has, by the first node with a field that only one of them has: lists of
// bytes from 4 to 10 are of today's, and fields above 10 of 0.0.1.
bool IsOld(const std::string& path) {
  bool old = false;
  ForEachMessage(path, [&](std::string_view message) {
    if (!IsNode(message)) return true;
    for (Fields fields(message); fields.Next();) {
      if (fields->number > chakra::kAttribute) old = true;
      if (fields->number > chakra::kAttribute ||
          (fields->number > chakra::kDataDeps && fields->type == WireType::kBytes)) {
        return false;
      }
    }
    return true;
  });
  return old;
}

uint64_t IdOf(std::string_view message) {
  for (Fields fields(message); fields.Next();) {
    if (fields->number == chakra::kId) return fields->Unsigned();
  }
  return 0;
}

// Reads the first message. Returns true where the file is one of ours.
bool ReadMetadata(std::string_view message, PlanFields& plan) {
  Attribute attribute;
  const auto is = [&](const char* name) { return attribute.Name() == name; };
  bool ours = false;
  for (Fields fields(message); fields.Next();) {
    if (fields->number == chakra::kVersion) fields->Text();  // any
    if (fields->number != chakra::kMetadataAttribute) continue;
    attribute.Read(fields->Text());
    ours |= is(chakra::kStreams);
    if (is(chakra::kRanks)) plan.ranks = attribute.Whole(1, kMostTraceRanks);
    if (is(chakra::kStreams)) plan.streams = attribute.TextList();
    if (is(chakra::kOrdered)) plan.ordered = attribute.WholeList(0, 1);
    if (is(chakra::kDevices)) plan.devices = attribute.WholeList(0, fabric::kMostDevices - 1);
    if (is(chakra::kCommunicators)) plan.communicators = attribute.TextList();
    if (is(chakra::kContention)) plan.contention = attribute.Real();
    if (is(chakra::kHostLimit)) plan.host_limit = attribute.Whole(0, INT32_MAX);
  }
  if (ours &&
      (plan.ordered.size() != plan.streams.size() || plan.devices.size() != plan.streams.size())) {
    throw Error::Refusal(std::string(chakra::kStreams) + ", " + chakra::kOrdered + ", " +
                         chakra::kDevices + ": are not of one length");
  }
  return ours;
}

}  // namespace

const char* ToString(CollectiveType type) {
  constexpr std::array<const char*, kCollectiveTypes> kNames = {
      "all-reduce", "reduce",         "all-gather",           "gather", "scatter", "broadcast",
      "all-to-all", "reduce-scatter", "reduce-scatter-block", "barrier"};
  return kNames[static_cast<size_t>(type)];
}

void TraceNode::Clear() {
  TraceNode empty;
  for (auto list : {&TraceNode::data_after, &TraceNode::control_after, &TraceNode::after_start}) {
    (this->*list).clear();
    std::swap(this->*list, empty.*list);
  }
  name.clear();
  std::swap(name, empty.name);
  *this = std::move(empty);
}

std::string NodeText(uint64_t id, const std::string& name) {
  return "node " + std::to_string(id) +
         (name.empty() ? "" : " '" + Shown(std::string_view(name)) + "'");
}

NodeKind KindOf(int64_t type, const std::string& where) {
  switch (type) {
    case chakra::kMetadataNode:
      return NodeKind::kOther;
    case chakra::kLoadNode:
    case chakra::kStoreNode:
      return NodeKind::kMemory;
    case chakra::kComputeNode:
      return NodeKind::kCompute;
    case chakra::kSendNode:
      return NodeKind::kSend;
    case chakra::kReceiveNode:
      return NodeKind::kReceive;
    case chakra::kCollectiveNode:
      return NodeKind::kCollective;
    default:
      throw Error(where, std::to_string(type), "1 to 7");
  }
}

CollectiveType CollectiveOf(int64_t type, const std::string& where) {
  if (type < 0 || type >= kCollectiveTypes) {
    throw Error(where, std::to_string(type), "0 to " + std::to_string(kCollectiveTypes - 1));
  }
  return static_cast<CollectiveType>(type);
}

int64_t FirstRankOf(const std::string& differences) {
  std::optional<int64_t> first;
  ForEachMessage(differences, [&](std::string_view message) {
    Attribute attribute;
    for (Fields fields(message); fields.Next();) {
      if (fields->number != chakra::kMetadataAttribute) continue;
      attribute.Read(fields->Text());
      if (attribute.Name() == chakra::kFirstRank) first = attribute.Whole(0, kMostTraceRanks);
    }
    return false;
  });
  if (!first) throw Error::Refusal(differences + ": has no " + chakra::kFirstRank);
  return *first;
}

namespace {

// Returns the nodes of a file of differences, by id.
std::unordered_map<uint64_t, std::string> ReadDifferences(const std::string& path) {
  std::unordered_map<uint64_t, std::string> nodes;
  bool first = true;
  ForEachMessage(path, [&](std::string_view message) {
    if (std::exchange(first, false)) return true;
    nodes[IdOf(message)] = message;
    return true;
  });
  return nodes;
}

}  // namespace

void ReadChakra(const std::string& path, const ChakraUse& use, const std::string& differences) {
  const std::unordered_map<uint64_t, std::string> others =
      differences.empty() ? std::unordered_map<uint64_t, std::string>()
                          : ReadDifferences(differences);
  const bool old = IsOld(path);
  bool first = true;
  TraceNode node;
  ForEachMessage(path, [&](std::string_view message) {
    if (std::exchange(first, false) && !IsNode(message)) {
      PlanFields plan;
      if (ReadMetadata(message, plan)) use.plan(plan);
      return true;
    }
    node.Clear();
    try {
      if (old) {
        ReadOldNode(message, node);
      } else {
        const auto other = others.empty() ? others.end() : others.find(IdOf(message));
        ReadNode(message, other == others.end() ? "" : std::string_view(other->second), node);
      }
    } catch (const Error& e) {
      throw e.Within(NodeText(node) + ": ");
    }
    use.node(node);
    return true;
  });
}

}  // namespace legacy::graphs

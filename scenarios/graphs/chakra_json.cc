// The JSON form of Chakra's traces.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/json.h"
#include "base/files/whole_file.h"
#include "scenarios/graphs/chakra_reader.h"

namespace legacy::graphs {
namespace {

using nlohmann::json;

// Returns the member of that name, or null where there is none.
const json* Member(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

template <class Value>
void ReadWhole(const json& object, const char* name, int64_t most, Value& value) {
  if (const json* const member = Member(object, name)) value = WholeNumber(*member, name, 0, most);
}

void ReadIds(const json& object, const char* name, std::vector<uint64_t>& ids) {
  const json* const list = Member(object, name);
  if (list == nullptr) return;
  if (!list->is_array()) throw Error(name, Shown(*list), "a list of nodes");
  for (const json& id : *list) ids.push_back(WholeNumber(id, name, 0, INT64_MAX));
}

void ReadNode(const json& object, TraceNode& node) {
  if (!object.is_object()) throw Error("workload_graph", Shown(object), "a list of objects");
  if (const json* const name = Member(object, "Name"); name != nullptr && name->is_string()) {
    node.name = name->get<std::string>();
  }
  ReadWhole(object, "Id", INT64_MAX, node.id);
  int64_t type = 0, collective = -1, micros = 0;
  ReadWhole(object, "NodeType", INT32_MAX, type);
  node.kind = KindOf(type, "NodeType");
  ReadIds(object, "ctrlDeps", node.control_after);
  ReadIds(object, "data_deps", node.data_after);
  ReadWhole(object, "runtime", INT64_MAX / 1000, micros);
  node.duration = micros * 1000;
  if (const json* const cpu = Member(object, "is_cpu_op")) {
    if (!cpu->is_boolean()) throw Error("is_cpu_op", Shown(*cpu), "true, false");
    node.device = cpu->get<bool>() ? 1 : 0;
  }
  ReadWhole(object, "num_ops", INT64_MAX, node.operations);
  ReadWhole(object, "tensor_size", INT64_MAX, node.tensor_bytes);
  ReadWhole(object, "comm_type", INT32_MAX, collective);
  if (Member(object, "comm_type") != nullptr) node.type = CollectiveOf(collective, "comm_type");
  ReadWhole(object, "comm_size", kMostBytes, node.bytes);
  ReadWhole(object, "comm_src", kMostTraceRanks, node.source);
  ReadWhole(object, "comm_dst", kMostTraceRanks, node.destination);
  ReadWhole(object, "comm_tag", INT32_MAX, node.tag);
  if (const json* const group = Member(object, "pg_name")) {
    node.group = group->is_string() ? group->get<std::string>() : group->dump();
  }
}

}  // namespace

void ReadChakraJson(const std::string& path, const ChakraUse& use) {
  const json document = ParseJson(ReadWholeFile(path), path);
  const json* const nodes = document.is_object() ? Member(document, "workload_graph") : nullptr;
  if (nodes == nullptr || !nodes->is_array()) {
    throw Error::Refusal(path + ": has no list \"workload_graph\"");
  }
  TraceNode node;
  for (const json& object : *nodes) {
    node.Clear();
    try {
      ReadNode(object, node);
    } catch (const Error& e) {
      throw e.Within(path + ": " + NodeText(node) + ": ");
    }
    try {
      use.node(node);
    } catch (const Error& e) {
      throw e.Within(path + ": ");
    }
  }
}

}  // namespace legacy::graphs

// Chakra's files: their bytes, all types of numbers, the old schema, and what is no such file.
#include <gtest/gtest.h>

#include <functional>

#include "scenarios/graphs/chakra_reader.h"
#include "scenarios/graphs/protobuf_fields.h"
#include "tests/graphs/graph_testing.h"
#include "tests/message_of.h"
#include "tests/programs.h"

namespace legacy::graphs::chakra_test {
namespace {

using graph_test::Folder;

std::vector<TraceNode> NodesOf(const std::string& path) {
  std::vector<TraceNode> nodes;
  ReadChakra(path,
             {[](const PlanFields&) {}, [&](const TraceNode& node) { nodes.push_back(node); }});
  return nodes;
}

TraceNode Microbenchmark(uint64_t id) {
  TraceNode node = graph_test::Sums(id, CollectiveType::kAllGather, 1 << 20);
  node.name = "all_gather_4npus_1MB";
  return node;
}

// ASTRA-sim's examples/workload/microbenchmarks/all_gather/4npus_1MB (518bd51): sizes of the files
// of ranks 0 and 1, and the SHA-256 of the former.
TEST(Chakra, WritesTheBytesOfAstraSimsMicrobenchmark) {
  const std::string file = graph_test::FileOf({Microbenchmark(0)});
  EXPECT_EQ(file.size(), 81U);
  EXPECT_EQ(graph_test::FileOf({Microbenchmark(1)}).size(), 83U);
  const Folder folder;
  const std::string sum = Shell("sha256sum " + folder.Write("t.0.et", file)).text;
  EXPECT_EQ(sum.substr(0, 16), "c385570d79b3aa0d");
}

TEST(Chakra, ReadsWhatItWrote) {
  const Folder folder;
  TraceNode send = graph_test::Message(7, true, 3, 131072, {1, 2});
  send.control_after = {5};
  send.tag = 9;
  send.group = "4";
  TraceNode compute = graph_test::Compute(8, 7000);
  compute.device = 1;
  compute.operations = 123456789012;
  compute.tensor_bytes = 4096;
  const auto nodes = NodesOf(folder.Write("t.0.et", graph_test::FileOf({send, compute})));
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].id, 7U);
  EXPECT_EQ(nodes[0].name, "send");
  EXPECT_EQ(nodes[0].kind, NodeKind::kSend);
  EXPECT_EQ(nodes[0].data_after, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(nodes[0].control_after, std::vector<uint64_t>{5});
  EXPECT_EQ(nodes[0].destination, 3);
  EXPECT_EQ(nodes[0].bytes, 131072);
  EXPECT_EQ(nodes[0].tag, 9);
  EXPECT_EQ(nodes[0].group, "4");
  EXPECT_EQ(nodes[1].duration, 7000);
  EXPECT_EQ(nodes[1].device, 1);
  EXPECT_EQ(nodes[1].operations, 123456789012);
  EXPECT_EQ(nodes[1].tensor_bytes, 4096);
}

// Returns a file with one node, whose comm_size has the value by `write`.
std::string FileWithSize(const std::function<void(MessageWriter&)>& write) {
  MessageWriter attribute, node;
  attribute.Text(1, "comm_size");
  write(attribute);
  node.Number(3, 5);
  node.Text(10, attribute.Bytes());
  std::string file = ChakraHeader(std::nullopt);
  AppendMessage(file, node.Bytes());
  return file;
}

// Fixed-size numbers and floats are written as bytes here: the writer has varints and doubles.
std::string FileWithFixedSize(int field, int type, const std::string& bytes) {
  MessageWriter attribute, node;
  attribute.Text(1, "comm_size");
  std::string value = attribute.Bytes();
  const uint64_t tag = static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(type);
  value += static_cast<char>(tag < 0x80 ? tag : (tag & 0x7f) | 0x80);
  if (tag >= 0x80) value += static_cast<char>(tag >> 7);
  value += bytes;
  node.Number(3, 5);
  node.Text(10, value);
  std::string file = ChakraHeader(std::nullopt);
  AppendMessage(file, node.Bytes());
  return file;
}

TEST(Chakra, ReadsANumberOfAnyType) {
  const Folder folder;
  const std::string zeros(6, '\0');
  const std::string le = std::string("\x2c\x01", 2);  // 300
  for (const int field : {7, 9, 11, 13}) {
    const std::string file = FileWithSize([&](MessageWriter& a) { a.Number(field, 300); });
    EXPECT_EQ(NodesOf(folder.Write("t.0.et", file))[0].bytes, 300) << field;
  }
  for (const int field : {15, 17}) {  // zigzag
    const std::string file = FileWithSize([&](MessageWriter& a) { a.Number(field, 600); });
    EXPECT_EQ(NodesOf(folder.Write("t.0.et", file))[0].bytes, 300) << field;
  }
  for (const int field : {19, 23}) {
    const std::string file = FileWithFixedSize(field, 5, le + zeros.substr(0, 2));
    EXPECT_EQ(NodesOf(folder.Write("t.0.et", file))[0].bytes, 300) << field;
  }
  for (const int field : {21, 25}) {
    const std::string file = FileWithFixedSize(field, 1, le + zeros);
    EXPECT_EQ(NodesOf(folder.Write("t.0.et", file))[0].bytes, 300) << field;
  }
  const std::string real = FileWithSize([](MessageWriter& a) { a.Double(3, 300); });
  EXPECT_EQ(NodesOf(folder.Write("t.0.et", real))[0].bytes, 300);
  const std::string text = FileWithSize([](MessageWriter& a) { a.Text(29, "300"); });
  EXPECT_EQ(NodesOf(folder.Write("t.0.et", text))[0].bytes, 300);
}

TEST(Chakra, RefusesNumbersThatAreNoSizes) {
  const Folder folder;
  const auto message = [&](const std::function<void(MessageWriter&)>& write) {
    const std::string path = folder.Write("t.0.et", FileWithSize(write));
    return MessageOf([&] { NodesOf(path); });
  };
  EXPECT_NE(message([](auto& a) {
              a.Number(13, uint64_t{1} << 63);
            }).find("node 0: attribute comm_size: got '9223372036854775808'"),
            std::string::npos);
  EXPECT_NE(message([](auto& a) { a.Number(9, ~uint64_t{0}); }).find("got '-1'"),
            std::string::npos);
  EXPECT_NE(message([](auto& a) { a.Double(3, 0.5); }).find("got '0.5'"), std::string::npos);
  EXPECT_NE(message([](auto& a) { a.Text(31, "abc"); }).find("a list, or bytes"),
            std::string::npos);
}

// Schema 0.0.1: other fields, types of nodes from 1 without metadata, and of collectives from 1.
TEST(Chakra, ReadsTheOldSchemaByItsFields) {
  const Folder folder;
  const auto node = [](std::initializer_list<std::pair<int, uint64_t>> fields,
                       const std::string& name) {
    MessageWriter message;
    message.Text(2, name);
    for (const auto& [field, value] : fields) message.Number(field, value, true);
    return message.Bytes();
  };
  std::string file;
  MessageWriter header;
  header.Text(1, "0.0.1");
  AppendMessage(file, header.Bytes());
  AppendMessage(file, node({{1, 4}, {3, 3}, {6, 100}, {7, 5}, {12, 77}}, "work"));
  AppendMessage(file, node({{1, 5}, {3, 6}, {4, 4}, {13, 4}, {14, 1}, {15, 2}, {18, 1000}}, "rs"));
  AppendMessage(file, node({{1, 6}, {3, 4}, {4, 4}, {4, 5}, {16, 0}, {17, 1}, {18, 8}}, "send"));
  const auto nodes = NodesOf(folder.Write("t.0.et", file));
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(nodes[0].kind, NodeKind::kCompute);
  EXPECT_EQ(nodes[0].duration, 5000);
  EXPECT_EQ(nodes[0].tensor_bytes, 100);
  EXPECT_EQ(nodes[0].operations, 77);
  EXPECT_EQ(nodes[1].kind, NodeKind::kCollective);
  EXPECT_EQ(nodes[1].type, CollectiveType::kReduceScatter);
  EXPECT_EQ(nodes[1].group, "2");
  EXPECT_EQ(nodes[2].kind, NodeKind::kSend);
  EXPECT_EQ(nodes[2].data_after, (std::vector<uint64_t>{4, 5}));
  EXPECT_EQ(nodes[2].destination, 1);
}

TEST(Chakra, RefusesWhatIsNoSuchFile) {
  const Folder folder;
  const auto message = [&](const std::string& bytes) {
    const std::string path = folder.Write("t.0.et", bytes);
    return MessageOf([&] { NodesOf(path); }).substr(folder.Path().size() + 1);
  };
  const std::string whole = graph_test::FileOf({Microbenchmark(0)});
  EXPECT_EQ(message(""), "t.0.et: is empty");
  EXPECT_EQ(message(std::string(11, '\xff')), "t.0.et: byte 0: no length of a message");
  EXPECT_EQ(message(whole.substr(0, 40)),
            "t.0.et: byte 8: a message of 72 bytes begins, and the file has 31 more");
  std::string cut = ChakraHeader(std::nullopt);
  AppendMessage(cut, std::string("\x18\xff\xff", 3));
  EXPECT_EQ(message(cut), "t.0.et: byte 8: a varint has no end");
  MessageWriter unknown;
  unknown.Number(1, 3);
  unknown.Text(2, "odd");
  unknown.Number(3, 42);
  std::string file = ChakraHeader(std::nullopt);
  AppendMessage(file, unknown.Bytes());
  EXPECT_EQ(message(file), "t.0.et: byte 8: node 3 'odd': type: got '42'; allowed: 1 to 7");
}

TEST(Chakra, ReadsTheJsonForm) {
  const Folder folder;
  const std::string path = folder.Write("t.0.json", R"({"workload_graph": [
    {"Id": 1, "Name": "a", "NodeType": 4, "data_deps": [], "runtime": 5, "is_cpu_op": true},
    {"Id": 2, "Name": "b", "NodeType": 7, "ctrlDeps": [9], "data_deps": [1], "is_cpu_op": false,
     "comm_type": 0, "comm_size": 64, "tensor_size": 3}], "ngpus": 1})");
  std::vector<TraceNode> nodes;
  ReadChakraJson(path,
                 {[](const PlanFields&) {}, [&](const TraceNode& node) { nodes.push_back(node); }});
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].duration, 5000);
  EXPECT_EQ(nodes[0].device, 1);
  EXPECT_EQ(nodes[1].type, CollectiveType::kAllReduce);
  EXPECT_EQ(nodes[1].bytes, 64);
  EXPECT_EQ(nodes[1].control_after, std::vector<uint64_t>{9});
  const std::string odd = folder.Write("u.0.json", R"({"workload_graph": [{"Id": 1,
    "Name": "a", "NodeType": 4, "runtime": -1}]})");
  EXPECT_NE(MessageOf([&] {
              ReadChakraJson(odd, {{}, {}});
            }).find("node 1 'a': runtime: got '-1'"),
            std::string::npos);
}

}  // namespace
}  // namespace legacy::graphs::chakra_test

// Helpers of the tests of importers.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "ns3-module/fabric/import/make.h"
#include "tests/fabric/fabric_testing.h"
#include "tests/real_data.h"

namespace legacy::fabric {

inline ImportedTopology Import(const std::string& text) {
  TopologyRequest request;
  request.text = text;
  return ImportTopology(request);
}

// Files of a test, in a folder that goes with them.
class ImportFiles {
 public:
  ImportFiles() : folder_(OwnFolder()) {}
  ~ImportFiles() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  ImportFiles(const ImportFiles&) = delete;
  ImportFiles& operator=(const ImportFiles&) = delete;

  const std::string& folder() const { return folder_; }
  std::string Write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ + name, std::ios::binary) << content;
    return folder_ + name;
  }

 private:
  std::string folder_;
};

// Returns the message of an import that fails, without the folder of its file.
inline std::string ImportError(const std::string& text, const std::string& folder) {
  std::string message = MessageOf([&] { Import(text); });
  for (size_t at; (at = message.find(folder)) != std::string::npos;) {
    message.erase(at, folder.size());
  }
  return message;
}

// Returns the number of the node of that name, or -1.
inline int NodeOf(const Topology& topology, const std::string& name) {
  for (int node = 0; node < topology.NodeCount(); ++node) {
    if (topology.NodeName(node) == name) return node;
  }
  return -1;
}

// Returns the link between two nodes of these names. The test fails if there is none.
inline Link LinkBetween(const Topology& topology, const std::string& a, const std::string& b) {
  const int from = NodeOf(topology, a);
  const int to = NodeOf(topology, b);
  for (const Link& link : topology.Links()) {
    if ((link.a == from && link.b == to) || (link.a == to && link.b == from)) return link;
  }
  ADD_FAILURE() << "no link between " << a << " and " << b;
  return {};
}

}  // namespace legacy::fabric

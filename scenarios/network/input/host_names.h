// Files of flows and of jobs give hosts by name or by number. Numbers are those that the topology's
// file has for its nodes; where it has none, hosts count from 0 in the topology's order.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "ns3-module/fabric/topology/topology.h"

namespace legacy {

// HostNames finds hosts of a topology.
class HostNames {
 public:
  // `numbers` has nodes by the numbers of the topology's file, and may be empty. Both outlive the
  // object.
  HostNames(const fabric::Topology& topology, const std::map<int64_t, int>& numbers);

  // Return the node of a host. A name that is a number takes precedence over that number. Throw
  // Error naming `where` on anything else, such as a switch.
  int Find(const std::string& text, const std::string& where) const;
  int FindNumber(int64_t number, const std::string& where) const;

  // Returns what Find takes, for messages.
  std::string Allowed() const;

 private:
  int HostAt(int node, const std::string& text, const std::string& where) const;

  const fabric::Topology& topology_;
  const std::map<int64_t, int>& numbers_;
  std::unordered_map<std::string, int> nodes_;
};

}  // namespace legacy

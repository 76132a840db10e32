#include "scenarios/network/input/host_names.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace legacy {

HostNames::HostNames(const fabric::Topology& topology, const std::map<int64_t, int>& numbers)
    : topology_(topology), numbers_(numbers) {
  for (int node = 0; node < topology.NodeCount(); ++node) {
    nodes_.emplace(topology.NodeName(node), node);
  }
}

int HostNames::Find(const std::string& text, const std::string& where) const {
  if (const auto found = nodes_.find(text); found != nodes_.end()) {
    return HostAt(found->second, text, where);
  }
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc() || rest != end) throw Error(where, text, Allowed());
  return FindNumber(number, where);
}

int HostNames::FindNumber(int64_t number, const std::string& where) const {
  const std::vector<int>& hosts = topology_.Hosts();
  const std::string text = std::to_string(number);
  if (!numbers_.empty()) {
    const auto found = numbers_.find(number);
    if (found == numbers_.end()) throw Error(where, text, Allowed());
    return HostAt(found->second, text, where);
  }
  if (number < 0 || number >= static_cast<int64_t>(hosts.size())) {
    throw Error(where, text, Allowed());
  }
  return hosts[static_cast<size_t>(number)];
}

int HostNames::HostAt(int node, const std::string& text, const std::string& where) const {
  if (topology_.IsHost(node)) return node;
  throw Error(where, text, Allowed() + " (" + text + " is a switch)");
}

std::string HostNames::Allowed() const {
  const std::string name =
      ", or its name, such as " + topology_.NodeName(topology_.Hosts().front());
  int64_t last = static_cast<int64_t>(topology_.Hosts().size()) - 1;
  int64_t expected = 0;
  for (const auto& [number, node] : numbers_) {
    if (!topology_.IsHost(node)) continue;
    if (number != expected++) return "a host's number in the topology's file" + name;
    last = number;
  }
  return "a host's number from 0 to " + std::to_string(last) + name;
}

}  // namespace legacy

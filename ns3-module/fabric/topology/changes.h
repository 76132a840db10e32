// Changes of a topology over time: rates of links that follow a schedule, and nodes that fail. One
// grammar serves the option --changes and the list `changes` of topology files:
//
//   LINKS@SCHEDULE            the schedule (link-trace.h) is that of each link of LINKS
//   NODE@outage:from=T[,for=T]
//                             the node fails: its links carry nothing, and a host loses its
//                             connections
//
// LINKS are A>B, the direction from A to B, or A<>B, both. A, B and NODE are names of nodes, in
// which '*' stands for any characters and '?' for one: "host3<>*@outage:from=60s,for=30s",
// "*>server@csv:uplinks.csv:scale=mean". A trace with `trace=each` is another one for each link, in
// the order of the links. Several changes are separated by '|' in a text, and apply in order: a
// schedule takes the place of an earlier one, and outages add up.
#pragma once

#include "topology.h"

#include <string>
#include <vector>

namespace legacy::fabric
{

/// Returns the changes of a text, "" for none.
std::vector<std::string> SplitChanges(const std::string& text);

/// Applies a change to the topology. Files whose paths are relative are looked for in `folder`; "":
/// the working directory. Throws Error naming `where` on a malformed change, on names that no link
/// or node has, and where a node is to have anything but an outage.
void ApplyChange(const std::string& change,
                 const std::string& where,
                 Topology& topology,
                 const std::string& folder = "");

} // namespace legacy::fabric

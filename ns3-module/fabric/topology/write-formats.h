// The formats in which topologies are written, and the texts that they share. Internal to fabric/.
#pragma once

#include "topology.h"

#include <iosfwd>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// Throw Error on what the format cannot say.
void WriteYaml(const Topology& topology, std::ostream& stream);
void WriteGraphml(const Topology& topology, std::ostream& stream);

/// Return values in the largest unit that divides them.
std::string ExactRate(int64_t bitsPerSecond);
std::string ExactTime(TimeNs time);
/// Returns the shortest text that reads back as `value`.
std::string ExactReal(double value);
/// Returns a text in quotes.
std::string Quoted(const std::string& text);

/// Returns all switches.
std::vector<int> SwitchNodesOf(const Topology& topology);

/// Returns the text of both directions: one where they are equal, else "there/back".
template <typename Text>
std::string EachWay(const Link& link, Text text)
{
    const std::string there = text(link.ports[0]);
    const std::string back = text(link.ports[1]);
    return there == back ? there : there + "/" + back;
}

/// Throws Error on links in parallel and explicit routes, which no format but yaml can say.
void CheckRouting(const Topology& topology, const std::string& format);

} // namespace legacy::fabric

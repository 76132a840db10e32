// What readers of topology files share: a topology from links of named nodes, with the place of
// each in its file. Also walks over whole topologies: who reaches whom, which tier a node is in.
#pragma once

#include "topology.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace legacy::fabric
{

/// Two hosts without a path between them, the first of such pairs; hosts do not forward.
std::optional<std::pair<int, int>> FindUnreachable(const Topology& topology);

/// Hops of each node to the nearest host, which is 0 itself; -1 where it reaches none.
std::vector<int> TierOfNodes(const Topology& topology);

/// Every `location` is "file:line:column", for messages.
class GraphBuilder
{
  public:
    /// Hosts before switches, so that host i is node i. Throw Error on a name given twice.
    int AddHost(const std::string& name, const std::string& location);
    int AddSwitch(const std::string& name, const std::string& location);

    /// nullptr where no node is called so.
    const int* Find(const std::string& name) const;

    /// Throws Error where both ends are the same node, or linked already.
    void AddLink(const Link& link, const std::string& location);

    /// Throws Error where there is no host, a host has no link, or two hosts no path.
    Topology Finish(const std::string& path);

  private:
    void Name(const std::string& name, const std::string& location);

    Topology m_topology;
    std::vector<std::string> m_locations; ///< of nodes
    std::map<std::string, int> m_nodes;
    std::map<std::pair<int, int>, std::string> m_links; ///< place, by the ends in ascending order
};

} // namespace legacy::fabric

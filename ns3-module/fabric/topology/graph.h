// Readers of topology files share the building of a topology from links of named nodes, with the
// location of each in its file, and walks over whole topologies: which nodes reach each other, and
// which tier a node is in.
#pragma once

#include "topology.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace legacy::fabric
{

/// Returns the first two hosts without a path between them, or nothing. Hosts do not forward.
std::optional<std::pair<int, int>> FindUnreachable(const Topology& topology);

/// Returns the hops of each node to the nearest host, which itself has 0; -1 where it reaches none.
std::vector<int> TierOfNodes(const Topology& topology);

/// A GraphBuilder builds a topology from names. Every `location` is "file:line:column", for
/// messages.
class GraphBuilder
{
  public:
    /// Add a node and return its number. Hosts come before switches, so that host i is node i.
    /// Throw Error on a name that is given twice.
    int AddHost(const std::string& name, const std::string& location);
    int AddSwitch(const std::string& name, const std::string& location);

    /// Returns the number of the node of that name, or nullptr.
    const int* Find(const std::string& name) const;

    /// Adds `count` links between the same two nodes. Throws Error where both ends are the same
    /// node, or linked already by a call without a count (0, which adds one link).
    void AddLink(const Link& link, int count, const std::string& location);

    /// Adds an explicit route of named nodes. Throws Error on unknown names, and as
    /// Topology::AddRoute does.
    void AddRoute(const std::string& from,
                  const std::string& to,
                  const std::vector<std::string>& via,
                  const std::string& location);

    /// Returns the topology. Throws Error where there is no host, a host has no link, or two hosts
    /// have no path.
    Topology Finish(const std::string& path);

  private:
    void Name(const std::string& name, const std::string& location);

    Topology m_topology;
    std::vector<std::string> m_locations; ///< locations of nodes
    std::map<std::string, int> m_nodes;
    int NodeCalled(const std::string& name, const std::string& location) const;

    struct Linked
    {
        std::string location;
        bool counted = false; ///< true where the file gave a count
    };

    /// First links between two nodes, by the ends in ascending order.
    std::map<std::pair<int, int>, Linked> m_links;
};

} // namespace legacy::fabric

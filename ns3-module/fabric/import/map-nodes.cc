#include "map-nodes.h"

#include "base/error.h"
#include "base/words.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

namespace legacy::fabric
{

namespace
{

/// MapComponents finds the components of a map by union-find. The root of each component is its
/// node with the lowest number.
class MapComponents
{
  public:
    explicit MapComponents(const NetworkMap& map) : m_parent(map.nodes.size())
    {
        std::iota(m_parent.begin(), m_parent.end(), 0);
        for (const MapLine& line : map.lines)
        {
            const auto [low, high] = std::minmax({RootOf(line.a), RootOf(line.b)});
            m_parent[high] = low;
        }
    }

    int RootOf(int node)
    {
        while (m_parent[node] != node)
        {
            node = m_parent[node] = m_parent[m_parent[node]];
        }
        return node;
    }

    /// Returns the number of nodes of each component, at the position of its root, and 0 at all
    /// others.
    std::vector<int> Sizes()
    {
        std::vector<int> sizes(m_parent.size(), 0);
        for (size_t i = 0; i < m_parent.size(); ++i)
        {
            ++sizes[RootOf(static_cast<int>(i))];
        }
        return sizes;
    }

  private:
    std::vector<int> m_parent;
};

} // namespace

std::vector<std::string> NameMapNodes(const NetworkMap& map, ImportReport& report)
{
    int64_t renamed = 0;
    int64_t shared = 0;
    std::vector<std::string> names;
    std::unordered_set<std::string> taken;
    std::unordered_map<std::string, int> next;
    for (const MapNode& node : map.nodes)
    {
        taken.insert(node.name.empty() ? node.id : node.name);
    }
    std::unordered_set<std::string> used;
    for (const MapNode& node : map.nodes)
    {
        const std::string& wanted = node.name.empty() ? node.id : node.name;
        std::string& name = names.emplace_back(wanted);
        shared += node.hyperedge;
        if (used.insert(wanted).second)
        {
            continue;
        }
        ++renamed;
        int& number = next.emplace(wanted, 1).first->second;
        do
        {
            name = wanted + "#" + std::to_string(++number);
        } while (taken.count(name) > 0 || !used.insert(name).second);
    }
    report.Add(Assumed::Label,
               renamed,
               CountOf(renamed, "node has", "nodes have") +
                   " the name of an earlier one: #2, #3 and so on follow it");
    report.Add(Assumed::Hyperedge,
               shared,
               CountOf(shared, "node stands", "nodes stand") +
                   " for a shared medium (hyperedge): taken as a node like any other");
    return names;
}

std::vector<char> KeepLargestComponent(const NetworkMap& map,
                                       const std::vector<std::string>& names,
                                       bool refuse,
                                       ImportReport& report)
{
    MapComponents components(map);
    const std::vector<int> sizes = components.Sizes();
    const auto largest =
        static_cast<int>(std::max_element(sizes.begin(), sizes.end()) - sizes.begin());
    const auto count = sizes.size() - std::count(sizes.begin(), sizes.end(), 0);
    std::vector<char> kept(map.nodes.size(), 1);
    if (count == 1)
    {
        return kept;
    }
    for (size_t i = 0; i < kept.size(); ++i)
    {
        kept[i] = components.RootOf(static_cast<int>(i)) == largest;
    }
    if (refuse)
    {
        const auto out = std::find(kept.begin(), kept.end(), 0) - kept.begin();
        throw Error(map.At(map.nodes[out].line) + ": " + Shown(names[out]),
                    "a node that " + Shown(names[largest]) + " cannot reach",
                    "a connected map, or component=largest (" + std::to_string(count) +
                        " components, the largest of " + std::to_string(sizes[largest]) +
                        " nodes)");
    }
    const auto nodes = static_cast<int64_t>(sizes.size());
    const int64_t left = nodes - sizes[largest];
    report.Add(Assumed::Component,
               left,
               CountOf(left, "node", "nodes") + " of " + std::to_string(nodes) +
                   " left out: the map has " + std::to_string(count) +
                   " components, and the largest is kept");
    return kept;
}

} // namespace legacy::fabric

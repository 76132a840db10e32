#include "map-places.h"

#include "base/words.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

namespace legacy::fabric
{

namespace
{

using Neighbours = std::vector<std::vector<int>>; ///< by node of the map

Neighbours NeighboursOf(const std::vector<MergedLine>& lines, size_t nodes)
{
    Neighbours neighbours(nodes);
    for (const MergedLine& line : lines)
    {
        neighbours[line.a].push_back(line.b);
        neighbours[line.b].push_back(line.a);
    }
    return neighbours;
}

/// Returns those of `nodes` that have neighbours with places, each with the midpoint of these
/// places.
std::vector<std::pair<int, Place>>
MiddlesOf(const std::vector<int>& nodes, const Neighbours& neighbours, const MapPlaces& places)
{
    std::vector<std::pair<int, Place>> found;
    for (const int node : nodes)
    {
        std::vector<Place> around;
        for (const int other : neighbours[node])
        {
            if (places[other])
            {
                around.push_back(*places[other]);
            }
        }
        if (!around.empty())
        {
            found.emplace_back(node, MiddleOf(around));
        }
    }
    return found;
}

} // namespace

MapPlaces PlacesOf(const NetworkMap& map)
{
    MapPlaces places;
    places.reserve(map.nodes.size());
    for (const MapNode& node : map.nodes)
    {
        places.push_back(node.place);
    }
    return places;
}

void PlaceMapNodes(const std::vector<MergedLine>& lines,
                   const std::vector<char>& kept,
                   MapPlaces& places,
                   ImportReport& report)
{
    const Neighbours neighbours = NeighboursOf(lines, places.size());
    // After the first round, only neighbours of nodes that the last round placed can be placed.
    std::vector<int> candidates;
    for (size_t i = 0; i < places.size(); ++i)
    {
        if (kept[i] && !places[i])
        {
            candidates.push_back(static_cast<int>(i));
        }
    }
    int64_t placed = 0;
    while (!candidates.empty())
    {
        const std::vector<std::pair<int, Place>> found = MiddlesOf(candidates, neighbours, places);
        for (const auto& [node, place] : found)
        {
            places[node] = place;
            ++placed;
        }
        std::set<int> next;
        for (const auto& [node, place] : found)
        {
            for (const int other : neighbours[node])
            {
                if (!places[other])
                {
                    next.insert(other);
                }
            }
        }
        candidates.assign(next.begin(), next.end());
    }
    report.Add(Assumed::Place,
               placed,
               CountOf(placed, "node", "nodes") +
                   " without a place: the middle of the neighbours' places");
}

void DrawMap(const MapPlaces& places,
             const std::vector<int>& numbers,
             const std::vector<std::pair<int, size_t>>& attached,
             Topology& topology)
{
    constexpr double kHostStep = 0.3;
    Place least{INFINITY, INFINITY};
    Place most{-INFINITY, -INFINITY};
    size_t nodes = 0;
    for (size_t i = 0; i < places.size(); ++i)
    {
        if (numbers[i] < 0)
        {
            continue;
        }
        if (!places[i])
        {
            return;
        }
        ++nodes;
        least = {std::min(least.latitude, places[i]->latitude),
                 std::min(least.longitude, places[i]->longitude)};
        most = {std::max(most.latitude, places[i]->latitude),
                std::max(most.longitude, places[i]->longitude)};
    }
    const double extent =
        std::max({most.latitude - least.latitude, most.longitude - least.longitude, 1e-9});
    const double units = std::clamp(2 * std::sqrt(static_cast<double>(nodes)), 6.0, 30.0);
    const auto at = [&](size_t node)
    {
        return Position{places[node]->longitude / extent * units,
                        -places[node]->latitude / extent * units};
    };
    for (size_t i = 0; i < places.size(); ++i)
    {
        if (numbers[i] >= 0)
        {
            topology.SetPosition(numbers[i], at(i));
        }
    }
    std::unordered_map<size_t, int> beside;
    for (const auto& [host, node] : attached)
    {
        Position position = at(node);
        position.x += kHostStep * ++beside[node];
        position.y += kHostStep;
        topology.SetPosition(host, position);
    }
}

} // namespace legacy::fabric

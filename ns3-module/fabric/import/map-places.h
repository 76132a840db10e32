// Places are where the nodes of a map are, on the globe and in pictures. Internal to fabric/.
#pragma once

#include "map-lines.h"
#include "network-map.h"

#include <optional>
#include <utility>
#include <vector>

namespace legacy::fabric
{

using MapPlaces = std::vector<std::optional<Place>>; ///< by node of the map

/// Returns the places that the map gives.
MapPlaces PlacesOf(const NetworkMap& map);

/// Places `kept` nodes without a place in the middle of their neighbours' places, in rounds: a
/// round sees the places of the rounds before it, so that the order of the file has no influence.
void PlaceMapNodes(const std::vector<MergedLine>& lines,
                   const std::vector<char>& kept,
                   MapPlaces& places,
                   ImportReport& report);

/// Gives nodes their places in pictures, where all that are kept have one: about 2 sqrt(nodes)
/// units across (6 to 30), north at the top, hosts next to their switches. `numbers` are the nodes
/// of the topology by node of the map, -1 for those that are not kept; `attached` are its hosts
/// with the nodes of the map to which they belong.
void DrawMap(const MapPlaces& places,
             const std::vector<int>& numbers,
             const std::vector<std::pair<int, size_t>>& attached,
             Topology& topology);

} // namespace legacy::fabric

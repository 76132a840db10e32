// What the values of nodes and edges mean.
#include "fabric/base/error.h"
#include "fabric/base/text-file.h"
#include "label-rate.h"
#include "network-map.h"

#include <cmath>
#include <unordered_map>
#include <utility>

namespace legacy::fabric
{

namespace
{

constexpr double kMostLineErrorRate = 0.999999;
constexpr double kMostLineUsdPerGb = 1e6;

using Values = std::map<std::string, std::string>;

const std::string* Given(const Values& values, const std::string& key)
{
    const auto found = values.find(key);
    return found == values.end() ? nullptr : &found->second;
}

/// Returns the place of a node, or nothing. Throws Error where it has half of one.
std::optional<Place> PlaceOf(const Values& values, const std::string& where)
{
    const std::string* latitude = Given(values, "Latitude");
    const std::string* longitude = Given(values, "Longitude");
    if (!latitude && !longitude)
    {
        return std::nullopt;
    }
    if (!latitude || !longitude)
    {
        throw Error(where + (latitude ? ": Longitude" : ": Latitude"), "none", "both or neither");
    }
    return Place{ParseReal(OneLine(*latitude), where + ": Latitude", -90, 90),
                 ParseReal(OneLine(*longitude), where + ": Longitude", -180, 180)};
}

/// Returns a rate in bit/s, which files may write as "1e10" or "10000000000.0".
int64_t RawRate(const std::string& text, const std::string& where)
{
    return std::llround(ParseReal(OneLine(text), where, 1, static_cast<double>(kMostRate)));
}

MapLine LineOf(const RawGraph::Edge& edge, const std::string& where)
{
    MapLine line;
    line.directed = edge.directed;
    line.line = edge.line;
    const Values& values = edge.values;
    if (const std::string* raw = Given(values, "LinkSpeedRaw"))
    {
        line.rateBps.fill(RawRate(*raw, where + ": LinkSpeedRaw"));
    }
    else if (const std::string* label = Given(values, "LinkLabel"))
    {
        line.rateBps.fill(RateOfLabel(OneLine(*label)));
        line.rateSource = line.rateBps[0] > 0 ? Assumed::LabelledSpeed : Assumed::Speed;
    }
    if (const std::string* back = Given(values, "LinkSpeedRawBack"))
    {
        line.rateBps[1] = RawRate(*back, where + ": LinkSpeedRawBack");
    }
    if (const std::string* delay = Given(values, "LinkDelayNs"))
    {
        line.delay = ParseWhole(OneLine(*delay), where + ": LinkDelayNs", 0, kNever - 1);
    }
    for (int way = 0; way < 2; ++way)
    {
        const std::string back = way == 0 ? "" : "Back";
        const auto real = [&](const std::string& key, double most)
        {
            const std::string* text = Given(values, key + back);
            return text ? ParseReal(OneLine(*text), where + ": " + key + back, 0, most) : 0;
        };
        line.errorRate[way] = real("LinkErrorRate", kMostLineErrorRate);
        line.usdPerGb[way] = real("LinkUsdPerGb", kMostLineUsdPerGb);
        const std::string key = "LinkQueueBytes" + back;
        if (const std::string* queue = Given(values, key))
        {
            line.queueBytes[way] = ParseWhole(OneLine(*queue), where + ": " + key, 0, kMostBytes);
        }
    }
    return line;
}

} // namespace

NetworkMap MapOfGraph(const RawGraph& graph)
{
    NetworkMap map;
    map.path = graph.path;
    map.name = graph.name;
    map.line = graph.line;
    const auto at = [&](int line) { return graph.path + ":" + std::to_string(line); };
    std::unordered_map<std::string, int> nodes;
    for (const RawGraph::Node& raw : graph.nodes)
    {
        MapNode node;
        node.id = OneLine(raw.id);
        node.line = raw.line;
        if (const std::string* label = Given(raw.values, "label"))
        {
            node.name = OneLine(*label);
        }
        node.place = PlaceOf(raw.values, at(raw.line));
        const std::string* hyperedge = Given(raw.values, "hyperedge");
        node.hyperedge = hyperedge && OneLine(*hyperedge) == "1";
        if (const std::string* kind = Given(raw.values, "NodeKind"))
        {
            node.host = OneLine(*kind) == "host";
            if (!node.host && OneLine(*kind) != "switch")
            {
                throw Error(at(raw.line) + ": NodeKind", Shown(*kind), "host, switch");
            }
        }
        if (!nodes.emplace(raw.id, static_cast<int>(map.nodes.size())).second)
        {
            throw Error(at(raw.line) + ": id of a node", Shown(raw.id), "each id once");
        }
        map.nodes.push_back(std::move(node));
    }
    for (const RawGraph::Edge& raw : graph.edges)
    {
        const auto end = [&](const char* key, const std::string& id)
        {
            const auto found = nodes.find(id);
            if (found == nodes.end())
            {
                throw Error(
                    at(raw.line) + ": " + key + " of an edge", Shown(id), "the id of a node");
            }
            return found->second;
        };
        MapLine line = LineOf(raw, at(raw.line));
        line.a = end("source", raw.source);
        line.b = end("target", raw.target);
        map.lines.push_back(line);
    }
    return map;
}

} // namespace legacy::fabric

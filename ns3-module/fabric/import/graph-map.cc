// The meaning of the attributes of nodes and edges.
#include "attributes.h"
#include "base/error.h"
#include "base/words.h"
#include "label-rate.h"
#include "network-map.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace legacy::fabric
{

namespace
{

constexpr double kMostLineErrorRate = 0.999999;
constexpr double kMostLineUsdPerGb = 1e6;
constexpr double kMostKm = 1e6;

const std::vector<std::string_view> kRateNames = {"bandwidth",
                                                  "bw",
                                                  "capacity",
                                                  "datarate",
                                                  "linkbandwidth",
                                                  "linkcapacity",
                                                  "linkrate",
                                                  "linkspeed",
                                                  "rate",
                                                  "speed"};
const std::vector<std::string_view> kDelayNames = {"delay",
                                                   "latency",
                                                   "linkdelay",
                                                   "linklatency",
                                                   "onewaydelay",
                                                   "owd",
                                                   "propagationdelay",
                                                   "propdelay"};
const std::vector<std::string_view> kRoundTripNames = {"roundtriptime", "rtt"};
/// Names of distances, which are in kilometres unless a unit is given, and of other lengths.
const std::vector<std::string_view> kDistanceNames = {"dist",
                                                      "distance",
                                                      "linkdist",
                                                      "linkdistance"};
const std::vector<std::string_view> kLengthNames = {"length", "linklength"};
const std::vector<std::string_view> kLossNames = {"errorrate",
                                                  "linkloss",
                                                  "loss",
                                                  "lossrate",
                                                  "packeterrorrate",
                                                  "packetloss",
                                                  "packetlossrate",
                                                  "plr"};

/// Returns the place of a node, or nothing. Throws Error if only one coordinate is given.
std::optional<Place> PlaceOf(Attributes& values, const std::string& where)
{
    std::string north = "latitude";
    std::string east = "longitude";
    const std::string* latitude = values.TakeAny({"latitude", "lat"}, &north);
    const std::string* longitude = values.TakeAny({"longitude", "long", "lon", "lng"}, &east);
    if (!latitude && !longitude)
    {
        return std::nullopt;
    }
    if (!latitude || !longitude)
    {
        throw Error(where + ": " + (latitude ? east : north), "none", "both or neither");
    }
    return Place{ParseReal(OneLine(*latitude), where + ": " + Shown(north), -90, 90),
                 ParseReal(OneLine(*longitude), where + ": " + Shown(east), -180, 180)};
}

/// Returns a rate in bit/s, which files may write as "1e10" or "10000000000.0".
int64_t RawRate(const std::string& text, const std::string& where)
{
    return std::llround(ParseReal(OneLine(text), where, 1, static_cast<double>(kMostRate)));
}

/// A GraphReader gives the attributes of a graph their meaning.
class GraphReader
{
  public:
    GraphReader(const RawGraph& graph, Settings& options)
        : m_graph(graph),
          m_rateUnit(static_cast<double>(options.Rate("unit", 0))),
          m_delayUnit(static_cast<double>(options.Time("delay_unit", 0)))
    {
        m_map.path = graph.path;
        m_map.name = graph.name;
        m_map.line = graph.line;
    }

    NetworkMap Read()
    {
        for (const RawGraph::Node& raw : m_graph.nodes)
        {
            if (!m_nodes.emplace(raw.id, static_cast<int>(m_map.nodes.size())).second)
            {
                throw Error(At(raw.line) + ": id of a node", Shown(raw.id), "each id once");
            }
            m_map.nodes.push_back(ReadNode(raw));
        }
        for (const RawGraph::Edge& raw : m_graph.edges)
        {
            const int a = End("source", raw.source, raw.line);
            const int b = End("target", raw.target, raw.line);
            m_map.lines.push_back(ReadLine(raw));
            m_map.lines.back().a = a;
            m_map.lines.back().b = b;
        }
        Attributes(m_graph.own, At(m_graph.line)).Report("the graph", m_map.report);
        return std::move(m_map);
    }

  private:
    std::string At(int line) const
    {
        return m_graph.path + ":" + std::to_string(line);
    }

    int End(const char* key, const std::string& id, int line) const
    {
        const auto found = m_nodes.find(id);
        if (found == m_nodes.end())
        {
            throw Error(At(line) + ": " + key + " of an edge", Shown(id), "the id of a node");
        }
        return found->second;
    }

    /// Returns the rate under one of the names, or `known`.
    int64_t Rate(Attributes& values,
                 const std::vector<std::string_view>& names,
                 double unit,
                 int64_t known = 0) const
    {
        const Attributes::Range range{MapQuantity::Rate, unit, 1, static_cast<double>(kMostRate)};
        const auto stated = known > 0 ? std::optional(static_cast<double>(known)) : std::nullopt;
        return std::llround(values.Find(names, range, stated).value_or(0));
    }

    MapNode ReadNode(const RawGraph::Node& raw)
    {
        Attributes values(raw, At(raw.line));
        MapNode node;
        node.id = OneLine(raw.id);
        node.line = raw.line;
        std::string called;
        // networkx writes the key of a node as its label: if that is a number, a name is more
        // informative.
        const std::string* label = values.TakeAny({"label"}, &called);
        const std::string labelled = label ? OneLine(*label) : "";
        const bool number = labelled.find_first_not_of("0123456789") == labelled.npos;
        const std::string* name = number ? values.TakeAny({"name"}, &called) : nullptr;
        node.name = name && !OneLine(*name).empty() ? OneLine(*name) : labelled;
        node.place = PlaceOf(values, At(raw.line));
        const std::string* hyperedge = values.Take("hyperedge");
        node.hyperedge = hyperedge && OneLine(*hyperedge) == "1";
        if (const std::string* kind = values.Take("NodeKind"))
        {
            node.host = OneLine(*kind) == "host";
            if (!node.host && OneLine(*kind) != "switch")
            {
                throw Error(At(raw.line) + ": NodeKind", Shown(*kind), "host, switch");
            }
        }
        node.hostRateBps = {Rate(values, {"hostbandwidthup", "bandwidthup"}, m_rateUnit),
                            Rate(values, {"hostbandwidthdown", "bandwidthdown"}, m_rateUnit)};
        values.Take("id"); // an id distinguishes nodes, and is not a property
        values.Report("nodes", m_map.report);
        return node;
    }

    MapLine ReadLine(const RawGraph::Edge& raw)
    {
        const std::string where = At(raw.line);
        Attributes values(raw, where);
        MapLine line;
        line.directed = raw.directed;
        line.line = raw.line;
        ReadOwn(values, where, line);
        ReadRate(values, line);
        ReadDelay(values, line);
        const Attributes::Range loss{MapQuantity::Share, 1, 0, kMostLineErrorRate};
        if (const auto share = values.Find(kLossNames, loss))
        {
            line.errorRate = {*share, line.directed ? 0 : *share};
        }
        // These distinguish lines, and are not properties.
        values.Take("id");
        values.Take("key");
        values.Report("links", m_map.report);
        return line;
    }

    /// Reads the delay, or the length if there is none.
    void ReadDelay(Attributes& values, MapLine& line) const
    {
        Attributes::Range time{MapQuantity::Time, m_delayUnit, 0, kMostTime};
        const auto own =
            line.delay ? std::optional(static_cast<double>(*line.delay)) : std::nullopt;
        const auto delay = values.Find(kDelayNames, time, own);
        const auto round =
            values.Find(kRoundTripNames, time, delay ? std::optional(2 * *delay) : std::nullopt);
        if (round && !line.delay)
        {
            line.delay = RoundedTime(*round / 2);
        }
        if (!line.delay)
        {
            Attributes::Range length{MapQuantity::Length, 1, 0, kMostKm};
            line.km = values.Find(kDistanceNames, length);
            length.bare = 0;
            line.km = values.Find(kLengthNames, length, line.km);
        }
    }

    /// Reads the attributes that WriteGraphml adds, whose values must be valid.
    void ReadOwn(Attributes& values, const std::string& where, MapLine& line) const
    {
        if (const std::string* delay = values.Take("LinkDelayNs"))
        {
            line.delay = ParseWhole(OneLine(*delay), where + ": LinkDelayNs", 0, kNever - 1);
        }
        for (int way = 0; way < 2; ++way)
        {
            const std::string back = way == 0 ? "" : "Back";
            const auto real = [&](const std::string& key, double most)
            {
                const std::string* text = values.Take(key + back);
                return text ? ParseReal(OneLine(*text), where + ": " + key + back, 0, most) : 0;
            };
            line.errorRate[way] = real("LinkErrorRate", kMostLineErrorRate);
            line.usdPerGb[way] = real("LinkUsdPerGb", kMostLineUsdPerGb);
            const std::string key = "LinkQueueBytes" + back;
            if (const std::string* queue = values.Take(key))
            {
                line.queueBytes[way] =
                    ParseWhole(OneLine(*queue), where + ": " + key, 0, kMostBytes);
            }
            if (const std::string* raw = values.Take("LinkSpeedRaw" + back))
            {
                const int64_t rate = RawRate(*raw, where + ": LinkSpeedRaw" + back);
                line.rateBps[1] = rate;
                line.rateBps[0] = way == 0 ? rate : line.rateBps[0];
            }
        }
    }

    /// Reads the rate if LinkSpeedRaw is absent.
    void ReadRate(Attributes& values, MapLine& line) const
    {
        int64_t rate = line.rateBps[0];
        // The unit of the Zoo's LinkSpeed is a letter in another attribute.
        if (const std::string* letter = values.Take("LinkSpeedUnits"))
        {
            const auto unit = ValueOf("1" + OneLine(*letter), MapQuantity::Rate, 0);
            rate = Rate(values, {"linkspeed"}, unit.value_or(0), rate);
        }
        rate = Rate(values, kRateNames, m_rateUnit, rate);
        std::string called;
        if (const std::string* label = values.TakeAny({"linklabel", "label"}, &called))
        {
            const int64_t named = RateOfLabel(OneLine(*label));
            if (named == 0 || (rate > 0 && rate != named))
            {
                values.Leave(called, named == 0 ? "no rate in it" : "another value is used");
            }
            line.rateSource = rate == 0 && named > 0 ? Assumed::LabelledSpeed : Assumed::Speed;
            rate = rate > 0 ? rate : named;
        }
        line.rateBps[1] = line.rateBps[1] > 0 ? line.rateBps[1] : rate;
        line.rateBps[0] = rate;
    }

    const RawGraph& m_graph;
    double m_rateUnit = 0;
    double m_delayUnit = 0;
    std::unordered_map<std::string, int> m_nodes;
    NetworkMap m_map;
};

} // namespace

NetworkMap MapOfGraph(const RawGraph& graph, Settings& options)
{
    return GraphReader(graph, options).Read();
}

} // namespace legacy::fabric

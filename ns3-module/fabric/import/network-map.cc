#include "network-map.h"

#include "base/error.h"
#include "base/words.h"
#include "fabric/topology/graph.h"
#include "fabric/topology/types.h"
#include "map-lines.h"
#include "map-nodes.h"
#include "map-places.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace legacy::fabric
{

namespace
{

constexpr int64_t kDefaultMapRate = 10'000'000'000;
constexpr TimeNs kDelayWithoutPlaces = 1'000'000;
constexpr double kMostStretch = 1000;

/// A MapBuilder turns a map into a topology, by steps in the order of its functions.
class MapBuilder
{
  public:
    MapBuilder(const NetworkMap& map, Settings& options, const LinkDefaults& defaults)
        : m_map(map),
          m_options(options),
          m_places(PlacesOf(map)),
          m_node(map.nodes.size(), -1)
    {
        m_result.report = map.report;
        m_hosts = options.Text("hosts", "");
        m_hostRate = options.Has("host_rate");
        m_hostLink.rateBps = options.Rate("host_rate", defaults.rateBps);
        m_hostLink.delay = options.Time("host_delay", defaults.delay);
        m_hostLink.queueBytes = options.Bytes("host_queue", defaults.queueBytes);
        m_defaultRate = options.Rate("default_rate", kDefaultMapRate);
        if (options.Has("delay"))
        {
            m_delay = options.Time("delay", 0);
        }
        m_stretch = options.Real("stretch", 1, 0, kMostStretch);
        m_queueBytes = options.Bytes("queue", defaults.queueBytes);
        m_component = options.Text("component", "largest");
        if (m_component != "largest" && m_component != "error")
        {
            throw Error(options.Location("component"), m_component, "largest, error");
        }
    }

    ImportedTopology Build()
    {
        if (m_map.nodes.empty())
        {
            throw Error(m_map.At(m_map.line) + ": nodes", "none", "at least one");
        }
        ImportReport& report = m_result.report;
        m_names = NameMapNodes(m_map, report);
        m_kept = KeepLargestComponent(m_map, m_names, m_component == "error", report);
        m_lines = MergeMapLines(m_map, m_kept, m_defaultRate, report);
        if (!m_delay) // else no delay depends on a place
        {
            PlaceMapNodes(m_lines, m_kept, m_places, report);
        }
        AddNodes();
        AddLinks();
        CheckHosts();
        for (const MapDemand& demand : m_map.demands)
        {
            if (m_kept[demand.source] && m_kept[demand.destination])
            {
                m_result.demands.push_back(Demand{
                    m_node[demand.source], m_node[demand.destination], demand.bitsPerSecond});
            }
        }
        const std::string stem = std::filesystem::path(m_map.path).stem().string();
        m_result.topology.SetName(m_map.name.empty() ? OneLine(stem) : m_map.name);
        return std::move(m_result);
    }

  private:
    /// Numbers of links without a delay in the map, by where their delays come from.
    struct DelaySources
    {
        int64_t lengths = 0;
        int64_t distances = 0;
        int64_t unknown = 0;
    };

    void Assume(Assumed kind, int64_t count, const std::string& text)
    {
        m_result.report.Add(kind, count, text);
    }

    /// Returns how many hosts each node has.
    std::vector<int> HostsOfNodes() const
    {
        std::vector<int> hosts(m_names.size(), 0);
        const bool own = std::any_of(
            m_map.nodes.begin(), m_map.nodes.end(), [](const MapNode& node) { return node.host; });
        if (m_hosts.empty() && own)
        {
            return hosts;
        }
        const bool number =
            !m_hosts.empty() && m_hosts.find_first_not_of("0123456789") == std::string::npos;
        if (m_hosts.empty() || number)
        {
            const int each = m_options.Int("hosts", 1, 0, TopologyBuild::kMaxHosts);
            for (size_t i = 0; i < hosts.size(); ++i)
            {
                hosts[i] = m_kept[i] && !m_map.nodes[i].host ? each : 0;
            }
            return hosts;
        }
        AddNamedHosts(hosts);
        return hosts;
    }

    /// Adds a host to each node that the option names.
    void AddNamedHosts(std::vector<int>& hosts) const
    {
        std::unordered_map<std::string, size_t> nodes;
        for (size_t i = 0; i < m_names.size(); ++i)
        {
            nodes.emplace(m_names[i], i);
        }
        for (size_t i = 0; i < m_names.size(); ++i)
        {
            nodes.emplace(m_map.nodes[i].id, i);
        }
        // A name may contain the separator: the longest name that matches is taken.
        for (size_t begin = 0; begin <= m_hosts.size();)
        {
            size_t end = m_hosts.size();
            auto found = nodes.find(m_hosts.substr(begin, end - begin));
            while (found == nodes.end() && end > begin)
            {
                end = m_hosts.rfind('+', end - 1);
                if (end == std::string::npos || end < begin)
                {
                    break;
                }
                found = nodes.find(m_hosts.substr(begin, end - begin));
            }
            const bool known = found != nodes.end();
            if (!known || !m_kept[found->second] || m_map.nodes[found->second].host)
            {
                throw Error(m_options.Location("hosts"),
                            Shown(m_hosts.substr(begin)),
                            "a number for each node, or names of switches joined by '+', such as " +
                                Shown(m_names[KeptNode()]) +
                                (known ? " (that one is a host, or left out)" : ""));
            }
            ++hosts[found->second];
            begin = end + 1;
        }
    }

    size_t KeptNode() const
    {
        return std::find(m_kept.begin(), m_kept.end(), 1) - m_kept.begin();
    }

    /// Adds hosts, then switches, and the hosts' links.
    void AddNodes()
    {
        Topology& topology = m_result.topology;
        const std::vector<int> hosts = HostsOfNodes();
        const int64_t most = TopologyBuild::kMaxHosts;
        const int64_t sum = std::accumulate(hosts.begin(), hosts.end(), int64_t{0});
        if (sum > most)
        {
            throw Error(m_options.Location("hosts"),
                        std::to_string(sum) + " hosts in all",
                        "at most " + std::to_string(most));
        }
        std::vector<std::pair<int, size_t>> attached; // pairs of a host and a node of the map
        for (size_t i = 0; i < hosts.size(); ++i)
        {
            if (m_kept[i] && m_map.nodes[i].host)
            {
                m_node[i] = topology.AddHost(m_names[i]);
            }
            for (int host = 0; host < hosts[i]; ++host)
            {
                attached.emplace_back(topology.AddHost(m_names[i] + "/" + std::to_string(host)), i);
            }
        }
        for (size_t i = 0; i < hosts.size(); ++i)
        {
            if (m_kept[i] && !m_map.nodes[i].host)
            {
                m_node[i] = topology.AddSwitch(m_names[i]);
            }
        }
        for (const auto& [host, node] : attached)
        {
            Port both;
            both.rateBps = m_hostLink.rateBps;
            both.queueBytes = m_hostLink.queueBytes;
            Link link(host, m_node[node], m_hostLink.delay, both);
            for (int way = 0; way < 2 && !m_hostRate; ++way)
            {
                const int64_t stated = m_map.nodes[node].hostRateBps[way];
                link.ports[way].rateBps = stated > 0 ? stated : both.rateBps;
            }
            topology.AddLink(link);
        }
        NumberNodes(attached);
        DrawMap(m_places, m_node, attached, topology);
    }

    /// Keeps the file's node numbers, if all ids are numbers. The number of a node then means its
    /// first host.
    void NumberNodes(const std::vector<std::pair<int, size_t>>& attached)
    {
        std::map<int64_t, int> numbers;
        std::vector<int> ends = m_node;
        for (auto one = attached.rbegin(); one != attached.rend(); ++one)
        {
            ends[one->second] = one->first;
        }
        for (size_t i = 0; i < ends.size(); ++i)
        {
            const std::string& id = m_map.nodes[i].id;
            const char* end = id.data() + id.size();
            int64_t number = 0;
            const auto [rest, error] = std::from_chars(id.data(), end, number);
            if (error != std::errc() || rest != end)
            {
                return;
            }
            if (m_kept[i])
            {
                numbers.emplace(number, ends[i]);
            }
        }
        m_result.numbers = std::move(numbers);
    }

    /// Throws Error if hosts of the map cannot reach each other, because hosts do not forward.
    void CheckHosts() const
    {
        const Topology& topology = m_result.topology;
        const auto pair = FindUnreachable(topology);
        for (size_t i = 0; pair && i < m_node.size(); ++i)
        {
            if (m_node[i] == pair->first)
            {
                throw Error(m_map.At(m_map.nodes[i].line) + ": " + Shown(m_names[i]) + " and " +
                            Shown(topology.NodeName(pair->second)) +
                            " cannot reach each other (hosts do not forward)");
            }
        }
    }

    void AddLinks()
    {
        DelaySources sources;
        for (const MergedLine& line : m_lines)
        {
            Link link;
            link.a = m_node[line.a];
            link.b = m_node[line.b];
            const std::array<int64_t, 2> rates = line.Rates();
            for (int way = 0; way < 2; ++way)
            {
                const int64_t queue = line.queueBytes[way];
                link.ports[way].rateBps = rates[way];
                link.ports[way].queueBytes = queue >= 0 ? queue : m_queueBytes;
                link.ports[way].errorRate = line.errorRate[way];
                link.ports[way].usdPerGb = line.usdPerGb[way];
            }
            link.delay = DelayOf(line, sources);
            m_result.topology.AddLink(link);
        }
        ReportDelays(sources);
    }

    TimeNs DelayOf(const MergedLine& line, DelaySources& sources) const
    {
        if (line.delay)
        {
            return *line.delay;
        }
        if (m_delay)
        {
            return *m_delay;
        }
        if (line.km)
        {
            ++sources.lengths;
            return FibreDelay(*line.km);
        }
        if (m_places[line.a] && m_places[line.b])
        {
            ++sources.distances;
            return FibreDelay(*m_places[line.a], *m_places[line.b], m_stretch);
        }
        ++sources.unknown;
        return kDelayWithoutPlaces;
    }

    void ReportDelays(const DelaySources& sources)
    {
        const std::string of =
            " of " + CountOf(static_cast<int64_t>(m_lines.size()), "link", "links");
        Assume(Assumed::Length,
               sources.lengths,
               std::to_string(sources.lengths) + of +
                   " without a delay: their length at 2/3 of the speed of light");
        char stretch[32];
        std::snprintf(stretch, sizeof stretch, "%g", m_stretch);
        Assume(Assumed::Distance,
               sources.distances,
               std::to_string(sources.distances) + of +
                   " without a delay: great circle at 2/3 of the speed of light, times " + stretch +
                   " (stretch)");
        Assume(Assumed::Delay,
               sources.unknown,
               std::to_string(sources.unknown) + of +
                   " without a delay or places: " + FormatTime(kDelayWithoutPlaces) + " each");
    }

    const NetworkMap& m_map;
    Settings& m_options;
    std::string m_hosts; ///< text of the option
    LinkDefaults m_hostLink;
    bool m_hostRate = false; ///< true if the option gives the rate
    int64_t m_defaultRate = 0;
    std::optional<TimeNs> m_delay;
    double m_stretch = 1;
    int64_t m_queueBytes = 0;
    std::string m_component;

    std::vector<std::optional<Place>> m_places;
    std::vector<std::string> m_names;
    std::vector<char> m_kept;
    std::vector<int> m_node; ///< nodes of the topology, by node of the map
    std::vector<MergedLine> m_lines;
    ImportedTopology m_result;
};

} // namespace

ImportedTopology BuildMap(const NetworkMap& map, Settings& options, const LinkDefaults& defaults)
{
    return MapBuilder(map, options, defaults).Build();
}

} // namespace legacy::fabric

#include "network-map.h"

#include "base/error.h"
#include "base/words.h"
#include "fabric/topology/graph.h"
#include "fabric/topology/types.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace legacy::fabric
{

namespace
{

constexpr int64_t kDefaultMapRate = 10'000'000'000;
constexpr TimeNs kDelayWithoutPlaces = 1'000'000;
constexpr double kMostStretch = 1000;

/// A MergedLine is all lines between two nodes, in the direction of the first.
struct MergedLine
{
    int a = 0;
    int b = 0;
    // From a to b, and from b to a:
    std::array<int64_t, 2> eachWay{}; ///< sums of the rates of lines that are undirected
    std::array<int64_t, 2> oneWay{};  ///< sums of those of directed ones
    std::array<int64_t, 2> queueBytes{{-1, -1}};
    std::array<double, 2> errorRate{};
    std::array<double, 2> usdPerGb{};
    std::optional<TimeNs> delay; ///< the shortest that a line has
    std::optional<double> km;    ///< likewise

    /// Returns the rates. A direction without a directed line has the rate of the other's.
    std::array<int64_t, 2> Rates() const
    {
        const int64_t there = oneWay[0] > 0 ? oneWay[0] : oneWay[1];
        const int64_t back = oneWay[1] > 0 ? oneWay[1] : oneWay[0];
        return {eachWay[0] + there, eachWay[1] + back};
    }
};

/// A MapBuilder takes the steps from a map to a topology, in the order of their functions.
class MapBuilder
{
  public:
    MapBuilder(const NetworkMap& map, Settings& options, const LinkDefaults& defaults)
        : m_map(map),
          m_options(options),
          m_places(map.nodes.size()),
          m_names(map.nodes.size()),
          m_kept(map.nodes.size(), 1),
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
            throw Error(At(m_map.line) + ": nodes", "none", "at least one");
        }
        NameNodes();
        KeepComponent();
        MergeLines();
        PlaceNodes();
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
    std::string At(int line) const
    {
        return m_map.path + ":" + std::to_string(line);
    }

    void Assume(Assumed kind, int64_t count, const std::string& text)
    {
        m_result.report.Add(kind, count, text);
    }

    /// Names every node, each otherwise. Numbers behind a name are counted on where others have
    /// that name already.
    void NameNodes()
    {
        int64_t renamed = 0;
        int64_t shared = 0;
        std::unordered_set<std::string> taken;
        std::unordered_map<std::string, int> next;
        for (const MapNode& node : m_map.nodes)
        {
            taken.insert(node.name.empty() ? node.id : node.name);
        }
        std::unordered_set<std::string> used;
        for (size_t i = 0; i < m_map.nodes.size(); ++i)
        {
            const MapNode& node = m_map.nodes[i];
            const std::string& wanted = node.name.empty() ? node.id : node.name;
            m_names[i] = wanted;
            shared += node.hyperedge;
            if (used.insert(wanted).second)
            {
                continue;
            }
            ++renamed;
            int& number = next.emplace(wanted, 1).first->second;
            do
            {
                m_names[i] = wanted + "#" + std::to_string(++number);
            } while (taken.count(m_names[i]) > 0 || !used.insert(m_names[i]).second);
        }
        Assume(Assumed::Label,
               renamed,
               CountOf(renamed, "node has", "nodes have") +
                   " the name of an earlier one: #2, #3 and so on follow it");
        Assume(Assumed::Hyperedge,
               shared,
               CountOf(shared, "node stands", "nodes stand") +
                   " for a shared medium (hyperedge): taken as a node like any other");
    }

    /// Keeps the nodes of the largest component, of two alike the one of the earlier node.
    void KeepComponent()
    {
        std::vector<int> parent(m_map.nodes.size());
        std::iota(parent.begin(), parent.end(), 0);
        const auto root = [&parent](int node)
        {
            while (parent[node] != node)
            {
                node = parent[node] = parent[parent[node]];
            }
            return node;
        };
        for (const MapLine& line : m_map.lines)
        {
            // The lower number is the root.
            const auto [low, high] = std::minmax({root(line.a), root(line.b)});
            parent[high] = low;
        }
        std::vector<int> size(parent.size(), 0);
        for (size_t i = 0; i < parent.size(); ++i)
        {
            ++size[root(static_cast<int>(i))];
        }
        const auto largest =
            static_cast<int>(std::max_element(size.begin(), size.end()) - size.begin());
        const auto components = size.size() - std::count(size.begin(), size.end(), 0);
        if (components == 1)
        {
            return;
        }
        const auto nodes = static_cast<int64_t>(size.size());
        const int64_t left = nodes - size[largest];
        for (size_t i = 0; i < parent.size(); ++i)
        {
            m_kept[i] = root(static_cast<int>(i)) == largest;
        }
        if (m_component == "error")
        {
            const auto out = std::find(m_kept.begin(), m_kept.end(), 0) - m_kept.begin();
            throw Error(At(m_map.nodes[out].line) + ": " + Shown(m_names[out]),
                        "a node that " + Shown(m_names[largest]) + " cannot reach",
                        "a connected map, or component=largest (" + std::to_string(components) +
                            " components, the largest of " + std::to_string(size[largest]) +
                            " nodes)");
        }
        Assume(Assumed::Component,
               left,
               CountOf(left, "node", "nodes") + " of " + std::to_string(nodes) +
                   " left out: the map has " + std::to_string(components) +
                   " components, and the largest is kept");
    }

    /// Merges all lines between two nodes into one, in the order of the first of each.
    void MergeLines()
    {
        int64_t loops = 0;
        int64_t parallel = 0;
        int64_t unequal = 0;
        std::map<Assumed, int64_t> sources;
        int64_t lines = 0;
        std::map<std::pair<int, int>, size_t> positions;
        std::map<std::pair<int, int>, int> counts; // undirected by (low, high), directed by (a, b)
        for (const MapLine& line : m_map.lines)
        {
            if (line.a == line.b)
            {
                ++loops;
                continue;
            }
            const auto [low, high] = std::minmax({line.a, line.b});
            const auto key =
                line.directed ? std::make_pair(line.a, line.b) : std::make_pair(low, high);
            parallel += counts[key]++ > 0;
            if (!m_kept[line.a])
            {
                continue;
            }
            ++lines;
            const auto [entry, added] =
                positions.emplace(std::make_pair(low, high), m_lines.size());
            if (added)
            {
                MergedLine merged;
                merged.a = line.a;
                merged.b = line.b;
                m_lines.push_back(merged);
            }
            MergedLine& merged = m_lines[entry->second];
            const bool turned = line.a != merged.a;
            const bool stated = line.rateBps[0] > 0;
            if (!stated || line.rateSource != Assumed::Speed)
            {
                ++sources[line.rateSource];
            }
            AddRates(line, turned, merged);
            if (line.delay)
            {
                unequal += merged.delay && *merged.delay != *line.delay;
                merged.delay = std::min(*line.delay, merged.delay.value_or(kNever));
            }
            if (line.km)
            {
                merged.km = std::min(*line.km, merged.km.value_or(*line.km));
            }
            for (int way = 0; way < 2; ++way)
            {
                const int of = turned ? 1 - way : way;
                merged.queueBytes[way] = std::max(merged.queueBytes[way], line.queueBytes[of]);
                merged.errorRate[way] = std::max(merged.errorRate[way], line.errorRate[of]);
                merged.usdPerGb[way] = std::max(merged.usdPerGb[way], line.usdPerGb[of]);
            }
        }
        Assume(Assumed::Loop,
               loops,
               CountOf(loops, "line leads", "lines lead") + " from a node to itself: dropped");
        Assume(Assumed::Parallel,
               parallel,
               CountOf(parallel, "line has", "lines have") +
                   " the ends of an earlier one: merged with it, the rates add");
        m_result.report.Skip("links", "longer delays between the same two nodes", unequal);
        const std::string of = " of " + CountOf(lines, "line", "lines");
        Assume(Assumed::Speed,
               sources[Assumed::Speed],
               std::to_string(sources[Assumed::Speed]) + of +
                   " without a speed: " + FormatRate(m_defaultRate) + " each (default_rate)");
        Assume(Assumed::LabelledSpeed,
               sources[Assumed::LabelledSpeed],
               std::to_string(sources[Assumed::LabelledSpeed]) + of +
                   " with a speed in a label only: read from its words");
        Assume(Assumed::ModuleSpeed,
               sources[Assumed::ModuleSpeed],
               std::to_string(sources[Assumed::ModuleSpeed]) + of +
                   " without an installed capacity: one of the smallest module");
    }

    void AddRates(const MapLine& line, bool turned, MergedLine& merged)
    {
        constexpr const char* kTooFast = "at most 1000 Tbit/s for all lines between two nodes";
        for (int way = 0; way < 2; ++way)
        {
            const int64_t stated = line.rateBps[turned ? 1 - way : way];
            const int64_t rate = stated > 0 ? stated : m_defaultRate;
            const bool carries = !line.directed || (way == 1) == turned;
            (line.directed ? merged.oneWay : merged.eachWay)[way] += carries ? rate : 0;
        }
        for (const int64_t rate : merged.Rates())
        {
            if (rate > kMostRate)
            {
                throw Error(At(line.line) + ": rate", FormatRate(rate), kTooFast);
            }
        }
    }

    /// Places nodes without a place in the middle of their neighbours' places, in rounds: a round
    /// sees the places of the rounds before it, so that the order of the file has no influence.
    void PlaceNodes()
    {
        std::vector<std::vector<int>> neighbours(m_places.size());
        for (const MergedLine& line : m_lines)
        {
            neighbours[line.a].push_back(line.b);
            neighbours[line.b].push_back(line.a);
        }
        std::vector<int> unplaced;
        for (size_t i = 0; i < m_places.size(); ++i)
        {
            m_places[i] = m_map.nodes[i].place;
            if (m_kept[i] && !m_places[i])
            {
                unplaced.push_back(static_cast<int>(i));
            }
        }
        if (m_delay)
        {
            return; // no delay depends on a place
        }
        int64_t placed = 0;
        // Only neighbours of what the last round placed can be placed in this one.
        std::vector<int> candidates = unplaced;
        while (!candidates.empty())
        {
            std::vector<std::pair<int, Place>> found;
            for (const int node : candidates)
            {
                std::vector<Place> around;
                for (const int other : neighbours[node])
                {
                    if (m_places[other])
                    {
                        around.push_back(*m_places[other]);
                    }
                }
                if (!around.empty())
                {
                    found.emplace_back(node, MiddleOf(around));
                }
            }
            std::set<int> next;
            for (const auto& [node, place] : found)
            {
                m_places[node] = place;
                ++placed;
            }
            for (const auto& [node, place] : found)
            {
                for (const int other : neighbours[node])
                {
                    if (!m_places[other])
                    {
                        next.insert(other);
                    }
                }
            }
            candidates.assign(next.begin(), next.end());
        }
        Assume(Assumed::Place,
               placed,
               CountOf(placed, "node", "nodes") +
                   " without a place: the middle of the neighbours' places");
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
        std::unordered_map<std::string, size_t> nodes;
        for (size_t i = 0; i < m_names.size(); ++i)
        {
            nodes.emplace(m_names[i], i);
        }
        for (size_t i = 0; i < m_names.size(); ++i)
        {
            nodes.emplace(m_map.nodes[i].id, i);
        }
        // A name may contain the separator: the longest that fits is taken.
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
        return hosts;
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
        std::vector<std::pair<int, size_t>> attached; // host, node of the map
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
        Draw(attached);
    }

    /// Keeps the file's numbers of its nodes, where all ids are numbers. That of a node stands for
    /// its first host.
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

    /// Gives nodes their places in pictures, where all have one: about so many units across, north
    /// at the top, hosts beside their switches.
    void Draw(const std::vector<std::pair<int, size_t>>& attached)
    {
        constexpr double kHostStep = 0.3;
        Place least{INFINITY, INFINITY};
        Place most{-INFINITY, -INFINITY};
        size_t nodes = 0;
        for (size_t i = 0; i < m_places.size(); ++i)
        {
            if (!m_kept[i])
            {
                continue;
            }
            if (!m_places[i])
            {
                return;
            }
            ++nodes;
            least = {std::min(least.latitude, m_places[i]->latitude),
                     std::min(least.longitude, m_places[i]->longitude)};
            most = {std::max(most.latitude, m_places[i]->latitude),
                    std::max(most.longitude, m_places[i]->longitude)};
        }
        const double extent =
            std::max({most.latitude - least.latitude, most.longitude - least.longitude, 1e-9});
        const double units = std::clamp(2 * std::sqrt(static_cast<double>(nodes)), 6.0, 30.0);
        const auto at = [&](size_t node)
        {
            return Position{m_places[node]->longitude / extent * units,
                            -m_places[node]->latitude / extent * units};
        };
        for (size_t i = 0; i < m_places.size(); ++i)
        {
            if (m_kept[i])
            {
                m_result.topology.SetPosition(m_node[i], at(i));
            }
        }
        std::unordered_map<size_t, int> beside;
        for (const auto& [host, node] : attached)
        {
            Position position = at(node);
            position.x += kHostStep * ++beside[node];
            position.y += kHostStep;
            m_result.topology.SetPosition(host, position);
        }
    }

    /// Throws Error where hosts of the map cannot reach each other, as hosts do not forward.
    void CheckHosts() const
    {
        const Topology& topology = m_result.topology;
        const auto pair = FindUnreachable(topology);
        for (size_t i = 0; pair && i < m_node.size(); ++i)
        {
            if (m_node[i] == pair->first)
            {
                throw Error(At(m_map.nodes[i].line) + ": " + Shown(m_names[i]) + " and " +
                            Shown(topology.NodeName(pair->second)) +
                            " cannot reach each other (hosts do not forward)");
            }
        }
    }

    void AddLinks()
    {
        int64_t lengths = 0;
        int64_t distances = 0;
        int64_t unknown = 0;
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
            if (line.delay)
            {
                link.delay = *line.delay;
            }
            else if (m_delay)
            {
                link.delay = *m_delay;
            }
            else if (line.km)
            {
                link.delay = FibreDelay(*line.km);
                ++lengths;
            }
            else if (m_places[line.a] && m_places[line.b])
            {
                link.delay = FibreDelay(*m_places[line.a], *m_places[line.b], m_stretch);
                ++distances;
            }
            else
            {
                link.delay = kDelayWithoutPlaces;
                ++unknown;
            }
            m_result.topology.AddLink(link);
        }
        const std::string of =
            " of " + CountOf(static_cast<int64_t>(m_lines.size()), "link", "links");
        Assume(Assumed::Length,
               lengths,
               std::to_string(lengths) + of +
                   " without a delay: their length at 2/3 of the speed of light");
        char stretch[32];
        std::snprintf(stretch, sizeof stretch, "%g", m_stretch);
        Assume(Assumed::Distance,
               distances,
               std::to_string(distances) + of +
                   " without a delay: great circle at 2/3 of the speed of light, times " + stretch +
                   " (stretch)");
        Assume(Assumed::Delay,
               unknown,
               std::to_string(unknown) + of +
                   " without a delay or places: " + FormatTime(kDelayWithoutPlaces) + " each");
    }

    const NetworkMap& m_map;
    Settings& m_options;
    std::string m_hosts; ///< text of the option
    LinkDefaults m_hostLink;
    bool m_hostRate = false; ///< the option gave it
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

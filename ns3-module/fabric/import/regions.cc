#include "regions.h"

#include "base/error.h"
#include "base/files/text_file.h"
#include "base/files/yaml_text.h"
#include "base/words.h"
#include "fabric/topology/types.h"
#include "region-matrix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>
#include <yaml-cpp/yaml.h>

namespace legacy::fabric
{

namespace
{

/// Returns a scalar's text. Throws Error on a list or a map.
std::string ScalarOf(const std::string& path, const YAML::Node& node, const std::string& key)
{
    if (!node.IsScalar())
    {
        throw Error(MarkLocation(path, node.Mark()) + ": " + key,
                    node.IsNull() ? "nothing" : "a list or a map",
                    "one value");
    }
    return node.Scalar();
}

class RegionsFile
{
  public:
    RegionsFile(const std::string& path, Settings& options, const LinkDefaults& defaults)
        : m_path(path),
          m_folder(std::filesystem::path(path).parent_path()),
          m_options(options),
          m_file(path, "regions"),
          m_defaults(defaults)
    {
        try
        {
            Parse(LoadYaml(ReadText(path)));
        }
        catch (const YAML::Exception& error)
        {
            throw Error(MarkLocation(path, error.mark) + ": " + OneLine(error.msg));
        }
    }

    ImportedTopology Read()
    {
        const std::string matrix = FileOf("matrix");
        if (matrix.empty())
        {
            throw Error(m_path + ":1: matrix", "none", "a CSV file");
        }
        const std::string prices = FileOf("prices");
        m_core = Choice("core", {"per-host", "shared"});
        m_allowSuspect = Choice("suspect", {"error", "allow"}) == "allow";
        m_scale = Of("scale").Real("scale", 1, 1e-6, 1e6);
        ReadMissing();
        ReadMatrix(matrix);
        m_regions.Settle(m_missing, m_allowSuspect, m_file.Location("matrix"));
        if (!prices.empty())
        {
            m_regions.ReadPrices(prices, m_file.Location("prices"));
        }
        ReadHosts();
        Build();
        m_file.RejectUnread();
        return std::move(m_result);
    }

  private:
    /// Keeps the scalars of the file as settings, and its list of regions and its map of hosts.
    void Parse(const YAML::Node& root)
    {
        if (!root.IsMap())
        {
            throw Error(MarkLocation(m_path, root.Mark()) + ": a file of regions is a map");
        }
        for (const auto& entry : root)
        {
            const std::string key = ScalarOf(m_path, entry.first, "key");
            const std::string where = MarkLocation(m_path, entry.first.Mark());
            const YAML::Node& value = entry.second;
            if (key == "regions" && value.IsSequence())
            {
                ReadRegionNames(value);
            }
            else if (key == "hosts" && value.IsMap())
            {
                m_hostsByRegion = value;
            }
            else if (key == "type" && value.IsScalar() && value.Scalar() == "regions")
            {
                continue;
            }
            else
            {
                m_file.Set(key, ScalarOf(m_path, value, key), where);
            }
        }
    }

    void ReadRegionNames(const YAML::Node& list)
    {
        for (const YAML::Node& node : list)
        {
            const std::string name = ScalarOf(m_path, node, "regions");
            m_regions.Add(name, MarkLocation(m_path, node.Mark()));
        }
        if (m_regions.Count() == 0)
        {
            throw Error(MarkLocation(m_path, list.Mark()) + ": regions", "none", "all, or a list");
        }
        m_listed = true;
    }

    /// Returns the settings from which a key is read: those after the path, or those of the file.
    Settings& Of(const std::string& key)
    {
        m_file.Text(key, ""); // marks the key as read in both, whichever has precedence
        m_options.Text(key, "");
        return m_options.Has(key) ? m_options : m_file;
    }

    std::string Choice(const std::string& key, const std::vector<std::string>& allowed)
    {
        Settings& from = Of(key);
        const std::string text = from.Text(key, allowed[0]);
        if (std::find(allowed.begin(), allowed.end(), text) == allowed.end())
        {
            throw Error(from.Location(key), Shown(text), allowed[0] + ", " + allowed[1]);
        }
        return text;
    }

    /// Returns the path of a CSV file: relative to the folder of this file, or unchanged if it is
    /// given after the path.
    std::string FileOf(const std::string& key)
    {
        Settings& from = Of(key);
        const std::string name = from.Text(key, "");
        if (&from == &m_options)
        {
            return name;
        }
        return name.empty() ? "" : (m_folder / name).string();
    }

    void ReadMissing()
    {
        Settings& from = Of("missing");
        if (from.Text("missing", "error") != "error")
        {
            m_missing = from.Rate("missing", 0);
        }
    }

    /// Reads the matrix. If the file has no list of regions, all regions of the matrix are taken.
    void ReadMatrix(const std::string& path)
    {
        if (!m_listed)
        {
            Settings& from = Of("regions");
            const std::string all = from.Text("regions", "all");
            if (all != "all")
            {
                throw Error(from.Location("regions"), Shown(all), "all, or a list");
            }
        }
        m_regions.ReadMeasurements(path, m_file.Location("matrix"), !m_listed);
    }

    void ReadHosts()
    {
        if (!m_hostsByRegion || m_options.Has("hosts"))
        {
            Settings& from = Of("hosts");
            m_hosts.assign(m_regions.Count(), from.Int("hosts", 1, 0, TopologyBuild::kMaxHosts));
        }
        else
        {
            m_hosts.assign(m_regions.Count(), 0);
            for (const auto& entry : m_hostsByRegion)
            {
                const std::string name = ScalarOf(m_path, entry.first, "hosts");
                const std::string where = MarkLocation(m_path, entry.first.Mark()) + ": hosts";
                const int region = m_regions.Number(name);
                if (region < 0)
                {
                    throw Error(where, Shown(name), "regions of this file");
                }
                m_hosts[region] =
                    static_cast<int>(ParseWhole(ScalarOf(m_path, entry.second, "hosts"),
                                                where + " of " + Shown(name),
                                                0,
                                                TopologyBuild::kMaxHosts));
            }
        }
        const int64_t sum = std::accumulate(m_hosts.begin(), m_hosts.end(), int64_t{0});
        if (sum > TopologyBuild::kMaxHosts)
        {
            throw Error(Of("hosts").Location("hosts"),
                        std::to_string(sum) + " in all",
                        "at most " + std::to_string(TopologyBuild::kMaxHosts));
        }
    }

    /// Returns the rate in bit/s between two single machines.
    int64_t RateOf(const RegionPair& pair) const
    {
        const double rate =
            pair.where.empty() ? static_cast<double>(*m_missing) : pair.gbps * 1e9 * m_scale;
        return std::max<int64_t>(1, std::llround(rate));
    }

    /// Returns the ports of a host's line, for sending and for receiving.
    std::array<Port, 2> HostPorts(int region)
    {
        Settings& from = Of("host_rate");
        const bool given = from.Has("host_rate");
        const int64_t rate = from.Rate("host_rate", m_defaults.rateBps);
        std::array<Port, 2> ports;
        for (Port& port : ports)
        {
            port.rateBps = rate;
            port.queueBytes = Of("host_queue").Bytes("host_queue", m_defaults.queueBytes);
        }
        if (m_core == "shared")
        {
            return ports;
        }
        std::array<int64_t, 2> most{};
        for (int other = 0; other < m_regions.Count(); ++other)
        {
            if (other != region)
            {
                most[0] = std::max(most[0], RateOf(m_regions.Pair(region, other)));
                most[1] = std::max(most[1], RateOf(m_regions.Pair(other, region)));
            }
        }
        for (int way = 0; way < 2; ++way)
        {
            if (most[way] > 0)
            {
                ports[way].rateBps = given ? std::min(rate, most[way]) : most[way];
            }
        }
        return ports;
    }

    void Build()
    {
        Topology& topology = m_result.topology;
        const auto regions = m_regions.Count();
        std::vector<std::pair<int, int>> attached; // pairs of a host and a region
        for (int region = 0; region < regions; ++region)
        {
            for (int host = 0; host < m_hosts[region]; ++host)
            {
                attached.emplace_back(
                    topology.AddHost(OneLine(m_regions.Name(region)) + "/" + std::to_string(host)),
                    region);
            }
        }
        const int first = topology.NodeCount();
        for (int region = 0; region < regions; ++region)
        {
            topology.AddSwitch(OneLine(m_regions.Name(region)));
        }
        const TimeNs delay = Of("host_delay").Time("host_delay", m_defaults.delay);
        std::vector<std::array<Port, 2>> ports;
        for (int region = 0; region < regions; ++region)
        {
            ports.push_back(HostPorts(region));
        }
        for (const auto& [host, region] : attached)
        {
            Link link;
            link.a = host;
            link.b = first + region;
            link.delay = delay;
            link.ports = ports[region];
            topology.AddLink(link);
        }
        const int64_t queue = Of("queue").Bytes("queue", m_defaults.queueBytes);
        for (int a = 0; a < regions; ++a)
        {
            for (int b = a + 1; b < regions; ++b)
            {
                AddCoreLink(a, b, first, queue);
            }
        }
        const std::string stem = OneLine(std::filesystem::path(m_path).stem().string());
        topology.SetName(m_file.Text("name", stem));
    }

    void AddCoreLink(int a, int b, int first, int64_t queue)
    {
        Link link;
        link.a = first + a;
        link.b = first + b;
        const double rttMs = (m_regions.Pair(a, b).rttMs + m_regions.Pair(b, a).rttMs) / 2;
        link.delay = RoundedTime(rttMs * 1e6 / 2);
        for (int way = 0; way < 2; ++way)
        {
            const RegionPair& pair = way == 0 ? m_regions.Pair(a, b) : m_regions.Pair(b, a);
            const int64_t hosts = m_core == "shared" ? 1 : std::max(1, m_hosts[way == 0 ? a : b]);
            const double rate = static_cast<double>(RateOf(pair)) * static_cast<double>(hosts);
            if (rate > static_cast<double>(kMostRate))
            {
                throw Error((pair.where.empty() ? m_path + ":1" : pair.where) + ": rate of " +
                                std::to_string(hosts) + " hosts",
                            FormatRate(kMostRate) + " or more",
                            "less, or core: shared");
            }
            link.ports[way].rateBps = RateOf(pair) * hosts;
            link.ports[way].queueBytes = queue;
            link.ports[way].usdPerGb = pair.usdPerGb;
        }
        m_result.topology.AddLink(link);
    }

    std::string m_path;
    std::filesystem::path m_folder;
    Settings& m_options;
    Settings m_file;
    LinkDefaults m_defaults;
    YAML::Node m_hostsByRegion{YAML::NodeType::Undefined};

    std::string m_core;
    bool m_allowSuspect = false;
    double m_scale = 1;
    std::optional<int64_t> m_missing;

    bool m_listed = false;    ///< true if the file lists the regions
    std::vector<int> m_hosts; ///< number of hosts by region
    ImportedTopology m_result;
    RegionMatrix m_regions{m_result.report};
};

} // namespace

ImportedTopology
ReadRegions(const std::string& path, Settings& options, const LinkDefaults& defaults)
{
    return RegionsFile(path, options, defaults).Read();
}

} // namespace legacy::fabric

#include "regions.h"

#include "base/error.h"
#include "base/files/csv_file.h"
#include "base/files/text_file.h"
#include "base/files/yaml_text.h"
#include "base/words.h"
#include "fabric/topology/types.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>
#include <yaml-cpp/yaml.h>

namespace legacy::fabric
{

namespace
{

constexpr int kMostRegions = 1024;
constexpr double kMostGbps = 1e6;
constexpr double kMostRttMs = 1e7;
constexpr double kMostUsd = 1e6; ///< of a GB

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

/// A RegionPair is what the matrix says of an ordered pair.
struct RegionPair
{
    double gbps = 0;
    double rttMs = 0;
    bool suspect = false;
    std::string where; ///< empty: the matrix lacks it
    double usdPerGb = 0;
    bool priced = false;
};

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
        CheckPairs();
        if (!prices.empty())
        {
            ReadPrices(prices);
        }
        ReadHosts();
        Build();
        m_file.RejectUnread();
        return std::move(m_result);
    }

  private:
    /// Keeps the scalars of the file as settings, and its list of regions and map of hosts.
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
            AddRegion(name, MarkLocation(m_path, node.Mark()));
        }
        if (m_names.empty())
        {
            throw Error(MarkLocation(m_path, list.Mark()) + ": regions", "none", "all, or a list");
        }
        m_listed = true;
    }

    int AddRegion(const std::string& name, const std::string& where)
    {
        const auto number = static_cast<int>(m_names.size());
        if (name.empty() || !m_numbers.emplace(name, number).second)
        {
            throw Error(where + ": regions", Shown(name), "each region once");
        }
        if (number == kMostRegions)
        {
            throw Error(
                where + ": regions", Shown(name), "at most " + std::to_string(kMostRegions));
        }
        m_names.push_back(name);
        m_nameWhere.push_back(where);
        return number;
    }

    /// Returns the settings that a key is read from: those behind the path, or the file's.
    Settings& Of(const std::string& key)
    {
        m_file.Text(key, ""); // read here, whoever has precedence
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

    /// Returns the path of a CSV file: from the folder of this one, or as it stands behind the
    /// path.
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

    RegionPair& Pair(int from, int to)
    {
        return m_pairs[static_cast<size_t>(from) * m_names.size() + static_cast<size_t>(to)];
    }

    /// Returns the number of a region, or -1 for one that is not wanted.
    int Number(const std::string& name) const
    {
        const auto found = m_numbers.find(name);
        return found == m_numbers.end() ? -1 : found->second;
    }

    void
    SkipColumns(const CsvFile& file, const char* of, std::initializer_list<std::string_view> known)
    {
        for (const std::string& column : file.Columns())
        {
            const bool used = std::find(known.begin(), known.end(), column) != known.end();
            m_result.report.Skip(of, "column " + Shown(column), used ? 0 : 1);
        }
    }

    void ReadMatrix(const std::string& path)
    {
        struct Row
        {
            int from = 0;
            int to = 0;
            RegionPair pair;
        };
        CsvFile file(path, m_file.Location("matrix"));
        const size_t src = file.Column("src");
        const size_t dst = file.Column("dst");
        const size_t gbps = file.Column("gbps");
        const size_t rtt = file.Column("rtt_ms");
        const bool rated = file.Has("rtt_suspect");
        SkipColumns(file, "the matrix", {"src", "dst", "gbps", "rtt_ms", "rtt_suspect"});
        const size_t suspect = rated ? file.Column("rtt_suspect") : 0;
        std::vector<Row> rows;
        std::vector<char> seen(m_names.size(), 0);
        if (!m_listed)
        {
            const std::string all = Of("regions").Text("regions", "all");
            if (all != "all")
            {
                throw Error(Of("regions").Location("regions"), Shown(all), "all, or a list");
            }
        }
        while (file.Next())
        {
            Row row;
            row.pair.gbps = file.Number(gbps, 1e-9, kMostGbps);
            row.pair.rttMs = file.Number(rtt, 0, kMostRttMs);
            row.pair.suspect = rated && file.Whole(suspect, 0, 1) == 1;
            row.pair.where = file.Where();
            int* ends[] = {&row.from, &row.to};
            for (size_t end = 0; end < 2; ++end)
            {
                const std::string name(file.Text(end == 0 ? src : dst));
                *ends[end] = Number(name);
                if (*ends[end] < 0 && !m_listed)
                {
                    *ends[end] = AddRegion(name, file.Where(end == 0 ? src : dst));
                    seen.push_back(1);
                }
                else if (*ends[end] >= 0)
                {
                    seen[*ends[end]] = 1;
                }
            }
            if (file.Text(src) == file.Text(dst))
            {
                throw Error(file.Where(dst), Shown(file.Text(dst)), "another region than src");
            }
            if (row.from >= 0 && row.to >= 0)
            {
                rows.push_back(std::move(row));
            }
        }
        for (size_t i = 0; i < seen.size(); ++i)
        {
            if (!seen[i])
            {
                throw Error(m_nameWhere[i] + ": regions", Shown(m_names[i]), "a region of " + path);
            }
        }
        if (m_names.empty())
        {
            throw Error(file.Where() + ": rows", "none", "at least one");
        }
        m_pairs.resize(m_names.size() * m_names.size());
        for (Row& row : rows)
        {
            RegionPair& pair = Pair(row.from, row.to);
            if (!pair.where.empty())
            {
                throw Error(row.pair.where + ": pair",
                            Shown(m_names[row.from] + ", " + m_names[row.to]),
                            "each pair once; it is also at " + pair.where);
            }
            pair = std::move(row.pair);
        }
    }

    template <typename Each>
    void ForPairs(Each each)
    {
        const auto regions = static_cast<int>(m_names.size());
        for (int from = 0; from < regions; ++from)
        {
            for (int to = 0; to < regions; ++to)
            {
                if (from != to)
                {
                    each(from, to, Pair(from, to));
                }
            }
        }
    }

    /// Settles pairs that are missing or suspect.
    void CheckPairs()
    {
        int64_t missing = 0;
        int64_t suspect = 0;
        const RegionPair* firstSuspect = nullptr;
        std::pair<int, int> firstMissing;
        ForPairs(
            [&](int from, int to, const RegionPair& pair)
            {
                if (pair.where.empty() && missing++ == 0)
                {
                    firstMissing = {from, to};
                }
                if (pair.suspect && suspect++ == 0)
                {
                    firstSuspect = &pair;
                }
            });
        if (firstSuspect && !m_allowSuspect)
        {
            throw Error(firstSuspect->where + ": rtt_suspect",
                        "1, as of " + CountOf(suspect, "pair", "pairs"),
                        "0, other regions, or suspect: allow");
        }
        if (missing > 0 && !m_missing)
        {
            throw Error(m_file.Location("matrix"),
                        "no row of " + Shown(m_names[firstMissing.first]) + ", " +
                            Shown(m_names[firstMissing.second]) + " and " +
                            std::to_string(missing - 1) + " more",
                        "every ordered pair, or a rate as missing: 1Gbps");
        }
        m_result.report.Add(Assumed::Suspect,
                            suspect,
                            CountOf(suspect, "ordered pair", "ordered pairs") +
                                " with a suspect round-trip time: taken as it is");
        if (missing > 0)
        {
            SettleMissing(missing);
        }
    }

    void SettleMissing(int64_t missing)
    {
        ForPairs(
            [&](int from, int to, RegionPair& pair)
            {
                if (!pair.where.empty())
                {
                    return;
                }
                const RegionPair& back = Pair(to, from);
                if (back.where.empty())
                {
                    throw Error(m_file.Location("matrix"),
                                "no row of " + Shown(m_names[from]) + ", " + Shown(m_names[to]) +
                                    " in either direction",
                                "a round-trip time of every two regions");
                }
                pair.rttMs = back.rttMs;
            });
        m_result.report.Add(Assumed::MissingPair,
                            missing,
                            CountOf(missing, "ordered pair", "ordered pairs") +
                                " without a measurement: " + FormatRate(*m_missing) +
                                " each, and the other direction's round-trip time");
    }

    void ReadPrices(const std::string& path)
    {
        CsvFile file(path, m_file.Location("prices"));
        const size_t src = file.Column("src");
        const size_t dst = file.Column("dst");
        const size_t price = file.Column("usd_per_gb");
        SkipColumns(file, "the prices", {"src", "dst", "usd_per_gb"});
        while (file.Next())
        {
            const int from = Number(std::string(file.Text(src)));
            const int to = Number(std::string(file.Text(dst)));
            const double usd = file.Number(price, 0, kMostUsd);
            if (from < 0 || to < 0 || from == to)
            {
                continue;
            }
            RegionPair& pair = Pair(from, to);
            if (pair.priced)
            {
                throw Error(file.Where() + ": pair",
                            Shown(m_names[from] + ", " + m_names[to]),
                            "each pair once");
            }
            pair.priced = true;
            pair.usdPerGb = usd;
        }
        int64_t free = 0;
        ForPairs([&free](int, int, const RegionPair& pair) { free += pair.priced ? 0 : 1; });
        m_result.report.Add(Assumed::Price,
                            free,
                            CountOf(free, "ordered pair", "ordered pairs") +
                                " without a price: free of charge");
    }

    void ReadHosts()
    {
        if (!m_hostsByRegion || m_options.Has("hosts"))
        {
            Settings& from = Of("hosts");
            m_hosts.assign(m_names.size(), from.Int("hosts", 1, 0, TopologyBuild::kMaxHosts));
        }
        else
        {
            m_hosts.assign(m_names.size(), 0);
            for (const auto& entry : m_hostsByRegion)
            {
                const std::string name = ScalarOf(m_path, entry.first, "hosts");
                const std::string where = MarkLocation(m_path, entry.first.Mark()) + ": hosts";
                const int region = Number(name);
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

    /// Returns bit/s of a pair of single machines.
    int64_t RateOf(const RegionPair& pair) const
    {
        const double rate =
            pair.where.empty() ? static_cast<double>(*m_missing) : pair.gbps * 1e9 * m_scale;
        return std::max<int64_t>(1, std::llround(rate));
    }

    /// Returns the ports of a host's line: as it sends, and as it receives.
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
        for (int other = 0; other < static_cast<int>(m_names.size()); ++other)
        {
            if (other != region)
            {
                most[0] = std::max(most[0], RateOf(Pair(region, other)));
                most[1] = std::max(most[1], RateOf(Pair(other, region)));
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
        const auto regions = static_cast<int>(m_names.size());
        std::vector<std::pair<int, int>> attached; // host, region
        for (int region = 0; region < regions; ++region)
        {
            for (int host = 0; host < m_hosts[region]; ++host)
            {
                attached.emplace_back(
                    topology.AddHost(OneLine(m_names[region]) + "/" + std::to_string(host)),
                    region);
            }
        }
        const int first = topology.NodeCount();
        for (const std::string& name : m_names)
        {
            topology.AddSwitch(OneLine(name));
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
        const double rttMs = (Pair(a, b).rttMs + Pair(b, a).rttMs) / 2;
        link.delay = RoundedTime(rttMs * 1e6 / 2);
        for (int way = 0; way < 2; ++way)
        {
            const RegionPair& pair = way == 0 ? Pair(a, b) : Pair(b, a);
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

    bool m_listed = false; ///< the file lists the regions
    std::vector<std::string> m_names;
    std::vector<std::string> m_nameWhere;
    std::unordered_map<std::string, int> m_numbers;
    std::vector<RegionPair> m_pairs; ///< from a region to a region, row by row
    std::vector<int> m_hosts;        ///< by region
    ImportedTopology m_result;
};

} // namespace

ImportedTopology
ReadRegions(const std::string& path, Settings& options, const LinkDefaults& defaults)
{
    return RegionsFile(path, options, defaults).Read();
}

} // namespace legacy::fabric

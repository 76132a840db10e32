#include "data-centre.h"

#include "base/error.h"
#include "base/files/text_file.h"
#include "base/words.h"
#include "fabric/topology/types.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace legacy::fabric
{

namespace
{

constexpr size_t kMostTiers = 3;
constexpr int kMostRadix = 65536;

std::string LowerCase(std::string text)
{
    std::transform(text.begin(),
                   text.end(),
                   text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

/// A HtsimValue is a number of the file with its place; an empty place: it was not given.
struct HtsimValue
{
    double number = 0;
    std::string where;

    bool Given() const
    {
        return !where.empty();
    }

    int Int() const
    {
        return static_cast<int>(number);
    }
};

/// A HtsimKey is a key of the file with the range of its number.
struct HtsimKey
{
    const char* name; ///< in small letters
    double least;
    double most;
    bool whole;
};

constexpr HtsimKey kHeaderKeys[] = {{"nodes", 1, TopologyBuild::kMaxHosts, true},
                                    {"tiers", 2, kMostTiers, true},
                                    {"podsize", 1, TopologyBuild::kMaxHosts, true}};
constexpr HtsimKey kTierKeys[] = {{"downlink_speed_gbps", 1e-9, 1e6, false},
                                  {"downlink_latency_ns", 0, 1e12, true},
                                  {"radix_down", 1, kMostRadix, true},
                                  {"radix_up", 1, kMostRadix, true},
                                  {"bundle", 1, 1024, true},
                                  {"oversubscribed", 1, kMostRadix, false},
                                  {"queue", 0, static_cast<double>(kMostBytes), true},
                                  {"queue_down", 0, static_cast<double>(kMostBytes), true},
                                  {"queue_up", 0, static_cast<double>(kMostBytes), true},
                                  {"switch_latency_ns", 0, 1e12, true}};

using HtsimValues = std::map<std::string, HtsimValue>;

class HtsimFile
{
  public:
    HtsimFile(const std::string& path, const LinkDefaults& defaults)
        : m_path(path),
          m_lines(path, ReadText(path), {'#'}),
          m_defaults(defaults)
    {
    }

    ImportedTopology Read()
    {
        ReadLines();
        CheckShape();
        Build();
        return std::move(m_result);
    }

  private:
    void ReadLines()
    {
        int tier = -1;
        while (m_lines.Advance())
        {
            const std::string key = LowerCase(m_lines.Word(0));
            if (m_lines.Count() != 2)
            {
                throw Error(m_lines.Location(0), m_lines.Line(), "a key and a number");
            }
            if (key == "tier")
            {
                tier = m_lines.Integer(1, "tier", 0, static_cast<int>(kMostTiers) - 1);
                if (!m_tierWhere[tier].empty())
                {
                    throw Error(m_lines.Location(1) + ": tier", m_lines.Word(1), "each tier once");
                }
                m_tierWhere[tier] = m_lines.Location(0);
                continue;
            }
            const bool header = tier < 0;
            header ? ReadKey(key, std::begin(kHeaderKeys), std::end(kHeaderKeys), m_header)
                   : ReadKey(key, std::begin(kTierKeys), std::end(kTierKeys), m_tiers[tier]);
        }
    }

    void
    ReadKey(const std::string& key, const HtsimKey* begin, const HtsimKey* end, HtsimValues& values)
    {
        const auto* known =
            std::find_if(begin, end, [&key](const HtsimKey& one) { return key == one.name; });
        if (known == end)
        {
            std::string allowed;
            for (const HtsimKey* one = begin; one != end; ++one)
            {
                allowed += std::string(one->name) + ", ";
            }
            throw Error(m_lines.Location(0) + ": key", Shown(m_lines.Word(0)), allowed + "tier");
        }
        HtsimValue value;
        value.where = m_lines.Location(1);
        value.number = known->whole
                           ? static_cast<double>(m_lines.Whole(1,
                                                               key,
                                                               static_cast<int64_t>(known->least),
                                                               static_cast<int64_t>(known->most)))
                           : m_lines.Real(1, key, known->least, known->most);
        if (!values.emplace(key, value).second)
        {
            throw Error(m_lines.Location(0) + ": " + key, m_lines.Word(1), "each key once");
        }
    }

    const HtsimValue& Header(const std::string& key) const
    {
        const auto found = m_header.find(key);
        if (found == m_header.end())
        {
            throw Error(m_path + ":1: " + key, "none", "a number in front of the tiers");
        }
        return found->second;
    }

    HtsimValue Of(int tier, const std::string& key, double fallback) const
    {
        const auto found = m_tiers[tier].find(key);
        return found == m_tiers[tier].end() ? HtsimValue{fallback, ""} : found->second;
    }

    HtsimValue Need(int tier, const std::string& key) const
    {
        const HtsimValue value = Of(tier, key, 0);
        if (!value.Given())
        {
            throw Error(m_tierWhere[tier] + ": " + key + " of tier " + std::to_string(tier),
                        "none",
                        "a number");
        }
        return value;
    }

    /// Throws Error where `whole` does not divide into parts of `part`; returns how many they are.
    static int Parts(int whole, const HtsimValue& part, const std::string& what)
    {
        if (whole % part.Int() != 0)
        {
            throw Error(part.where + ": " + what,
                        std::to_string(part.Int()),
                        "a divisor of " + std::to_string(whole));
        }
        return whole / part.Int();
    }

    /// Finds out how many switches there are, and throws Error on radices that do not fit.
    void CheckShape()
    {
        m_hosts = Header("nodes").Int();
        m_tierCount = Header("tiers").Int();
        const HtsimValue podsize = Header("podsize");
        for (int tier = 0; tier < static_cast<int>(kMostTiers); ++tier)
        {
            const bool wanted = tier < m_tierCount;
            if (wanted != !m_tierWhere[tier].empty())
            {
                throw Error((wanted ? m_path + ":1" : m_tierWhere[tier]) + ": tier " +
                                std::to_string(tier),
                            wanted ? "none" : "one more",
                            std::to_string(m_tierCount) + " tiers, as the first lines say");
            }
        }
        m_pods = Parts(m_hosts, podsize, "podsize");
        if (m_tierCount == 2 && m_pods != 1)
        {
            throw Error(podsize.where + ": podsize",
                        std::to_string(podsize.Int()),
                        std::to_string(m_hosts) + " with two tiers, where all is one pod");
        }
        m_torsPerPod = Parts(podsize.Int(), Need(0, "radix_down"), "radix_down of tier 0");
        m_aggsPerPod = Upper(0, m_torsPerPod);
        if (m_tierCount == 3)
        {
            m_coresPerAgg = Parts(Need(1, "radix_up").Int(), Bundle(2), "bundle of tier 2");
            CheckRadix(2, m_pods * Bundle(2).Int());
        }
        const HtsimValue bundle = Of(0, "bundle", 1);
        if (bundle.Int() != 1)
        {
            throw Error(bundle.where + ": bundle of tier 0",
                        std::to_string(bundle.Int()),
                        "1: a host has one link");
        }
        for (int tier = 0; tier + 1 < m_tierCount; ++tier)
        {
            CheckOversubscription(tier);
        }
        const HtsimValue top = Of(m_tierCount - 1, "radix_up", 0);
        if (top.Given())
        {
            throw Error(top.where + ": radix_up of the last tier",
                        std::to_string(top.Int()),
                        "none: it has no uplinks");
        }
    }

    /// Returns the parallel links between two switches below a tier, with a place for messages.
    HtsimValue Bundle(int tier) const
    {
        HtsimValue bundle = Of(tier, "bundle", 1);
        bundle.where = bundle.Given() ? bundle.where : m_tierWhere[tier];
        return bundle;
    }

    /// Returns the switches above those of a tier in a pod, of which there are `lower`.
    int Upper(int tier, int lower) const
    {
        const int upper = Parts(Need(tier, "radix_up").Int(), Bundle(tier + 1), "bundle");
        CheckRadix(tier + 1, lower * Bundle(tier + 1).Int());
        return upper;
    }

    void CheckRadix(int tier, int links) const
    {
        const HtsimValue radix = Need(tier, "radix_down");
        if (radix.Int() != links)
        {
            throw Error(radix.where + ": radix_down of tier " + std::to_string(tier),
                        std::to_string(radix.Int()),
                        std::to_string(links) + ", as the tiers below give");
        }
    }

    void CheckOversubscription(int tier) const
    {
        const HtsimValue given = Of(tier, "oversubscribed", 1);
        const double down =
            Need(tier, "radix_down").number * Need(tier, "downlink_speed_gbps").number;
        const double up =
            Need(tier, "radix_up").number * Need(tier + 1, "downlink_speed_gbps").number;
        constexpr double kRounding = 1e-6;
        if (given.Given() && std::abs(down / up - given.number) > kRounding * given.number)
        {
            char ratio[32];
            std::snprintf(ratio, sizeof ratio, "%g", down / up);
            char text[32];
            std::snprintf(text, sizeof text, "%g", given.number);
            throw Error(given.where + ": oversubscribed of tier " + std::to_string(tier),
                        text,
                        std::string(ratio) + ", as radices and speeds give");
        }
    }

    /// Returns the queue of a port in bytes.
    int64_t Queue(int tier, const char* direction) const
    {
        const double both = Of(tier, "queue", static_cast<double>(m_defaults.queueBytes)).number;
        return static_cast<int64_t>(Of(tier, std::string("queue_") + direction, both).number);
    }

    int64_t SwitchLatency(int tier) const
    {
        return static_cast<int64_t>(Of(tier, "switch_latency_ns", 0).number);
    }

    /// Links a node to one of a tier above it, `count` times. Half of the latency of both switches
    /// is on the link.
    void AddLinks(int lower, int upper, int tier, int count)
    {
        Port port;
        port.rateBps = std::llround(1e9 * Need(tier, "downlink_speed_gbps").number);
        const int64_t latency = SwitchLatency(tier) + (tier > 0 ? SwitchLatency(tier - 1) : 0);
        Link link(lower,
                  upper,
                  static_cast<TimeNs>(Need(tier, "downlink_latency_ns").number) + (latency + 1) / 2,
                  port);
        link.ports[0].queueBytes = tier > 0 ? Queue(tier - 1, "up") : m_defaults.queueBytes;
        link.ports[1].queueBytes = Queue(tier, "down");
        for (int i = 0; i < count; ++i)
        {
            m_result.topology.AddLink(link);
        }
    }

    void Build()
    {
        const int64_t links =
            int64_t{m_hosts} + int64_t{m_pods} * m_torsPerPod * Need(0, "radix_up").Int() +
            (m_tierCount == 3 ? int64_t{m_pods} * m_aggsPerPod * Need(1, "radix_up").Int() : 0);
        if (links > TopologyBuild::kMaxLinks)
        {
            throw Error(m_path + ":1: links",
                        std::to_string(links),
                        "at most " + std::to_string(TopologyBuild::kMaxLinks));
        }
        Topology& topology = m_result.topology;
        for (int host = 0; host < m_hosts; ++host)
        {
            topology.AddHost("host" + std::to_string(host));
        }
        const auto add = [&topology](const char* name, int count)
        {
            const int first = topology.NodeCount();
            for (int i = 0; i < count; ++i)
            {
                topology.AddSwitch(name + std::to_string(i));
            }
            return first;
        };
        const int tors = add("tor", m_pods * m_torsPerPod);
        const int aggs = add("agg", m_pods * m_aggsPerPod);
        const int cores = add("core", m_aggsPerPod * m_coresPerAgg);
        const int hostsPerTor = Need(0, "radix_down").Int();
        for (int host = 0; host < m_hosts; ++host)
        {
            AddLinks(host, tors + host / hostsPerTor, 0, 1);
        }
        for (int tor = 0; tor < m_pods * m_torsPerPod; ++tor)
        {
            for (int agg = 0; agg < m_aggsPerPod; ++agg)
            {
                const int pod = tor / m_torsPerPod;
                AddLinks(tors + tor, aggs + pod * m_aggsPerPod + agg, 1, Bundle(1).Int());
            }
        }
        for (int agg = 0; agg < m_pods * m_aggsPerPod; ++agg)
        {
            for (int core = 0; core < m_coresPerAgg; ++core)
            {
                const int above = agg % m_aggsPerPod * m_coresPerAgg + core;
                AddLinks(aggs + agg, cores + above, 2, Bundle(2).Int());
            }
        }
        int64_t latencies = 0;
        for (int tier = 0; tier < m_tierCount; ++tier)
        {
            latencies += SwitchLatency(tier) > 0 ? 1 : 0;
        }
        m_result.report.Add(Assumed::Latency,
                            latencies,
                            CountOf(latencies, "tier has", "tiers have") +
                                " a latency of switches: half of it is on each of their links");
        topology.SetName(OneLine(std::filesystem::path(m_path).stem().string()));
    }

    std::string m_path;
    WordLines m_lines;
    LinkDefaults m_defaults;
    HtsimValues m_header;
    std::array<HtsimValues, kMostTiers> m_tiers;
    std::array<std::string, kMostTiers> m_tierWhere; ///< empty: the file has no such tier
    int m_hosts = 0;
    int m_tierCount = 0;
    int m_pods = 0;
    int m_torsPerPod = 0;
    int m_aggsPerPod = 0;
    int m_coresPerAgg = 0; ///< with two tiers none
    ImportedTopology m_result;
};

} // namespace

bool IsHtsimText(const std::string& text)
{
    WordLines lines("", text.substr(0, 4096), {'#'});
    if (!lines.Advance())
    {
        return false;
    }
    const std::string first = LowerCase(lines.Word(0));
    return first == "nodes" || first == "tiers" || first == "podsize" || first == "tier";
}

ImportedTopology ReadHtsimFile(const std::string& path, const LinkDefaults& defaults)
{
    return HtsimFile(path, defaults).Read();
}

} // namespace legacy::fabric

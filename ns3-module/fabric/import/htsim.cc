#include "data-centre.h"

#include "base/error.h"
#include "base/words.h"
#include "fabric/topology/types.h"
#include "htsim-numbers.h"

#include <cmath>
#include <filesystem>
#include <string_view>
#include <utility>

namespace legacy::fabric
{

namespace
{

class HtsimFile
{
  public:
    HtsimFile(const std::string& path, const LinkDefaults& defaults)
        : m_path(path),
          m_numbers(path),
          m_defaults(defaults)
    {
    }

    ImportedTopology Read()
    {
        CheckShape();
        Build();
        return std::move(m_result);
    }

  private:
    /// Returns the number of parts of `part` in `whole`. Throws Error if the division leaves a
    /// rest.
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

    /// Computes how many switches there are, and throws Error on radices that do not match.
    void CheckShape()
    {
        m_hosts = m_numbers.Header("nodes").Int();
        m_tierCount = m_numbers.Header("tiers").Int();
        const HtsimValue podsize = m_numbers.Header("podsize");
        for (int tier = 0; tier < kMostHtsimTiers; ++tier)
        {
            const bool wanted = tier < m_tierCount;
            if (wanted != !m_numbers.TierWhere(tier).empty())
            {
                throw Error((wanted ? m_path + ":1" : m_numbers.TierWhere(tier)) + ": tier " +
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
        m_torsPerPod =
            Parts(podsize.Int(), m_numbers.Need(0, "radix_down"), "radix_down of tier 0");
        m_aggsPerPod = Upper(0, m_torsPerPod);
        if (m_tierCount == 3)
        {
            m_coresPerAgg =
                Parts(m_numbers.Need(1, "radix_up").Int(), Bundle(2), "bundle of tier 2");
            CheckRadix(2, m_pods * Bundle(2).Int());
        }
        const HtsimValue bundle = m_numbers.Of(0, "bundle", 1);
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
        const HtsimValue top = m_numbers.Of(m_tierCount - 1, "radix_up", 0);
        if (top.Given())
        {
            throw Error(top.where + ": radix_up of the last tier",
                        std::to_string(top.Int()),
                        "none: it has no uplinks");
        }
    }

    /// Returns the number of parallel links between two switches below a tier, with a location for
    /// messages.
    HtsimValue Bundle(int tier) const
    {
        HtsimValue bundle = m_numbers.Of(tier, "bundle", 1);
        bundle.where = bundle.Given() ? bundle.where : m_numbers.TierWhere(tier);
        return bundle;
    }

    /// Returns the number of switches above those of a tier in a pod, of which there are `lower`.
    int Upper(int tier, int lower) const
    {
        const int upper = Parts(m_numbers.Need(tier, "radix_up").Int(), Bundle(tier + 1), "bundle");
        CheckRadix(tier + 1, lower * Bundle(tier + 1).Int());
        return upper;
    }

    void CheckRadix(int tier, int links) const
    {
        const HtsimValue radix = m_numbers.Need(tier, "radix_down");
        if (radix.Int() != links)
        {
            throw Error(radix.where + ": radix_down of tier " + std::to_string(tier),
                        std::to_string(radix.Int()),
                        std::to_string(links) + ", as the tiers below give");
        }
    }

    void CheckOversubscription(int tier) const
    {
        const HtsimValue given = m_numbers.Of(tier, "oversubscribed", 1);
        const double down = m_numbers.Need(tier, "radix_down").number *
                            m_numbers.Need(tier, "downlink_speed_gbps").number;
        const double up = m_numbers.Need(tier, "radix_up").number *
                          m_numbers.Need(tier + 1, "downlink_speed_gbps").number;
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

    /// Returns the size of a port's queue in bytes.
    int64_t Queue(int tier, const char* direction) const
    {
        const double both =
            m_numbers.Of(tier, "queue", static_cast<double>(m_defaults.queueBytes)).number;
        return static_cast<int64_t>(
            m_numbers.Of(tier, std::string("queue_") + direction, both).number);
    }

    int64_t SwitchLatency(int tier) const
    {
        return static_cast<int64_t>(m_numbers.Of(tier, "switch_latency_ns", 0).number);
    }

    /// Links a node to one in a tier above, `count` times. Half of the latency of both switches is
    /// added to the link.
    void AddLinks(int lower, int upper, int tier, int count)
    {
        Port port;
        port.rateBps = std::llround(1e9 * m_numbers.Need(tier, "downlink_speed_gbps").number);
        const int64_t latency = SwitchLatency(tier) + (tier > 0 ? SwitchLatency(tier - 1) : 0);
        Link link(lower,
                  upper,
                  static_cast<TimeNs>(m_numbers.Need(tier, "downlink_latency_ns").number) +
                      (latency + 1) / 2,
                  port);
        link.ports[0].queueBytes = tier > 0 ? Queue(tier - 1, "up") : m_defaults.queueBytes;
        link.ports[1].queueBytes = Queue(tier, "down");
        for (int i = 0; i < count; ++i)
        {
            m_result.topology.AddLink(link);
        }
    }

    /// Reports the tiers whose switches have a latency.
    void ReportLatencies()
    {
        int64_t latencies = 0;
        for (int tier = 0; tier < m_tierCount; ++tier)
        {
            latencies += SwitchLatency(tier) > 0 ? 1 : 0;
        }
        m_result.report.Add(Assumed::Latency,
                            latencies,
                            CountOf(latencies, "tier has", "tiers have") +
                                " a latency of switches: half of it is on each of their links");
    }

    void Build()
    {
        const int64_t links =
            int64_t{m_hosts} +
            int64_t{m_pods} * m_torsPerPod * m_numbers.Need(0, "radix_up").Int() +
            (m_tierCount == 3 ? int64_t{m_pods} * m_aggsPerPod * m_numbers.Need(1, "radix_up").Int()
                              : 0);
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
        const int hostsPerTor = m_numbers.Need(0, "radix_down").Int();
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
        ReportLatencies();
        topology.SetName(OneLine(std::filesystem::path(m_path).stem().string()));
    }

    std::string m_path;
    HtsimNumbers m_numbers;
    LinkDefaults m_defaults;
    int m_hosts = 0;
    int m_tierCount = 0;
    int m_pods = 0;
    int m_torsPerPod = 0;
    int m_aggsPerPod = 0;
    int m_coresPerAgg = 0; ///< with two tiers: 0
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

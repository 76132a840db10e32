#include "report.h"

#include "graph.h"
#include "shortest-paths.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <map>
#include <tuple>

namespace legacy::fabric
{

namespace
{

constexpr size_t kSampledHosts = 64; ///< number of hosts whose paths from all others are counted
constexpr size_t kListedKinds = 12;  ///< number of kinds of links up to which delays are listed

std::string Number(double value)
{
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.4g", value);
    return buffer;
}

std::string Range(double least, double most)
{
    return least == most ? Number(least) : Number(least) + " to " + Number(most);
}

std::string Counted(size_t count, const std::string& thing)
{
    const bool hiss = thing.back() == 'h';
    return std::to_string(count) + " " + thing + (count == 1 ? "" : hiss ? "es" : "s");
}

/// Lengths of shortest paths between hosts, and the number of paths for a pair.
struct Paths
{
    int longest = 0;
    double fewest = 0;
    double most = 0;

    void Add(int hops, double paths)
    {
        longest = std::max(longest, hops);
        fewest = fewest == 0 ? paths : std::min(fewest, paths);
        most = std::max(most, paths);
    }
};

/// Adds the paths of all hosts to `destination`, counted from there.
void AddPathsTo(const Topology& topology, int destination, Paths& paths)
{
    std::vector<double> count(topology.NodeCount(), 0);
    count[destination] = 1;
    WalkShortestPaths(
        topology,
        destination,
        [&](int node, DirectedLink, int next) { count[next] += count[node]; },
        [&](int host, int hops) { paths.Add(hops, count[host]); });
}

std::string DescribePaths(const Topology& topology)
{
    const std::vector<int>& hosts = topology.Hosts();
    const size_t sampled = std::min(hosts.size(), kSampledHosts);
    Paths paths;
    for (size_t i = 0; i < sampled; ++i)
    {
        AddPathsTo(topology, hosts[i * hosts.size() / sampled], paths);
    }
    if (paths.longest == 0)
    {
        return "";
    }
    const std::string note = sampled == hosts.size()
                                 ? ""
                                 : " (to " + std::to_string(sampled) + " hosts out of " +
                                       std::to_string(hosts.size()) + ")";
    return "longest shortest path: " + Counted(paths.longest, "hop") + note +
           "\nequal-cost paths of a host pair: " + Range(paths.fewest, paths.most) + note + "\n";
}

/// (between switches, rate there, rate back, delay) of a link.
using LinkKind = std::tuple<bool, int64_t, int64_t, TimeNs>;

/// Some links, with the lowest and the highest of their rates and delays.
struct LinkGroup
{
    size_t count = 0;
    std::pair<int64_t, int64_t> there{INT64_MAX, 0};
    std::pair<int64_t, int64_t> back{INT64_MAX, 0};
    std::pair<TimeNs, TimeNs> delay{kNever, 0};
    bool even = true; ///< both directions of each link have the same rate

    void Add(const LinkKind& kind, size_t links)
    {
        const auto widen = [](auto& range, auto value) {
            range = {std::min(range.first, value), std::max(range.second, value)};
        };
        count += links;
        widen(there, std::get<1>(kind));
        widen(back, std::get<2>(kind));
        widen(delay, std::get<3>(kind));
        even = even && std::get<1>(kind) == std::get<2>(kind);
    }
};

template <typename Value, typename Format>
std::string RangeOf(const std::pair<Value, Value>& range, Format format)
{
    const std::string least = format(range.first);
    const std::string most = format(range.second);
    return least == most ? least : least + " to " + most;
}

/// Describes all kinds of links if they are few; else it groups links with the same rates, or all
/// links.
std::string DescribeKinds(const std::map<LinkKind, size_t>& kinds)
{
    std::map<LinkKind, LinkGroup> groups;
    for (int alike = 3; alike >= 0; --alike)
    {
        if (alike == 1)
        {
            continue; // without the rates back, the rates there say little
        }
        groups.clear();
        for (const auto& [kind, count] : kinds)
        {
            const auto [inner, there, back, delay] = kind;
            const LinkKind key{
                inner, alike > 0 ? there : 0, alike > 1 ? back : 0, alike > 2 ? delay : 0};
            groups[key].Add(kind, count);
        }
        if (groups.size() <= kListedKinds)
        {
            break;
        }
    }
    std::string text;
    for (const auto& [key, group] : groups)
    {
        text += std::string("links ") + (std::get<0>(key) ? "between switches: " : "of hosts: ") +
                std::to_string(group.count) + " of " + RangeOf(group.there, FormatRate) +
                (group.even ? "" : " there and " + RangeOf(group.back, FormatRate) + " back") +
                ", " + RangeOf(group.delay, FormatTime) + "\n";
    }
    return text;
}

std::string DescribeLinks(const Topology& topology)
{
    std::map<LinkKind, size_t> kinds;
    bool uneven = false;
    size_t scheduled = 0;
    int64_t fromHosts = 0;
    int64_t betweenSwitches = 0;
    for (const Link& link : topology.Links())
    {
        const int hosts = topology.IsHost(link.a) + topology.IsHost(link.b);
        const auto [there, back] = link.ports;
        ++kinds[{hosts == 0, there.rateBps, back.rateBps, link.delay}];
        fromHosts += topology.IsHost(link.a) ? there.rateBps : 0;
        fromHosts += topology.IsHost(link.b) ? back.rateBps : 0;
        betweenSwitches += hosts == 0 ? there.rateBps : 0;
        uneven = uneven || !link.Symmetric();
        scheduled += (there.schedule ? 1 : 0) + (back.schedule ? 1 : 0);
    }
    std::string text = DescribeKinds(kinds);
    if (scheduled > 0)
    {
        text += "rates over time: " + Counted(scheduled, "direction") +
                " of links; rates shown are the highest\n";
    }
    return text + "sum of rates: " + FormatRate(fromHosts) + " from hosts, " +
           FormatRate(betweenSwitches) + " between switches" + (uneven ? " there" : " each way") +
           "\n";
}

std::string DescribeRouting(const Topology& topology)
{
    std::map<std::pair<int, int>, size_t> between;
    int least = INT_MAX;
    int most = 0;
    for (const Link& link : topology.Links())
    {
        ++between[std::minmax({link.a, link.b})];
        least = std::min(least, link.weight);
        most = std::max(most, link.weight);
    }
    size_t pairs = 0;
    size_t parallel = 0;
    for (const auto& [ends, count] : between)
    {
        pairs += count > 1 ? 1 : 0;
        parallel += count > 1 ? count : 0;
    }
    std::string text;
    if (parallel > 0)
    {
        text += "links in parallel: " + std::to_string(parallel) + " between " +
                Counted(pairs, "pair") + " of nodes\n";
    }
    if (topology.Weighted())
    {
        text += "weights of links: " + Range(least, most) + "; shortest paths are by weight\n";
    }
    if (!topology.Routes().empty())
    {
        text += "explicit routes: " + std::to_string(topology.Routes().size()) + "\n";
    }
    return text;
}

std::string DescribePrices(const Topology& topology)
{
    size_t priced = 0;
    double least = 0;
    double most = 0;
    const auto directions = static_cast<DirectedLink>(2 * topology.Links().size());
    for (DirectedLink link = 0; link < directions; ++link)
    {
        const double price = topology.PortOf(link).usdPerGb;
        if (price > 0)
        {
            least = priced == 0 ? price : std::min(least, price);
            most = std::max(most, price);
            ++priced;
        }
    }
    if (priced == 0)
    {
        return "";
    }
    return "prices: " + Range(least, most) + " USD/GB on " + Counted(priced, "direction") +
           " of links\n";
}

/// The switches of one tier, and the rates of their links down, up and within the tier.
struct TierRates
{
    size_t switches = 0;
    int64_t down = 0;
    int64_t up = 0;
    int64_t level = 0;
    size_t uplinked = 0; ///< number of switches with links up; the ratios are only of these
    int64_t downOfUplinked = 0;
    double leastRatio = 0;
    double mostRatio = 0;
};

void AddSwitch(const Topology& topology, const std::vector<int>& tiers, int node, TierRates& rates)
{
    int64_t down = 0;
    int64_t up = 0;
    for (DirectedLink link : topology.Out(node))
    {
        const int other = tiers[topology.To(link)];
        const int64_t rate = topology.PortOf(link).rateBps;
        (other < tiers[node] ? down : other > tiers[node] ? up : rates.level) += rate;
    }
    if (up > 0)
    {
        const double ratio = static_cast<double>(down) / static_cast<double>(up);
        rates.leastRatio = rates.up == 0 ? ratio : std::min(rates.leastRatio, ratio);
        rates.mostRatio = std::max(rates.mostRatio, ratio);
        ++rates.uplinked;
        rates.downOfUplinked += down;
    }
    ++rates.switches;
    rates.down += down;
    rates.up += up;
}

std::string DescribeTiers(const Topology& topology)
{
    const std::vector<int> tiers = TierOfNodes(topology);
    std::map<int, TierRates> all;
    for (int node = 0; node < topology.NodeCount(); ++node)
    {
        if (tiers[node] > 0)
        {
            AddSwitch(topology, tiers, node, all[tiers[node]]);
        }
    }
    std::string text;
    for (const auto& [tier, rates] : all)
    {
        text += "tier " + std::to_string(tier) + ": " + Counted(rates.switches, "switch") + ", " +
                FormatRate(rates.down) + " down";
        if (rates.level > 0)
        {
            text += ", " + FormatRate(rates.level / 2) + " within the tier";
        }
        if (rates.up > 0)
        {
            text += ", " + FormatRate(rates.up) + " up, oversubscription " +
                    Range(rates.leastRatio, rates.mostRatio);
        }
        if (rates.up > 0 && rates.uplinked < rates.switches)
        {
            text += " of the " + Counted(rates.uplinked, "switch") + " with links up (" +
                    FormatRate(rates.downOfUplinked) + " down)";
        }
        text += "\n";
    }
    return text;
}

} // namespace

std::string DescribeTopology(const Topology& topology)
{
    const size_t hosts = topology.Hosts().size();
    return topology.Name() + ": " + Counted(hosts, "host") + ", " +
           Counted(topology.NodeCount() - hosts, "switch") + ", " +
           Counted(topology.Links().size(), "link") + "\n" + DescribeLinks(topology) +
           DescribePrices(topology) + DescribeRouting(topology) + DescribeTiers(topology) +
           DescribePaths(topology);
}

} // namespace legacy::fabric

#include "tuning.h"

#include "base/error.h"
#include "chunks.h"
#include "ring-plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

namespace legacy::fabric
{

namespace
{

constexpr int kModelLl = 0;
constexpr int kModelLl128 = 1;
constexpr int kModelSimple = 2;

constexpr double kNvlsEfficiency = 0.85;

/// The fraction of a tree's bandwidth that short messages reach, by protocol and log2 of the number
/// of 64-byte units.
constexpr std::array<std::array<double, 23>, 3> kTreeCorrection = {{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
}};

/// Returns log2, rounded down; 0 for 0.
int FloorLog2(int64_t value)
{
    int log = 0;
    while (value > 1)
    {
        value /= 2;
        ++log;
    }
    return log;
}

/// An NcclModel is NCCL's model of one collective.
class NcclModel
{
  public:
    NcclModel(const CollectiveSpec& spec, const NodeLinks& links)
        : m_spec(spec),
          m_links(links),
          m_limits(LimitsOf(spec.gpus)),
          m_protocol(static_cast<int>(spec.protocol) - 1),
          m_workers(static_cast<int>(spec.bytes.size())),
          m_group(std::clamp(spec.group, 1, m_workers)),
          m_nodes((m_workers + m_group - 1) / m_group),
          m_byNodes(std::min(m_nodes, 3) - 1)
    {
    }

    std::optional<double> Microseconds() const
    {
        switch (m_spec.algorithm)
        {
        case CollectiveAlgorithm::RingAllReduce:
            return Ring(2 * (m_workers - 1), 2 * (m_nodes - 1), m_spec.bytes[0]);
        case CollectiveAlgorithm::RingAllGather:
        {
            const int64_t most = *std::max_element(m_spec.bytes.begin(), m_spec.bytes.end());
            return Ring(m_workers - 1, m_nodes - 1, most * m_workers);
        }
        case CollectiveAlgorithm::RingReduceScatter:
            return Ring(m_workers - 1, m_nodes - 1, m_spec.bytes[0]);
        case CollectiveAlgorithm::DoubleTreeAllReduce:
            return Tree();
        case CollectiveAlgorithm::NvlsAllReduce:
            return Nvls();
        default:
            return std::nullopt;
        }
    }

  private:
    /// Returns the rate of one channel of a ring or tree inside a node.
    double ChannelInside() const
    {
        return m_links.inside / m_spec.channels;
    }

    /// Returns the rate of one channel between nodes; channels share the links of a node.
    double ChannelAcross() const
    {
        return m_links.rail * std::min(m_links.rails, m_spec.channels) / m_spec.channels;
    }

    static double Us(TimeNs time)
    {
        return 1e-3 * static_cast<double>(time);
    }

    /// Returns the latency plus the time of the bytes at `rate` GB/s.
    static double Time(double latency, int64_t bytes, double rate)
    {
        return latency + static_cast<double>(bytes) / (1000 * rate);
    }

    /// Returns the time of a ring; `bytes` are those of the whole result.
    double Ring(int steps, int across, int64_t bytes) const
    {
        const int channels = m_spec.channels;
        double bus = m_nodes == 1 ? m_links.inside : channels * ChannelAcross();
        if (m_nodes > 1 && m_group > 1)
        {
            // One worker in G sends a ring's messages to another node instead of to its own.
            bus = std::min(bus, m_links.inside * m_group / (m_group - 1));
        }
        if (m_protocol == kModelLl)
        {
            bus = std::min(m_limits.llMost[m_byNodes], bus * .5);
        }
        if (m_protocol == kModelLl128)
        {
            bus = std::min(bus * .92, channels * m_limits.ringLl128Channel[m_byNodes]);
        }
        const ProtocolCosts costs = RingPlan::CostsFor(m_spec);
        const double latency =
            Us(costs.start + (steps - across) * costs.inside + across * costs.across);
        return Time(latency, bytes, bus * m_workers / steps);
    }

    double Tree() const
    {
        const int channels = m_spec.channels;
        const double channel = m_group == 1 || m_nodes > 2 ? ChannelAcross() : ChannelInside();
        double bus = std::min(channels * channel * .92, channels * m_limits.treeChannel[m_byNodes]);
        if (m_protocol == kModelLl)
        {
            bus = std::min(bus / 3.8, m_limits.llMost[m_byNodes]);
        }
        if (m_protocol == kModelLl128)
        {
            bus = std::min(bus * (m_nodes == 1 ? 7.0 / 9 : 120.0 / 128),
                           channels * m_limits.treeLl128Channel[m_byNodes]);
        }
        const int log = FloorLog2(m_spec.bytes[0] >> 6);
        const auto& correction = kTreeCorrection[m_protocol];
        bus *= log < static_cast<int>(correction.size()) ? correction[log] : 1;
        const ProtocolCosts& costs = CostsOf(ProtocolFamily::Tree, m_spec.protocol);
        const double latency = Us(costs.start + 2 * ((m_workers / m_nodes - 1) * costs.inside +
                                                     FloorLog2(m_nodes) * costs.across));
        return Time(latency, m_spec.bytes[0], bus / 2);
    }

    std::optional<double> Nvls() const
    {
        if (m_group < 2 || m_protocol != kModelSimple || !HasNvls(m_spec.gpus))
        {
            return std::nullopt;
        }
        // A channel pulls from all GPUs, and once more through its own GPU.
        const double inside =
            m_links.inside / (m_group + 1) * kNvlsEfficiency * (m_group - 1) / m_group * 2;
        double channel = inside;
        if (m_nodes > 1)
        {
            const double across = m_links.rail * std::min(m_links.rails, m_group) / m_group;
            channel = std::min(
                {inside, across * (m_nodes == 2 ? 2 : 1), m_limits.nvlsTreeChannel[m_byNodes]});
        }
        const ProtocolCosts& costs = CostsOf(ProtocolFamily::Nvls, m_spec.protocol);
        const double latency = Us(costs.start + 2 * FloorLog2(m_nodes) * costs.across);
        return Time(
            latency, m_spec.bytes[0], m_group * channel * m_workers / (2 * (m_workers - 1)));
    }

    const CollectiveSpec& m_spec;
    const NodeLinks& m_links;
    const GpuLimits& m_limits;
    int m_protocol;
    int m_workers;
    int m_group;
    int m_nodes;
    int m_byNodes;
};

/// Returns the narrowest link of a route.
DirectedLink NarrowestOf(const Topology& topology, const std::vector<DirectedLink>& route)
{
    return *std::min_element(route.begin(),
                             route.end(),
                             [&](DirectedLink a, DirectedLink b)
                             { return topology.MeanRate(a) < topology.MeanRate(b); });
}

/// Returns the thread blocks that NCCL gives a message, of the two of each channel: fewer than all
/// where threads would have less than a threshold each (topoGetAlgoInfo of src/enqueue.cc), or
/// blocks less than 32 KiB of traffic (scheduleCollTasksToPlan), where LL counts fourfold.
int64_t BlocksFor(const CollectiveSpec& spec)
{
    constexpr int64_t kThreads = 512;
    constexpr int64_t kLl128Threads = 640;
    constexpr int64_t kLeast = 8; ///< bytes of a thread
    constexpr int64_t kSimpleLeast = 64;
    constexpr int64_t kLeastTraffic = 32 << 10;
    constexpr int64_t kMostBlocks = kMostChannels;
    const auto workers = static_cast<int64_t>(spec.bytes.size());
    const bool gathers = spec.algorithm == CollectiveAlgorithm::RingAllGather;
    const int64_t bytes =
        *std::max_element(spec.bytes.begin(), spec.bytes.end()) * (gathers ? workers : 1);
    const bool reduces = CanCarry(spec.algorithm, Payload::Sum);
    int64_t least = kThreads * kSimpleLeast;
    int64_t cell = kLeastTraffic / (reduces ? 2 : 1);
    if (spec.protocol == Protocol::LL)
    {
        least = kThreads * kLeast * (IsRing(spec.algorithm) ? workers : 1);
        cell /= 4;
    }
    if (spec.protocol == Protocol::LL128)
    {
        least = kLl128Threads * kLeast;
    }
    const int64_t all = std::min(kMostBlocks, int64_t{kBlocksOfChannel} * spec.channels);
    return std::max<int64_t>(1, std::min({all, bytes / least, (bytes + cell - 1) / cell}));
}

/// Returns the most that a channel of a ring or tree carries, with `all` channels, in GB/s of the
/// message; 0: NCCL has no limit.
double ChannelMost(const CollectiveSpec& spec, int all, int byNodes)
{
    const GpuLimits& limits = LimitsOf(spec.gpus);
    const bool ring = IsRing(spec.algorithm);
    switch (spec.protocol)
    {
    case Protocol::LL:
        return limits.llMost[byNodes] / all;
    case Protocol::LL128:
        return (ring ? limits.ringLl128Channel : limits.treeLl128Channel)[byNodes];
    case Protocol::Simple:
        return ring ? 0 : limits.treeChannel[byNodes];
    default:
        return 0;
    }
}

/// Gives a spec with a protocol the channels that NCCL uses for its bytes, and their pace.
///
/// The threads of a ring's channel move a message while it is on the wire, so that only what they
/// take longer than their share of the link is charged. Trees and NVLS pass piece after piece on:
/// threads handle one while the next arrives. Their limits are bus bandwidths, and each of two
/// trees moves a quarter of that up, and as much down.
void UseThreads(CollectiveSpec& spec, const NodeLinks& links)
{
    const auto workers = static_cast<int>(spec.bytes.size());
    const int group = std::clamp(spec.group, 1, workers);
    const int nodes = (workers + group - 1) / group;
    const int byNodes = std::min(nodes, 3) - 1;
    if (spec.algorithm == CollectiveAlgorithm::NvlsAllReduce)
    {
        if (const double most = LimitsOf(spec.gpus).nvlsTreeChannel[byNodes]; most > 0)
        {
            const auto planes = static_cast<double>(spec.parents.size()) / workers;
            spec.pace.across = 4 * planes * (workers - 1) / workers / most;
        }
        return;
    }
    const int all = spec.channels;
    const int64_t blocks = BlocksFor(spec);
    spec.channels = static_cast<int>((blocks + kBlocksOfChannel - 1) / kBlocksOfChannel);
    const double most = ChannelMost(spec, all, byNodes) * static_cast<double>(blocks) /
                        (kBlocksOfChannel * spec.channels);
    if (most == 0)
    {
        return;
    }
    const ProtocolCosts& costs = CostsOf(ProtocolFamily::Ring, spec.protocol);
    const double data = static_cast<double>(costs.dataBytes) / static_cast<double>(costs.lineBytes);
    if (!IsRing(spec.algorithm))
    {
        spec.pace = {4 * data / most, 4 * data / most};
        return;
    }
    const auto beyond = [&](double share)
    { return share > 0 ? std::max(0.0, data / most - 1 / share) : 0; };
    spec.pace = {beyond(links.inside / spec.channels),
                 beyond(links.rail * std::min(links.rails, spec.channels) / spec.channels)};
}

} // namespace

NodeLinks NodeLinksOf(const Topology& topology,
                      const Placement& placement,
                      int group,
                      const std::vector<int>& members)
{
    constexpr double kBitsPerGb = 8e9;
    const std::vector<int> hosts = placement.HostsOf(members);
    const int workers = static_cast<int>(hosts.size());
    const auto rate = [&](DirectedLink link)
    { return static_cast<double>(topology.MeanRate(link)) / kBitsPerGb; };
    const auto route = [&](int from, int to) { return topology.Route(hosts[from], hosts[to], 0); };
    NodeLinks links;
    group = std::clamp(group, 1, workers);
    if (group > 1 && hosts[0] != hosts[1])
    {
        links.inside =
            rate(NarrowestOf(topology, route(0, 1))) * topology.Planes(hosts[0], hosts[1]);
    }
    std::map<DirectedLink, double> rails;
    for (int worker = 0; worker < group && group + worker < workers; ++worker)
    {
        if (hosts[worker] != hosts[group + worker])
        {
            const DirectedLink link = NarrowestOf(topology, route(worker, group + worker));
            rails.emplace(link, rate(link));
        }
    }
    if (!rails.empty())
    {
        double sum = 0;
        for (const auto& [link, its] : rails)
        {
            sum += its;
        }
        links.rails = static_cast<int>(rails.size());
        links.rail = sum / links.rails;
    }
    return links;
}

std::optional<double> NcclMicroseconds(const CollectiveSpec& spec, const NodeLinks& links)
{
    CheckCollective(spec);
    if (spec.protocol == Protocol::None || !TakesProtocols(spec.algorithm))
    {
        return std::nullopt;
    }
    return spec.bytes.size() == 1 ? 0 : NcclModel(spec, links).Microseconds();
}

std::optional<NcclChoice> ChooseAsNccl(const std::vector<CollectiveAlgorithm>& candidates,
                                       CollectiveSpec spec,
                                       const NodeLinks& links)
{
    std::vector<NcclChoice> choices;
    const int channels = spec.channels;
    spec.gpus = GenerationOf(links.inside);
    for (CollectiveAlgorithm algorithm : candidates)
    {
        for (Protocol protocol : {Protocol::LL, Protocol::LL128, Protocol::Simple})
        {
            spec.algorithm = algorithm;
            if (!TakesProtocol(algorithm, protocol))
            {
                continue;
            }
            spec.protocol = protocol;
            spec.channels = TakesChannels(algorithm) ? channels : 1;
            if (const std::optional<double> time = NcclMicroseconds(spec, links))
            {
                choices.push_back({algorithm, protocol, *time, ""});
            }
        }
    }
    if (choices.empty())
    {
        return std::nullopt;
    }
    std::stable_sort(choices.begin(),
                     choices.end(),
                     [](const auto& a, const auto& b) { return a.microseconds < b.microseconds; });
    const auto text = [](const NcclChoice& choice)
    {
        return std::string(ToString(choice.algorithm)) + " " + ToString(choice.protocol) + " " +
               FormatTime(std::llround(1000 * choice.microseconds));
    };
    NcclChoice best = choices.front();
    best.reason = text(best) + (choices.size() > 1 ? ", then " + text(choices[1]) : "") +
                  " by NCCL's cost model";
    return best;
}

std::vector<CollectiveAlgorithm> NcclAlgorithms(Payload payload, bool switchesSum)
{
    std::vector<CollectiveAlgorithm> algorithms;
    for (CollectiveAlgorithm algorithm : {CollectiveAlgorithm::DoubleTreeAllReduce,
                                          CollectiveAlgorithm::RingAllReduce,
                                          CollectiveAlgorithm::RingAllGather,
                                          CollectiveAlgorithm::RingReduceScatter,
                                          CollectiveAlgorithm::NvlsAllReduce})
    {
        const bool nvls = algorithm == CollectiveAlgorithm::NvlsAllReduce;
        if (CanCarry(algorithm, payload) && (switchesSum || !nvls))
        {
            algorithms.push_back(algorithm);
        }
    }
    return algorithms;
}

int NcclChannels(const NodeLinks& links, int workers, int group)
{
    constexpr int kVoltaInside = 6;
    constexpr int kInside = 12;
    if (group < workers)
    {
        return std::clamp(links.rails, 1, kMostChannels);
    }
    return GenerationOf(links.inside) == GpuGeneration::Volta ? kVoltaInside : kInside;
}

void SetChannels(CollectiveSpec& spec, const ChannelOptions& options)
{
    spec.gpus = GenerationOf(options.links.inside);
    spec.pace = {};
    spec.channels = TakesChannels(spec.algorithm) ? options.channels : 1;
    spec.protocol = Protocol::None;
    if (options.protocol)
    {
        spec.protocol =
            TakesProtocol(spec.algorithm, *options.protocol) ? *options.protocol : Protocol::None;
    }
    else if (const std::optional<NcclChoice> choice =
                 ChooseAsNccl({spec.algorithm}, spec, options.links))
    {
        spec.protocol = choice->protocol;
    }
    if (spec.protocol != Protocol::None)
    {
        UseThreads(spec, options.links);
    }
}

} // namespace legacy::fabric

#include "routing.h"

#include "base/hash.h"
#include "routing-cache.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace legacy::fabric
{

namespace
{

constexpr int kWordBits = 64;

int Ones(uint64_t word)
{
    return __builtin_popcountll(word);
}

int LowestOne(uint64_t word)
{
    return __builtin_ctzll(word);
}

/// Returns the other direction of the link. The numbers of the two directions differ only in the
/// last bit.
DirectedLink Reversed(DirectedLink link)
{
    return link ^ 1;
}

} // namespace

RoutingCache::RoutingCache() = default;

RoutingCache::RoutingCache(const RoutingCache& /*other*/)
{
}

RoutingCache& RoutingCache::operator=(const RoutingCache& /*other*/)
{
    Clear();
    return *this;
}

RoutingCache::~RoutingCache() = default;

const Routing& RoutingCache::Get(const Topology& topology) const
{
    const Routing* ready = m_ready.load(std::memory_order_acquire);
    if (ready)
    {
        return *ready;
    }
    const std::lock_guard<std::mutex> lock(m_making);
    if (!m_routing)
    {
        m_routing = std::make_unique<const Routing>(topology);
        m_ready.store(m_routing.get(), std::memory_order_release);
    }
    return *m_routing;
}

void RoutingCache::Clear()
{
    m_ready.store(nullptr, std::memory_order_release);
    m_routing.reset();
}

Routing::Routing(const Topology& topology)
    : m_forwards(topology.NodeCount()),
      m_access(topology.NodeCount(), kNone),
      m_holder(topology.NodeCount(), -1),
      m_bit(2 * topology.Links().size(), -1),
      m_tables(topology.NodeCount()),
      m_ready(topology.NodeCount())
{
    for (int node = 0; node < topology.NodeCount(); ++node)
    {
        m_forwards[node] = !topology.IsHost(node);
    }
    FindHanging(topology);
    for (int node = 0; node < topology.NodeCount(); ++node)
    {
        m_first.push_back(static_cast<int>(m_out.size()));
        for (DirectedLink link : topology.Out(node))
        {
            if (m_access[node] == kNone && m_access[topology.To(link)] == kNone)
            {
                m_bit[link] = static_cast<int>(m_out.size());
                m_out.push_back(link);
                m_to.push_back(topology.To(link));
                if (topology.Weighted())
                {
                    m_weight.push_back(topology.LinkOf(link).weight);
                }
            }
        }
    }
    m_first.push_back(static_cast<int>(m_out.size()));
}

/// Removes nodes with a single link from the rest, again and again, up to kMostDepth links deep: a
/// path through the removed parts is walked instead of being looked up.
void Routing::FindHanging(const Topology& topology)
{
    constexpr int kMostDepth = 4;
    std::vector<int> links(topology.NodeCount());
    std::vector<int> depth(topology.NodeCount(), 1); // links below the node, and the one above it
    std::vector<int> ends;
    for (int node = 0; node < topology.NodeCount(); ++node)
    {
        links[node] = static_cast<int>(topology.Out(node).size());
        if (links[node] == 1)
        {
            ends.push_back(node);
        }
    }
    for (size_t i = 0; i < ends.size(); ++i)
    {
        const int node = ends[i];
        const auto& out = topology.Out(node);
        const auto left =
            std::find_if(out.begin(),
                         out.end(),
                         [&](DirectedLink link) { return m_access[topology.To(link)] != link; });
        const int holder = left == out.end() ? -1 : topology.To(*left);
        if (holder < 0 || !m_forwards[holder] || depth[node] > kMostDepth)
        {
            continue;
        }
        m_access[node] = Reversed(*left);
        m_holder[node] = holder;
        depth[holder] = std::max(depth[holder], depth[node] + 1);
        if (--links[holder] == 1)
        {
            ends.push_back(holder);
        }
    }
}

int Routing::Anchor(int destination) const
{
    while (m_access[destination] != kNone)
    {
        destination = m_holder[destination];
    }
    return destination;
}

const uint64_t* Routing::Table(int anchor) const
{
    const uint64_t* ready = m_ready[anchor].load(std::memory_order_acquire);
    if (ready)
    {
        return ready;
    }
    const std::lock_guard<std::mutex> lock(m_making);
    if (!m_tables[anchor])
    {
        m_tables[anchor] = m_weight.empty() ? MakeTable(anchor) : MakeTableByWeight(anchor);
        m_ready[anchor].store(m_tables[anchor].get(), std::memory_order_release);
    }
    return m_tables[anchor].get();
}

/// Walks breadth-first from the anchor. A node that is one hop farther away than a forwarding node
/// has that node as a next hop.
Routing::Words Routing::MakeTable(int anchor) const
{
    constexpr int kUnreached = -1;
    Words table = std::make_unique<uint64_t[]>(m_out.size() / kWordBits + 1);
    std::vector<int> distance(m_forwards.size(), kUnreached);
    std::vector<int> queue{anchor};
    distance[anchor] = 0;
    for (size_t head = 0; head < queue.size(); ++head)
    {
        const int node = queue[head];
        if (node != anchor && !m_forwards[node])
        {
            continue;
        }
        for (int i = m_first[node]; i < m_first[node + 1]; ++i)
        {
            const int farther = m_to[i];
            if (distance[farther] == kUnreached)
            {
                distance[farther] = distance[node] + 1;
                queue.push_back(farther);
            }
            if (distance[farther] == distance[node] + 1)
            {
                const int bit = m_bit[Reversed(m_out[i])];
                table[bit / kWordBits] |= uint64_t{1} << (bit % kWordBits);
            }
        }
    }
    return table;
}

/// Finds the least weights of paths to the anchor (Dijkstra, Numerische Mathematik 1, 1959). A node
/// whose weight is the sum of a forwarding node's weight and that of the link to it has that node
/// as a next hop.
Routing::Words Routing::MakeTableByWeight(int anchor) const
{
    using Entry = std::pair<int64_t, int>; // weight of a path, node
    Words table = std::make_unique<uint64_t[]>(m_out.size() / kWordBits + 1);
    std::vector<int64_t> weight(m_forwards.size(), INT64_MAX);
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    weight[anchor] = 0;
    open.emplace(0, anchor);
    std::vector<int> passed; // nodes that forward, and the anchor
    while (!open.empty())
    {
        const auto [least, node] = open.top();
        open.pop();
        if (least > weight[node] || (node != anchor && !m_forwards[node]))
        {
            continue;
        }
        passed.push_back(node);
        for (int i = m_first[node]; i < m_first[node + 1]; ++i)
        {
            if (least + m_weight[i] < weight[m_to[i]])
            {
                weight[m_to[i]] = least + m_weight[i];
                open.emplace(weight[m_to[i]], m_to[i]);
            }
        }
    }
    for (int node : passed)
    {
        for (int i = m_first[node]; i < m_first[node + 1]; ++i)
        {
            if (weight[node] + m_weight[i] == weight[m_to[i]])
            {
                const int bit = m_bit[Reversed(m_out[i])];
                table[bit / kWordBits] |= uint64_t{1} << (bit % kWordBits);
            }
        }
    }
    return table;
}

DirectedLink Routing::OnlyHop(int node, int destination) const
{
    if (node == destination)
    {
        return kNone;
    }
    int anchor = destination;
    for (; m_access[anchor] != kNone; anchor = m_holder[anchor])
    {
        if (m_holder[anchor] == node)
        {
            return m_access[anchor];
        }
    }
    if (m_access[node] == kNone)
    {
        return kNone;
    }
    const int own = Anchor(node);
    const bool leads = own == anchor || Size(Table(anchor), own) > 0;
    return leads ? Reversed(m_access[node]) : kNone;
}

uint64_t Routing::Bits(const uint64_t* table, int node, int first, int& count) const
{
    const int bit = m_first[node] + first;
    const int shift = bit % kWordBits;
    count = std::min(kWordBits - shift, m_first[node + 1] - bit);
    const uint64_t mask = count == kWordBits ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
    return (table[bit / kWordBits] >> shift) & mask;
}

int Routing::Size(const uint64_t* table, int node) const
{
    int size = 0;
    int count = 0;
    for (int i = 0; i < m_first[node + 1] - m_first[node]; i += count)
    {
        size += Ones(Bits(table, node, i, count));
    }
    return size;
}

std::vector<DirectedLink> Routing::NextHops(int node, int destination) const
{
    const DirectedLink only = OnlyHop(node, destination);
    if (only != kNone)
    {
        return {only};
    }
    std::vector<DirectedLink> hops;
    const uint64_t* table = Table(Anchor(destination));
    int count = 0;
    for (int i = 0; i < m_first[node + 1] - m_first[node]; i += count)
    {
        for (uint64_t bits = Bits(table, node, i, count); bits; bits &= bits - 1)
        {
            hops.push_back(m_out[m_first[node] + i + LowestOne(bits)]);
        }
    }
    return hops;
}

DirectedLink Routing::Choose(int node, int destination, uint64_t hash) const
{
    const DirectedLink only = OnlyHop(node, destination);
    if (only != kNone)
    {
        return only;
    }
    const uint64_t* table = Table(Anchor(destination));
    auto skip = static_cast<int>(Reduce(hash, Size(table, node)));
    int count = 0;
    for (int i = 0; i < m_first[node + 1] - m_first[node]; i += count)
    {
        uint64_t bits = Bits(table, node, i, count);
        if (skip >= Ones(bits))
        {
            skip -= Ones(bits);
            continue;
        }
        for (; skip > 0; --skip)
        {
            bits &= bits - 1;
        }
        return m_out[m_first[node] + i + LowestOne(bits)];
    }
    return kNone;
}

} // namespace legacy::fabric

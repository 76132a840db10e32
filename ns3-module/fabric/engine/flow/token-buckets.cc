#include "token-buckets.h"

#include <algorithm>

namespace legacy::fabric
{

TokenBuckets::TokenBuckets(const Topology& topology)
{
    const auto has = [](const Link& link)
    { return std::max(link.ports[0].burstBytes, link.ports[1].burstBytes) > 0; };
    if (std::none_of(topology.Links().begin(), topology.Links().end(), has))
    {
        return;
    }
    for (size_t i = 0; i < 2 * topology.Links().size(); ++i)
    {
        const auto size =
            static_cast<double>(topology.PortOf(static_cast<DirectedLink>(i)).burstBytes);
        m_buckets.push_back(Bucket{size, size, 0, 0});
    }
}

double
TokenBuckets::Take(const FlowPath& path, double wire, const std::vector<double>& rates, TimeNs now)
{
    double most = wire;
    double line = 0; // nanoseconds per byte
    for (const LinkShare& hop : path.data)
    {
        Bucket& bucket = m_buckets[hop.link];
        const double rate = rates[hop.link];
        if (bucket.size == 0 || hop.share < 1)
        {
            line = std::max(line, hop.share / rate);
            continue;
        }
        if (bucket.senders++ == 0)
        {
            const auto idle = static_cast<double>(now - bucket.idleSince);
            bucket.tokens = std::min(bucket.size, bucket.tokens + rate * idle);
        }
        most = std::min(most, bucket.tokens);
    }
    const double taken = std::max(0.0, most * (1 - line * path.slowest));
    for (const LinkShare& hop : path.data)
    {
        m_buckets[hop.link].tokens -= hop.share < 1 ? 0 : taken;
    }
    return taken;
}

void TokenBuckets::Return(const FlowPath& path, TimeNs now)
{
    for (const LinkShare& hop : path.data)
    {
        Bucket& bucket = m_buckets[hop.link];
        if (bucket.size > 0 && hop.share == 1 && --bucket.senders == 0)
        {
            bucket.idleSince = now;
        }
    }
}

} // namespace legacy::fabric

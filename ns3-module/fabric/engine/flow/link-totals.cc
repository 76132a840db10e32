#include "link-totals.h"

#include <algorithm>
#include <cmath>

namespace legacy::fabric
{

void LinkTotals::Add(const FlowConnection& connection, double peak)
{
    for (const LinkShare& hop : connection.path.data)
    {
        Total& total = m_totals[hop.link];
        const double sent = hop.share * static_cast<double>(connection.wireBytes);
        total.bytes += sent;
        total.background += connection.lane == kBackgroundLane ? sent : 0;
        total.packets += hop.share * static_cast<double>(connection.packets);
        total.peak = std::max(total.peak, hop.share * peak);
    }
    for (const LinkShare& hop : connection.path.acks)
    {
        m_totals[hop.link].bytes += hop.share * static_cast<double>(connection.ackBytes);
        m_totals[hop.link].packets += hop.share * static_cast<double>(connection.ackPackets);
    }
}

LinkCounters LinkTotals::Of(DirectedLink link) const
{
    const Total& total = m_totals[link];
    LinkCounters counters;
    counters.bytes = std::llround(total.bytes);
    counters.packets = std::llround(total.packets);
    counters.backgroundBytes = std::llround(total.background);
    return counters;
}

void AddActivity(const FlowConnection& connection,
                 const PresentFlow& present,
                 double ackRatio,
                 std::vector<LinkActivity>& activity)
{
    constexpr double kBits = 8e9; // bits a second of a byte a nanosecond
    const double data = static_cast<double>(connection.wireBytes) + present.bytes;
    const double acks = static_cast<double>(connection.ackBytes) + present.ackBytes;
    const double rate = kBits * present.rate;
    for (const LinkShare& hop : connection.path.data)
    {
        activity[hop.link].bytes += hop.share * data;
        activity[hop.link].bitsPerSecond += hop.share * rate;
    }
    for (const LinkShare& hop : connection.path.acks)
    {
        activity[hop.link].bytes += hop.share * acks;
        activity[hop.link].bitsPerSecond += hop.share * rate * ackRatio * connection.path.ackWeight;
    }
}

} // namespace legacy::fabric

#include "reno.h"
#include "controls.h"

#include <algorithm>

namespace legacy::fabric
{

TcpControlRow RenoRow();

void Reno::Grow(TcpWindow& window, const TcpAck& ack)
{
    const uint32_t left = window.InSlowStart() ? Double(window, ack.acked) : ack.acked;
    if (left > 0)
    {
        Add(window, static_cast<double>(left) / window.segments);
    }
}

uint32_t Reno::Threshold(const TcpWindow& window)
{
    return std::max<uint32_t>(2, window.segments / 2);
}

TcpControlRow RenoRow()
{
    return {"reno",
            "RFC 5681, RFC 3465",
            "legacy::LinuxReno",
            []() -> std::unique_ptr<TcpCongestion> { return std::make_unique<Reno>(); }};
}

} // namespace legacy::fabric

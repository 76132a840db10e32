#include "reno.h"

#include <algorithm>

namespace legacy::fabric
{

std::unique_ptr<TcpCongestion> MakeReno();

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

std::unique_ptr<TcpCongestion> MakeReno()
{
    return std::make_unique<Reno>();
}

} // namespace legacy::fabric

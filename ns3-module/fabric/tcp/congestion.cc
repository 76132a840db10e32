#include "congestion.h"

#include <algorithm>
#include <cmath>

namespace legacy::fabric
{

void TcpCongestion::OnOpen(const TcpWindow&)
{
}

void TcpCongestion::OnRestart()
{
}

void TcpCongestion::OnAck(TcpWindow&, const TcpAck&)
{
}

void TcpCongestion::OnTimeout()
{
    m_part = 0;
}

void TcpCongestion::Control(TcpWindow&, const TcpAck&)
{
}

double TcpCongestion::Pace(const TcpWindow&) const
{
    return 0;
}

uint32_t TcpCongestion::Burst() const
{
    return 1;
}

void TcpCongestion::Add(TcpWindow& window, double segments)
{
    m_part += segments;
    const double whole = std::floor(m_part);
    m_part -= whole;
    window.segments += static_cast<uint32_t>(whole);
}

uint32_t TcpCongestion::Double(TcpWindow& window, uint32_t acked)
{
    const uint32_t room = window.threshold - window.segments;
    const uint32_t added = std::min(acked, room);
    window.segments += added;
    return acked - added;
}

} // namespace legacy::fabric

#include "congestion.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace legacy::fabric
{

// Each is defined in its own file.
std::unique_ptr<TcpCongestion> MakeReno();
std::unique_ptr<TcpCongestion> MakeCubic();
std::unique_ptr<TcpCongestion> MakeDctcp();
std::unique_ptr<TcpCongestion> MakeBbr();

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

std::unique_ptr<TcpCongestion> MakeTcpCongestion(const std::string& name)
{
    constexpr std::array<std::pair<const char*, std::unique_ptr<TcpCongestion> (*)()>, 4> kControls{
        {{"reno", MakeReno}, {"cubic", MakeCubic}, {"dctcp", MakeDctcp}, {"bbr", MakeBbr}}};
    for (const auto& [known, make] : kControls)
    {
        if (name == known)
        {
            return make();
        }
    }
    return nullptr;
}

} // namespace legacy::fabric

// DCTCP (RFC 8257): a window of marks estimates how congested the path is, and the connection
// reduces by half of that.
#include "controls.h"
#include "reno.h"

#include <algorithm>

namespace legacy::fabric
{

TcpControlRow DctcpRow();

namespace
{

constexpr double kGain = 1.0 / 16; ///< g (section 4.2)

class Dctcp : public Reno
{
  public:
    void OnAck(TcpWindow&, const TcpAck& ack) override
    {
        m_acked += ack.acked;
        m_marked += ack.marked;
        if (ack.acknowledged < m_windowEnd)
        {
            return;
        }
        m_windowEnd = ack.next;
        if (m_acked > 0)
        {
            m_alpha += kGain * (static_cast<double>(m_marked) / m_acked - m_alpha);
        }
        m_acked = m_marked = 0;
    }

    uint32_t Threshold(const TcpWindow& window) override
    {
        const double kept = 1 - m_alpha / 2;
        return std::max<uint32_t>(2, static_cast<uint32_t>(window.segments * kept));
    }

  private:
    double m_alpha = 1;
    uint32_t m_acked = 0;     ///< segments in the present window
    uint32_t m_marked = 0;    ///< those of them that were marked
    uint64_t m_windowEnd = 0; ///< an ACK of this byte ends the window
};

} // namespace

TcpControlRow DctcpRow()
{
    return {"dctcp", "RFC 8257", "ns3::TcpDctcp", []() -> std::unique_ptr<TcpCongestion> {
                return std::make_unique<Dctcp>();
            }};
}

} // namespace legacy::fabric

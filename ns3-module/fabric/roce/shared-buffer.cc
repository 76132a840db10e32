#include "shared-buffer.h"

#include "roce-settings.h"

#include "base/error.h"

#include <algorithm>
#include <cmath>

namespace legacy::fabric
{

int64_t HeadroomBytes(int64_t forth, int64_t back, TimeNs delay, TimeNs response, int64_t frame)
{
    constexpr TimeNs kClock = 2;
    const WideTime pause = RoceSettings::kPauseBytes;
    const WideTime silence = SerialisationTime(frame, back) +
                             SerialisationTime(static_cast<int64_t>(pause), back) +
                             2 * WideTime{delay} + response + kClock;
    const WideTime onWire = silence * forth / 8'000'000'000 + 1;
    return NarrowTime(onWire + 2 * WideTime{frame});
}

SharedBuffer::SharedBuffer(const std::string& name,
                           int64_t bytes,
                           std::vector<PortRoom> ports,
                           bool lossless,
                           int64_t xon)
    : m_lossless(lossless),
      m_xon(xon),
      m_size(bytes)
{
    int64_t reserves = 0;
    int64_t headrooms = 0;
    for (const PortRoom& room : ports)
    {
        m_ports.push_back({room, {}});
        reserves += static_cast<int64_t>(kRoceClasses) * RoceSettings::kReserveBytes;
        headrooms += lossless ? room.headroom : 0;
        m_trains += room.trains;
    }
    m_shared = bytes - reserves - headrooms;
    if (m_shared <= 0)
    {
        throw Error("buffer of " + name,
                    std::to_string(bytes) + " bytes",
                    "more than its " + std::to_string(ports.size()) +
                        " ports need: " + std::to_string(headrooms) + " bytes of headroom and " +
                        std::to_string(reserves) + " of reserves, which leaves " +
                        std::to_string(m_shared) + " to share");
    }
}

int64_t SharedBuffer::Threshold(double alpha) const
{
    return static_cast<int64_t>(std::floor(alpha * static_cast<double>(m_shared - m_sharedUse)));
}

bool SharedBuffer::Admit(int port, RoceClass of, int64_t bytes)
{
    Use& use = UseOf(port, of);
    const PortRoom& room = m_ports[port].room;
    const bool control = of == RoceClass::Control;
    if (use.reserve + bytes <= RoceSettings::kReserveBytes)
    {
        use.reserve += bytes;
    }
    else if (control
                 ? m_used + bytes <= m_size + m_trains
                 : use.shared + bytes <= Threshold(room.alpha) && m_sharedUse + bytes <= m_shared)
    {
        use.shared += bytes;
        m_sharedUse += bytes;
    }
    else if (!control && m_lossless && use.headroom + bytes <= room.headroom + room.trains)
    {
        use.headroom += bytes;
        m_maxHeadroom = std::max(m_maxHeadroom,
                                 static_cast<double>(use.headroom) /
                                     static_cast<double>(room.headroom + room.trains));
    }
    else
    {
        return false;
    }
    m_used += bytes;
    m_maxUsed = std::max(m_maxUsed, m_used);
    return true;
}

void SharedBuffer::Release(int port, RoceClass of, int64_t bytes)
{
    Use& use = UseOf(port, of);
    m_used -= bytes;
    const int64_t headroom = std::min(bytes, use.headroom);
    use.headroom -= headroom;
    bytes -= headroom;
    const int64_t shared = std::min(bytes, use.shared);
    use.shared -= shared;
    m_sharedUse -= shared;
    use.reserve -= bytes - shared;
}

bool SharedBuffer::WantsPause(int port) const
{
    const Use& use = m_ports[port].uses[static_cast<size_t>(RoceClass::Data)];
    return m_lossless && (use.headroom > 0 ||
                          (use.shared > 0 && use.shared >= Threshold(m_ports[port].room.alpha)));
}

bool SharedBuffer::WantsResume(int port) const
{
    const Use& use = m_ports[port].uses[static_cast<size_t>(RoceClass::Data)];
    return use.headroom == 0 &&
           (use.shared == 0 || use.shared + m_xon <= Threshold(m_ports[port].room.alpha));
}

int64_t SharedBuffer::SharedOf(int port) const
{
    return m_ports[port].uses[static_cast<size_t>(RoceClass::Data)].shared;
}

int64_t SharedBuffer::HeadroomOf(int port) const
{
    return m_ports[port].uses[static_cast<size_t>(RoceClass::Data)].headroom;
}

} // namespace legacy::fabric

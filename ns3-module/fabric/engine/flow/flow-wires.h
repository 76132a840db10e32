// The bytes and packets that flows put on the wire at flow fidelity, and those of the ACKs that
// answer them. Internal to fabric/.
#pragma once

#include "fabric/engine/transport.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace legacy::fabric
{

/// A FlowWire has what a flow of `bytes` puts on the wire of a path with that many switches.
struct FlowWire
{
    int64_t bytes = -1; ///< payload
    int switches = 0;
    int64_t wire = 0;
    int64_t packets = 0;
    int64_t ackBytes = 0;
    int64_t ackPackets = 0;

    /// Returns a share of it, 0 to 1, of the same flow.
    FlowWire Part(double share) const
    {
        const auto part = [&](int64_t all)
        { return std::llround(share * static_cast<double>(all)); };
        return FlowWire{
            bytes, switches, part(wire), part(packets), part(ackBytes), part(ackPackets)};
    }
};

/// FlowWires compute sizes for one transport, and remember the latest ones.
class FlowWires
{
  public:
    /// `transport` outlives this object.
    explicit FlowWires(const Transport& transport) : m_transport(transport)
    {
    }

    /// The result is valid until the next call.
    const FlowWire& Of(int64_t bytes, int switches)
    {
        FlowWire& known = m_known[static_cast<size_t>(bytes) % m_known.size()];
        if (known.bytes != bytes || known.switches != switches)
        {
            known = FlowWire{bytes,
                             switches,
                             m_transport.WireBytes(bytes, switches),
                             m_transport.Segments(bytes),
                             m_transport.AckWireBytes(bytes, switches),
                             m_transport.Acks(bytes)};
        }
        return known;
    }

  private:
    const Transport& m_transport;
    std::array<FlowWire, 64> m_known; ///< by the last bits of the size
};

} // namespace legacy::fabric

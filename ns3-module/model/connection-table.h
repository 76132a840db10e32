/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_CONNECTION_TABLE_H
#define LEGACY_CONNECTION_TABLE_H

#include "fabric/topology/topology.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Maps the port of each connection's sending end to the connection's number, so that nodes hash the
 * connection of a packet as the other engines do.
 */
class ConnectionTable
{
  public:
    /// The ports of sending ends, which ns-3 allots, start here; the ports that receivers listen on
    /// are below (ChannelPool::Port).
    static constexpr uint16_t kFirstPort = 49152;

    /**
     * \param node sending end, a number in the topology
     * \param port of the sending end
     * \param id number of the connection among those between its ends
     */
    void Set(int node, uint16_t port, fabric::ConnectionId id)
    {
        const auto at = static_cast<std::size_t>(node);
        m_ids.resize(m_ids.size() > at ? m_ids.size() : at + 1);
        std::vector<fabric::ConnectionId>& ids = m_ids[at];
        const std::size_t index = port - kFirstPort;
        ids.resize(ids.size() > index ? ids.size() : index + 1, 0);
        ids[index] = id;
    }

    /**
     * \param node sending end
     * \param port of the sending end, kFirstPort or above
     * \return the connection's number; 0 if it is not known
     */
    fabric::ConnectionId Find(int node, uint16_t port) const
    {
        const auto at = static_cast<std::size_t>(node);
        const std::size_t index = port - kFirstPort;
        return at < m_ids.size() && index < m_ids[at].size() ? m_ids[at][index] : 0;
    }

  private:
    std::vector<std::vector<fabric::ConnectionId>> m_ids; //!< by node and port
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_CONNECTION_TABLE_H

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ACK_FILTER_H
#define LEGACY_ACK_FILTER_H

#include "ns3/packet-filter.h"

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Sorts the packets that a host sends: TCP segments without payload (ACKs, handshakes) go into band
 * 0 of a PrioQueueDisc, data into band 1.
 *
 * The ACKs of what a host receives are another flow than the data that it sends, and hosts serve
 * such sparse flows first (Linux fq: new flows before old ones; fq_codel: RFC 8290, section 3.3).
 * In one queue they would wait behind the host's own backlog, which ns-3's TCP does not bound as
 * Linux's small queues do: round trips then span two backlogs, and a ring that sends and receives
 * at once falls idle.
 */
class AckFilter : public ns3::PacketFilter
{
  public:
    /// Bands of the queue disc.
    enum Band : int32_t
    {
        ACKS = 0,
        DATA = 1,
        BANDS = 2,
    };

    /**
     * \return the type's id
     */
    static ns3::TypeId GetTypeId();

  private:
    bool CheckProtocol(ns3::Ptr<ns3::QueueDiscItem> item) const override;
    int32_t DoClassify(ns3::Ptr<ns3::QueueDiscItem> item) const override;
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ACK_FILTER_H

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_HOST_QUEUE_DISC_H
#define LEGACY_HOST_QUEUE_DISC_H

#include "host-socket.h"

#include "ns3/queue-disc.h"

#include <deque>
#include <unordered_map>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * The queues of one port of a host: one for all packets without payload (ACKs, handshakes), which
 * are sent first, and one for the data of each HostSocket. Data queues are served by deficit round
 * robin (Shreedhar and Varghese, SIGCOMM'95).
 *
 * This has the effects of Linux's fq and fq_codel: sockets share the line evenly, whatever the
 * order in which they were given their data, and the sparse ACKs of what a host receives do not
 * wait behind what it sends (RFC 8290, section 3.3). Sockets bound the queues, so nothing is
 * dropped or marked.
 *
 * Without "Fair" there is one queue for all packets, as in Linux's token bucket filter, and it may
 * have a limit. A full queue refuses a socket's data before the socket counts them as sent
 * (HostSocket::OnRefused).
 */
class HostQueueDisc : public ns3::QueueDisc
{
  public:
    /**
     * \return the type's id
     */
    static ns3::TypeId GetTypeId();

    HostQueueDisc();

    /**
     * \return true if the queue has room for a packet of the MTU; an empty queue always has
     */
    bool HasRoom() const;

  protected:
    void DoDispose() override;

  private:
    /// Data of one socket.
    struct Flow
    {
        ns3::Ptr<HostSocket> socket;   //!< sender
        ns3::Ptr<InternalQueue> queue; //!< its packets
        int64_t deficit{0};            //!< bytes that it may send in this round
        bool active{false};            //!< true while it is in m_active
    };

    bool DoEnqueue(ns3::Ptr<ns3::QueueDiscItem> item) override;
    ns3::Ptr<ns3::QueueDiscItem> DoDequeue() override;
    bool CheckConfig() override;
    void InitializeParams() override;

    /**
     * \return a new internal queue of this disc
     */
    ns3::Ptr<InternalQueue> AddQueue();
    /**
     * \param socket a sender
     * \return its flow, which does not move in memory
     */
    Flow& FlowOf(HostSocket* socket);

    bool m_fair{true};                             //!< one queue for each socket
    ns3::Ptr<InternalQueue> m_first;               //!< packets without payload; not fair: all
    std::deque<ns3::Ptr<HostSocket>> m_senders;    //!< not fair: senders of m_first; null: no data
    std::unordered_map<HostSocket*, Flow> m_flows; //!< flows of all sockets that have ever sent
    std::deque<Flow*> m_active;                    //!< flows with packets, next one first
    uint32_t m_quantum{0}; //!< bytes that are added to a flow's deficit in a round
    uint32_t m_limit{0};   //!< bytes of all queues; 0: none
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_HOST_QUEUE_DISC_H

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "host-queue-disc.h"

#include "ns3/boolean.h"
#include "ns3/drop-tail-queue.h"
#include "ns3/uinteger.h"

namespace legacy
{
namespace packet
{

using namespace ns3;

NS_OBJECT_ENSURE_REGISTERED(HostQueueDisc);

namespace
{

/// A limit in bytes that no queue of a host reaches, because its sockets bound it.
constexpr uint32_t kUnbounded = 1 << 30;

} // namespace

TypeId HostQueueDisc::GetTypeId()
{
    static TypeId tid = TypeId("legacy::HostQueueDisc")
                            .SetParent<QueueDisc>()
                            .SetGroupName("Legacy")
                            .AddConstructor<HostQueueDisc>()
                            .AddAttribute("Fair",
                                          "Queue the data of each socket apart; otherwise all "
                                          "packets share one queue, ACKs too.",
                                          BooleanValue(true),
                                          MakeBooleanAccessor(&HostQueueDisc::m_fair),
                                          MakeBooleanChecker())
                            .AddAttribute("Quantum",
                                          "Bytes that a socket may send in a round.",
                                          UintegerValue(1500),
                                          MakeUintegerAccessor(&HostQueueDisc::m_quantum),
                                          MakeUintegerChecker<uint32_t>(1))
                            .AddAttribute("Limit",
                                          "Bytes above which the queue refuses data of sockets; 0: "
                                          "none.",
                                          UintegerValue(0),
                                          MakeUintegerAccessor(&HostQueueDisc::m_limit),
                                          MakeUintegerChecker<uint32_t>());
    return tid;
}

HostQueueDisc::HostQueueDisc() : QueueDisc(QueueDiscSizePolicy::NO_LIMITS)
{
}

Ptr<QueueDisc::InternalQueue> HostQueueDisc::AddQueue()
{
    Ptr<InternalQueue> queue = CreateObject<DropTailQueue<QueueDiscItem>>();
    queue->SetMaxSize(QueueSize(QueueSizeUnit::BYTES, kUnbounded));
    AddInternalQueue(queue);
    return queue;
}

bool HostQueueDisc::HasRoom() const
{
    const uint32_t queued = GetNBytes();
    return m_limit == 0 || queued == 0 || queued + m_quantum <= m_limit;
}

HostQueueDisc::Flow& HostQueueDisc::FlowOf(HostSocket* socket)
{
    Flow& flow = m_flows[socket];
    if (!flow.queue)
    {
        flow.socket = Ptr<HostSocket>(socket);
        flow.queue = AddQueue();
    }
    return flow;
}

bool HostQueueDisc::DoEnqueue(Ptr<QueueDiscItem> item)
{
    HostSocket* socket = HostSocket::Sending();
    if (!m_fair)
    {
        if (socket)
        {
            socket->OnQueued(this);
        }
        m_senders.emplace_back(socket);
        return m_first->Enqueue(item);
    }
    if (!socket)
    {
        return m_first->Enqueue(item);
    }
    Flow& flow = FlowOf(socket);
    if (!flow.queue->Enqueue(item))
    {
        return false;
    }
    socket->OnQueued(this);
    if (!flow.active)
    {
        flow.active = true;
        flow.deficit = m_quantum;
        m_active.push_back(&flow);
    }
    return true;
}

Ptr<QueueDiscItem> HostQueueDisc::DoDequeue()
{
    if (!m_first->IsEmpty())
    {
        Ptr<QueueDiscItem> item = m_first->Dequeue();
        if (!m_fair)
        {
            const Ptr<HostSocket> sender = m_senders.front();
            m_senders.pop_front();
            if (sender)
            {
                sender->OnUnqueued();
            }
        }
        return item;
    }
    while (!m_active.empty())
    {
        Flow& flow = *m_active.front();
        if (flow.deficit <= 0)
        {
            flow.deficit += m_quantum;
            m_active.pop_front();
            m_active.push_back(&flow);
            continue;
        }
        Ptr<QueueDiscItem> item = flow.queue->Dequeue();
        flow.deficit -= item->GetSize();
        flow.socket->OnUnqueued(); // this may put another packet into this queue
        if (flow.queue->IsEmpty())
        {
            flow.active = false;
            m_active.pop_front();
        }
        return item;
    }
    return nullptr;
}

bool HostQueueDisc::CheckConfig()
{
    m_first = AddQueue();
    return GetNQueueDiscClasses() == 0 && GetNPacketFilters() == 0;
}

void HostQueueDisc::InitializeParams()
{
}

void HostQueueDisc::DoDispose()
{
    m_active.clear();
    m_flows.clear();
    m_first = nullptr;
    m_senders.clear();
    QueueDisc::DoDispose();
}

} // namespace packet
} // namespace legacy

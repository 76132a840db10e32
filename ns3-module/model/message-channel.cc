/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "message-channel.h"

#include "ns3/log.h"
#include "ns3/packet.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace legacy
{
namespace packet
{

using namespace ns3;

NS_LOG_COMPONENT_DEFINE("LegacyMessageChannel");
NS_OBJECT_ENSURE_REGISTERED(MessageChannel);

TypeId MessageChannel::GetTypeId()
{
    static TypeId tid = TypeId("legacy::MessageChannel")
                            .SetParent<Object>()
                            .SetGroupName("Legacy")
                            .AddConstructor<MessageChannel>();
    return tid;
}

void MessageChannel::Open(Ptr<Socket> sender,
                          uint32_t sendBuffer,
                          int roundTrips,
                          ChannelListener* listener)
{
    NS_LOG_FUNCTION(this << sender << sendBuffer);
    m_listener = listener;
    m_roundTrips = roundTrips;
    m_lastArrival = Simulator::Now();
    m_sender = sender;
    if (sendBuffer != kDefaultSendBuffer)
    {
        m_sender->SetAttribute("SndBufSize", UintegerValue(sendBuffer));
    }
    UintegerValue buffer;
    m_sender->GetAttribute("SndBufSize", buffer);
    // Each write costs an event, so the sender writes eighths of the buffer instead of segments.
    m_refill = static_cast<uint32_t>(buffer.Get() / 8);
    m_sender->SetConnectCallback(MakeCallback(&MessageChannel::Connected, this),
                                 MakeCallback(&MessageChannel::Lost, this));
    m_sender->SetCloseCallbacks(MakeCallback(&MessageChannel::Lost, this),
                                MakeCallback(&MessageChannel::Lost, this));
    m_sender->SetSendCallback(MakeCallback(&MessageChannel::Fill, this));
    m_sender->TraceConnectWithoutContext("RTO", MakeCallback(&MessageChannel::Rto, this));
    m_sender->TraceConnectWithoutContext("CongState",
                                         MakeCallback(&MessageChannel::Congestion, this));
    m_sender->TraceConnectWithoutContext("State", MakeCallback(&MessageChannel::State, this));
    m_bound = m_sender->Bind() == 0;
}

void MessageChannel::Connect(const InetSocketAddress& to)
{
    NS_LOG_FUNCTION(this << to);
    m_opened = Simulator::Now();
    m_sender->Connect(to);
}

void MessageChannel::Accept(Ptr<Socket> socket)
{
    NS_LOG_FUNCTION(this << socket);
    m_receiver = socket;
    m_receiver->SetRecvCallback(MakeCallback(&MessageChannel::Read, this));
}

void MessageChannel::Send(uint64_t graph, const fabric::Flow& flow)
{
    m_queued += flow.bytes;
    m_messages.push_back(Message{graph, flow, m_queued, false});
    if (m_ready && m_state == TcpSocket::ESTABLISHED)
    {
        Fill(m_sender, m_sender->GetTxAvailable());
    }
}

void MessageChannel::Fill(Ptr<Socket> socket, uint32_t available)
{
    const int64_t waiting = m_queued - m_written;
    if (!m_ready || waiting == 0 || (available < m_refill && available < waiting))
    {
        return;
    }
    const auto bytes = static_cast<uint32_t>(std::min<int64_t>(available, waiting));
    if (socket->Send(Create<Packet>(bytes)) > 0)
    {
        m_written += bytes;
    }
}

void MessageChannel::Read(Ptr<Socket> socket)
{
    while (Ptr<Packet> packet = socket->Recv())
    {
        if (packet->GetSize() == 0)
        {
            break;
        }
        m_read += packet->GetSize();
    }
    m_listener->OnProgress();
    // The listener may send on this channel while the loop is running.
    while (!m_messages.empty() && m_messages.front().end <= m_read)
    {
        const Message message = m_messages.front();
        m_messages.pop_front();
        m_lastArrival = Simulator::Now();
        if (!message.aborted)
        {
            m_listener->OnArrived(message.graph, message.flow);
        }
    }
}

void MessageChannel::Connected(Ptr<Socket>)
{
    // The time of further handshakes, as those of TLS, is waited for. Their few bytes are not sent.
    const Time roundTrip = Simulator::Now() - m_opened;
    if (m_roundTrips > 1)
    {
        Simulator::Schedule(roundTrip * (m_roundTrips - 1), &MessageChannel::Ready, this);
        return;
    }
    Ready();
}

void MessageChannel::Ready()
{
    m_ready = true;
    if (m_sender && m_state == TcpSocket::ESTABLISHED)
    {
        Fill(m_sender, m_sender->GetTxAvailable());
    }
}

uint16_t MessageChannel::GetPort() const
{
    if (!m_bound)
    {
        return 0;
    }
    Address local;
    m_sender->GetSockName(local);
    return InetSocketAddress::ConvertFrom(local).GetPort();
}

std::optional<int64_t> MessageChannel::Abort(uint64_t graph, const fabric::Flow& flow)
{
    const auto found = std::find_if(m_messages.begin(),
                                    m_messages.end(),
                                    [&](const Message& message)
                                    {
                                        return message.graph == graph && !message.aborted &&
                                               message.flow.tag == flow.tag &&
                                               message.flow.source == flow.source &&
                                               message.flow.destination == flow.destination;
                                    });
    if (found == m_messages.end())
    {
        return std::nullopt;
    }
    const int64_t begin = found->end - found->flow.bytes;
    const int64_t unwritten = found->end - std::max(begin, std::min(m_written, found->end));
    for (auto later = found; later != m_messages.end(); ++later)
    {
        later->end -= unwritten;
    }
    m_queued -= unwritten;
    found->aborted = true;
    const int64_t carried = found->end - begin;
    if (carried == 0)
    {
        m_messages.erase(found);
    }
    return carried;
}

std::deque<std::pair<uint64_t, fabric::Flow>> MessageChannel::TakeMessages()
{
    std::deque<std::pair<uint64_t, fabric::Flow>> taken;
    for (const Message& message : m_messages)
    {
        if (!message.aborted)
        {
            taken.emplace_back(message.graph, message.flow);
        }
    }
    m_messages.clear();
    m_queued = m_written;
    return taken;
}

bool MessageChannel::IsIdle() const
{
    return m_messages.empty();
}

Time MessageChannel::GetIdleTime() const
{
    return Simulator::Now() - m_lastArrival;
}

void MessageChannel::Lost(Ptr<Socket>)
{
    m_listener->OnConnectionLost(*this);
}

void MessageChannel::Rto(Time oldRto, Time newRto)
{
    // Each expiry doubles the timer (RFC 6298, 5.5). The first expiry after a loss also changes the
    // congestion state. Later ones, and those during the handshake, can be detected only here.
    const bool repeated = m_state == TcpSocket::SYN_SENT || m_congestion == TcpSocketState::CA_LOSS;
    if (repeated && oldRto.IsStrictlyPositive() && newRto == Min(oldRto + oldRto, Seconds(60)))
    {
        m_listener->OnRetransmitTimeout();
    }
}

void MessageChannel::Congestion(TcpSocketState::TcpCongState_t,
                                TcpSocketState::TcpCongState_t newState)
{
    m_congestion = newState;
    if (newState == TcpSocketState::CA_LOSS)
    {
        m_listener->OnRetransmitTimeout();
    }
}

void MessageChannel::State(TcpSocket::TcpStates_t, TcpSocket::TcpStates_t newState)
{
    m_state = newState;
}

std::deque<std::string> MessageChannel::DescribeBlocked() const
{
    std::deque<std::string> lines;
    for (const Message& message : m_messages)
    {
        const int64_t begin = message.end - message.flow.bytes;
        const int64_t done = std::clamp<int64_t>(m_read - begin, 0, message.flow.bytes);
        lines.push_back("endpoint " + std::to_string(message.flow.source) + " to " +
                        std::to_string(message.flow.destination) + ": " + std::to_string(done) +
                        " of " + std::to_string(message.flow.bytes) + " bytes delivered, TCP " +
                        TcpSocket::TcpStateName[m_state]);
    }
    return lines;
}

void MessageChannel::DoDispose()
{
    // The sockets live as long as their node, and must not call this object any more.
    if (m_receiver)
    {
        m_receiver->SetRecvCallback(MakeNullCallback<void, Ptr<Socket>>());
    }
    if (m_sender)
    {
        const auto none = MakeNullCallback<void, Ptr<Socket>>();
        m_sender->SetConnectCallback(none, none);
        m_sender->SetCloseCallbacks(none, none);
        m_sender->SetSendCallback(MakeNullCallback<void, Ptr<Socket>, uint32_t>());
        m_sender->TraceDisconnectWithoutContext("RTO", MakeCallback(&MessageChannel::Rto, this));
        m_sender->TraceDisconnectWithoutContext("State",
                                                MakeCallback(&MessageChannel::State, this));
        m_sender->TraceDisconnectWithoutContext("CongState",
                                                MakeCallback(&MessageChannel::Congestion, this));
    }
    m_sender = nullptr;
    m_receiver = nullptr;
    Object::DoDispose();
}

} // namespace packet
} // namespace legacy

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_MESSAGE_CHANNEL_H
#define LEGACY_MESSAGE_CHANNEL_H

#include "fabric/engine/flow-graph.h"

#include "ns3/inet-socket-address.h"
#include "ns3/node.h"
#include "ns3/object.h"
#include "ns3/tcp-socket-state.h"
#include "ns3/tcp-socket.h"

#include <deque>
#include <optional>
#include <string>
#include <utility>

namespace legacy
{
namespace packet
{

class MessageChannel;

/// A ChannelListener gets the events of a channel.
class ChannelListener
{
  public:
    virtual ~ChannelListener() = default;
    /// Called when bytes have reached the receiver's application.
    virtual void OnProgress() = 0;
    /**
     * Called when the last byte of a message has reached the receiver's application.
     * \param graph number of the graph that sent it
     * \param flow the message
     */
    virtual void OnArrived(uint64_t graph, const fabric::Flow& flow) = 0;
    /// Called when a retransmission timer has expired.
    virtual void OnRetransmitTimeout() = 0;
    /**
     * Called when the connection is lost.
     * \param channel the channel of the connection
     */
    virtual void OnConnectionLost(MessageChannel& channel) = 0;
};

/**
 * \ingroup legacy
 * Owns both ends of one persistent TCP connection that carries messages in one direction, first in,
 * first out.
 *
 * Messages are byte counts. Their packets are zeros, which ns-3 does not store. The sender keeps
 * the socket's buffer filled; the receiver reads at once and counts.
 */
class MessageChannel : public ns3::Object
{
  public:
    /**
     * \return the type's id
     */
    static ns3::TypeId GetTypeId();

    /// Means that the attribute ns3::TcpSocket::SndBufSize sets the send buffer.
    static constexpr uint32_t kDefaultSendBuffer = 0;

    /**
     * Sets the sending end, which gets a port.
     * \param sender a new socket at the sending host
     * \param sendBuffer bytes of the send buffer, or kDefaultSendBuffer
     * \param roundTrips round trips of the handshake before the first byte, 1 or more
     * \param listener outlives this object
     */
    void Open(ns3::Ptr<ns3::Socket> sender,
              uint32_t sendBuffer,
              int roundTrips,
              ChannelListener* listener);
    /**
     * \return port of the sending end, which identifies the connection at its host; 0: the host has
     * none left
     */
    uint16_t GetPort() const;
    /**
     * Connects; call it inside an event.
     * \param to the receiver's address and port
     */
    void Connect(const ns3::InetSocketAddress& to);
    /**
     * \param socket the receiver's end, just accepted
     */
    void Accept(ns3::Ptr<ns3::Socket> socket);
    /**
     * \param graph number of the graph, which is given back on arrival
     * \param flow at least one byte
     */
    void Send(uint64_t graph, const fabric::Flow& flow);
    /**
     * Withdraws a message: the part that was not given to the socket is never sent, and the message
     * does not arrive.
     * \param graph that sent it
     * \param flow the message
     * \return the number of its bytes that the socket has taken; nothing if it was not in flight
     */
    std::optional<int64_t> Abort(uint64_t graph, const fabric::Flow& flow);
    /**
     * Stops sending and withdraws all messages.
     * \return the messages that had not arrived
     */
    std::deque<std::pair<uint64_t, fabric::Flow>> TakeMessages();
    /**
     * \return true if no message is in flight
     */
    bool IsIdle() const;
    /**
     * \return the time since the last message arrived; call it only if the channel is idle
     */
    ns3::Time GetIdleTime() const;
    /**
     * \return one line for each message in flight: its ends, bytes done of total, and the TCP state
     */
    std::deque<std::string> DescribeBlocked() const;

  protected:
    void DoDispose() override;

  private:
    /// A message that has not arrived.
    struct Message
    {
        uint64_t graph;    //!< graph that sent it
        fabric::Flow flow; //!< the message
        int64_t end;       //!< position after its last byte in the connection's stream
        bool aborted;      //!< true where it was withdrawn after some of it was sent
    };

    void Fill(ns3::Ptr<ns3::Socket> socket, uint32_t available); //!< the send buffer has room
    void Read(ns3::Ptr<ns3::Socket> socket);                     //!< there are bytes to read
    void Connected(ns3::Ptr<ns3::Socket> socket);                //!< TCP's handshake is done
    void Ready();                                                //!< all handshakes are done
    void Lost(ns3::Ptr<ns3::Socket> socket);                     //!< the connection failed or ended
    void Rto(ns3::Time oldRto, ns3::Time newRto);                //!< the timer's value changed
    void Congestion(ns3::TcpSocketState::TcpCongState_t oldState,
                    ns3::TcpSocketState::TcpCongState_t newState); //!< congestion state changed
    void State(ns3::TcpSocket::TcpStates_t oldState,
               ns3::TcpSocket::TcpStates_t newState); //!< TCP state changed

    ChannelListener* m_listener{nullptr}; //!< listener of this channel
    ns3::Ptr<ns3::Socket> m_sender;       //!< sending end
    ns3::Ptr<ns3::Socket> m_receiver;     //!< receiving end, once accepted
    std::deque<Message> m_messages;       //!< messages that have not arrived, in order
    bool m_bound{false};                  //!< true where the sending end has a port
    int m_roundTrips{1};                  //!< round trips of all handshakes
    bool m_ready{false};                  //!< true once they are done
    ns3::Time m_opened;                   //!< time of Connect
    ns3::Time m_lastArrival;              //!< time at which a message last arrived
    uint32_t m_refill{0};                 //!< least room worth a refill, bytes
    int64_t m_queued{0};                  //!< stream position after the last message's end
    int64_t m_written{0}; //!< stream position up to which the socket was given bytes
    int64_t m_read{0};    //!< stream position up to which the receiver has read
    ns3::TcpSocket::TcpStates_t m_state{ns3::TcpSocket::CLOSED}; //!< TCP state of the sending end
    /// The congestion state of the sending end.
    ns3::TcpSocketState::TcpCongState_t m_congestion{ns3::TcpSocketState::CA_OPEN};
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_MESSAGE_CHANNEL_H

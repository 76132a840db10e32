/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_STEADY_CARRIER_H
#define LEGACY_STEADY_CARRIER_H

#include "carrier.h"
#include "fabric/engine/lone-transfer.h"
#include "fabric/engine/transport.h"
#include "fabric/topology/topology.h"
#include "model/frames/ring-buffer.h"
#include "repeated-messages.h"

#include "ns3/event-id.h"

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Carries messages over another carrier, and skips the packets of those that repeat.
 *
 * Long messages are cut into pieces, which follow each other on their connection; a shorter message
 * is one piece. Where each connection in use has carried several pieces in equal times
 * (RepeatedMessages), further pieces arrive after that time, and no packet of theirs is simulated.
 * Packets return where the set of messages changes: a piece is sent whose time is not known, or the
 * number of messages on their way is not what it was. What has not left its sender by then has
 * packets. All times are then checked with a piece each, and from time to time besides.
 *
 * Bytes, packets and busy time of links are those that the skipped pieces and their ACKs would have
 * had. Marks are continued in the proportion that each link has had.
 */
class SteadyCarrier : public Carrier, private CarrierListener
{
  public:
    /// Makes the carrier of the packets, whose listener is this object.
    using Make = std::function<std::unique_ptr<Carrier>(CarrierListener* listener)>;

    /**
     * \param topology outlives this object
     * \param transport of connections
     * \param listener outlives this object
     * \param make makes the carrier of the packets
     * Throws Error if links lose packets or change over time.
     */
    SteadyCarrier(const fabric::Topology* topology,
                  const fabric::Transport& transport,
                  CarrierListener* listener,
                  const Make& make);
    ~SteadyCarrier() override;

    // Inherited from Carrier.
    void Send(const fabric::ConnectionName& connection,
              uint64_t graph,
              const fabric::Flow& flow) override;
    std::optional<int64_t> Abort(const fabric::ConnectionName& connection,
                                 uint64_t graph,
                                 const fabric::Flow& flow) override;
    void BeginRun() override;
    void Dispose() override;
    void SetScheduleTime(TimeNs time) override;
    TimeNs GetScheduleTime() const override;
    TimeNs GetOutTime() const override;
    bool AnyDead() const override;
    std::optional<fabric::DeadLink> FindDead() const override;
    void FailHost(int host) override;
    ns3::Ptr<PacketNetwork> GetNetwork() const override;
    std::vector<fabric::LinkCounters> GetCounters() const override;
    std::vector<fabric::LinkActivity> GetActivity() const override;
    fabric::RoceActivity GetRoce() const override;
    void AddCounters(fabric::EngineCounters& counters) const override;
    bool IsRandom() const override;
    bool StartsWarm() const override;
    void AssignStreams(uint64_t draws) override;
    std::string DescribeBlocked() const override;

  private:
    /// A message on its way.
    struct Message
    {
        uint64_t graph{0};
        fabric::Flow flow;
        int64_t handed{0}; //!< bytes of its pieces so far
        int64_t pieces{0}; //!< their number

        /// Returns whether it has several pieces, of which one or more was made.
        bool IsCut() const
        {
            return pieces > 1 || (pieces == 1 && handed < flow.bytes);
        }
    };

    /// A piece of a message, on its way.
    struct Piece
    {
        uint64_t graph{0};
        fabric::Flow flow;     //!< with the piece's bytes
        uint32_t number{0};    //!< among those of its connection
        bool last{false};      //!< of its message
        bool tail{false};      //!< the last of several, which may be shorter
        bool skipped{false};   //!< no packets carry it
        TimeNs sent{0};        //!< from then on it could leave
        TimeNs since{0};       //!< from then on packets have carried it
        int64_t counted{0};    //!< bytes that are not in packets now, and are counted
        TimeNs arrival{0};     //!< of a skipped one
        ns3::EventId delivery; //!< of a skipped one
    };

    /// What messages have on the wire.
    struct Wire
    {
        int64_t bytes{0}; //!< of data
        int64_t packets{0};
        int64_t ackBytes{0};
        int64_t acks{0};
    };

    /// A connection, and what its skipped messages would have had.
    struct Connection
    {
        Connection(const fabric::ConnectionName& called, const fabric::LonePath& path)
            : name(called),
              repeated(path.latency, path.roundTrip)
        {
        }

        fabric::ConnectionName name;
        RepeatedMessages repeated; //!< its pieces
        RingBuffer<Message> messages;
        RingBuffer<Piece> pieces;
        int64_t onWay{0};  //!< bytes of its pieces
        int64_t window{0}; //!< bytes that may be on their way, so that it never has to wait
        uint32_t next{0};  //!< number of its next piece
        bool known{false}; //!< the time of its pieces is known
        TimeNs seen{0};    //!< until then it counts as used
        std::vector<fabric::LinkShare> forth;
        std::vector<fabric::LinkShare> back; //!< links of ACKs
        Wire skipped;
        std::optional<fabric::RoceFlow> told; //!< record of its last piece in packets
    };

    /// The least and the most messages that were on their way.
    struct Range
    {
        int64_t least{INT64_MAX};
        int64_t most{0};
    };

    // Inherited from CarrierListener.
    void OnProgress() override;
    void OnArrived(uint64_t graph, const fabric::Flow& flow, const fabric::RoceFlow* roce) override;
    void OnRetransmitTimeout() override;
    void OnLost(const Messages& messages) override;
    void OnError(std::exception_ptr error) override;

    static TimeNs PresentTime();
    /// Returns the number of a connection, which is a new one if it was never used.
    uint32_t Find(const fabric::ConnectionName& name);
    /// Returns the bytes of a message's next piece.
    int64_t PieceOf(const Message& message) const;
    void Feed(uint32_t number); //!< makes pieces, while the window has room
    void Start(uint32_t number, const Piece& piece);
    void Put(uint32_t number, const Piece& piece); //!< adds a piece to those of a connection
    Piece Remove(Connection& connection, uint32_t index);
    /// Returns what the other carrier carries of a piece, with a tag that names it.
    static fabric::Flow InPackets(uint32_t number, const Piece& piece);
    void Forward(uint32_t number, Piece piece); //!< gives a piece packets
    void Skip(uint32_t number, uint32_t index); //!< lets a piece arrive without packets
    void OnDue(uint32_t number);                //!< called at the arrival of a skipped piece
    void Arrive(uint32_t number, const Piece& piece, const fabric::RoceFlow* roce);
    void Learn(Connection& connection, const Piece& piece); //!< from one that has arrived
    void SetKnown(Connection& connection, bool known);
    void NoteCount();
    bool IsUsual() const;           //!< true if as many messages are on their way as before
    void Begin();                   //!< begins to skip pieces, if their times are known
    void TakeOver(uint32_t number); //!< skips the rests of pieces in packets
    void End();                     //!< gives pieces packets, to check all times that are known
    void Change();                  //!< called where the set of messages changes
    int64_t CountDrops() const;     //!< returns the packets that switches have dropped
    void GiveBack(uint32_t number); //!< gives the rests of skipped pieces packets
    /// Return the bytes of a skipped piece that have left, and whether all have.
    static int64_t LeftOf(const Connection& connection, const Piece& piece);
    static bool HasLeft(const Connection& connection, const Piece& piece);
    /// Adds what `bytes` of payload on a connection have on the wire.
    void Add(Wire& wire, const Connection& connection, int64_t bytes) const;
    void CountSkipped(Connection& connection, int64_t bytes);
    using CountLink = std::function<void(fabric::DirectedLink link, double bytes, double packets)>;
    /// Calls `count` for all links of a connection with their part of something on its wire.
    static void ForLinks(const Connection& connection, const Wire& wire, const CountLink& count);

    const fabric::Topology& m_topology;
    const fabric::Transport m_transport;
    CarrierListener* m_listener;
    std::unique_ptr<Carrier> m_carrier;
    std::map<fabric::ConnectionName, uint32_t> m_numbers;
    std::vector<std::unique_ptr<Connection>> m_connections;
    int64_t m_onWay{0};     //!< messages
    int64_t m_cut{0};       //!< those of several pieces
    int64_t m_begunWith{0}; //!< messages that were on their way when skipping began
    int64_t m_unknown{0};   //!< pieces of connections whose pieces' time is not known
    bool m_skips{false};
    bool m_periodic{false};        //!< times are checked although nothing has changed
    bool m_tells{false};           //!< the listener is being told of an arrival
    TimeNs m_since{0};             //!< since then all messages have packets
    std::array<Range, 2> m_counts; //!< of messages, in the present period and in the one before
    int64_t m_inPeriod{0};         //!< changes of their number in the present period
    int64_t m_drops{0};            //!< packets dropped before the set of messages last changed
    int64_t m_untilLook{0};        //!< arrivals before Begin looks at all connections again
    int64_t m_untilCheck{0};       //!< pieces to skip before the next check
    int64_t m_checkAfter{0};       //!< pieces of each connection to skip before the next check
    fabric::SkipCounters m_counters;
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_STEADY_CARRIER_H

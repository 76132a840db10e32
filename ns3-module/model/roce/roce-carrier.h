/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_CARRIER_H
#define LEGACY_ROCE_CARRIER_H

#include "fabric/roce/control.h"
#include "fabric/roce/roce-settings.h"
#include "model/carrier.h"
#include "queue-pair.h"
#include "roce-network.h"

#include <map>
#include <memory>
#include <queue>
#include <tuple>
#include <vector>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Carries messages between the cards of RoCEv2 (InfiniBand Architecture 1.4, annex A17), over a
 * RoceNetwork.
 *
 * Each ordered pair of nodes and lane has a queue pair, open from the start, first in first out. A
 * message is an RDMA WRITE, cut into frames of the MTU; a frame holds bytes of one message. The
 * receiver takes frames in their order alone and answers a gap by a NAK, upon which the sender goes
 * back to it (go-back-n). Frames that ask for it are answered by ACKs: each n-th, the last of a
 * message, and one that fills the window. Queue pairs of a card take turns, a frame each.
 */
class RoceCarrier : public Carrier, private RoceEnds
{
  public:
    /**
     * \param topology outlives this object
     * \param settings of cards and switches
     * \param seed of marks and losses
     * \param run of losses
     * \param listener outlives this object
     * Throws fabric::Error where the topology has what cannot be together with the settings.
     */
    RoceCarrier(const fabric::Topology* topology,
                const fabric::RoceSettings& settings,
                uint64_t seed,
                uint64_t run,
                CarrierListener* listener);
    ~RoceCarrier() override;

    /**
     * \return the ports and switches
     */
    RoceNetwork& GetPorts();

    // Inherited from Carrier.
    void Send(int source,
              int destination,
              uint16_t lane,
              uint64_t graph,
              const fabric::Flow& flow) override;
    std::optional<int64_t>
    Abort(int source, int destination, uint64_t graph, const fabric::Flow& flow) override;
    void BeginRun() override;
    void Dispose() override;
    void SetScheduleTime(fabric::TimeNs time) override;
    fabric::TimeNs GetScheduleTime() const override;
    bool AnyDead() const override;
    std::optional<fabric::DeadLink> FindDead() const override;
    void FailHost(int host) override;
    ns3::Ptr<PacketNetwork> GetNetwork() const override;
    std::vector<fabric::LinkCounters> GetCounters() const override;
    std::vector<fabric::LinkActivity> GetActivity() const override;
    void AddCounters(fabric::EngineCounters& counters) const override;
    bool IsRandom() const override;
    bool StartsWarm() const override;
    void AssignStreams(uint64_t draws) override;
    std::string DescribeBlocked() const override;

  private:
    using Message = QueuePair::Message;

    /// Queue pairs that send through a port.
    struct Card
    {
        uint32_t head{QueuePair::kNone}; //!< of those that may send, in turn
        uint32_t tail{QueuePair::kNone};
        /// Those that wait for their time: time, number of the entry, queue pair.
        using Wait = std::tuple<Picoseconds, uint32_t, uint32_t>;
        std::priority_queue<Wait, std::vector<Wait>, std::greater<>> waits;
        Picoseconds wake{fabric::kNoTimer}; //!< time of its event
    };

    // Inherited from RoceEnds.
    uint32_t Next(DirectedLink link, Picoseconds free) override;
    bool IsReady(DirectedLink link) const override;
    void Receive(uint32_t frame) override;
    const std::vector<DirectedLink>& WayOf(const Frame& frame) const override;
    void OnCardEvent(RoceEventKind kind, uint32_t a) override;
    void OnFailure(const std::string& message) override;

    uint32_t Open(int source, int destination, uint16_t lane);
    void Renew(QueuePair& pair); //!< makes its congestion control as new
    Picoseconds RoundTrip(const QueuePair& pair) const;

    // Sender.
    bool MaySend(const QueuePair& pair) const;
    void List(uint32_t number, Picoseconds ready); //!< lets it send when it may
    void Unwait(DirectedLink link);                //!< lists those whose time has come
    int64_t PayloadOf(const Message& message, uint64_t psn) const;
    int64_t WireOf(const Message& message, uint64_t psn) const;
    void GoBack(uint32_t number, uint64_t psn, Picoseconds now, bool timeout);
    void OnAck(uint32_t frame);
    void OnTimeout(uint32_t number);
    void OnControlTimer(uint32_t number);
    void AfterControl(uint32_t number, double rateBefore, Picoseconds now);
    void Wait(uint32_t number);     //!< lets it wait for its time
    void Append(uint32_t number);   //!< to those that may send, in turn
    void SetTimer(uint32_t number); //!< of the congestion control, if it is sooner
    void StartTimeout(uint32_t number, Picoseconds now);
    static Picoseconds Advance(QueuePair& pair, Picoseconds now); //!< its present never goes back

    // Receiver.
    void OnData(uint32_t frame);
    void Answer(uint32_t number, uint32_t frame, FrameKind kind);
    void Deliver(QueuePair& pair);
    bool IsIdle() const; //!< whether all is acknowledged
    std::string NameOf(const QueuePair& pair) const;

    const fabric::Topology* m_topology;
    const fabric::RoceSettings m_settings;
    const uint64_t m_run;
    CarrierListener* m_listener;
    std::unique_ptr<const fabric::RoceControl> m_control;
    RoceNetwork m_network;
    std::vector<Card> m_cards; //!< by the port through which they send
    std::map<std::tuple<int, int, uint16_t>, uint32_t> m_numbers; //!< of queue pairs
    std::vector<std::unique_ptr<QueuePair>> m_pairs;
    Picoseconds m_rto{0}; //!< first time-out of a queue pair
    bool m_failed{false};
    fabric::RoceCounters m_counters;
    fabric::TimeNs m_origin{0}; //!< schedule time when the clock is 0
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_CARRIER_H

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_PACKET_ENGINE_H
#define LEGACY_PACKET_ENGINE_H

#include "carrier.h"
#include "fabric/engine/engine.h"
#include "fabric/engine/striped-graph.h"

#include "ns3/event-id.h"
#include "ns3/nstime.h"
#include "ns3/object.h"
#include "ns3/traced-callback.h"

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Carries fabric::FlowGraphs over a Carrier: ns-3's TCP, or NICs and switches of RoCEv2.
 *
 * Flows between endpoints of one host arrive after zero time. Graphs are called inside simulator
 * events; an exception that they throw stops the run, and RunUntil throws it again.
 */
class PacketEngine : public ns3::Object, private CarrierListener
{
  public:
    /// Makes the carrier of an engine; the engine is the listener.
    using CarrierFactory = std::function<std::unique_ptr<Carrier>(CarrierListener* listener)>;
    /// Signature of the flow trace sources.
    using FlowTracedCallback = void (*)(const fabric::Flow& flow, ns3::Time when);

    /**
     * \return the type's id
     */
    static ns3::TypeId GetTypeId();

    PacketEngine();
    ~PacketEngine() override;

    /**
     * Builds the network, once.
     * \param topology outlives this object
     * \param placement outlives this object
     * \param transport preset and the user's attributes; ns-3's defaults must already be set to
     * these
     * \param makeCarrier makes the carrier over the same network
     */
    void Build(const fabric::Topology* topology,
               const fabric::Placement* placement,
               const fabric::Transport& transport,
               const CarrierFactory& makeCarrier);
    /**
     * \return ns-3's nodes and devices; null if none of these carry messages
     */
    ns3::Ptr<PacketNetwork> GetNetwork() const;
    /**
     * \return true if results depend on random draws
     */
    bool IsRandom() const;
    /**
     * \return true if a step needs no earlier step that opens connections
     */
    bool StartsWarm() const;

    /**
     * \param graph flow graph, which must live until it is done
     * \param start nanoseconds, not in the past
     * \param background whether a run may end before the graph does
     */
    void Submit(fabric::FlowGraph& graph, TimeNs start, bool background = false);
    /**
     * \param time the present time of the schedules of rates and failures, in nanoseconds
     */
    void SetScheduleTime(TimeNs time);
    /**
     * \return true if results depend on the time at which a step begins
     */
    bool DependsOnTime() const;
    /**
     * \return counters by directed link
     */
    std::vector<fabric::LinkCounters> GetLinks() const;
    /**
     * \return what each directed link has sent so far, and what waits there now
     */
    std::vector<fabric::LinkActivity> GetActivity() const;
    /**
     * \return what queue pairs and switches of RoCEv2 do now
     */
    fabric::RoceActivity GetRoce() const;
    /**
     * \return the record of the flow whose delivery is being traced; null: there is none
     */
    const fabric::RoceFlow* GetDelivered() const;
    /**
     * Runs the simulator up to and including a time, or until all graphs are done.
     * \param until nanoseconds, or kNever
     * \return true where all graphs are done
     */
    bool RunUntil(TimeNs until);
    /**
     * \return simulated nanoseconds
     */
    static TimeNs Now();
    /**
     * \return numbers of events, packets, flows and time-outs since Build
     */
    fabric::EngineCounters GetCounters() const;
    /**
     * \param trace called for every flow, at start and at arrival
     */
    void SetFlowTrace(fabric::FlowTrace trace);

    /**
     * \return the number of times that the random streams were assigned again
     */
    uint64_t GetDraws() const;
    /**
     * Continues where another engine stopped between graphs.
     * \param now nanoseconds to start from
     * \param draws value of GetDraws of the other engine
     */
    void Restore(TimeNs now, uint64_t draws);

  protected:
    void DoDispose() override;

  private:
    class GraphRun;

    // Requests that graphs make.
    void Send(uint64_t graph, const fabric::Flow& flow); //!< starts a flow
    /** Withdraws a flow, and returns its bytes that TCP carries anyway. */
    int64_t Abort(uint64_t graph, const fabric::Flow& flow);
    void Trace(const fabric::Flow& flow, bool delivered); //!< reports a whole flow to the traces
    void Wake(uint64_t graph, uint64_t token);            //!< called when a wake-up is due
    void Start(uint64_t graph); //!< called when the start of a graph is due
    /// Calls a graph and catches its exceptions.
    void Call(uint64_t graph, const std::function<void(GraphRun&)>& callback);

    // Inherited from CarrierListener.
    void OnProgress() override;
    void OnArrived(uint64_t graph, const fabric::Flow& flow, const fabric::RoceFlow* roce) override;
    void OnRetransmitTimeout() override;
    void OnLost(const Messages& messages) override;
    void OnError(std::exception_ptr error) override;

    // Changes of the network.
    void AwaitFailures();     //!< schedules the next failure of each host
    void HostFails(int node); //!< loses the connections of a host
    void CheckDead();         //!< ends the run if a flow waits for ever
    /// Adds the bytes of a background flow to those of its links.
    void CountBackground(const fabric::ConnectionName& connection, const fabric::Flow& flow);
    /// Returns the connection of a graph's flow.
    fabric::ConnectionName NameOf(uint64_t graph, const fabric::Flow& flow) const;

    // How a run ends.
    void AssignStreams();                //!< assigns fresh random streams if anything draws
    void CheckStall();                   //!< checks whether bytes still arrive
    void CheckEnd(uint64_t events);      //!< stops once nothing is left to do at the present time
    void Fail(std::exception_ptr error); //!< stops the run; RunUntil throws the error
    std::string Blocked() const;         //!< describes the flows in flight for messages

    std::unique_ptr<const fabric::ConnectionNames> m_names; //!< connections of endpoints
    std::unique_ptr<const fabric::Stripes> m_stripes; //!< connections that share a flow's bytes
    ns3::Time m_stallTimeout;                         //!< time after which CheckStall ends a run

    const fabric::Topology* m_topology{nullptr}; //!< routes and failures
    fabric::Transport m_transport;               //!< bytes on the wire
    std::vector<ns3::EventId> m_failures;        //!< next failure of each host that has one
    std::vector<int64_t> m_background;           //!< bytes of background traffic by directed link
    int m_foreground{0}; //!< number of graphs that are not done, except for background traffic
    bool m_hasBackground{false}; //!< true once there is background traffic
    std::map<uint64_t, std::unique_ptr<GraphRun>> m_graphs; //!< graphs that are not done
    std::unique_ptr<Carrier> m_carrier;                     //!< nodes, links and connections
    uint64_t m_nextGraph{0};                                //!< number of the next graph
    int64_t m_inFlight{0};                                  //!< number of flows in flight
    int64_t m_scheduled{0};            //!< number of starts and wake-ups to come
    std::optional<uint64_t> m_paused;  //!< graph that paused the last RunUntil
    ns3::Time m_progress;              //!< time at which a byte last arrived
    ns3::Time m_checked;               //!< value of m_progress when CheckStall last looked
    ns3::Time m_outThen;               //!< value of Carrier::GetOutTime at that time or before
    ns3::Time m_outSeen;               //!< value of Carrier::GetOutTime when CheckStall last looked
    ns3::EventId m_watchdog;           //!< event of CheckStall, while flows are in flight
    std::exception_ptr m_error;        //!< error that RunUntil throws
    ns3::EventId m_end;                //!< event of CheckEnd, where a time was given
    bool m_reachedEnd{false};          //!< true once the time of this RunUntil has come
    bool m_streamsUsed{false};         //!< true if streams were used since they were last assigned
    uint64_t m_draws{0};               //!< number of assignments of streams
    uint64_t m_firstEvent{0};          //!< simulator's count of events at Build
    fabric::EngineCounters m_counters; //!< numbers of flows and time-outs
    fabric::FlowTrace m_trace;         //!< trace of the caller
    const fabric::RoceFlow* m_delivered{nullptr}; //!< record of the flow that arrives now

    ns3::TracedCallback<const fabric::Flow&, ns3::Time> m_flowStart;     //!< trace source
    ns3::TracedCallback<const fabric::Flow&, ns3::Time> m_flowDelivered; //!< trace source
    ns3::TracedCallback<ns3::Time> m_retransmitTimeout;                  //!< trace source
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_PACKET_ENGINE_H

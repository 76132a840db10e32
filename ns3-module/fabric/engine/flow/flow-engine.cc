// The flow engine shares links by fluid max-min fairness on the fabric's routes, with headers,
// ACKs, latency and slow start.
//
// A connection (flow-connections.h) sends its flows one after the other. A flow of W wire bytes
// (headers included) runs at the connection's max-min fair rate, and arrives one latency after its
// last byte has left. The latency is the delay of every link plus the serialisation of the flow's
// first frame on every link except the slowest (switches store and forward). On an idle path this
// gives T(W) of closed-form.h.
//
// A connection is busy from its first flow until a flow arrives that has no `more` after it. Busy
// connections share what ACKs leave of their links (link-rates.h).
//
// A connection that is not warm pays for its handshake and for slow start (slow-start.h). Loss
// limits a long connection to MSS / RTT sqrt(3 / (2 p)) (Mathis et al., CCR 1997; Cubic: RFC 9438);
// on a new one losses are drawn (sawtooth.h). A fixed socket buffer limits it to one buffer a round
// trip. Queues, retransmission time-outs and unfairness between connections are not modelled.
//
// A port with a token bucket sends what its tokens allow at once (token-buckets.h).
#include "fabric/engine/dead-link.h"
#include "fabric/engine/event-engine.h"
#include "flow-event.h"
#include "flow-network.h"
#include "flow-sender.h"
#include "link-totals.h"

#include "base/hash.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace legacy::fabric
{

namespace
{

class FlowEngine : public EventEngine
{
  public:
    explicit FlowEngine(const EngineRequest& request)
        : EventEngine(request),
          m_network(m_topology,
                    m_placement,
                    m_transport,
                    m_names,
                    HashWords({request.seed, request.run}),
                    m_agenda),
          m_sender(
              m_topology,
              m_transport,
              [this](const Flow& flow, int graph) { return LaneOf(flow, graph); },
              m_network,
              m_agenda)
    {
    }

    std::string Name() const override
    {
        return "flow";
    }

    bool Random() const override;
    std::vector<LinkCounters> Links() const override;
    std::vector<LinkActivity> Activity() const override;

  protected:
    void Send(const Flow& flow, int graph) override
    {
        m_sender.Send(flow, graph, LaneOf(flow, graph));
    }

    int64_t Abort(const Flow& flow, int graph) override
    {
        return m_sender.Withdraw(flow, graph, LaneOf(flow, graph));
    }

    void OnScheduleTime() override
    {
        m_network.OnScheduleTime();
    }

    void RefuseDead(const std::string& before) const override;
    void Handle(int what, int graph, uint64_t payload) override;
    bool Due(TimeNs time, int what, uint64_t payload) const override;
    bool Settle() override;
    void OnAllDone() override;

  private:
    void Arrive(int slot);
    void Lose(int number);

    FlowNetwork m_network;
    FlowSender m_sender;
};

/// Losses are drawn for connections that are opened while the engine runs.
bool FlowEngine::Random() const
{
    const auto lossy = [](const Link& link)
    { return std::max(link.ports[0].errorRate, link.ports[1].errorRate) > 0; };
    return m_transport.connections != ConnectionKind::Warm && Sawtooth::Holds(m_transport) &&
           std::any_of(m_topology.Links().begin(), m_topology.Links().end(), lossy);
}

bool FlowEngine::Settle()
{
    if (!m_network.Rates().Pending())
    {
        return false;
    }
    for (int number : m_network.Rates().Solve())
    {
        m_sender.OnRateChange(number);
    }
    return true;
}

void FlowEngine::Handle(int what, int, uint64_t payload)
{
    switch (what)
    {
    case FlowEvent::kArrived:
        Arrive(static_cast<int>(payload));
        break;
    case FlowEvent::kRate:
        m_network.OnRate(payload);
        break;
    case FlowEvent::kLost:
        Lose(static_cast<int>(payload));
        break;
    case FlowEvent::kReady:
        m_sender.OnReady(static_cast<int>(payload));
        break;
    default:
        m_sender.OnSent(static_cast<int>(payload));
    }
}

/// Only the earliest FlowEvent::kSent of a connection's present flow counts.
bool FlowEngine::Due(TimeNs time, int what, uint64_t payload) const
{
    switch (what)
    {
    case FlowEvent::kArrived:
        return true;
    case FlowEvent::kRate:
        return m_network.IsCurrent(payload);
    default:
        break;
    }
    const FlowConnection& connection = m_network.Connections()[static_cast<int>(payload)];
    switch (what)
    {
    case FlowEvent::kSent:
        return connection.scheduled == time;
    case FlowEvent::kReady:
        return connection.waiting && connection.ready == time;
    default:
        return connection.busy && connection.lost == time;
    }
}

void FlowEngine::Arrive(int slot)
{
    const FlowSlot arrived = m_sender.OnArrived(slot);
    if (arrived.graph != FlowSlot::kNone)
    {
        Deliver(arrived.flow, arrived.graph);
    }
}

/// Tells the graphs whose flows are lost with a connection about the loss.
void FlowEngine::Lose(int number)
{
    for (const FlowSlot& slot : m_sender.Lose(number))
    {
        Fail(slot.flow, slot.graph);
    }
}

void FlowEngine::RefuseDead(const std::string& before) const
{
    const FlowConnections& connections = m_network.Connections();
    for (int number = 0; number < connections.Count(); ++number)
    {
        const FlowConnection& connection = connections[number];
        const Flow* const flow = m_sender.Sending(connection);
        const DirectedLink dead = flow ? m_network.Links().DeadOn(connection.path) : -1;
        if (dead >= 0)
        {
            throw DeadLink(m_topology,
                           dead,
                           m_placement.NodeOf(connection.source),
                           m_placement.NodeOf(connection.destination),
                           before,
                           " carries nothing any more, for ever, and the flow of " +
                               FormatBytes(flow->bytes) + " from endpoint " +
                               std::to_string(flow->source) + " to " +
                               std::to_string(flow->destination) + " needs it");
        }
    }
}

/// Takes idle connections off their links. A graph may have ended without sending a flow that is
/// its connection's last.
void FlowEngine::OnAllDone()
{
    const FlowConnections& connections = m_network.Connections();
    for (int number = 0; number < connections.Count(); ++number)
    {
        if (connections[number].sending == FlowSlot::kNone && !connections[number].waiting)
        {
            m_network.SetBusy(number, false);
        }
    }
}

std::vector<LinkCounters> FlowEngine::Links() const
{
    std::vector<LinkCounters> links = m_network.Carried();
    for (DirectedLink link = 0; link < static_cast<DirectedLink>(links.size()); ++link)
    {
        links[link].busy = BusyTime(m_topology.PortOf(link), links[link].bytes);
    }
    return links;
}

std::vector<LinkActivity> FlowEngine::Activity() const
{
    const FlowConnections& connections = m_network.Connections();
    const double ackRatio = m_network.Links().AckRatio();
    std::vector<LinkActivity> activity(2 * m_topology.Links().size());
    for (int number = 0; number < connections.Count(); ++number)
    {
        AddActivity(connections[number], m_sender.Present(connections[number]), ackRatio, activity);
    }
    return activity;
}

} // namespace

std::unique_ptr<Engine> MakeFlowEngine(const EngineRequest& request)
{
    return std::make_unique<FlowEngine>(request);
}

} // namespace legacy::fabric

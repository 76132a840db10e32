#include "event-engine.h"

#include "base/error.h"
#include "fabric/roce/roce-settings.h"

#include <algorithm>
#include <sstream>
#include <utility>

namespace legacy::fabric
{

/// The FlowSink that a graph gets while it handles an event.
class EventEngine::Sink : public FlowSink
{
  public:
    Sink(EventEngine& engine, int graph) : m_engine(engine), m_graph(graph)
    {
    }

    TimeNs Now() const override
    {
        return m_engine.m_agenda.Now();
    }

    void Send(const Flow& flow) override
    {
        assert(flow.source != flow.destination && flow.bytes >= 0);
        m_engine.Trace(flow, m_graph, false);
        m_engine.Send(m_engine.SharesOut() ? m_engine.TakeTurn(flow, m_graph) : flow, m_graph);
    }

    void Wake(TimeNs delay, uint64_t token) override
    {
        assert(delay >= 0);
        m_engine.Push(Later(m_engine.m_agenda.Now(), delay), kWake, m_graph, token);
    }

    int64_t Abort(const Flow& flow) override
    {
        return m_engine.SharesOut() ? m_engine.AbortInTurn(flow, m_graph)
                                    : m_engine.Abort(flow, m_graph);
    }

    void Pause() override
    {
        m_engine.m_paused = m_graph;
    }

  private:
    EventEngine& m_engine;
    int m_graph;
};

void FlowGraph::OnFailed(const Flow& flow, FlowSink& sink)
{
    throw Error("the connection from endpoint " + std::to_string(flow.source) + " to " +
                std::to_string(flow.destination) + " was lost at " + FormatTime(sink.Now()) +
                ", with " + FormatBytes(flow.bytes) + " on their way");
}

void EventEngine::Submit(FlowGraph& graph, TimeNs start)
{
    const auto idle = [](const auto& entry) { return entry.second.messages.empty(); };
    if (m_unfinished == 0 && !m_background && SharesOut() &&
        m_transport.roce->idle != RoceIdle::Keep &&
        std::all_of(m_inTurn.begin(), m_inTurn.end(), idle))
    {
        m_inTurn.clear();
    }
    Add(graph, start, false);
    ++m_unfinished;
}

void EventEngine::SubmitBackground(FlowGraph& graph, TimeNs start)
{
    Add(graph, start, true);
    m_background = true;
}

void EventEngine::Add(FlowGraph& graph, TimeNs start, bool background)
{
    assert(start >= m_agenda.Now());
    std::unique_ptr<StripedGraph> striped;
    if (m_stripes.Any())
    {
        striped = std::make_unique<StripedGraph>(graph,
                                                 m_stripes,
                                                 [this](const Flow& flow, TimeNs when, bool arrived)
                                                 {
                                                     if (m_trace)
                                                     {
                                                         m_trace(flow, when, arrived);
                                                     }
                                                 });
    }
    FlowGraph* const driven = striped ? striped.get() : &graph;
    m_graphs.push_back(Submitted{driven, false, background, std::move(striped)});
    Push(start, kStart, static_cast<int>(m_graphs.size()) - 1, 0);
}

void EventEngine::SetScheduleTime(TimeNs time)
{
    m_agenda.SetScheduleTime(time);
    OnScheduleTime();
}

bool EventEngine::RunUntil(TimeNs until)
{
    if (m_paused >= 0)
    {
        Tell(std::exchange(m_paused, -1),
             [](FlowGraph& graph, FlowSink& sink) { graph.OnContinue(sink); });
        if (Returns())
        {
            return m_unfinished == 0;
        }
    }
    EngineEvent event;
    do
    {
        do
        {
            while (m_agenda.Pop(event))
            {
                if (event.what >= 0 && !Due(event.time, event.what, event.payload))
                {
                    continue;
                }
                m_agenda.SetNow(event.time);
                ++m_counters.events;
                Dispatch(event);
                if (Returns())
                {
                    return m_unfinished == 0;
                }
            }
        } while (Settle());
    } while (m_agenda.Advance(until));
    if (!m_agenda.Empty())
    {
        m_agenda.SetNow(std::max(m_agenda.Now(), until));
        return m_unfinished == 0;
    }
    m_agenda.Restart(m_agenda.Now());
    if (m_unfinished > 0)
    {
        const std::string over = Name() + " engine: nothing can happen any more";
        const std::string left =
            ", and " + std::to_string(m_unfinished) + " submitted graph(s) are not done";
        RefuseDead(over + left + ": ");
        throw Error(over + ", no flow is in flight" + left);
    }
    return true;
}

void EventEngine::Dispatch(const EngineEvent& event)
{
    switch (event.what)
    {
    case kStart:
        Tell(event.graph, [](FlowGraph& graph, FlowSink& sink) { graph.OnStart(sink); });
        break;
    case kWake:
        Tell(event.graph,
             [&](FlowGraph& graph, FlowSink& sink) { graph.OnWake(event.payload, sink); });
        break;
    case kHandOver:
        HandOver(event.payload);
        break;
    default:
        Handle(event.what, event.graph, event.payload);
    }
}

uint64_t EventEngine::KeyOf(const Flow& flow, int graph) const
{
    return LaneKey(flow.source, flow.destination, LaneOf(flow, graph));
}

/// Returns the first message with that graph, tag and ends that has not arrived, or else one that
/// waits for others; nullptr if there is none.
EventEngine::InTurn::Message* EventEngine::FindInTurn(const Flow& flow, int graph)
{
    InTurn::Message* waits = nullptr;
    for (InTurn::Message& message : m_inTurn[KeyOf(flow, graph)].messages)
    {
        if (message.gone || message.graph != graph || message.flow.tag != flow.tag ||
            message.flow.source != flow.source || message.flow.destination != flow.destination)
        {
            continue;
        }
        if (!message.arrived)
        {
            return &message;
        }
        waits = waits ? waits : &message;
    }
    return waits;
}

/// Assigns a message to the next queue pair of its endpoints and lane.
Flow EventEngine::TakeTurn(const Flow& flow, int graph)
{
    InTurn& group = m_inTurn[KeyOf(flow, graph)];
    Flow sent = flow;
    sent.channel = 0;
    if (flow.bytes > 0)
    {
        sent.channel = group.next;
        group.next = static_cast<uint16_t>((group.next + 1) % m_transport.queuePairs);
    }
    group.messages.push_back({sent, graph});
    return sent;
}

int64_t EventEngine::AbortInTurn(const Flow& flow, int graph)
{
    InTurn::Message* const message = FindInTurn(flow, graph);
    if (!message)
    {
        return 0;
    }
    message->gone = true;
    Push(m_agenda.Now(), kHandOver, graph, KeyOf(flow, graph));
    return message->arrived ? message->flow.bytes : Abort(message->flow, graph);
}

/// Reports the messages that have arrived, up to the first that has not.
void EventEngine::HandOver(uint64_t key)
{
    std::deque<InTurn::Message>& messages = m_inTurn[key].messages;
    while (!messages.empty() && (messages.front().arrived || messages.front().gone))
    {
        const InTurn::Message message = messages.front();
        messages.pop_front();
        if (!message.gone)
        {
            TellDelivered(message.flow, message.graph);
        }
    }
}

void EventEngine::Deliver(const Flow& flow, int graph)
{
    if (!SharesOut())
    {
        TellDelivered(flow, graph);
        return;
    }
    for (InTurn::Message& message : m_inTurn[KeyOf(flow, graph)].messages)
    {
        // Messages of one queue pair arrive in their order.
        if (message.flow.channel == flow.channel && !message.arrived && !message.gone)
        {
            message.arrived = true;
            break;
        }
    }
    HandOver(KeyOf(flow, graph));
}

void EventEngine::TellDelivered(const Flow& flow, int graph)
{
    ++m_counters.flows;
    Trace(flow, graph, true);
    Tell(graph, [&](FlowGraph& told, FlowSink& sink) { told.OnDelivered(flow, sink); });
}

TimeNs EventEngine::BusyTime(const Port& port, int64_t bytes) const
{
    if (!port.schedule)
    {
        return SerialisationTime(bytes, port.rateBps);
    }
    const double possible =
        port.schedule->Bits(std::max<TimeNs>(0, m_agenda.ScheduleStart()), ScheduleTime());
    const double share = possible > 0 ? 8 * static_cast<double>(bytes) / possible : 0;
    return RoundedTime(std::min(1.0, share) * static_cast<double>(m_agenda.Now()));
}

void EventEngine::Fail(const Flow& flow, int graph)
{
    if (InTurn::Message* const message = SharesOut() ? FindInTurn(flow, graph) : nullptr)
    {
        message->gone = true;
        Push(m_agenda.Now(), kHandOver, graph, KeyOf(flow, graph));
    }
    Tell(graph, [&](FlowGraph& told, FlowSink& sink) { told.OnFailed(flow, sink); });
}

template <typename Call>
void EventEngine::Tell(int graph, Call call)
{
    // A graph may be done before its last wake-ups and flows.
    if (m_graphs[graph].done)
    {
        return;
    }
    FlowGraph& told = *m_graphs[graph].graph;
    Sink sink(*this, graph);
    call(told, sink);
    if (told.Done())
    {
        m_graphs[graph].done = true;
        if (!m_graphs[graph].background && --m_unfinished == 0)
        {
            OnAllDone();
        }
    }
}

std::string EventEngine::Save() const
{
    return Name() + " " + std::to_string(m_agenda.Now());
}

void EventEngine::Restore(const std::string& state)
{
    std::istringstream stream(state);
    std::string name;
    TimeNs now = 0;
    if (!(stream >> name >> now) || name != Name() || now < 0)
    {
        throw Error("engine state", state, "a state that the " + Name() + " engine saved");
    }
    m_agenda.Restart(now);
}

} // namespace legacy::fabric

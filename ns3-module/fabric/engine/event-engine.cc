#include "event-engine.h"

#include "fabric/base/error.h"

#include <sstream>

namespace legacy::fabric
{

/// The Sink that a graph gets while it handles an event.
class EventEngine::Sink : public FlowSink
{
  public:
    Sink(EventEngine& engine, int graph) : m_engine(engine), m_graph(graph)
    {
    }

    TimeNs Now() const override
    {
        return m_engine.m_now;
    }

    void Send(const Flow& flow) override
    {
        assert(flow.source != flow.destination && flow.bytes >= 0);
        if (m_engine.m_trace)
        {
            m_engine.m_trace(flow, m_engine.m_now, false);
        }
        m_engine.Send(flow, m_graph);
    }

    void Wake(TimeNs delay, uint64_t token) override
    {
        assert(delay >= 0);
        m_engine.Push(Later(m_engine.m_now, delay), kWake, m_graph, token);
    }

  private:
    EventEngine& m_engine;
    int m_graph;
};

void EventEngine::Submit(FlowGraph& graph, TimeNs start)
{
    assert(start >= m_now);
    m_graphs.push_back(Submitted{&graph, false});
    Push(start, kStart, static_cast<int>(m_graphs.size()) - 1, 0);
    ++m_unfinished;
}

bool EventEngine::RunUntil(TimeNs until)
{
    Event event;
    do
    {
        do
        {
            while (m_events.Pop(event))
            {
                if (event.what >= 0 && !Due(event.time, event.what, event.payload))
                {
                    continue;
                }
                m_now = event.time;
                ++m_counters.events;
                Dispatch(event);
            }
        } while (Settle());
    } while (m_events.Advance(until));
    if (!m_events.Empty())
    {
        m_now = std::max(m_now, until);
        return m_unfinished == 0;
    }
    m_events.SetPresent(m_now);
    if (m_unfinished > 0)
    {
        throw Error(Name() + " engine: nothing can happen any more, no flow is in flight, and " +
                    std::to_string(m_unfinished) + " submitted graph(s) are not done");
    }
    return true;
}

void EventEngine::Dispatch(const Event& event)
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
    default:
        Handle(event.what, event.graph, event.payload);
    }
}

void EventEngine::Deliver(const Flow& flow, int graph)
{
    ++m_counters.flows;
    if (m_trace)
    {
        m_trace(flow, m_now, true);
    }
    Tell(graph, [&](FlowGraph& told, FlowSink& sink) { told.OnDelivered(flow, sink); });
}

template <typename Call>
void EventEngine::Tell(int graph, Call call)
{
    // A graph that is done waits for no event.
    assert(!m_graphs[graph].done);
    FlowGraph& told = *m_graphs[graph].graph;
    Sink sink(*this, graph);
    call(told, sink);
    if (told.Done())
    {
        m_graphs[graph].done = true;
        if (--m_unfinished == 0)
        {
            OnAllDone();
        }
    }
}

std::string EventEngine::Save() const
{
    return Name() + " " + std::to_string(m_now);
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
    m_now = now;
    m_events.SetPresent(now);
}

} // namespace legacy::fabric

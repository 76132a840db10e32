// Collectives whose workers pass messages on by a protocol. Internal to fabric/.
#pragma once

#include "base.h"

#include <algorithm>
#include <vector>

namespace legacy::fabric
{

/// A PassingCollective charges a protocol's times: workers take part after its start time, and a
/// message leaves after the time of a hop, inside a node (`group` consecutive workers) or across.
/// Before that, the threads of its channel handle one message after the other, at the channel's
/// pace. Messages of one worker and thread group therefore keep their order.
class PassingCollective : public CollectiveBase
{
  public:
    PassingCollective(const CollectiveSpec& spec,
                      uint32_t tagBase,
                      DoneCallback done,
                      const ProtocolCosts& costs)
        : CollectiveBase(static_cast<int>(spec.bytes.size()), tagBase, std::move(done)),
          m_costs(costs),
          m_pace(spec.pace),
          m_group(std::max(1, spec.group)),
          m_begun(m_workers, false)
    {
    }

    void OnWake(uint64_t mark, FlowSink& sink) override
    {
        if (mark < static_cast<uint64_t>(m_workers))
        {
            Enter(static_cast<int>(mark), sink);
            return;
        }
        const auto place = static_cast<size_t>(mark) - m_workers;
        const Flow flow = m_waiting[place];
        m_free.push_back(place);
        sink.Send(flow);
    }

  protected:
    /// The worker takes part from now on. Called once for each.
    virtual void Begin(int worker, FlowSink& sink) = 0;

    bool Begun(int worker) const
    {
        return m_begun[worker];
    }

    /// A Handling says when threads can handle a message.
    enum class Handling : uint8_t
    {
        Whole,  ///< from now on
        Stream, ///< while it arrived, at the pace at which they handle all
        Copy,   ///< with the message before, of which it is a copy
    };

    /// Sends a flow from one worker to another when the worker's `threads`, one of few numbers,
    /// have handled it and the time of its hop has passed.
    void Pass(const Flow& flow, uint32_t threads, Handling handling, FlowSink& sink)
    {
        const bool inside = flow.source / m_group == flow.destination / m_group;
        TimeNs delay = inside ? m_costs.inside : m_costs.across;
        if (const double pace = inside ? m_pace.inside : m_pace.across; pace > 0)
        {
            TimeNs& free = HandledBy(flow.source, threads);
            const TimeNs work = handling == Handling::Copy
                                    ? 0
                                    : RoundedTime(pace * static_cast<double>(flow.bytes));
            free = handling == Handling::Stream ? std::max(free + work, sink.Now())
                                                : std::max(free, sink.Now()) + work;
            delay += free - sink.Now();
        }
        if (delay == 0)
        {
            sink.Send(flow);
            return;
        }
        if (m_free.empty())
        {
            m_free.push_back(m_waiting.size());
            m_waiting.emplace_back();
        }
        const size_t place = m_free.back();
        m_free.pop_back();
        m_waiting[place] = flow;
        Wake(delay, m_workers + place, sink);
    }

    const ProtocolCosts m_costs;

  private:
    void OnStarted(int worker, FlowSink& sink) final
    {
        if (m_costs.start == 0)
        {
            Enter(worker, sink);
            return;
        }
        Wake(m_costs.start, static_cast<uint64_t>(worker), sink);
    }

    void Enter(int worker, FlowSink& sink)
    {
        m_begun[worker] = true;
        Begin(worker, sink);
    }

    /// Returns when threads of an endpoint have handled all.
    TimeNs& HandledBy(int endpoint, uint32_t threads)
    {
        const auto place = static_cast<size_t>(endpoint);
        m_handled.resize(std::max(m_handled.size(), place + 1));
        std::vector<TimeNs>& its = m_handled[place];
        its.resize(std::max<size_t>(its.size(), threads + 1), 0);
        return its[threads];
    }

    const ChannelPace m_pace;
    const int m_group;
    std::vector<std::vector<TimeNs>> m_handled; ///< by endpoint and number of its threads
    std::vector<bool> m_begun;
    std::vector<Flow> m_waiting; ///< flows that are passed on later; marks are their places
    std::vector<size_t> m_free;  ///< free places
};

} // namespace legacy::fabric

// Collectives whose workers pass messages on by a protocol. Internal to fabric/.
#pragma once

#include "base.h"

#include <algorithm>
#include <unordered_map>

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
        const auto waiting = m_waiting.find(mark);
        const Flow flow = waiting->second;
        m_waiting.erase(waiting);
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

    /// Sends a flow from one worker to another when the worker's `threads`, a number below 2^32,
    /// have handled it and the time of its hop has passed.
    void Pass(const Flow& flow, uint32_t threads, Handling handling, FlowSink& sink)
    {
        const bool inside = flow.source / m_group == flow.destination / m_group;
        TimeNs delay = inside ? m_costs.inside : m_costs.across;
        if (const double pace = inside ? m_pace.inside : m_pace.across; pace > 0)
        {
            TimeNs& free = m_free[static_cast<uint64_t>(flow.source) << 32 | threads];
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
        const uint64_t mark = static_cast<uint64_t>(m_workers) + m_made++;
        m_waiting.emplace(mark, flow);
        Wake(delay, mark, sink);
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

    const ChannelPace m_pace;
    const int m_group;
    std::unordered_map<uint64_t, TimeNs> m_free; ///< when threads have handled all, by worker
    std::vector<bool> m_begun;
    std::unordered_map<uint64_t, Flow> m_waiting; ///< flows that are passed on later, by mark
    uint64_t m_made = 0;
};

} // namespace legacy::fabric

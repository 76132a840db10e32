// Collectives whose workers pass messages on by a protocol. Internal to fabric/.
#pragma once

#include "base.h"

#include <algorithm>
#include <unordered_map>

namespace legacy::fabric
{

/// A PassingCollective charges a protocol's times: workers take part after its start time, and a
/// message leaves after the time of a hop, inside a node (`group` consecutive workers) or across.
/// Flows between two endpoints keep their order, as all of them wait equally long.
class PassingCollective : public CollectiveBase
{
  public:
    PassingCollective(const CollectiveSpec& spec,
                      uint16_t tagBase,
                      DoneCallback done,
                      const ProtocolCosts& costs)
        : CollectiveBase(static_cast<int>(spec.bytes.size()), tagBase, std::move(done)),
          m_costs(costs),
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

    /// Sends a flow from one worker to another after the time of its hop.
    void Pass(const Flow& flow, FlowSink& sink)
    {
        const bool inside = flow.source / m_group == flow.destination / m_group;
        const TimeNs delay = inside ? m_costs.inside : m_costs.across;
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

    const int m_group;
    std::vector<bool> m_begun;
    std::unordered_map<uint64_t, Flow> m_waiting; ///< flows that are passed on later, by mark
    uint64_t m_made = 0;
};

} // namespace legacy::fabric

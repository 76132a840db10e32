// The collective of some workers. Internal to fabric/.
#pragma once

#include "collective.h"

#include <algorithm>
#include <utility>

namespace legacy::fabric
{

/// A MemberMap translates between the endpoints of an algorithm, which speaks of workers 0 to n -
/// 1, and those of the placement. Below n, endpoint i is member i. Above, servers of an algorithm
/// begin at n, and those of the placement at the spec's root; aggregators have the placement's
/// numbers already.
class MemberMap
{
  public:
    /// Takes a spec with members that was checked.
    explicit MemberMap(const CollectiveSpec& spec)
        : m_members(spec.members),
          m_servers(HasServers(spec) ? spec.root - static_cast<int>(m_members.size()) : 0)
    {
        const auto [lowest, highest] = std::minmax_element(m_members.begin(), m_members.end());
        m_lowest = *lowest;
        m_highest = *highest;
        unsigned distances = 0;
        for (int member : m_members)
        {
            distances |= static_cast<unsigned>(member - m_lowest);
        }
        while (distances != 0 && (distances >> m_shift & 1) == 0)
        {
            ++m_shift;
        }
        m_numbers.assign(1 + ((m_highest - m_lowest) >> m_shift), -1);
        for (size_t i = 0; i < m_members.size(); ++i)
        {
            m_numbers[(m_members[i] - m_lowest) >> m_shift] = static_cast<int>(i);
        }
    }

    /// Returns the placement's endpoint of an algorithm's endpoint.
    int Outside(int endpoint) const
    {
        return endpoint < static_cast<int>(m_members.size()) ? m_members[endpoint]
                                                             : endpoint + m_servers;
    }

    /// Returns the algorithm's endpoint of a member, a server or an aggregator.
    int Inside(int endpoint) const
    {
        return endpoint > m_highest ? endpoint - m_servers
                                    : m_numbers[(endpoint - m_lowest) >> m_shift];
    }

  private:
    std::vector<int> m_members;
    int m_servers; ///< how much higher the numbers of servers are outside
    int m_lowest;
    int m_highest;
    /// Numbers of members by their distance from the lowest one, divided by the largest power of
    /// two that divides all distances, 2^m_shift: groups of ranks mostly have such strides. -1:
    /// none.
    std::vector<int> m_numbers;
    int m_shift = 0;
};

/// A MemberCollective lets the workers of a spec's `members` take part in an algorithm that speaks
/// of workers 0 to n - 1.
class MemberCollective : public Collective
{
  public:
    /// `make` makes the algorithm's collective, given what to call when a member is done.
    template <typename Make>
    MemberCollective(const CollectiveSpec& spec, const Make& make, DoneCallback done)
        : m_map(spec),
          m_done(std::move(done)),
          m_inner(make([this](int member, FlowSink& sink)
                       { m_done(m_map.Outside(member), static_cast<Sink&>(sink).outside); }))
    {
    }

    void Start(int worker, FlowSink& sink) override
    {
        Sink own(sink, m_map);
        m_inner->Start(m_map.Inside(worker), own);
    }

    void OnDelivered(const Flow& flow, FlowSink& sink) override
    {
        Sink own(sink, m_map);
        Flow inside = flow;
        inside.source = m_map.Inside(flow.source);
        inside.destination = m_map.Inside(flow.destination);
        m_inner->OnDelivered(inside, own);
    }

    void OnWake(uint64_t mark, FlowSink& sink) override
    {
        Sink own(sink, m_map);
        m_inner->OnWake(mark, own);
    }

    bool Done() const override
    {
        return m_inner->Done();
    }

  private:
    /// The sink of the algorithm.
    class Sink : public FlowSink
    {
      public:
        Sink(FlowSink& sink, const MemberMap& map) : outside(sink), m_map(map)
        {
        }

        TimeNs Now() const override
        {
            return outside.Now();
        }

        void Send(const Flow& flow) override
        {
            outside.Send(Outside(flow));
        }

        void Wake(TimeNs delay, uint64_t token) override
        {
            outside.Wake(delay, token);
        }

        int64_t Abort(const Flow& flow) override
        {
            return outside.Abort(Outside(flow));
        }

        void Pause() override
        {
            outside.Pause();
        }

        FlowSink& outside;

      private:
        Flow Outside(Flow flow) const
        {
            flow.source = m_map.Outside(flow.source);
            flow.destination = m_map.Outside(flow.destination);
            return flow;
        }

        const MemberMap& m_map;
    };

    const MemberMap m_map;
    const DoneCallback m_done;
    const std::unique_ptr<Collective> m_inner;
};

} // namespace legacy::fabric

// Relays of messages between rails, as NCCL's PXN has them. Internal to fabric/.
#pragma once

#include "collective.h"

#include <algorithm>

namespace legacy::fabric
{

/// A RelayPlan says over which worker messages go to another node: the worker whose number in the
/// sender's node is that of the destination in its own node, so that both are on one rail. This
/// worker joins the messages of its node to that destination, its own included, into one. A node is
/// `group` consecutive workers; the last may have fewer.
class RelayPlan
{
  public:
    static constexpr int kNone = -1;

    explicit RelayPlan(const CollectiveSpec& spec)
        : m_workers(static_cast<int>(spec.bytes.size())),
          m_group(spec.relays ? spec.group : m_workers)
    {
    }

    /// Returns the worker that joins the message with others, which may be the sender; kNone where
    /// the message goes directly: inside a node, or where the sender's node has no worker of that
    /// number.
    int JoinerOf(int from, int to) const
    {
        const int joiner = from / m_group * m_group + to % m_group;
        return from / m_group == to / m_group || joiner >= m_workers ? kNone : joiner;
    }

    /// Returns the worker that sends the message on for its sender; kNone where the sender does.
    int RelayOf(int from, int to) const
    {
        const int joiner = JoinerOf(from, to);
        return joiner == from ? kNone : joiner;
    }

    /// Returns the messages that a worker of this one's node joins: one of each worker there.
    int Joined(int worker) const
    {
        return std::min(m_group, m_workers - worker / m_group * m_group);
    }

    /// Returns how many of the messages from each worker to each other go over a relay.
    double Relayed() const
    {
        double count = 0;
        for (int from = 0; m_group < m_workers && from < m_workers; ++from)
        {
            const int first = from / m_group * m_group;
            for (int relay = first; relay < first + m_group && relay < m_workers; ++relay)
            {
                // The workers with the relay's number in their nodes, except the relay itself.
                const int number = relay - first;
                count += relay == from ? 0 : (m_workers - 1 - number) / m_group;
            }
        }
        return count;
    }

  private:
    int m_workers;
    int m_group;
};

} // namespace legacy::fabric

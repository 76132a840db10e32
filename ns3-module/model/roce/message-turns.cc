/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "message-turns.h"

#include <algorithm>

namespace legacy
{
namespace packet
{

uint32_t MessageTurns::Take(uint32_t group)
{
    uint32_t& turn = m_groups[group].turn;
    const uint32_t taken = turn;
    turn = (turn + 1) % m_queuePairs;
    return taken;
}

uint64_t MessageTurns::Add(uint32_t group, uint64_t graph, const fabric::Flow& flow)
{
    Group& to = m_groups[group];
    const uint64_t order = to.handedOver + to.pending.size();
    to.pending.push_back({graph, flow, {}});
    return order;
}

void MessageTurns::Arrive(uint32_t group, uint64_t order, const fabric::RoceFlow& record)
{
    Pending& pending = At(group, order);
    pending.record = record;
    pending.arrived = true;
}

void MessageTurns::Abort(uint32_t group, uint64_t order)
{
    At(group, order).aborted = true;
}

bool MessageTurns::AbortArrived(uint32_t group, uint64_t graph, const fabric::Flow& flow)
{
    std::deque<Pending>& pending = m_groups[group].pending;
    const auto waits = std::find_if(pending.begin(),
                                    pending.end(),
                                    [&](const Pending& other)
                                    {
                                        return other.arrived && !other.aborted &&
                                               other.graph == graph &&
                                               IsSameMessage(other.flow, flow);
                                    });
    if (waits == pending.end())
    {
        return false;
    }
    waits->aborted = true;
    return true;
}

std::optional<MessageTurns::Pending> MessageTurns::TakeArrived(uint32_t number)
{
    Group& group = m_groups[number];
    while (!group.pending.empty() &&
           (group.pending.front().arrived || group.pending.front().aborted))
    {
        const Pending taken = group.pending.front();
        group.pending.pop_front();
        ++group.handedOver;
        if (!taken.aborted)
        {
            return taken;
        }
    }
    return std::nullopt;
}

void MessageTurns::Restart()
{
    for (Group& group : m_groups)
    {
        group.turn = 0;
    }
}

} // namespace packet
} // namespace legacy

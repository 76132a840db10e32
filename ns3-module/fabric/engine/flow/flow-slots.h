// Slots hold the flows that connections of the flow engine have been given and that have not
// arrived. A connection's flows that wait to be sent are a queue of slots. Internal to fabric/.
#pragma once

#include "fabric/engine/flow-graph.h"

#include <cstddef>
#include <vector>

namespace legacy::fabric
{

/// A FlowSlot holds a flow that has not arrived.
struct FlowSlot
{
    static constexpr int kNone = -1;

    Flow flow;
    int graph = 0;    ///< kNone: the flow was withdrawn, or the slot is free
    int next = kNone; ///< slot behind it in its queue
};

/// A FlowQueue has the slots of the flows that wait on one connection.
struct FlowQueue
{
    int first = FlowSlot::kNone;
    int last = FlowSlot::kNone;

    bool Empty() const
    {
        return first == FlowSlot::kNone;
    }
};

/// FlowSlots are all slots of an engine. Free ones are used again, the latest first.
class FlowSlots
{
  public:
    int Take(const Flow& flow, int graph)
    {
        if (m_free == FlowSlot::kNone)
        {
            m_free = static_cast<int>(m_slots.size());
            m_slots.emplace_back();
        }
        const int slot = m_free;
        m_free = m_slots[slot].next;
        m_slots[slot] = FlowSlot{flow, graph, FlowSlot::kNone};
        return slot;
    }

    void Free(int slot)
    {
        m_slots[slot].graph = FlowSlot::kNone;
        m_slots[slot].next = m_free;
        m_free = slot;
    }

    const FlowSlot& operator[](int slot) const
    {
        return m_slots[slot];
    }

    /// Withdraws a flow: its arrival is not reported. Its slot stays in use.
    void Withdraw(int slot)
    {
        m_slots[slot].graph = FlowSlot::kNone;
    }

    void Append(FlowQueue& queue, int slot)
    {
        (queue.Empty() ? queue.first : m_slots[queue.last].next) = slot;
        queue.last = slot;
    }

    /// Takes the first slot out of a queue, which is not empty.
    int Pop(FlowQueue& queue) const
    {
        const int slot = queue.first;
        queue.first = m_slots[slot].next;
        queue.last = queue.Empty() ? FlowSlot::kNone : queue.last;
        return slot;
    }

    /// Takes the first slot for which `wanted` is true out of a queue, and returns it; kNone: there
    /// is none.
    template <typename Wanted>
    int Remove(FlowQueue& queue, const Wanted& wanted)
    {
        int before = FlowSlot::kNone;
        int slot = queue.first;
        while (slot != FlowSlot::kNone && !wanted(slot))
        {
            before = slot;
            slot = m_slots[slot].next;
        }
        if (slot != FlowSlot::kNone)
        {
            (before == FlowSlot::kNone ? queue.first : m_slots[before].next) = m_slots[slot].next;
            queue.last = queue.last == slot ? before : queue.last;
        }
        return slot;
    }

    /// Returns the slots of all flows for which `wanted` is true, those that have left included. It
    /// looks at all flows, as few are ever withdrawn.
    template <typename Wanted>
    std::vector<int> Find(const Wanted& wanted) const
    {
        std::vector<int> slots;
        for (size_t slot = 0; slot < m_slots.size(); ++slot)
        {
            if (m_slots[slot].graph != FlowSlot::kNone && wanted(m_slots[slot]))
            {
                slots.push_back(static_cast<int>(slot));
            }
        }
        return slots;
    }

  private:
    std::vector<FlowSlot> m_slots;
    int m_free = FlowSlot::kNone; ///< first of the free slots
};

} // namespace legacy::fabric

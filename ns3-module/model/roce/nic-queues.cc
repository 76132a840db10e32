/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "nic-queues.h"

namespace legacy
{
namespace packet
{

NicQueues::NicQueues(std::size_t links, QueuePairs* pairs, RoceNetwork* network)
    : m_pairs(*pairs),
      m_network(*network),
      m_nics(links)
{
}

void NicQueues::Append(uint32_t number)
{
    QueuePair& pair = m_pairs[number];
    Nic& nic = m_nics[pair.way.First()];
    pair.listed = true;
    pair.waiting = false;
    pair.nextListed = QueuePair::kNone;
    (nic.head == QueuePair::kNone ? nic.head : m_pairs[nic.tail].nextListed) = number;
    nic.tail = number;
}

void NicQueues::Wait(uint32_t number)
{
    QueuePair& pair = m_pairs[number];
    if (pair.waiting && pair.waitsFor == pair.pacer.next)
    {
        return;
    }
    const DirectedLink link = pair.way.First();
    Nic& nic = m_nics[link];
    pair.waiting = true;
    pair.waitsFor = pair.pacer.next;
    ++pair.waits;
    nic.waits.emplace(pair.waitsFor, pair.waits, number);
    if (pair.waitsFor < nic.wake)
    {
        ScheduleWake(link, pair.waitsFor);
    }
}

void NicQueues::ScheduleWake(DirectedLink link, Picoseconds at)
{
    m_nics[link].wake = at;
    m_network.Schedule(at, RoceEventKind::Wake, static_cast<uint32_t>(link));
}

void NicQueues::Unwait(DirectedLink link)
{
    Nic& nic = m_nics[link];
    const Picoseconds now = RoceNow();
    while (!nic.waits.empty() && std::get<0>(nic.waits.top()) <= now)
    {
        const auto [time, entry, number] = nic.waits.top();
        nic.waits.pop();
        QueuePair& pair = m_pairs[number];
        if (!pair.waiting || pair.waits != entry)
        {
            continue;
        }
        pair.waiting = false;
        if (!pair.listed && pair.MaySend())
        {
            Append(number);
        }
    }
}

uint32_t NicQueues::Pop(DirectedLink link)
{
    Nic& nic = m_nics[link];
    const uint32_t number = nic.head;
    if (number != QueuePair::kNone)
    {
        QueuePair& pair = m_pairs[number];
        nic.head = pair.nextListed;
        pair.listed = false;
    }
    return number;
}

bool NicQueues::OnWake(DirectedLink link)
{
    Nic& nic = m_nics[link];
    if (nic.wake > RoceNow())
    {
        return false;
    }
    nic.wake = fabric::kNoTimer;
    Unwait(link);
    if (!nic.waits.empty())
    {
        ScheduleWake(link, std::get<0>(nic.waits.top()));
    }
    return true;
}

} // namespace packet
} // namespace legacy

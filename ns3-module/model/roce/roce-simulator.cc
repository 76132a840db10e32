/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-simulator.h"

#include "ns3/default-simulator-impl.h"
#include "ns3/global-value.h"
#include "ns3/map-scheduler.h"
#include "ns3/object-factory.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <limits>

namespace legacy
{
namespace packet
{

using namespace ns3;

NS_OBJECT_ENSURE_REGISTERED(RoceSimulator);

namespace
{

constexpr std::size_t kChildren = 4;
constexpr std::size_t kGrowth = 4;   ///< part of the list by which its room grows
constexpr std::size_t kFewest = 256; ///< events by which it grows at least
constexpr int kKindBits = 4;
constexpr uint64_t kKinds = 1 << kKindBits;
constexpr uint64_t kOfNs3 = kKinds - 1; // kind that stands for ns-3's own events

static_assert(static_cast<uint64_t>(RoceEventKind::HandOver) < kOfNs3);

/// True if a global value is the name of a type, as by default.
bool IsDefault(const char* global, TypeId type)
{
    StringValue chosen;
    GlobalValue::GetValueByName(global, chosen);
    return chosen.Get() == type.GetName();
}

} // namespace

RoceSimulator* RoceSimulator::s_current = nullptr;

TypeId RoceSimulator::GetTypeId()
{
    static TypeId tid = TypeId("legacy::RoceSimulator")
                            .SetParent<SimulatorImpl>()
                            .SetGroupName("Legacy")
                            .AddConstructor<RoceSimulator>();
    return tid;
}

RoceSimulator::RoceSimulator()
    : m_sink(nullptr),
      m_now(0),
      m_next(EventId::UID::VALID),
      m_current(EventId::UID::INVALID),
      m_context(Simulator::NO_CONTEXT),
      m_count(0),
      m_stop(false)
{
    s_current = this;
}

RoceSimulator::~RoceSimulator()
{
    s_current = nullptr;
}

void RoceSimulator::Install()
{
    if (Time::GetResolution() != Time::NS ||
        !IsDefault("SimulatorImplementationType", DefaultSimulatorImpl::GetTypeId()) ||
        !IsDefault("SchedulerType", MapScheduler::GetTypeId()))
    {
        return;
    }
    Simulator::Destroy(); // this may be a simulator that only answered whether it is fresh
    Simulator::SetImplementation(CreateObject<RoceSimulator>());
}

bool RoceSimulator::ScheduleRoce(RoceEventSink* sink,
                                 int64_t when,
                                 RoceEventKind kind,
                                 uint32_t a,
                                 uint32_t b)
{
    if (m_sink != sink)
    {
        if (m_sink != nullptr)
        {
            return false;
        }
        m_sink = sink;
    }
    Push({when, m_next++ << kKindBits | static_cast<uint64_t>(kind), a, b});
    return true;
}

EventId RoceSimulator::Insert(uint32_t context, int64_t when, EventImpl* event)
{
    while (static_cast<uint32_t>(m_next) < EventId::UID::VALID)
    {
        ++m_next; // the low 32 bits have wrapped around, and ns-3 gives these numbers a meaning
    }
    uint32_t place = static_cast<uint32_t>(m_events.size());
    if (m_places.empty())
    {
        m_events.push_back(event);
        m_places.reserve(m_events.capacity()); // so that nothing is allocated when the event runs
    }
    else
    {
        place = m_places.back();
        m_places.pop_back();
        m_events[place] = event;
    }
    const uint64_t number = m_next++;
    Push({when, number << kKindBits | kOfNs3, place, context});
    return EventId(event, static_cast<uint64_t>(when), context, static_cast<uint32_t>(number));
}

void RoceSimulator::Push(const Entry& entry)
{
    std::size_t place = m_heap.size();
    if (place == m_heap.capacity())
    {
        m_heap.reserve(place + std::max(place / kGrowth, kFewest));
    }
    m_heap.push_back(entry);
    while (place > 0)
    {
        const std::size_t parent = (place - 1) / kChildren;
        if (!(entry < m_heap[parent]))
        {
            break;
        }
        m_heap[place] = m_heap[parent];
        place = parent;
    }
    m_heap[place] = entry;
}

RoceSimulator::Entry RoceSimulator::Pop()
{
    const Entry first = m_heap.front();
    const Entry last = m_heap.back();
    m_heap.pop_back();
    const std::size_t size = m_heap.size();
    if (size == 0)
    {
        return first;
    }
    Entry* heap = m_heap.data();
    std::size_t place = 0;
    std::size_t child = 1;
    for (; child + kChildren <= size; child = kChildren * place + 1)
    {
        const std::size_t left = child + (heap[child + 1] < heap[child]);
        const std::size_t right = child + 2 + (heap[child + 3] < heap[child + 2]);
        const std::size_t least = left + (right - left) * (heap[right] < heap[left]);
        if (!(heap[least] < last))
        {
            heap[place] = last;
            return first;
        }
        heap[place] = heap[least];
        place = least;
    }
    if (child < size)
    {
        const Entry* least = std::min_element(heap + child, heap + size);
        if (*least < last)
        {
            heap[place] = *least;
            place = least - heap;
        }
    }
    m_heap[place] = last;
    return first;
}

void RoceSimulator::RunNext()
{
    const Entry next = Pop();
    m_now = next.time;
    m_current = next.order >> kKindBits;
    ++m_count;
    const uint64_t kind = next.order % kKinds;
    if (kind != kOfNs3)
    {
        m_context = Simulator::NO_CONTEXT;
        m_sink->OnEvent(static_cast<RoceEventKind>(kind), next.a, next.b);
        return;
    }
    m_context = next.b;
    EventImpl* event = m_events[next.a];
    m_places.push_back(next.a);
    event->Invoke();
    event->Unref();
}

void RoceSimulator::Run()
{
    m_stop = false;
    while (!m_heap.empty() && !m_stop)
    {
        RunNext();
    }
}

void RoceSimulator::Destroy()
{
    while (!m_destroyEvents.empty())
    {
        const EventId id = m_destroyEvents.front();
        m_destroyEvents.pop_front();
        if (!id.PeekEventImpl()->IsCancelled())
        {
            id.PeekEventImpl()->Invoke();
        }
    }
}

void RoceSimulator::DoDispose()
{
    for (const Entry& entry : m_heap)
    {
        if (entry.order % kKinds == kOfNs3)
        {
            m_events[entry.a]->Unref();
        }
    }
    m_heap.clear();
    SimulatorImpl::DoDispose();
}

bool RoceSimulator::IsFinished() const
{
    return m_heap.empty() || m_stop;
}

void RoceSimulator::Stop()
{
    m_stop = true;
}

void RoceSimulator::Stop(const Time& delay)
{
    Simulator::Schedule(delay, &Simulator::Stop);
}

EventId RoceSimulator::Schedule(const Time& delay, EventImpl* event)
{
    return Insert(m_context, m_now + delay.GetTimeStep(), event);
}

void RoceSimulator::ScheduleWithContext(uint32_t context, const Time& delay, EventImpl* event)
{
    Insert(context, m_now + delay.GetTimeStep(), event);
}

EventId RoceSimulator::ScheduleNow(EventImpl* event)
{
    return Insert(m_context, m_now, event);
}

EventId RoceSimulator::ScheduleDestroy(EventImpl* event)
{
    m_destroyEvents.emplace_back(Ptr<EventImpl>(event, false),
                                 static_cast<uint64_t>(m_now),
                                 Simulator::NO_CONTEXT,
                                 EventId::UID::DESTROY);
    return m_destroyEvents.back();
}

void RoceSimulator::Remove(const EventId& id)
{
    if (id.GetUid() == EventId::UID::DESTROY)
    {
        m_destroyEvents.remove(id);
        return;
    }
    Cancel(id);
}

void RoceSimulator::Cancel(const EventId& id)
{
    if (!IsExpired(id))
    {
        id.PeekEventImpl()->Cancel();
    }
}

bool RoceSimulator::IsExpired(const EventId& id) const
{
    if (id.PeekEventImpl() == nullptr || id.PeekEventImpl()->IsCancelled())
    {
        return true;
    }
    if (id.GetUid() == EventId::UID::DESTROY)
    {
        for (const EventId& pending : m_destroyEvents)
        {
            if (pending == id)
            {
                return false;
            }
        }
        return true;
    }
    const auto when = static_cast<int64_t>(id.GetTs());
    // 32-bit numbers wrap around, and pending events are less than 2^31 apart.
    const auto ahead = static_cast<int32_t>(id.GetUid() - static_cast<uint32_t>(m_current));
    return when < m_now || (when == m_now && ahead <= 0);
}

Time RoceSimulator::Now() const
{
    return TimeStep(static_cast<uint64_t>(m_now));
}

Time RoceSimulator::GetDelayLeft(const EventId& id) const
{
    return IsExpired(id) ? TimeStep(0) : TimeStep(id.GetTs() - static_cast<uint64_t>(m_now));
}

Time RoceSimulator::GetMaximumSimulationTime() const
{
    return TimeStep(static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
}

void RoceSimulator::SetScheduler(ObjectFactory)
{
}

uint32_t RoceSimulator::GetSystemId() const
{
    return 0;
}

uint32_t RoceSimulator::GetContext() const
{
    return m_context;
}

uint64_t RoceSimulator::GetEventCount() const
{
    return m_count;
}

} // namespace packet
} // namespace legacy

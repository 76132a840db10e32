/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-event.h"

#include "roce-simulator.h"

#include "ns3/event-impl.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <new>
#include <vector>

namespace legacy
{
namespace packet
{

using namespace ns3;

namespace
{

constexpr Picoseconds kPerNanosecond = 1000;

/// An Event is one call of a sink. Events come from a list of those that are over.
class Event final : public EventImpl
{
  public:
    Event(RoceEventSink* sink, RoceEventKind kind, uint32_t a, uint32_t b)
        : m_sink(sink),
          m_kind(kind),
          m_a(a),
          m_b(b)
    {
    }

    static void* operator new(std::size_t size)
    {
        std::vector<void*>& over = Over();
        if (over.empty())
        {
            return ::operator new(size);
        }
        void* memory = over.back();
        over.pop_back();
        return memory;
    }

    static void operator delete(void* memory)
    {
        Over().push_back(memory);
    }

  protected:
    void Notify() override
    {
        m_sink->OnEvent(m_kind, m_a, m_b);
    }

  private:
    /// Memory of events that are over. It is never given back, as events end after static objects
    /// do.
    static std::vector<void*>& Over()
    {
        static auto* over = new std::vector<void*>;
        return *over;
    }

    RoceEventSink* m_sink;
    RoceEventKind m_kind;
    uint32_t m_a;
    uint32_t m_b;
};

} // namespace

void ScheduleRoce(RoceEventSink* sink, Picoseconds at, RoceEventKind kind, uint32_t a, uint32_t b)
{
    const int64_t when = (at + kPerNanosecond - 1) / kPerNanosecond;
    if (RoceSimulator* simulator = RoceSimulator::Get())
    {
        if (simulator->ScheduleRoce(sink, when, kind, a, b))
        {
            return;
        }
    }
    const int64_t wait = std::max<int64_t>(0, when - Simulator::Now().GetNanoSeconds());
    Simulator::Schedule(NanoSeconds(wait), Ptr<EventImpl>(new Event(sink, kind, a, b), false));
}

Picoseconds RoceNow()
{
    const RoceSimulator* simulator = RoceSimulator::Get();
    return kPerNanosecond *
           (simulator != nullptr ? simulator->GetNanoseconds() : Simulator::Now().GetNanoSeconds());
}

} // namespace packet
} // namespace legacy

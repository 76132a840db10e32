/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-event.h"

#include "roce-simulator.h"

#include "ns3/event-impl.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

namespace legacy
{
namespace packet
{

using namespace ns3;

namespace
{

constexpr Picoseconds kPerNanosecond = 1000;

/// An Event is one call of a sink. Its kind occupies the bytes that follow EventImpl's own.
class Event final : public EventImpl
{
  public:
    Event(RoceEventSink* sink, RoceEventKind kind, uint32_t a, uint32_t b)
        : m_kind(kind),
          m_a(a),
          m_b(b),
          m_sink(sink)
    {
    }

    static void* operator new(std::size_t size)
    {
        Free*& free = Over();
        if (free == nullptr)
        {
            auto* memory = static_cast<char*>(::operator new(kBlock* size));
            for (std::size_t i = 0; i < kBlock; ++i)
            {
                free = new (memory + i * size) Free{free};
            }
        }
        return std::exchange(free, free->next);
    }

    static void operator delete(void* memory)
    {
        Over() = new (memory) Free{Over()};
    }

  protected:
    void Notify() override
    {
        m_sink->OnEvent(m_kind, m_a, m_b);
    }

  private:
    static constexpr std::size_t kBlock = 128;

    /// Memory of an event that has ended.
    struct Free
    {
        Free* next;
    };

    /// Events that have ended. Their memory is never freed, because events may end after static
    /// objects do.
    static Free*& Over()
    {
        static Free* over = nullptr;
        return over;
    }

    RoceEventKind m_kind;
    uint32_t m_a;
    uint32_t m_b;
    RoceEventSink* m_sink;
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

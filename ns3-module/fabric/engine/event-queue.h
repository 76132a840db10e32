// A monotone event queue: a radix heap (Ahuja, Mehlhorn, Orlin, Tarjan, JACM 1990). Times never go
// back, so an event sits in the bucket of the highest bit in which its time differs from the
// present, and moves down a bucket a few times at most. Events of one instant come out in the order
// of pushing.
#pragma once

#include "base/units.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <vector>

namespace legacy::fabric
{

/// An EventQueue holds events, each of which has a member `time`.
template <typename Event>
class EventQueue
{
  public:
    /// Adds an event; event.time is not before the present.
    void Push(const Event& event)
    {
        assert(event.time >= m_present);
        m_buckets[BucketOf(event.time)].push_back(event);
        ++m_size;
    }

    /// Takes the next event of the present. Returns false where there is none.
    bool Pop(Event& event)
    {
        std::vector<Event>& now = m_buckets[0];
        if (m_next == now.size())
        {
            now.clear();
            m_next = 0;
            return false;
        }
        event = now[m_next++];
        --m_size;
        return true;
    }

    /// Makes the time of the earliest event the present, and returns true, unless it is after
    /// `until` or there is none. All events of the present must have been taken.
    bool Advance(TimeNs until)
    {
        assert(m_next == m_buckets[0].size());
        m_buckets[0].clear();
        m_next = 0;
        for (size_t b = 1; b < m_buckets.size(); ++b)
        {
            std::vector<Event>& bucket = m_buckets[b];
            if (bucket.empty())
            {
                continue;
            }
            TimeNs earliest = bucket.front().time;
            TimeNs latest = earliest;
            for (const Event& event : bucket)
            {
                earliest = std::min(earliest, event.time);
                latest = std::max(latest, event.time);
            }
            if (earliest > until)
            {
                return false;
            }
            m_present = earliest;
            if (latest == earliest)
            {
                bucket.swap(m_buckets[0]);
                return true;
            }
            for (const Event& event : bucket)
            {
                m_buckets[BucketOf(event.time)].push_back(event);
            }
            bucket.clear();
            return true;
        }
        return false;
    }

    bool Empty() const
    {
        return m_size == 0;
    }

    /// Sets the present of an empty queue.
    void SetPresent(TimeNs present)
    {
        assert(Empty());
        m_present = present;
    }

    TimeNs Present() const
    {
        return m_present;
    }

  private:
    size_t BucketOf(TimeNs time) const
    {
        const auto different = static_cast<unsigned long long>(time ^ m_present);
        return different == 0 ? 0 : 64 - static_cast<size_t>(__builtin_clzll(different));
    }

    std::array<std::vector<Event>, 64> m_buckets; ///< times are not negative
    size_t m_next = 0;                            ///< index of the next event in bucket 0
    size_t m_size = 0;
    TimeNs m_present = 0;
};

} // namespace legacy::fabric

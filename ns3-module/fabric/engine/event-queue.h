// A monotone event queue: a radix heap (Ahuja, Mehlhorn, Orlin, Tarjan, JACM 1990) of radix 16.
// Times never go back, so an event sits in the bucket of the highest digit in which its time
// differs from the present, and of its value, and moves down a digit a few times at most. Events of
// one instant come out in the order of pushing: they are in one bucket at any time.
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
        Place(event);
        ++m_size;
    }

    /// Takes the next event of the present. Returns false where there is none.
    bool Pop(Event& event)
    {
        if (m_next == m_now.size())
        {
            m_now.clear();
            m_next = 0;
            return false;
        }
        event = m_now[m_next++];
        --m_size;
        return true;
    }

    /// Makes the time of the earliest event the present, and returns true, unless it is after
    /// `until` or there is none. All events of the present must have been taken.
    bool Advance(TimeNs until)
    {
        assert(m_next == m_now.size());
        m_now.clear();
        m_next = 0;
        if (m_levels == 0)
        {
            return false;
        }
        const auto level = static_cast<size_t>(__builtin_ctz(m_levels));
        const auto digit = static_cast<size_t>(__builtin_ctz(m_digits[level]));
        std::vector<Event>& bucket = m_buckets[level][digit];
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
        m_digits[level] &= ~(1U << digit);
        m_levels &= ~(static_cast<unsigned>(m_digits[level] == 0) << level);
        if (latest == earliest)
        {
            bucket.swap(m_now);
            return true;
        }
        for (const Event& event : bucket)
        {
            Place(event); // on a lower level
        }
        bucket.clear();
        return true;
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
    static constexpr int kDigitBits = 4;
    static constexpr size_t kDigits = size_t{1} << kDigitBits;
    static constexpr size_t kLevels = 64 / kDigitBits;

    void Place(const Event& event)
    {
        const auto different = static_cast<unsigned long long>(event.time ^ m_present);
        if (different == 0)
        {
            m_now.push_back(event);
            return;
        }
        const auto level = static_cast<size_t>(63 - __builtin_clzll(different)) / kDigitBits;
        const auto digit = static_cast<size_t>(event.time >> (level * kDigitBits)) % kDigits;
        m_buckets[level][digit].push_back(event);
        m_digits[level] |= 1U << digit;
        m_levels |= 1U << level;
    }

    std::vector<Event> m_now; ///< events of the present
    std::array<std::array<std::vector<Event>, kDigits>, kLevels> m_buckets; ///< by level and digit
    std::array<unsigned, kLevels> m_digits{}; ///< a bit for each bucket of a level with events
    unsigned m_levels = 0;                    ///< a bit for each level with events
    size_t m_next = 0;                        ///< index of the next event of the present
    size_t m_size = 0;
    TimeNs m_present = 0;
};

} // namespace legacy::fabric

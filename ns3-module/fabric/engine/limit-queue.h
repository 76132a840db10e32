// The open connections of a progressive filling in the order of their own limits. Internal to
// fabric/.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace legacy::fabric
{

/// A LimitQueue gives connections out once a level has reached their limits. It orders them when
/// the level reaches the lowest limit of those that it was given, and not before.
class LimitQueue
{
  public:
    void Clear()
    {
        m_unsorted.clear();
        m_limits.clear();
        m_lowest = std::numeric_limits<double>::infinity();
        m_highest = 0;
    }

    void Add(int connection, double limit)
    {
        m_unsorted.push_back(connection);
        m_lowest = std::min(m_lowest, limit);
        m_highest = std::max(m_highest, limit);
    }

    /// Returns the highest limit of all that were added.
    double Highest() const
    {
        return m_highest;
    }

    /// Calls freeze(connection, limit) for the connections whose limits are not above the level,
    /// the lowest first. `isOpen` says which still count, and `limitOf` what their limits are now.
    template <typename IsOpen, typename LimitOf, typename Freeze>
    void TakeUpTo(double level, const IsOpen& isOpen, const LimitOf& limitOf, const Freeze& freeze)
    {
        if (m_lowest <= level)
        {
            m_lowest = std::numeric_limits<double>::infinity();
            for (int connection : m_unsorted)
            {
                if (isOpen(connection))
                {
                    m_limits.emplace_back(limitOf(connection), connection);
                }
            }
            m_unsorted.clear();
            std::make_heap(m_limits.begin(), m_limits.end(), std::greater<>());
        }
        while (!m_limits.empty() && m_limits.front().first <= level)
        {
            const auto [limit, connection] = m_limits.front();
            std::pop_heap(m_limits.begin(), m_limits.end(), std::greater<>());
            m_limits.pop_back();
            if (isOpen(connection))
            {
                freeze(connection, limit);
            }
        }
    }

  private:
    std::vector<int> m_unsorted;                  ///< connections that were added of late
    std::vector<std::pair<double, int>> m_limits; ///< the others by limit, lowest first
    double m_lowest = std::numeric_limits<double>::infinity(); ///< of m_unsorted
    double m_highest = 0;
};

} // namespace legacy::fabric

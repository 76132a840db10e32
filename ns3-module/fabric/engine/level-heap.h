// The order in which a progressive filling visits links. Internal to fabric/.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace legacy::fabric
{

/// A LevelHeap has links with lower bounds of the levels at which something happens there, the
/// lowest first. A link may have several entries, of which one counts.
class LevelHeap
{
  public:
    using Entry = std::pair<double, int>; ///< level, link

    bool Empty() const
    {
        return m_entries.empty();
    }

    const Entry& First() const
    {
        return m_entries.front();
    }

    void Push(double level, int link)
    {
        m_entries.emplace_back(level, link);
        std::push_heap(m_entries.begin(), m_entries.end(), std::greater<>());
    }

    void PopFirst()
    {
        std::pop_heap(m_entries.begin(), m_entries.end(), std::greater<>());
        m_entries.pop_back();
    }

    /// Gives the first entry another level.
    void ReplaceFirst(double level)
    {
        Sink(Entry(level, m_entries.front().second));
    }

    /// Takes the first entry out, as ReplaceFirst would order what is left.
    void DropFirst()
    {
        const Entry last = m_entries.back();
        m_entries.pop_back();
        Sink(last);
    }

    /// Takes out the entries for which `drops` is true.
    template <typename Drops>
    void DropIf(const Drops& drops)
    {
        m_entries.erase(std::remove_if(m_entries.begin(), m_entries.end(), drops), m_entries.end());
        std::make_heap(m_entries.begin(), m_entries.end(), std::greater<>());
    }

  private:
    /// Puts an entry in the place of the first, and moves it to where it belongs.
    void Sink(const Entry& entry)
    {
        size_t hole = 0;
        for (size_t child = 1; child < m_entries.size(); child = 2 * hole + 1)
        {
            child +=
                child + 1 < m_entries.size() && m_entries[child + 1] < m_entries[child] ? 1 : 0;
            if (entry <= m_entries[child])
            {
                break;
            }
            m_entries[hole] = m_entries[child];
            hole = child;
        }
        if (!m_entries.empty())
        {
            m_entries[hole] = entry;
        }
    }

    std::vector<Entry> m_entries;
};

} // namespace legacy::fabric

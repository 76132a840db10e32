/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_NUMBERS_BY_NAME_H
#define LEGACY_NUMBERS_BY_NAME_H

#include "fabric/engine/connection.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Numbers of connections by their names: a sorted vector for each source, with 16 bytes a name.
 */
class NumbersByName
{
  public:
    using Name = fabric::ConnectionName;

    static constexpr uint32_t kNone = UINT32_MAX;

    /**
     * \param name of a connection
     * \return its number; kNone: the name is not known
     */
    uint32_t Find(const Name& name) const
    {
        const auto source = static_cast<std::size_t>(name.source);
        if (source >= m_entries.size())
        {
            return kNone;
        }
        const auto at = Place(m_entries[source], name);
        return IsAt(source, at, name) ? at->number : kNone;
    }

    /**
     * Gives a name a number, whether or not it has one.
     * \param name of a connection
     * \param number of the connection
     */
    void Set(const Name& name, uint32_t number)
    {
        const auto source = static_cast<std::size_t>(name.source);
        m_entries.resize(std::max(m_entries.size(), source + 1));
        const auto at = Place(m_entries[source], name);
        if (IsAt(source, at, name))
        {
            at->number = number;
            return;
        }
        m_entries[source].insert(at, {name.id, name.destination, number});
    }

    /**
     * Forgets a name.
     * \param name of a connection
     * \return its number; kNone: the name was not known
     */
    uint32_t Take(const Name& name)
    {
        const uint32_t number = Find(name);
        if (number != kNone)
        {
            std::vector<Entry>& entries = m_entries[static_cast<std::size_t>(name.source)];
            entries.erase(Place(entries, name));
        }
        return number;
    }

    /**
     * \param source a node
     * \param destination a node
     * \return number of names between the nodes
     */
    uint32_t CountBetween(int source, int destination) const
    {
        uint32_t count = 0;
        if (static_cast<std::size_t>(source) < m_entries.size())
        {
            const auto& entries = m_entries[static_cast<std::size_t>(source)];
            for (auto at = Place(entries, {source, destination, 0});
                 at != entries.end() && at->destination == destination;
                 ++at)
            {
                ++count;
            }
        }
        return count;
    }

    /**
     * \return all names, in ascending order
     */
    std::vector<Name> All() const
    {
        std::vector<Name> names;
        for (std::size_t source = 0; source < m_entries.size(); ++source)
        {
            for (const Entry& entry : m_entries[source])
            {
                names.push_back({static_cast<int>(source), entry.destination, entry.id});
            }
        }
        return names;
    }

  private:
    /// A name without its source, and its number.
    struct Entry
    {
        fabric::ConnectionId id{0};
        int destination{0};
        uint32_t number{0};
    };

    /// Returns the place of a name among those of its source.
    template <typename Entries>
    static auto Place(Entries& entries, const Name& name) -> decltype(entries.begin())
    {
        return std::lower_bound(entries.begin(),
                                entries.end(),
                                name,
                                [](const Entry& entry, const Name& sought) {
                                    return std::tie(entry.destination, entry.id) <
                                           std::tie(sought.destination, sought.id);
                                });
    }

    template <typename Iterator>
    bool IsAt(std::size_t source, Iterator at, const Name& name) const
    {
        return at != m_entries[source].end() && at->destination == name.destination &&
               at->id == name.id;
    }

    std::vector<std::vector<Entry>> m_entries; //!< by source, ascending by destination and number
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_NUMBERS_BY_NAME_H

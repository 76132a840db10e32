/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_WAY_H
#define LEGACY_WAY_H

#include "fabric/topology/topology.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace legacy
{
namespace packet
{

/// A Way has the links that a queue pair's data and ACKs take, in one array.
class Way
{
  public:
    /// Sets the links of data and those of ACKs, at least one of each.
    void Set(const std::vector<fabric::DirectedLink>& forth,
             const std::vector<fabric::DirectedLink>& back)
    {
        m_links = std::make_unique<fabric::DirectedLink[]>(forth.size() + back.size());
        std::copy(back.begin(), back.end(), std::copy(forth.begin(), forth.end(), m_links.get()));
        m_forth = static_cast<uint16_t>(forth.size());
        m_all = static_cast<uint16_t>(forth.size() + back.size());
    }

    /// Return the ends of the range of links that data take.
    const fabric::DirectedLink* begin() const
    {
        return m_links.get();
    }

    const fabric::DirectedLink* end() const
    {
        return m_links.get() + m_forth;
    }

    /// Returns the port through which data leave their NIC.
    fabric::DirectedLink First() const
    {
        return m_links[0];
    }

    /// Returns the port through which ACKs leave their NIC.
    fabric::DirectedLink FirstBack() const
    {
        return m_links[m_forth];
    }

    /// Returns the links that ACKs take.
    std::vector<fabric::DirectedLink> Back() const
    {
        return {m_links.get() + m_forth, m_links.get() + m_all};
    }

    /// Returns the link that data, or ACKs, take after `hop` others; `end` if there is none.
    fabric::DirectedLink At(bool data, std::size_t hop, fabric::DirectedLink end) const
    {
        const std::size_t at = hop + (data ? 0 : m_forth);
        return at < (data ? m_forth : m_all) ? m_links[at] : end;
    }

  private:
    std::unique_ptr<fabric::DirectedLink[]> m_links;
    uint16_t m_forth{0};
    uint16_t m_all{0};
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_WAY_H

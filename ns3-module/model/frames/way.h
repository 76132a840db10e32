/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_WAY_H
#define LEGACY_WAY_H

#include "fabric/topology/topology.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace legacy
{
namespace packet
{

/// A Way has the links that a queue pair's data and ACKs take, in one array. It lies in the Way
/// itself if it is short, as on a star.
class Way
{
  public:
    Way() = default;

    Way(Way&& other) noexcept
        : m_links(other.m_links),
          m_forth(std::exchange(other.m_forth, 0)),
          m_all(std::exchange(other.m_all, 0))
    {
    }

    Way& operator=(Way&&) = delete;

    ~Way()
    {
        if (m_all > kInside)
        {
            delete[] m_links.outside;
        }
    }

    /// Sets the links of data and those of ACKs, at least one of each, once.
    void Set(const std::vector<fabric::DirectedLink>& forth,
             const std::vector<fabric::DirectedLink>& back)
    {
        m_forth = static_cast<uint16_t>(forth.size());
        m_all = static_cast<uint16_t>(forth.size() + back.size());
        fabric::DirectedLink* links = m_links.inside;
        if (m_all > kInside)
        {
            links = m_links.outside = new fabric::DirectedLink[m_all];
        }
        std::copy(back.begin(), back.end(), std::copy(forth.begin(), forth.end(), links));
    }

    /// Return the ends of the range of links that data take.
    const fabric::DirectedLink* begin() const
    {
        return m_all > kInside ? m_links.outside : m_links.inside;
    }

    const fabric::DirectedLink* end() const
    {
        return begin() + m_forth;
    }

    /// Returns the port through which data leave their NIC.
    fabric::DirectedLink First() const
    {
        return *begin();
    }

    /// Returns the port through which ACKs leave their NIC.
    fabric::DirectedLink FirstBack() const
    {
        return *end();
    }

    /// Returns the links that ACKs take.
    std::vector<fabric::DirectedLink> Back() const
    {
        return {end(), begin() + m_all};
    }

    /// Returns the link that data, or ACKs, take after `hop` others; `end` if there is none.
    fabric::DirectedLink At(bool data, std::size_t hop, fabric::DirectedLink end) const
    {
        const std::size_t at = hop + (data ? 0 : m_forth);
        return at < (data ? m_forth : m_all) ? begin()[at] : end;
    }

  private:
    static constexpr std::size_t kInside = 4;

    union
    {
        fabric::DirectedLink inside[kInside];
        fabric::DirectedLink* outside;
    } m_links{};

    uint16_t m_forth{0};
    uint16_t m_all{0};
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_WAY_H

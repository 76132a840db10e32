/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_TURNS_H
#define LEGACY_TURNS_H

#include "fabric/engine/connection.h"
#include "fabric/topology/topology.h"

#include <cstddef>
#include <vector>

namespace legacy
{
namespace packet
{

/// A Turn belongs to a node that frames of a connection with several paths pass, and has the links
/// that the node uses in turn.
struct Turn
{
    int node{0};
    std::vector<fabric::DirectedLink> links;
    std::size_t first{0}; //!< index of the link that ECMP chooses
    std::size_t next{0};
};

/// Turns are those of all nodes that frames of a connection may pass.
class Turns
{
  public:
    /**
     * Finds the nodes and their links. Each begins with the link that ECMP chooses.
     * \param topology a network that sprays
     * \param name of the connection
     */
    void Find(const fabric::Topology& topology, const fabric::ConnectionName& name);
    /**
     * \return true unless all frames take the way of ECMP
     */
    bool Any() const
    {
        return !m_turns.empty();
    }
    /**
     * \param node that frames may pass
     * \return its links
     */
    const std::vector<fabric::DirectedLink>& LinksOf(int node) const;
    /**
     * \param node where a frame is, which is not the end of its way
     * \return the link that it takes
     */
    fabric::DirectedLink Next(int node);
    /// Makes every node begin with the link that ECMP chooses.
    void Renew();

  private:
    std::vector<Turn> m_turns; //!< by node
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_TURNS_H

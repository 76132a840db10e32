// Routing has shortest-path tables of a topology (by hops, or by weight; hosts do not forward), one
// for each node that flows end at. What hangs on the rest by a single link, as hosts on their
// switch and homes on the line of an access network, has one way in and out: it shares the table of
// the node that it hangs on, and has no entry of its own anywhere. A table is one bit for each
// directed link between the other nodes, set where the link is a next hop. A fat-tree of k = 32 has
// 8,192 hosts and 512 tables of 4 KiB; a million homes with lines of their own have one table
// without bits. Tables are made on first use; any number of threads may ask.
#pragma once

#include "topology.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace legacy::fabric
{

/// A Routing answers which links lead from a node to a destination.
class Routing
{
  public:
    explicit Routing(const Topology& topology);

    static constexpr DirectedLink kNone = -1;

    /// Returns all next hops of `node` to `destination`, ascending; empty where there is no path.
    std::vector<DirectedLink> NextHops(int node, int destination) const;
    /// Returns the next hop that `hash` chooses, each with the same probability; kNone where there
    /// is no path.
    DirectedLink Choose(int node, int destination, uint64_t hash) const;

  private:
    using Words = std::unique_ptr<uint64_t[]>;

    /// Sets m_access and m_holder.
    void FindHanging(const Topology& topology);
    /// Returns the node whose table leads to `destination`: what it hangs on, or itself.
    int Anchor(int destination) const;
    const uint64_t* Table(int anchor) const;
    Words MakeTable(int anchor) const;
    Words MakeTableByWeight(int anchor) const;
    /// Returns the only next hop, where neither choice nor table is needed; kNone elsewhere.
    DirectedLink OnlyHop(int node, int destination) const;
    /// Returns the bits of `node` from its link number `first` on, and how many they are.
    uint64_t Bits(const uint64_t* table, int node, int first, int& count) const;
    int Size(const uint64_t* table, int node) const;

    std::vector<char> m_forwards; ///< true where a node forwards, by node
    /// By node, the link to a node that hangs on a switch by it; kNone for other nodes.
    std::vector<DirectedLink> m_access;
    std::vector<int> m_holder;       ///< switch of each such node, which may hang on another one
    std::vector<int> m_first;        ///< start of each node's range in m_out and m_to, and the end
    std::vector<DirectedLink> m_out; ///< links that have bits, by node, ascending
    std::vector<int> m_to;           ///< nodes that they lead to
    std::vector<int> m_weight;       ///< their weights; empty where all are 1
    std::vector<int> m_bit;          ///< bit of each directed link
    mutable std::mutex m_making;     ///< locked while a table is made
    mutable std::vector<Words> m_tables; ///< tables by anchor
    mutable std::vector<std::atomic<const uint64_t*>> m_ready;
};

} // namespace legacy::fabric

// Max-min fair rates of connections over links, kept while connections start and stop (Bertsekas,
// Gallager, Data Networks, section 6.5.2).
//
// The program. Connection c, which the literature calls a flow, has a rate x_c and a limit l_c of
// its own, and sends the fraction s_cl of its rate over link l, whose capacity is C_l:
//
//   maximise    the sorted vector of all x_c, lowest rate first, in lexicographic order
//   subject to  0 <= x_c <= l_c                         for each running connection c
//               sum over the c on l of s_cl x_c <= C_l  for each link l
//
// So the lowest rate is as high as it can be, then the next lowest, and so on. The solution is
// unique.
//
// The invariant. Feasible rates are the solution if and only if each running connection runs at its
// limit, or crosses a full link on which no connection is faster: its bottleneck. After Solve each
// connection meets this condition, and knows its bottleneck or that it runs at its limit. The load
// of each shared link is the sum of s_cl x_c on it.
//
// A change (Start, Stop, SetCapacity, SetLimit) is solved by one progressive filling that visits
// only what the change reaches. The filling has a level, which rises from 0: a connection is frozen
// once the level is at its rate. Connections keep the rates of the solution before, and so count as
// frozen at those, until they are opened: those that started, and later those that the filling
// finds to be wrong. Links of open connections are touched, as are those that a change freed. In
// the order of levels, of all touched links, one of three things happens.
//
//   - At the level at which the link is full, with its connections at their rates or at that level
//     where it is lower, its open connections freeze, and those that kept more are brought down.
//   - At the rate of the connections that kept this link as their bottleneck, the link is not full:
//     they are opened.
//   - An open connection is at its own limit, and freezes there.
//
// What lies below the level is final: a connection that is opened or brought down has kept a rate
// that is no lower than the level, so the links that it touches have their events at or above it.
// Untouched links have the loads, and connections that are never opened the rates, that a filling
// from the start would give them.
//
// The cost of a change. Where a connection starts and every shared link on its path has room, or
// stops and is on no bottleneck, no other rate changes and nothing is solved. Otherwise a filling
// that opens connections with h hops, on links with m running connections that it freezes or opens,
// costs O(h + m + e log l) for e events on l touched links. Connections and links that it does not
// reach cost nothing.
//
// Many connections. Where thousands of connections run, each end of one reaches most of the others,
// whose rates change by less the further away they are. There the filling leaves the level of a
// link as it is, with the connections that have it as their bottleneck, where the link would be
// full within 2 % of that level. The error does not add up, as whatever touches the link looks at
// its whole load again.
//
// Example: a crosses link A (capacity 10), b crosses A and B (capacity 4), c crosses B, each with
// its whole rate and no limit that matters. B is the bottleneck of b and c, as its fair share of 2
// is the lowest; a has the 8 that are left of A. When c stops, B is touched. At level 2 it is not
// full, so b is opened, which touches A: it would be full at 5, with a at no more than that. B is
// full at 4, and freezes b there. A has 6 left and is full at that level, which is below the 8 that
// a has kept, so a is brought down to it.
#pragma once

#include "max-min-state.h"
#include "progressive-filling.h"

#include <cstdint>
#include <vector>

namespace legacy::fabric
{

/// A MaxMin keeps the rates of all connections over a fixed set of links.
class MaxMin
{
  public:
    using Use = MaxMinState::Use;

    /// `capacities` are those of the links, >= 0, in any unit of rate. While
    /// more than `many` connections run, rates are fair within 2 %.
    explicit MaxMin(const std::vector<double>& capacities, int many = 1024);

    /// Adds a connection, at rest and not on its links, and returns its number. `limit` > 0 is the
    /// highest rate of its own.
    int Add(const std::vector<Use>& uses, double limit);

    /// Puts a connection on its links, so that it may start. A link with only one connection on it
    /// is private: it limits that one, and is not contended for.
    void Join(int connection);
    void Leave(int connection); ///< takes it off its links; it is at rest

    void Start(int connection); ///< starts it; it has joined and is at rest
    void Stop(int connection);  ///< stops it; it is running
    void SetCapacity(int link, double capacity);
    void SetLimit(int connection, double limit); ///< `limit` > 0 is its highest rate from now on

    bool Pending() const; ///< true where Solve has something to do

    /// Makes all rates fair. Returns the connections whose rates changed, each once. The result is
    /// valid until the next call.
    const std::vector<int>& Solve();

    /// Returns the rate that Solve found. It is 0 at rest, over a link without capacity, and right
    /// after Start where it has to be solved.
    double Rate(int connection) const;
    double PeakRate(int connection) const; ///< highest rate that it ever had
    double PeakLoad(int link) const;       ///< highest load while the link was contended for

  private:
    MaxMinState& State()
    {
        return m_filling.State();
    }

    void Share(int link);
    bool FitsIn(int connection, double rate);
    void Load(int connection, double rate);
    void MarkDirty(int link);
    void OpenDirty(int link);
    void SortChanged();

    ProgressiveFilling m_filling;
    std::vector<int> m_dirty;      ///< links to solve
    std::vector<int> m_seeds;      ///< connections to solve whatever their links say
    std::vector<int> m_changed;    ///< Solve's result
    std::vector<uint64_t> m_marks; ///< a bit for each connection, to sort them
};

} // namespace legacy::fabric

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
// A change (Start, Stop, SetCapacity, SetLimit) is solved for a set of connections, with the rates
// of all others fixed. The set begins with the connections that the change reaches: the one that
// started, or those whose bottleneck has room now. Progressive filling raises the rates of the set
// together. The link with the lowest fair share, room / weight, freezes the rates of its
// connections at that share; a connection whose limit is lower freezes at its limit. Connections
// outside that now break the condition on a link of the set join it, and the set is filled again,
// until none joins. The set only grows, so this ends.
//
// The cost of a change. Where a connection starts and every shared link on its path has room, or
// stops and is on no bottleneck, no other rate changes and nothing is solved. Otherwise one filling
// of a set that crosses h hops and links with m running connections costs O(h log h + m):
// connections are sorted by limit, links come from a heap, and the condition is checked on all m.
// Connections and links that the set does not reach cost nothing.
//
// Example: a crosses link A (capacity 10), b crosses A and B (capacity 4), c crosses B, each with
// its whole rate and no limit that matters. B is the bottleneck of b and c, as its fair share of 2
// is the lowest; a has the 8 that are left of A. When c stops, B has room, and b is solved with a
// fixed at 8: A leaves it 2. Now a is faster than b on the full link A, which breaks a's condition,
// so a joins. Solved together, b has 4, all of B, and a has 6, the rest of A.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace legacy::fabric
{

/// A MaxMin keeps the rates of all connections over a fixed set of links.
class MaxMin
{
  public:
    /// A Use says that a connection crosses a link with a fraction of its rate.
    struct Use
    {
        int link = 0;
        double share = 1; ///< (0, 1]
    };

    /// `capacities` are those of the links, >= 0, in any unit of rate.
    explicit MaxMin(std::vector<double> capacities);

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
    static constexpr int kNone = -1;

    /// A Hop is one connection's entry in the list of a link.
    struct Hop
    {
        int link = 0;
        int place = kNone; ///< position in LinkState::running; kNone: it is not there
        double share = 1;
    };

    // Solving reads and writes the structs below only, which keeps its data close together in
    // memory.

    struct Flow
    {
        double limit = 0; ///< the connection's own limit, and that of private links
        double rate = 0;
        double before = 0; ///< the rate before it was solved
        double peak = 0;
        int firstHop = 0;
        int hops = 0;
        int bottleneck = kNone;
        int contended = 0; ///< hops in the lists of their links
        /// Value of m_version at which all links were private; while it is m_version, `limit` is
        /// valid.
        uint64_t aloneAsOf = 0;
        bool running = false;
        bool inSet = false;  ///< true while it is being solved
        bool frozen = false; ///< while solving: true once its rate is fixed
    };

    struct Member
    {
        int connection = 0;
        int hop = 0;
        double share = 1;
    };

    /// A Share is the part of a link that the connections being solved have.
    struct Share
    {
        double room = 0;   ///< capacity that the others leave
        double weight = 0; ///< sum of their shares of the link
        double most = 0;   ///< their load if each ran at its limit
        int count = 0;
    };

    struct LinkState
    {
        double capacity = 0;
        double load = 0;
        std::vector<Member> running; ///< running connections; empty for a private link
        Share set;                   ///< while solving: the part of the whole set
        Share open;                  ///< while solving: the part of connections not frozen
        int bottlenecked = 0;        ///< number of running connections that it limits
        int joined = 0;              ///< number of connections on the link
        bool inSet = false;          ///< true while a connection being solved crosses it
        bool binding = false;        ///< while solving: true where it could limit one
        bool dirty = false;          ///< true while it is in m_dirty
        bool moved = false;          ///< true where its capacity changed since the last Solve
        double peak = 0;
        /// Sum of the numbers of its connections. Where one is left, this is its number.
        int64_t joinedSum = 0;
    };

    void Enter(int connection, int hop);
    void Exit(int hop);
    void MarkDirty(int link);
    void SetBottleneck(Flow& flow, int link);
    void FindLimit(int connection);
    void Include(int connection);
    void IncludeSeed(int connection);
    void IncludeDirty(int link);
    void OpenLinks();
    double LowestShare(int& link);
    double LowestOfFew(int& link) const;
    double LowestOfHeap(int& link);
    void FreezeAll(int link, double rate);
    void Fill();
    void Freeze(int connection, double rate, int bottleneck);
    bool IncludeViolators();
    void IncludeViolatorsOn(int link);

    std::vector<LinkState> m_linkStates;
    std::vector<Flow> m_flows;
    std::vector<Hop> m_hops;
    /// Counts the changes of limits and of which links are private.
    uint64_t m_version = 1;
    std::vector<double> m_ownLimits;            ///< limits by connection
    std::vector<int> m_dirty;                   ///< dirty links
    std::vector<int> m_seeds;                   ///< connections to solve whatever their links say
    std::vector<int> m_set;                     ///< connections being solved
    std::vector<int> m_links;                   ///< contended links that they cross
    std::vector<int> m_binding;                 ///< those that could limit them
    std::vector<int> m_changed;                 ///< Solve's result
    std::vector<std::pair<double, int>> m_heap; ///< fair share, link; the lowest first
};

} // namespace legacy::fabric

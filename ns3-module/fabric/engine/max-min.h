// Max-min fair rates of connections over links, kept while connections start and stop (Bertsekas,
// Gallager, Data Networks, section 6.5.2).
//
// Connection c has rate x_c, a limit l_c of its own, and sends the fraction s_cl of its rate over
// link l of capacity C_l. Rates are feasible where x_c <= l_c, and the sum of s_cl x_c over the
// connections on l is at most C_l. Of all feasible rates the max-min fair ones make the lowest rate
// as high as it can be, then the next lowest, and so on. They are the only ones that meet this
// condition: each connection runs at its own limit, or crosses a full link on which none is faster,
// its bottleneck.
//
// A change (Start, Stop, SetCapacity) is solved for a set of connections: those that it reaches,
// with the rates of all others fixed. Filling raises the set's rates together; the link with the
// lowest fair share, room / weight, fixes the rates of its connections, and so does a limit. Others
// that then break the condition join the set, and the set is solved again, until none does. So a
// change costs time in proportion to the links that the set crosses, and not to all connections.
//
// Example: a crosses link A (capacity 10), b crosses A and B (capacity 4), c crosses B. B is the
// bottleneck of b and c, which have 2 each; a has the 8 that are left of A. When c stops, b is
// solved with a fixed at 8, and A leaves it 2. But a is faster on the full link A, so a joins;
// solved together b has 4, all of B, and a has 6.
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

    /// `capacities` are those of the links, > 0, in any unit of rate.
    explicit MaxMin(std::vector<double> capacities);

    /// Adds a connection, at rest and not on its links, and returns its number. `limit` > 0 is the
    /// highest rate of its own.
    int Add(const std::vector<Use>& uses, double limit);

    /// Puts a connection on its links, so that it may start. A link with only one connection on it
    /// is private: it limits that one, and is not contended for.
    void Join(int connection);
    void Leave(int connection); ///< takes it off its links; it is at rest

    void Start(int connection); ///< it has joined and is at rest
    void Stop(int connection);  ///< it is running
    void SetCapacity(int link, double capacity);

    bool Pending() const; ///< true where Solve has something to do

    /// Makes all rates fair. Returns the connections whose rates changed, each once. The result is
    /// valid until the next call.
    const std::vector<int>& Solve();

    /// Returns the rate that Solve found. It is 0 at rest, and 0 right after Start where it has to
    /// be solved.
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

    // What solving touches is kept close together.

    struct Flow
    {
        double limit = 0; ///< the connection's own limit, and that of private links
        double rate = 0;
        double before = 0; ///< the rate before it was solved
        double peak = 0;
        int firstHop = 0;
        int hops = 0;
        int bottleneck = kNone;
        int contended = 0;      ///< hops in the lists of their links
        uint64_t aloneAsOf = 0; ///< == m_version: all its links are private, `limit` holds
        bool running = false;
        bool inSet = false;  ///< is being solved
        bool frozen = false; ///< while solving: has its rate
    };

    struct Member
    {
        int connection = 0;
        int hop = 0;
        double share = 1;
    };

    /// A Share is what the connections that are being solved have of a link.
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
        std::vector<Member> running; ///< of shared links; private ones keep none
        Share set;                   ///< while solving: what the set has to share
        Share open;                  ///< while solving: what is left of it
        int bottlenecked = 0;        ///< running connections that it limits
        int joined = 0;              ///< connections on the link
        bool inSet = false;          ///< is crossed by a connection being solved
        bool binding = false;        ///< while solving: could limit one
        bool dirty = false;          ///< is in m_dirty
        bool moved = false;          ///< its capacity changed since the last Solve
        double peak = 0;
        int64_t joinedSum = 0; ///< sum of the numbers of its connections: with one left, that one
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
    uint64_t m_version = 1;                     ///< counts whatever changes limits and who is alone
    std::vector<double> m_ownLimits;            ///< by connection
    std::vector<int> m_dirty;                   ///< links
    std::vector<int> m_seeds;                   ///< connections to solve whatever their links say
    std::vector<int> m_set;                     ///< connections being solved
    std::vector<int> m_links;                   ///< contended links that they cross
    std::vector<int> m_binding;                 ///< those that could limit them
    std::vector<int> m_changed;                 ///< Solve's result
    std::vector<std::pair<double, int>> m_heap; ///< fair share, link; the lowest first
};

} // namespace legacy::fabric

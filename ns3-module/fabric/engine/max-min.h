// Max-min fair rates, kept while connections start and stop (Bertsekas, Gallager, Data Networks,
// section 6.5.2). A change is solved for the connections that it reaches and no others: those are
// solved again with all others held, and whoever then breaks the condition of fairness joins them,
// until nobody does.
//
// The condition: each connection runs at its own limit, or crosses a full link on which none is
// faster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace legacy::fabric
{

class MaxMin
{
  public:
    /// A link that a connection crosses, and the fraction of its rate that does.
    struct Use
    {
        int link = 0;
        double share = 1; ///< (0, 1]
    };

    /// `capacities` of the links, > 0, in any unit of rate.
    explicit MaxMin(std::vector<double> capacities);

    /// A new connection, at rest, not on its links. `limit`: the highest rate of its own, > 0.
    int Add(const std::vector<Use>& uses, double limit);

    /// A connection on its links may start. A link with only one on it is private: it limits that
    /// one and cannot be contended for.
    void Join(int connection);
    void Leave(int connection); ///< at rest

    void Start(int connection); ///< joined and at rest
    void Stop(int connection);  ///< running
    void SetCapacity(int link, double capacity);

    bool Pending() const; ///< Solve has something to do

    /// Makes all rates fair. Returns the connections whose rates changed, each once; valid until
    /// the next call.
    const std::vector<int>& Solve();

    /// As of Solve; right after Start 0 where it has to be solved; 0 at rest.
    double Rate(int connection) const;
    double PeakRate(int connection) const; ///< highest that it ever had
    double PeakLoad(int link) const;       ///< highest while the link was contended for

  private:
    static constexpr int kNone = -1;

    /// One connection's place in the list of a link.
    struct Hop
    {
        int link = 0;
        int place = kNone; ///< in LinkState::running; kNone: not there
        double share = 1;
    };

    // What solving touches is kept close together.

    struct Flow
    {
        double limit = 0; ///< own, and of private links
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

    /// Of a link, of connections that are being solved.
    struct Share
    {
        double room = 0;   ///< capacity that others leave
        double weight = 0; ///< their shares
        double most = 0;   ///< load at their limits
        int count = 0;
    };

    struct LinkState
    {
        double capacity = 0;
        double load = 0;
        std::vector<Member> running; ///< of shared links; private ones keep none
        Share set;                   ///< while solving: what the set has to share
        Share open;                  ///< while solving: what is left of it to share
        int bottlenecked = 0;        ///< running connections that it limits
        int joined = 0;              ///< connections on the link
        bool inSet = false;          ///< is crossed by a connection being solved
        bool binding = false;        ///< while solving: could limit one
        bool dirty = false;          ///< is in m_dirty
        bool moved = false;          ///< its capacity changed since the last Solve
        double peak = 0;
        int64_t joinedSum = 0; ///< of their numbers: with one left, that one
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

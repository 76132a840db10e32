// What MaxMin knows between two solutions: connections, the links that they cross, their rates, and
// the link that limits each. Internal to fabric/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace legacy::fabric
{

/// A MaxMinState has connections and links by their numbers. Links with only one connection on them
/// are private: they have no list of running connections, and are part of that one's limit.
class MaxMinState
{
  public:
    static constexpr int kNone = -1;

    /// A Use says that a connection crosses a link with a fraction of its rate.
    struct Use
    {
        int link = 0;
        double share = 1; ///< (0, 1]
    };

    /// A Hop is one connection's entry in the list of a link.
    struct Hop
    {
        int link = 0;
        int place = kNone; ///< position in Link::running; kNone: it is not there
        double share = 1;
    };

    /// What solving has found of a connection. `kKept` is the state between solutions.
    enum class Progress : uint8_t
    {
        kKept, ///< it has the rate of the solution before
        kOpen,
        kFrozen
    };

    /// What solving reads of connections, at random places.
    struct Rated
    {
        double rate = 0;
        int bottleneck = kNone; ///< hop; kNone: the connection runs at its limit
        Progress progress = Progress::kKept;
    };

    struct Connection
    {
        double limit = 0;  ///< the connection's own limit, and that of private links
        double before = 0; ///< the rate before it was solved
        double peak = 0;
        int firstHop = 0;
        int hops = 0;
        int contended = 0; ///< hops in the lists of their links
        bool running = false;
        /// Value of `version` at which all links were private; while it is `version`, `limit` is
        /// valid.
        uint64_t aloneAsOf = 0;

        int EndHop() const
        {
            return firstHop + hops;
        }
    };

    struct Member
    {
        int connection = 0;
        int hop = 0;
        double share = 1;
    };

    struct Link
    {
        double capacity = 0;
        double load = 0;
        double level = 0;              ///< rate of the connections that it limits
        std::vector<Member> running;   ///< running connections; empty for a private link
        int bottlenecked = 0;          ///< number of running connections that it limits
        double bottleneckedShares = 0; ///< sum of their shares
        int joined = 0;                ///< number of connections on the link
        bool dirty = false;            ///< true while it waits to be solved
        bool moved = false;            ///< true where its capacity changed since the last solution
        double peak = 0;
        /// Sum of the numbers of its connections. Where one is left, this is its number.
        int64_t joinedSum = 0;
    };

    /// While more than `many` connections run, levels of links may stay as they are.
    MaxMinState(const std::vector<double>& capacities, int many);

    /// Adds a connection, at rest and not on its links, and returns its number.
    int Add(const std::vector<Use>& uses, double limit);

    /// Puts a hop of a running connection into the list of its link.
    void Enter(int connection, int hop)
    {
        std::vector<Member>& running = links[hops[hop].link].running;
        hops[hop].place = static_cast<int>(running.size());
        running.push_back(Member{connection, hop, hops[hop].share});
        ++connections[connection].contended;
    }

    /// Takes a hop out of the list of its link.
    void Exit(int hop)
    {
        std::vector<Member>& running = links[hops[hop].link].running;
        const int place = hops[hop].place;
        --connections[running[place].connection].contended;
        running[place] = running.back();
        hops[running[place].hop].place = place;
        running.pop_back();
        hops[hop].place = kNone;
    }

    /// Sets the hop that limits a connection; kNone: its limit does.
    void SetBottleneck(int connection, int hop)
    {
        int& bottleneck = rated[connection].bottleneck;
        if (bottleneck != kNone)
        {
            Link& link = links[hops[bottleneck].link];
            link.bottleneckedShares =
                --link.bottlenecked > 0 ? link.bottleneckedShares - hops[bottleneck].share : 0;
        }
        if (hop != kNone)
        {
            Link& link = links[hops[hop].link];
            ++link.bottlenecked;
            link.bottleneckedShares += hops[hop].share;
        }
        bottleneck = hop;
    }

    /// Sets a connection's limit: the least of its own limit and of those of its private links.
    void FindLimit(int connection);

    /// Returns true where the levels of links may stay, as many connections run.
    bool IsLenient() const
    {
        return running > m_many;
    }

    std::vector<Link> links;
    std::vector<Connection> connections;
    std::vector<Hop> hops;         ///< of all connections, those of one together
    std::vector<Rated> rated;      ///< by connection
    std::vector<double> ownLimits; ///< by connection
    int running = 0;               ///< number of running connections
    uint64_t version = 1;          ///< counts the changes of limits and of which links are private

  private:
    const int m_many;
};

} // namespace legacy::fabric

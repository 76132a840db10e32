// The progressive filling that makes rates max-min fair again after a change (max-min.h says how it
// goes). Internal to fabric/.
#pragma once

#include "level-heap.h"
#include "limit-queue.h"
#include "link-filling.h"
#include "max-min-state.h"

#include <vector>

namespace legacy::fabric
{

/// Relative difference below which rates and loads count as equal. It exceeds the rounding errors
/// of sums of thousands of rates.
inline constexpr double kRateTolerance = 1e-11;
/// Relative difference within which the levels of links stay, where many connections run.
inline constexpr double kNearlyEqual = 0.02;

/// Returns true where `a` exceeds `b` by more than rounding.
inline bool IsAbove(double a, double b)
{
    return a > b * (1 + kRateTolerance);
}

/// A ProgressiveFilling owns what it fills. A solution is made by touching links and opening
/// connections, and then by Solve.
class ProgressiveFilling
{
  public:
    explicit ProgressiveFilling(MaxMinState state);

    MaxMinState& State()
    {
        return m_state;
    }

    const MaxMinState& State() const
    {
        return m_state;
    }

    /// Looks at a link again, with all connections that it limits.
    LinkFilling& Touch(int link)
    {
        LinkFilling& filling = m_fillings[link];
        if (!filling.touched)
        {
            const MaxMinState::Link& state = m_state.links[link];
            filling.touched = true;
            filling.room = state.capacity - state.load + state.level * state.bottleneckedShares;
            filling.weight = state.bottleneckedShares;
            filling.pool = state.bottlenecked;
            m_links.push_back(link);
            MarkStale(link);
        }
        return filling;
    }

    /// Opens a connection that has kept its rate.
    void Open(int connection);

    /// Makes all rates fair, and adds the connections whose rates changed.
    void Solve(std::vector<int>& changed);

  private:
    void MarkStale(int link)
    {
        if (!m_fillings[link].stale)
        {
            m_fillings[link].stale = true;
            m_stale.push_back(link);
        }
    }

    /// Returns true where connections have kept the link as their bottleneck.
    bool HasKept(int link) const
    {
        return m_state.links[link].bottlenecked > 0 && !m_fillings[link].full;
    }

    /// Returns the rate of the connections that have kept the link as their bottleneck; infinity:
    /// there are none.
    double KeptLevel(int link) const
    {
        return HasKept(link) ? m_state.links[link].level : LinkFilling::kInfinity;
    }

    /// Returns a lower bound of the level at which the link is full; infinity: it is never.
    double FairShare(int link) const
    {
        const LinkFilling& filling = m_fillings[link];
        if (filling.pool > 0)
        {
            return filling.FairShare();
        }
        const double spare = m_state.IsLenient() ? kNearlyEqual : kRateTolerance;
        return filling.room < -spare * m_state.links[link].capacity ? 0 : LinkFilling::kInfinity;
    }

    /// Returns true where a link that connections have kept as their bottleneck keeps its level.
    bool Keeps(int link) const
    {
        return m_state.IsLenient() && KeepsLevel(link);
    }

    // Connections.
    void OpenLimitedBy(int link);
    void Freeze(int connection, double rate, int bottleneck);
    void BringDown(int connection, double rate, int bottleneck);
    void FreezeAtLimits(double level);

    // Links.
    bool KeepsLevel(int link) const;
    double FindShare(int link);
    bool TryCut(int link, double& level);
    void Saturate(int link, double level);
    void Keep(int link);

    // Levels.
    void Fill();
    void EnqueueStale();
    double Reach(int link, double level);
    void SetFirst(double level);
    void DropKeeping();

    void SettleLinks();
    void SettleConnections(std::vector<int>& changed);

    MaxMinState m_state;
    std::vector<LinkFilling> m_fillings; ///< by link
    std::vector<int> m_set;              ///< connections that were opened or brought down
    int m_open = 0;                      ///< number of connections that are open
    std::vector<int> m_links;            ///< touched links
    std::vector<int> m_stale; ///< links whose level may be lower than that of their entry
    LevelHeap m_heap;
    LimitQueue m_limits; ///< of open connections
};

} // namespace legacy::fabric

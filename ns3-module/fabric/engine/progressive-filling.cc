#include "progressive-filling.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace legacy::fabric
{

namespace
{

constexpr double kNoLevel = LinkFilling::kInfinity;
constexpr int kNoHop = MaxMinState::kNone;

using Progress = MaxMinState::Progress;

} // namespace

ProgressiveFilling::ProgressiveFilling(MaxMinState state)
    : m_state(std::move(state)),
      m_fillings(m_state.links.size())
{
}

void ProgressiveFilling::Solve(std::vector<int>& changed)
{
    Fill();
    SettleLinks();
    SettleConnections(changed);
    m_limits.Clear();
}

/// Updates the loads of the links that were touched.
void ProgressiveFilling::SettleLinks()
{
    for (int link : m_links)
    {
        MaxMinState::Link& state = m_state.links[link];
        LinkFilling& filling = m_fillings[link];
        if (m_state.IsLenient() && HasKept(link))
        {
            filling.room -= state.level * filling.weight;
        }
        state.load = state.capacity - filling.room;
        state.peak = std::max(state.peak, std::min(state.load, state.capacity));
        filling = LinkFilling();
    }
    m_links.clear();
}

/// Marks connections as keeping their rates, and adds those whose rates have changed to `changed`.
void ProgressiveFilling::SettleConnections(std::vector<int>& changed)
{
    for (int number : m_set)
    {
        MaxMinState::Connection& connection = m_state.connections[number];
        const double rate = m_state.rated[number].rate;
        connection.peak = std::max(connection.peak, rate);
        m_state.rated[number].progress = Progress::kKept;
        if (std::abs(rate - connection.before) > kRateTolerance * rate)
        {
            changed.push_back(number);
        }
    }
    m_set.clear();
}

void ProgressiveFilling::Open(int number)
{
    MaxMinState::Connection& connection = m_state.connections[number];
    const double rate = m_state.rated[number].rate;
    connection.before = rate;
    const bool lenient = m_state.IsLenient();
    for (int h = connection.firstHop; h < connection.EndHop(); ++h)
    {
        const MaxMinState::Hop& hop = m_state.hops[h];
        if (hop.place == kNoHop)
        {
            continue;
        }
        LinkFilling& filling = Touch(hop.link);
        if (!filling.InPool(rate, m_state.rated[number].bottleneck == h))
        {
            filling.Enter(rate, hop.share);
            MarkStale(hop.link);
        }
        else if (lenient && filling.key == kNoLevel)
        {
            MarkStale(hop.link);
        }
        ++filling.open;
    }
    ++m_open;
    m_state.rated[number].progress = Progress::kOpen;
    m_state.SetBottleneck(number, kNoHop);
    m_set.push_back(number);
    m_limits.Add(number, connection.limit);
}

/// Opens the connections that have kept the link as their bottleneck.
void ProgressiveFilling::OpenLimitedBy(int link)
{
    for (const MaxMinState::Member& member : m_state.links[link].running)
    {
        if (m_state.rated[member.connection].bottleneck == member.hop &&
            m_state.rated[member.connection].progress == Progress::kKept)
        {
            Open(member.connection);
        }
    }
}

/// Freezes an open connection. `bottleneck` is a hop, or kNone. Fair shares do not fall, so the
/// heap's entries of its links remain valid.
void ProgressiveFilling::Freeze(int number, double rate, int bottleneck)
{
    const MaxMinState::Connection& connection = m_state.connections[number];
    --m_open;
    m_state.rated[number].progress = Progress::kFrozen;
    m_state.rated[number].rate = rate;
    m_state.SetBottleneck(number, bottleneck);
    for (int h = connection.firstHop; h < connection.EndHop(); ++h)
    {
        const MaxMinState::Hop& hop = m_state.hops[h];
        if (hop.place != kNoHop)
        {
            LinkFilling& filling = m_fillings[hop.link];
            filling.Exit(rate, hop.share);
            --filling.open;
        }
    }
}

/// Freezes a connection at a rate below the one that it had kept.
void ProgressiveFilling::BringDown(int number, double rate, int bottleneck)
{
    MaxMinState::Connection& connection = m_state.connections[number];
    connection.before = m_state.rated[number].rate;
    for (int h = connection.firstHop; h < connection.EndHop(); ++h)
    {
        const MaxMinState::Hop& hop = m_state.hops[h];
        if (hop.place == kNoHop)
        {
            continue;
        }
        LinkFilling& filling = Touch(hop.link);
        if (filling.InPool(connection.before, m_state.rated[number].bottleneck == h))
        {
            filling.Exit(rate, hop.share);
        }
        else
        {
            filling.room += (connection.before - rate) * hop.share;
        }
        if (m_state.IsLenient() && filling.key == kNoLevel && HasKept(hop.link) && !Keeps(hop.link))
        {
            MarkStale(hop.link);
        }
    }
    m_state.rated[number].progress = Progress::kFrozen;
    m_state.rated[number].rate = rate;
    m_state.SetBottleneck(number, bottleneck);
    m_set.push_back(number);
}

/// Freezes the open connections whose limits are not above the level.
void ProgressiveFilling::FreezeAtLimits(double level)
{
    m_limits.TakeUpTo(
        level,
        [this](int number) { return m_state.rated[number].progress == Progress::kOpen; },
        [this](int number) { return m_state.connections[number].limit; },
        [this](int number, double limit) { Freeze(number, limit, kNoHop); });
}

/// Returns what Keeps returns if many connections run.
bool ProgressiveFilling::KeepsLevel(int link) const
{
    const double level = m_state.links[link].level;
    return HasKept(link) && m_fillings[link].cut == kNoLevel &&
           std::abs(FairShare(link) - level) <= kNearlyEqual * level;
}

/// Finds the cut such that kept rates above it are above the level at which the link is full, and
/// returns that level. Afterwards, the link's room has no rounding errors.
double ProgressiveFilling::FindShare(int link)
{
    double level = 0;
    m_fillings[link].cut = kNoLevel;
    while (!TryCut(link, level))
    {
        m_fillings[link].cut = level;
    }
    return level;
}

/// Makes the link's pool that of its cut, and finds its fair share. Returns false if the share is
/// not above all rates below the cut, or not below those above it.
bool ProgressiveFilling::TryCut(int link, double& level)
{
    const MaxMinState::Link& state = m_state.links[link];
    LinkFilling& filling = m_fillings[link];
    double load = 0;
    double weight = 0;
    int pool = 0;
    double highestBelow = 0;
    double lowestAbove = kNoLevel;
    for (const MaxMinState::Member& member : state.running)
    {
        const MaxMinState::Rated& rated = m_state.rated[member.connection];
        bool pooled = rated.progress == Progress::kOpen;
        if (rated.progress == Progress::kKept)
        {
            const bool limits = rated.bottleneck == member.hop;
            pooled = filling.InPool(rated.rate, limits);
            if (!pooled)
            {
                highestBelow = std::max(highestBelow, rated.rate);
            }
            else if (!limits)
            {
                lowestAbove = std::min(lowestAbove, rated.rate);
            }
        }
        load += pooled ? 0 : rated.rate * member.share;
        weight += pooled ? member.share : 0;
        pool += pooled ? 1 : 0;
    }
    filling.room = state.capacity - load;
    filling.weight = weight;
    filling.pool = pool;
    level = FairShare(link);
    return !IsAbove(highestBelow, level) && !IsAbove(level, lowestAbove);
}

/// Freezes the open connections of a link that is full at a level, and its connections that kept
/// higher rates.
void ProgressiveFilling::Saturate(int link, double level)
{
    MaxMinState::Link& state = m_state.links[link];
    double load = 0;
    for (const MaxMinState::Member& member : state.running)
    {
        const Progress progress = m_state.rated[member.connection].progress;
        if (progress == Progress::kOpen)
        {
            Freeze(member.connection, level, member.hop);
        }
        else if (progress == Progress::kKept &&
                 IsAbove(m_state.rated[member.connection].rate, level))
        {
            BringDown(member.connection, level, member.hop);
        }
        load += m_state.rated[member.connection].rate * member.share;
    }
    state.level = level;
    LinkFilling& filling = m_fillings[link];
    filling.room = state.capacity - load;
    filling.cut = kNoLevel;
    filling.Fill();
}

/// Freezes the open connections of a link that keeps its level.
void ProgressiveFilling::Keep(int link)
{
    const MaxMinState::Link& state = m_state.links[link];
    LinkFilling& filling = m_fillings[link];
    for (size_t i = 0; filling.open > 0; ++i)
    {
        const MaxMinState::Member member = state.running[i];
        if (m_state.rated[member.connection].progress == Progress::kOpen)
        {
            Freeze(member.connection, state.level, member.hop);
        }
    }
    filling.room -= state.level * filling.weight;
    filling.Fill();
}

/// Raises the level until nothing more can happen.
void ProgressiveFilling::Fill()
{
    EnqueueStale();
    while (true)
    {
        if (m_open == 0 && m_state.IsLenient())
        {
            DropKeeping();
        }
        const double level = m_heap.Empty() ? kNoLevel : m_heap.First().first;
        FreezeAtLimits(level);
        if (m_heap.Empty())
        {
            return;
        }
        const int link = m_heap.First().second;
        if (m_fillings[link].key != level)
        {
            m_heap.PopFirst();
            continue;
        }
        SetFirst(Reach(link, level));
        EnqueueStale();
    }
}

/// Adds a heap entry for links whose level may have fallen. A fair share above all limits limits
/// nothing, and needs none.
void ProgressiveFilling::EnqueueStale()
{
    for (int link : m_stale)
    {
        LinkFilling& filling = m_fillings[link];
        filling.stale = false;
        const bool keeps = Keeps(link);
        if (keeps && filling.open == 0)
        {
            continue;
        }
        const double kept = KeptLevel(link);
        const double level = keeps ? kept : std::min(FairShare(link), kept);
        const bool matters =
            level <= m_limits.Highest() || kept < kNoLevel || filling.cut < kNoLevel;
        if (level < filling.key && matters)
        {
            filling.key = level;
            m_heap.Push(level, link);
        }
    }
    m_stale.clear();
}

/// Handles a link at a level, which is a lower bound of the one at which something happens there.
/// Returns the next level at which something may happen; infinity: nothing will, unless the link's
/// pool changes.
double ProgressiveFilling::Reach(int link, double level)
{
    const double kept = KeptLevel(link);
    if (Keeps(link))
    {
        if (IsAbove(kept, level))
        {
            return kept;
        }
        Keep(link);
        return kNoLevel;
    }
    double share = FairShare(link);
    if (!IsAbove(share, level))
    {
        share = FindShare(link);
    }
    const double next = std::min(share, kept);
    if (IsAbove(next, level))
    {
        return next;
    }
    if (IsAbove(share, kept))
    {
        OpenLimitedBy(link);
        return share;
    }
    Saturate(link, share);
    return kNoLevel;
}

/// Gives the first entry of the heap another level; infinity removes it.
void ProgressiveFilling::SetFirst(double level)
{
    m_fillings[m_heap.First().second].key = level;
    if (level == kNoLevel)
    {
        m_heap.DropFirst();
    }
    else
    {
        m_heap.ReplaceFirst(level);
    }
}

/// Removes from the heap the links at which nothing happens while no connection is open.
void ProgressiveFilling::DropKeeping()
{
    m_heap.DropIf(
        [this](const LevelHeap::Entry& entry)
        {
            LinkFilling& filling = m_fillings[entry.second];
            const bool keeps = HasKept(entry.second)
                                   ? Keeps(entry.second)
                                   : filling.cut == kNoLevel && FairShare(entry.second) == kNoLevel;
            const bool current = filling.key == entry.first;
            if (keeps && current)
            {
                filling.key = kNoLevel;
            }
            return keeps || !current;
        });
}

} // namespace legacy::fabric

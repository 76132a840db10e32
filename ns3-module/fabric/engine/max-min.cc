#include "max-min.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <limits>

namespace legacy::fabric
{

namespace
{

/// Relative difference below which rates and loads count as equal. It exceeds the rounding errors
/// of sums of thousands of rates.
constexpr double kTolerance = 1e-11;
/// Relative difference within which the levels of links stay, where many connections run.
constexpr double kNearly = 0.02;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Returns true where `a` exceeds `b` by more than rounding.
bool Above(double a, double b)
{
    return a > b * (1 + kTolerance);
}

} // namespace

MaxMin::Filling::Filling() : cut(kInfinity), key(kInfinity)
{
}

MaxMin::MaxMin(std::vector<double> capacities, int many)
    : m_many(many),
      m_linkStates(capacities.size()),
      m_fillings(capacities.size())
{
    for (size_t i = 0; i < capacities.size(); ++i)
    {
        assert(capacities[i] >= 0);
        m_linkStates[i].capacity = capacities[i];
    }
}

int MaxMin::Add(const std::vector<Use>& uses, double limit)
{
    assert(limit > 0);
    Flow flow;
    flow.firstHop = static_cast<int>(m_hops.size());
    flow.hops = static_cast<int>(uses.size());
    m_ownLimits.push_back(limit);
    for (const Use& use : uses)
    {
        m_hops.push_back(Hop{use.link, kNone, use.share});
    }
    m_flows.push_back(flow);
    m_rated.emplace_back();
    return static_cast<int>(m_flows.size()) - 1;
}

void MaxMin::Join(int connection)
{
    ++m_version;
    const Flow& flow = m_flows[connection];
    for (int h = flow.firstHop; h < flow.firstHop + flow.hops; ++h)
    {
        LinkState& state = m_linkStates[m_hops[h].link];
        if (state.joined == 1)
        {
            // The link was private to another connection, and is shared from now on.
            const int other = static_cast<int>(state.joinedSum);
            const Flow& owner = m_flows[other];
            for (int g = owner.firstHop; owner.running && g < owner.firstHop + owner.hops; ++g)
            {
                if (m_hops[g].link == m_hops[h].link && m_hops[g].place == kNone)
                {
                    Enter(other, g);
                    state.load += m_rated[other].rate * m_hops[g].share;
                    // The link is no longer part of the limit.
                    FindLimit(other);
                    m_seeds.push_back(other);
                }
            }
        }
        ++state.joined;
        state.joinedSum += connection;
    }
}

void MaxMin::Leave(int connection)
{
    const Flow& flow = m_flows[connection];
    assert(!flow.running);
    ++m_version;
    for (int h = flow.firstHop; h < flow.firstHop + flow.hops; ++h)
    {
        LinkState& state = m_linkStates[m_hops[h].link];
        --state.joined;
        state.joinedSum -= connection;
    }
}

void MaxMin::Start(int connection)
{
    Flow& flow = m_flows[connection];
    assert(!flow.running);
    flow.running = true;
    ++m_running;
    if (flow.aloneAsOf == m_version)
    {
        m_rated[connection].rate = flow.limit;
        return;
    }
    for (int h = flow.firstHop; h < flow.firstHop + flow.hops; ++h)
    {
        if (m_linkStates[m_hops[h].link].joined > 1)
        {
            Enter(connection, h);
        }
    }
    FindLimit(connection);
    if (flow.contended == 0)
    {
        flow.aloneAsOf = m_version;
        m_rated[connection].rate = flow.limit;
        flow.peak = std::max(flow.peak, flow.limit);
        return;
    }
    double rate = flow.limit;
    int bottleneck = kNone;
    for (int h = flow.firstHop; h < flow.firstHop + flow.hops; ++h)
    {
        const LinkState& state = m_linkStates[m_hops[h].link];
        if (m_hops[h].place != kNone && state.running.size() == 1 &&
            rate * m_hops[h].share > state.capacity)
        {
            rate = state.capacity / m_hops[h].share;
            bottleneck = h;
            m_linkStates[m_hops[h].link].level = rate;
        }
    }
    // Where there is room on every link that other connections use, their rates do not change.
    for (int h = flow.firstHop; h < flow.firstHop + flow.hops; ++h)
    {
        const LinkState& state = m_linkStates[m_hops[h].link];
        const bool unfair = Lenient() && state.bottlenecked > 0 && Above(rate, state.level);
        if (m_hops[h].place != kNone && state.running.size() > 1 &&
            (unfair || state.load + rate * m_hops[h].share > state.capacity * (1 + kTolerance)))
        {
            m_seeds.push_back(connection);
            return;
        }
    }
    m_rated[connection].rate = rate;
    flow.peak = std::max(flow.peak, rate);
    SetBottleneck(connection, bottleneck);
    for (int h = flow.firstHop; h < flow.firstHop + flow.hops; ++h)
    {
        if (m_hops[h].place != kNone)
        {
            LinkState& state = m_linkStates[m_hops[h].link];
            state.load += rate * m_hops[h].share;
            state.peak = std::max(state.peak, state.load);
        }
    }
}

void MaxMin::Stop(int connection)
{
    Flow& flow = m_flows[connection];
    assert(flow.running);
    --m_running;
    SetBottleneck(connection, kNone);
    for (int h = flow.firstHop; flow.contended > 0; ++h)
    {
        if (m_hops[h].place == kNone)
        {
            continue;
        }
        Exit(h);
        LinkState& state = m_linkStates[m_hops[h].link];
        state.load =
            state.running.empty() ? 0 : state.load - m_rated[connection].rate * m_hops[h].share;
        if (state.bottlenecked > 0)
        {
            MarkDirty(m_hops[h].link);
        }
    }
    flow.running = false;
    m_rated[connection].rate = 0;
}

void MaxMin::SetCapacity(int link, double capacity)
{
    assert(capacity >= 0);
    LinkState& state = m_linkStates[link];
    if (capacity != state.capacity)
    {
        state.capacity = capacity;
        state.moved = true;
        ++m_version;
        MarkDirty(link);
    }
}

void MaxMin::SetLimit(int connection, double limit)
{
    assert(limit > 0);
    if (limit == m_ownLimits[connection])
    {
        return;
    }
    m_ownLimits[connection] = limit;
    m_flows[connection].aloneAsOf = 0;
    if (m_flows[connection].running)
    {
        FindLimit(connection);
        m_seeds.push_back(connection);
    }
}

bool MaxMin::Pending() const
{
    return !m_dirty.empty() || !m_seeds.empty();
}

const std::vector<int>& MaxMin::Solve()
{
    m_changed.clear();
    m_lowestLimit = kInfinity;
    m_highestLimit = 0;
    for (int link : m_dirty)
    {
        OpenDirty(link);
    }
    m_dirty.clear();
    for (int connection : m_seeds)
    {
        if (m_flows[connection].running && m_rated[connection].progress == Progress::kKept)
        {
            Open(connection);
        }
    }
    m_seeds.clear();
    Fill();
    for (int link : m_links)
    {
        LinkState& state = m_linkStates[link];
        Filling& filling = m_fillings[link];
        if (Lenient() && HasKept(link))
        {
            filling.room -= state.level * filling.weight;
        }
        state.load = state.capacity - filling.room;
        state.peak = std::max(state.peak, std::min(state.load, state.capacity));
        filling = Filling();
    }
    m_links.clear();
    for (int connection : m_set)
    {
        Flow& flow = m_flows[connection];
        const double rate = m_rated[connection].rate;
        flow.peak = std::max(flow.peak, rate);
        m_rated[connection].progress = Progress::kKept;
        if (std::abs(rate - flow.before) > kTolerance * rate)
        {
            m_changed.push_back(connection);
        }
    }
    m_set.clear();
    m_unsorted.clear();
    m_limits.clear();
    SortChanged();
    return m_changed;
}

double MaxMin::Rate(int connection) const
{
    return m_rated[connection].rate;
}

double MaxMin::PeakRate(int connection) const
{
    return m_flows[connection].peak;
}

double MaxMin::PeakLoad(int link) const
{
    return m_linkStates[link].peak;
}

void MaxMin::Enter(int connection, int hop)
{
    std::vector<Member>& running = m_linkStates[m_hops[hop].link].running;
    m_hops[hop].place = static_cast<int>(running.size());
    running.push_back(Member{connection, hop, m_hops[hop].share});
    ++m_flows[connection].contended;
}

void MaxMin::Exit(int hop)
{
    std::vector<Member>& running = m_linkStates[m_hops[hop].link].running;
    const int place = m_hops[hop].place;
    --m_flows[running[place].connection].contended;
    running[place] = running.back();
    m_hops[running[place].hop].place = place;
    running.pop_back();
    m_hops[hop].place = kNone;
}

void MaxMin::MarkDirty(int link)
{
    if (!m_linkStates[link].dirty)
    {
        m_linkStates[link].dirty = true;
        m_dirty.push_back(link);
    }
}

void MaxMin::SetBottleneck(int connection, int hop)
{
    int& bottleneck = m_rated[connection].bottleneck;
    if (bottleneck != kNone)
    {
        LinkState& state = m_linkStates[m_hops[bottleneck].link];
        state.bottleneckedShares =
            --state.bottlenecked > 0 ? state.bottleneckedShares - m_hops[bottleneck].share : 0;
    }
    if (hop != kNone)
    {
        LinkState& state = m_linkStates[m_hops[hop].link];
        ++state.bottlenecked;
        state.bottleneckedShares += m_hops[hop].share;
    }
    bottleneck = hop;
}

/// Sets the connection's limit: the least of its own limit and of those of its private links.
void MaxMin::FindLimit(int connection)
{
    Flow& flow = m_flows[connection];
    flow.limit = m_ownLimits[connection];
    for (int h = flow.firstHop; h < flow.firstHop + flow.hops; ++h)
    {
        if (m_hops[h].place == kNone)
        {
            flow.limit =
                std::min(flow.limit, m_linkStates[m_hops[h].link].capacity / m_hops[h].share);
        }
    }
}

/// Takes a link into the filling.
MaxMin::Filling& MaxMin::Touch(int link)
{
    Filling& filling = m_fillings[link];
    if (!filling.touched)
    {
        const LinkState& state = m_linkStates[link];
        filling.touched = true;
        filling.room = state.capacity - state.load + state.level * state.bottleneckedShares;
        filling.weight = state.bottleneckedShares;
        filling.pool = state.bottlenecked;
        m_links.push_back(link);
        MarkStale(link);
    }
    return filling;
}

void MaxMin::MarkStale(int link)
{
    if (!m_fillings[link].stale)
    {
        m_fillings[link].stale = true;
        m_stale.push_back(link);
    }
}

/// Touches a link that was freed, or whose capacity changed, which is the limit of its connection
/// where it has one alone.
void MaxMin::OpenDirty(int link)
{
    LinkState& state = m_linkStates[link];
    if (!state.running.empty())
    {
        Touch(link);
    }
    if (state.moved && state.joined == 1)
    {
        const auto only = static_cast<int>(state.joinedSum);
        if (m_flows[only].running && m_rated[only].progress == Progress::kKept)
        {
            FindLimit(only);
            Open(only);
        }
    }
    state.dirty = false;
    state.moved = false;
}

/// Opens a connection that has kept its rate.
void MaxMin::Open(int connection)
{
    Flow& flow = m_flows[connection];
    const double rate = m_rated[connection].rate;
    flow.before = rate;
    const bool lenient = Lenient();
    for (int h = flow.firstHop; h < flow.firstHop + flow.hops; ++h)
    {
        const Hop& hop = m_hops[h];
        if (hop.place == kNone)
        {
            continue;
        }
        Filling& filling = Touch(hop.link);
        if (!InPool(filling, rate, m_rated[connection].bottleneck == h))
        {
            filling.room += rate * hop.share;
            filling.weight += hop.share;
            ++filling.pool;
            MarkStale(hop.link);
        }
        else if (lenient && filling.key == kInfinity)
        {
            MarkStale(hop.link);
        }
        ++filling.open;
    }
    ++m_open;
    m_rated[connection].progress = Progress::kOpen;
    SetBottleneck(connection, kNone);
    m_set.push_back(connection);
    m_unsorted.push_back(connection);
    m_lowestLimit = std::min(m_lowestLimit, flow.limit);
    m_highestLimit = std::max(m_highestLimit, flow.limit);
}

/// Opens the connections that have kept the link as their bottleneck.
void MaxMin::OpenLimitedBy(int link)
{
    for (const Member& member : m_linkStates[link].running)
    {
        if (m_rated[member.connection].bottleneck == member.hop &&
            m_rated[member.connection].progress == Progress::kKept)
        {
            Open(member.connection);
        }
    }
}

/// Freezes an open connection. `bottleneck` is a hop, or kNone. Fair shares do not fall, so the
/// entries of its links in the heap are good.
void MaxMin::Freeze(int connection, double rate, int bottleneck)
{
    const Flow& flow = m_flows[connection];
    --m_open;
    m_rated[connection].progress = Progress::kFrozen;
    m_rated[connection].rate = rate;
    SetBottleneck(connection, bottleneck);
    for (int h = flow.firstHop; h < flow.firstHop + flow.hops; ++h)
    {
        const Hop& hop = m_hops[h];
        if (hop.place != kNone)
        {
            Filling& filling = m_fillings[hop.link];
            filling.room -= rate * hop.share;
            filling.weight -= hop.share;
            --filling.pool;
            --filling.open;
        }
    }
}

/// Freezes a connection at a rate below the one that it has kept.
void MaxMin::BringDown(int connection, double rate, int bottleneck)
{
    Flow& flow = m_flows[connection];
    flow.before = m_rated[connection].rate;
    for (int h = flow.firstHop; h < flow.firstHop + flow.hops; ++h)
    {
        const Hop& hop = m_hops[h];
        if (hop.place == kNone)
        {
            continue;
        }
        Filling& filling = Touch(hop.link);
        if (InPool(filling, flow.before, m_rated[connection].bottleneck == h))
        {
            filling.room -= rate * hop.share;
            filling.weight -= hop.share;
            --filling.pool;
        }
        else
        {
            filling.room += (flow.before - rate) * hop.share;
        }
        if (Lenient() && filling.key == kInfinity && HasKept(hop.link) && !Keeps(hop.link))
        {
            MarkStale(hop.link);
        }
    }
    m_rated[connection].progress = Progress::kFrozen;
    m_rated[connection].rate = rate;
    SetBottleneck(connection, bottleneck);
    m_set.push_back(connection);
}

/// Freezes the open connections of a link that is full at a level, and those that kept more.
void MaxMin::Saturate(int link, double level)
{
    LinkState& state = m_linkStates[link];
    double load = 0;
    for (const Member& member : state.running)
    {
        const Progress progress = m_rated[member.connection].progress;
        if (progress == Progress::kOpen)
        {
            Freeze(member.connection, level, member.hop);
        }
        else if (progress == Progress::kKept && Above(m_rated[member.connection].rate, level))
        {
            BringDown(member.connection, level, member.hop);
        }
        load += m_rated[member.connection].rate * member.share;
    }
    state.level = level;
    Filling& filling = m_fillings[link];
    filling.room = state.capacity - load;
    filling.weight = 0;
    filling.pool = 0;
    filling.cut = kInfinity;
    filling.full = true;
}

/// Returns true where the levels of links may stay, as many connections run.
inline bool MaxMin::Lenient() const
{
    return m_running > m_many;
}

/// Returns true where the level of a link stays that connections have kept as their bottleneck.
inline bool MaxMin::Keeps(int link) const
{
    return Lenient() && KeepsLevel(link);
}

/// Returns what Keeps does where many connections run.
bool MaxMin::KeepsLevel(int link) const
{
    const double level = m_linkStates[link].level;
    return HasKept(link) && m_fillings[link].cut == kInfinity &&
           std::abs(FairShare(link) - level) <= kNearly * level;
}

/// Freezes the open connections of a link that keeps its level.
void MaxMin::Keep(int link)
{
    LinkState& state = m_linkStates[link];
    Filling& filling = m_fillings[link];
    for (size_t i = 0; filling.open > 0; ++i)
    {
        const Member member = state.running[i];
        if (m_rated[member.connection].progress == Progress::kOpen)
        {
            Freeze(member.connection, state.level, member.hop);
        }
    }
    filling.room -= state.level * filling.weight;
    filling.weight = 0;
    filling.pool = 0;
    filling.full = true;
}

/// Returns true where connections have kept the link as their bottleneck.
inline bool MaxMin::HasKept(int link) const
{
    return m_linkStates[link].bottlenecked > 0 && !m_fillings[link].full;
}

/// Returns true where a connection that kept its rate is in the pool of a link. `limits` says that
/// the link is its bottleneck.
bool MaxMin::InPool(const Filling& filling, double rate, bool limits) const
{
    return rate > filling.cut || (limits && !filling.full);
}

/// Returns a lower bound of the level at which the link is full; infinity: it is never.
inline double MaxMin::FairShare(int link) const
{
    const Filling& filling = m_fillings[link];
    if (filling.pool > 0)
    {
        return std::max(0.0, filling.room) / filling.weight;
    }
    const double spare = Lenient() ? kNearly : kTolerance;
    return filling.room < -spare * m_linkStates[link].capacity ? 0 : kInfinity;
}

/// Returns the rate of the connections that have kept the link as their bottleneck; infinity: there
/// are none.
double MaxMin::KeptLevel(int link) const
{
    return HasKept(link) ? m_linkStates[link].level : kInfinity;
}

/// Finds the cut above which kept rates are above the level at which the link is full, and returns
/// that level. The link's room is free of rounding errors after that.
double MaxMin::FindShare(int link)
{
    const LinkState& state = m_linkStates[link];
    Filling& filling = m_fillings[link];
    filling.cut = kInfinity;
    while (true)
    {
        double load = 0;
        double weight = 0;
        int pool = 0;
        double highestBelow = 0;
        double lowestAbove = kInfinity;
        for (const Member& member : state.running)
        {
            const double rate = m_rated[member.connection].rate;
            const Progress progress = m_rated[member.connection].progress;
            bool pooled = progress == Progress::kOpen;
            if (progress == Progress::kKept)
            {
                const bool limits = m_rated[member.connection].bottleneck == member.hop;
                pooled = InPool(filling, rate, limits);
                if (!pooled)
                {
                    highestBelow = std::max(highestBelow, rate);
                }
                else if (!limits)
                {
                    lowestAbove = std::min(lowestAbove, rate);
                }
            }
            load += pooled ? 0 : rate * member.share;
            weight += pooled ? member.share : 0;
            pool += pooled ? 1 : 0;
        }
        filling.room = state.capacity - load;
        filling.weight = weight;
        filling.pool = pool;
        const double level = FairShare(link);
        if (!Above(highestBelow, level) && !Above(level, lowestAbove))
        {
            return level;
        }
        filling.cut = level;
    }
}

/// Gives links whose level may have fallen an entry in the heap. A fair share above all limits
/// limits nothing.
void MaxMin::EnqueueStale()
{
    for (int link : m_stale)
    {
        Filling& filling = m_fillings[link];
        filling.stale = false;
        const bool keeps = Keeps(link);
        if (keeps && filling.open == 0)
        {
            continue;
        }
        const double kept = KeptLevel(link);
        const double level = keeps ? kept : std::min(FairShare(link), kept);
        const bool matters = level <= m_highestLimit || kept < kInfinity || filling.cut < kInfinity;
        if (level < filling.key && matters)
        {
            filling.key = level;
            m_heap.emplace_back(level, link);
            std::push_heap(m_heap.begin(), m_heap.end(), std::greater<>());
        }
    }
    m_stale.clear();
}

/// Freezes the open connections whose limits are not above the level.
void MaxMin::FreezeAtLimits(double level)
{
    if (m_lowestLimit <= level)
    {
        m_lowestLimit = kInfinity;
        for (int connection : m_unsorted)
        {
            if (m_rated[connection].progress == Progress::kOpen)
            {
                m_limits.emplace_back(m_flows[connection].limit, connection);
            }
        }
        m_unsorted.clear();
        std::make_heap(m_limits.begin(), m_limits.end(), std::greater<>());
    }
    while (!m_limits.empty() && m_limits.front().first <= level)
    {
        const auto [limit, connection] = m_limits.front();
        std::pop_heap(m_limits.begin(), m_limits.end(), std::greater<>());
        m_limits.pop_back();
        if (m_rated[connection].progress == Progress::kOpen)
        {
            Freeze(connection, limit, kNone);
        }
    }
}

/// Does what happens at a link at a level, which is a lower bound. Returns the next level at which
/// something may happen there; infinity: nothing, unless its pool changes.
double MaxMin::Reach(int link, double level)
{
    const double kept = KeptLevel(link);
    if (Keeps(link))
    {
        if (Above(kept, level))
        {
            return kept;
        }
        Keep(link);
        return kInfinity;
    }
    double share = FairShare(link);
    if (!Above(share, level))
    {
        share = FindShare(link);
    }
    const double next = std::min(share, kept);
    if (Above(next, level))
    {
        return next;
    }
    if (Above(share, kept))
    {
        OpenLimitedBy(link);
        return share;
    }
    Saturate(link, share);
    return kInfinity;
}

/// Gives the first entry of the heap another level; infinity: takes it out.
void MaxMin::ReplaceFirst(double level)
{
    std::pair<double, int> entry(level, m_heap.front().second);
    m_fillings[entry.second].key = level;
    if (level == kInfinity)
    {
        entry = m_heap.back();
        m_heap.pop_back();
    }
    size_t hole = 0;
    for (size_t child = 1; child < m_heap.size(); child = 2 * hole + 1)
    {
        child += child + 1 < m_heap.size() && m_heap[child + 1] < m_heap[child] ? 1 : 0;
        if (entry <= m_heap[child])
        {
            break;
        }
        m_heap[hole] = m_heap[child];
        hole = child;
    }
    if (!m_heap.empty())
    {
        m_heap[hole] = entry;
    }
}

/// Takes the links out of the heap at which nothing happens while no connection is open.
void MaxMin::DropKeeping()
{
    const auto drops = [this](const std::pair<double, int>& entry)
    {
        Filling& filling = m_fillings[entry.second];
        const bool keeps = HasKept(entry.second)
                               ? Keeps(entry.second)
                               : filling.cut == kInfinity && FairShare(entry.second) == kInfinity;
        const bool current = filling.key == entry.first;
        if (keeps && current)
        {
            filling.key = kInfinity;
        }
        return keeps || !current;
    };
    m_heap.erase(std::remove_if(m_heap.begin(), m_heap.end(), drops), m_heap.end());
    std::make_heap(m_heap.begin(), m_heap.end(), std::greater<>());
}

/// Raises the level until nothing is left to happen.
void MaxMin::Fill()
{
    EnqueueStale();
    while (true)
    {
        if (m_open == 0 && Lenient())
        {
            DropKeeping();
        }
        const double level = m_heap.empty() ? kInfinity : m_heap.front().first;
        FreezeAtLimits(level);
        if (m_heap.empty())
        {
            return;
        }
        const int link = m_heap.front().second;
        if (m_fillings[link].key != level)
        {
            std::pop_heap(m_heap.begin(), m_heap.end(), std::greater<>());
            m_heap.pop_back();
            continue;
        }
        ReplaceFirst(Reach(link, level));
        EnqueueStale();
    }
}

/// Sorts the connections that changed by limit, and those of one limit by number.
void MaxMin::SortChanged()
{
    const auto byLimit = [this](int a, int b)
    {
        const double limitA = m_flows[a].limit;
        const double limitB = m_flows[b].limit;
        return limitA != limitB ? limitA < limitB : a < b;
    };
    const auto other = [this](int connection)
    { return m_flows[connection].limit != m_flows[m_changed[0]].limit; };
    if (std::any_of(m_changed.begin(), m_changed.end(), other))
    {
        std::sort(m_changed.begin(), m_changed.end(), byLimit);
        return;
    }
    // Many of one limit are sorted by their bits.
    if (m_changed.size() * 64 < m_flows.size())
    {
        std::sort(m_changed.begin(), m_changed.end());
        return;
    }
    m_marks.resize(m_flows.size() / 64 + 1);
    for (int connection : m_changed)
    {
        m_marks[connection / 64] |= uint64_t{1} << connection % 64;
    }
    m_changed.clear();
    for (size_t word = 0; word < m_marks.size(); ++word)
    {
        for (uint64_t& marks = m_marks[word]; marks != 0; marks &= marks - 1)
        {
            m_changed.push_back(static_cast<int>(word) * 64 + __builtin_ctzll(marks));
        }
    }
}

} // namespace legacy::fabric

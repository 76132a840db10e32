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
/// Number of links up to which a linear search is faster than a heap.
constexpr size_t kFew = 24;

} // namespace

MaxMin::MaxMin(std::vector<double> capacities) : m_linkStates(capacities.size())
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
                    state.load += owner.rate * m_hops[g].share;
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
    if (flow.aloneAsOf == m_version)
    {
        flow.rate = flow.limit;
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
        flow.rate = flow.limit;
        flow.peak = std::max(flow.peak, flow.rate);
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
            bottleneck = m_hops[h].link;
        }
    }
    // Where there is room on every link that other connections use, their rates do not change.
    for (int h = flow.firstHop; h < flow.firstHop + flow.hops; ++h)
    {
        const LinkState& state = m_linkStates[m_hops[h].link];
        if (m_hops[h].place != kNone && state.running.size() > 1 &&
            state.load + rate * m_hops[h].share > state.capacity * (1 + kTolerance))
        {
            m_seeds.push_back(connection);
            return;
        }
    }
    flow.rate = rate;
    flow.peak = std::max(flow.peak, rate);
    SetBottleneck(flow, bottleneck);
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
    SetBottleneck(flow, kNone);
    for (int h = flow.firstHop; flow.contended > 0; ++h)
    {
        if (m_hops[h].place == kNone)
        {
            continue;
        }
        Exit(h);
        LinkState& state = m_linkStates[m_hops[h].link];
        state.load = state.running.empty() ? 0 : state.load - flow.rate * m_hops[h].share;
        if (state.bottlenecked > 0)
        {
            MarkDirty(m_hops[h].link);
        }
    }
    flow.running = false;
    flow.rate = 0;
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
    for (int link : m_dirty)
    {
        IncludeDirty(link);
    }
    m_dirty.clear();
    for (int connection : m_seeds)
    {
        if (m_flows[connection].running)
        {
            IncludeSeed(connection);
        }
    }
    m_seeds.clear();
    if (m_set.empty())
    {
        return m_changed;
    }
    do
    {
        Fill();
    } while (IncludeViolators());
    for (int link : m_links)
    {
        LinkState& state = m_linkStates[link];
        state.peak = std::max(state.peak, state.load);
        state.inSet = false;
    }
    m_links.clear();
    for (int connection : m_set)
    {
        Flow& flow = m_flows[connection];
        flow.peak = std::max(flow.peak, flow.rate);
        flow.inSet = false;
        if (std::abs(flow.rate - flow.before) > kTolerance * flow.rate)
        {
            m_changed.push_back(connection);
        }
    }
    m_set.clear();
    return m_changed;
}

double MaxMin::Rate(int connection) const
{
    return m_flows[connection].rate;
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

void MaxMin::SetBottleneck(Flow& flow, int link)
{
    if (flow.bottleneck != kNone)
    {
        --m_linkStates[flow.bottleneck].bottlenecked;
    }
    if (link != kNone)
    {
        ++m_linkStates[link].bottlenecked;
    }
    flow.bottleneck = link;
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

void MaxMin::Include(int connection)
{
    Flow& flow = m_flows[connection];
    if (flow.inSet)
    {
        return;
    }
    flow.inSet = true;
    flow.before = flow.rate;
    m_set.push_back(connection);
    for (int h = flow.firstHop; h < flow.firstHop + flow.hops; ++h)
    {
        if (m_hops[h].place == kNone)
        {
            continue;
        }
        LinkState& state = m_linkStates[m_hops[h].link];
        if (!state.inSet)
        {
            state.inSet = true;
            state.set = Share{state.capacity - state.load};
            m_links.push_back(m_hops[h].link);
        }
        state.set.room += flow.rate * m_hops[h].share;
        state.set.weight += m_hops[h].share;
        state.set.most += flow.limit * m_hops[h].share;
        ++state.set.count;
    }
}

/// Takes a connection into the set that started, or lost a limit. Connections that are faster than
/// an equal share of its narrowest link will most likely be violators, so they join at once.
void MaxMin::IncludeSeed(int connection)
{
    Include(connection);
    const Flow& flow = m_flows[connection];
    const LinkState* narrowest = nullptr;
    double least = flow.limit;
    for (int h = flow.firstHop; h < flow.firstHop + flow.hops; ++h)
    {
        const LinkState& state = m_linkStates[m_hops[h].link];
        if (m_hops[h].place != kNone)
        {
            const double equal = state.capacity / static_cast<double>(state.running.size());
            if (equal < least)
            {
                least = equal;
                narrowest = &state;
            }
        }
    }
    if (narrowest)
    {
        for (const Member& member : narrowest->running)
        {
            if (m_flows[member.connection].rate > least)
            {
                Include(member.connection);
            }
        }
    }
}

/// Takes connections of a link into the set whose capacity was freed or changed: those that it
/// limits, or all where it is too full.
void MaxMin::IncludeDirty(int link)
{
    LinkState& state = m_linkStates[link];
    const bool tooFull = state.load > state.capacity * (1 + kTolerance);
    for (const Member& member : state.running)
    {
        if (tooFull || m_flows[member.connection].bottleneck == link)
        {
            Include(member.connection);
        }
    }
    if (state.moved && state.joined == 1 && m_flows[state.joinedSum].running)
    {
        FindLimit(static_cast<int>(state.joinedSum));
        Include(static_cast<int>(state.joinedSum));
    }
    state.dirty = false;
    state.moved = false;
}

/// Sets what the connections outside the set leave of its links, and finds the links that can limit
/// it.
void MaxMin::OpenLinks()
{
    m_binding.clear();
    for (int link : m_links)
    {
        LinkState& state = m_linkStates[link];
        state.open = state.set;
        state.binding = state.set.most > state.set.room;
        if (state.binding)
        {
            state.open.room = std::max(0.0, state.open.room);
            m_binding.push_back(link);
        }
    }
    m_heap.clear();
    if (m_binding.size() > kFew)
    {
        for (int link : m_binding)
        {
            m_heap.emplace_back(m_linkStates[link].open.room / m_linkStates[link].open.weight,
                                link);
        }
        std::make_heap(m_heap.begin(), m_heap.end(), std::greater<>());
    }
}

/// Returns the lowest fair share of the links with connections that are not frozen, and sets `link`
/// to its link. Returns infinity where there is none.
double MaxMin::LowestShare(int& link)
{
    return m_binding.size() > kFew ? LowestOfHeap(link) : LowestOfFew(link);
}

double MaxMin::LowestOfFew(int& link) const
{
    double lowest = std::numeric_limits<double>::infinity();
    for (int candidate : m_binding)
    {
        const LinkState& state = m_linkStates[candidate];
        if (state.open.count > 0 && state.open.room < lowest * state.open.weight)
        {
            lowest = std::max(0.0, state.open.room) / state.open.weight;
            link = candidate;
        }
    }
    return lowest;
}

/// Fair shares only grow while connections are frozen, so those in the heap are lower bounds.
double MaxMin::LowestOfHeap(int& link)
{
    while (!m_heap.empty())
    {
        const auto [bound, candidate] = m_heap.front();
        const LinkState& state = m_linkStates[candidate];
        const double share =
            state.open.count > 0 ? std::max(0.0, state.open.room) / state.open.weight : 0;
        if (state.open.count > 0 && share <= bound * (1 + kTolerance))
        {
            link = candidate;
            return share;
        }
        std::pop_heap(m_heap.begin(), m_heap.end(), std::greater<>());
        m_heap.pop_back();
        if (state.open.count > 0)
        {
            m_heap.emplace_back(share, candidate);
            std::push_heap(m_heap.begin(), m_heap.end(), std::greater<>());
        }
    }
    return std::numeric_limits<double>::infinity();
}

/// Fills the set progressively. The lowest of all limits and fair shares freezes its connections,
/// until all are frozen.
void MaxMin::Fill()
{
    OpenLinks();
    for (int connection : m_set)
    {
        m_flows[connection].frozen = false;
    }
    const auto byLimit = [this](int a, int b)
    {
        const double limitA = m_flows[a].limit;
        const double limitB = m_flows[b].limit;
        return limitA != limitB ? limitA < limitB : a < b;
    };
    if (m_set.size() > 1)
    {
        std::sort(m_set.begin(), m_set.end(), byLimit);
    }
    for (int connection : m_set)
    {
        while (!m_flows[connection].frozen)
        {
            int link = kNone;
            const double share = LowestShare(link);
            if (m_flows[connection].limit <= share)
            {
                Freeze(connection, m_flows[connection].limit, kNone);
            }
            else
            {
                FreezeAll(link, share);
            }
        }
    }
}

void MaxMin::FreezeAll(int link, double rate)
{
    for (const Member& member : m_linkStates[link].running)
    {
        const Flow& flow = m_flows[member.connection];
        if (flow.inSet && !flow.frozen)
        {
            Freeze(member.connection, rate, link);
        }
    }
}

void MaxMin::Freeze(int connection, double rate, int bottleneck)
{
    Flow& flow = m_flows[connection];
    flow.frozen = true;
    flow.rate = rate;
    SetBottleneck(flow, bottleneck);
    for (int h = flow.firstHop; h < flow.firstHop + flow.hops; ++h)
    {
        if (m_hops[h].place != kNone)
        {
            LinkState& state = m_linkStates[m_hops[h].link];
            state.open.room -= rate * m_hops[h].share;
            state.open.weight -= m_hops[h].share;
            --state.open.count;
        }
    }
}

/// Takes connections into the set that break the condition on one of its links. Returns true where
/// there are any.
bool MaxMin::IncludeViolators()
{
    const size_t before = m_set.size();
    const size_t links = m_links.size(); // connections that join add more
    for (size_t i = 0; i < links; ++i)
    {
        LinkState& state = m_linkStates[m_links[i]];
        if (state.binding || state.bottlenecked > 0)
        {
            IncludeViolatorsOn(m_links[i]);
        }
        else
        {
            state.load = state.capacity - state.open.room;
        }
    }
    return m_set.size() > before;
}

void MaxMin::IncludeViolatorsOn(int link)
{
    LinkState& state = m_linkStates[link];
    // Rate of the set's connections that this link limits.
    double level = std::numeric_limits<double>::infinity();
    double top = 0;
    state.load = 0;
    for (const Member& member : state.running)
    {
        const Flow& flow = m_flows[member.connection];
        state.load += flow.rate * member.share;
        top = std::max(top, flow.rate);
        if (flow.bottleneck == link && flow.inSet)
        {
            level = flow.rate;
        }
    }
    const bool room = state.load < state.capacity * (1 - kTolerance);
    for (const Member& member : state.running)
    {
        const Flow& flow = m_flows[member.connection];
        const bool tooFast = flow.rate > level * (1 + kTolerance);
        const bool mayRise =
            flow.bottleneck == link && (room || top > flow.rate * (1 + kTolerance));
        if (!flow.inSet && (tooFast || mayRise))
        {
            Include(member.connection);
        }
    }
}

} // namespace legacy::fabric

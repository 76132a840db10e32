#include "max-min.h"

#include <algorithm>
#include <cassert>

namespace legacy::fabric
{

MaxMin::MaxMin(const std::vector<double>& capacities, int many)
    : m_filling(MaxMinState(capacities, many))
{
}

int MaxMin::Add(const std::vector<Use>& uses, double limit)
{
    return State().Add(uses, limit);
}

void MaxMin::Join(int number)
{
    MaxMinState& state = State();
    ++state.version;
    const MaxMinState::Connection& connection = state.connections[number];
    for (int h = connection.firstHop; h < connection.EndHop(); ++h)
    {
        MaxMinState::Link& link = state.links[state.hops[h].link];
        if (link.joined == 1)
        {
            Share(state.hops[h].link);
        }
        ++link.joined;
        link.joinedSum += number;
    }
}

/// Enters the only connection of a link into the link's list if the connection is running. Until
/// now the link was private to it, and from now on it is shared.
void MaxMin::Share(int link)
{
    MaxMinState& state = State();
    const auto number = static_cast<int>(state.links[link].joinedSum);
    const MaxMinState::Connection& owner = state.connections[number];
    for (int h = owner.firstHop; owner.running && h < owner.EndHop(); ++h)
    {
        if (state.hops[h].link == link && state.hops[h].place == MaxMinState::kNone)
        {
            state.Enter(number, h);
            state.links[link].load += state.rated[number].rate * state.hops[h].share;
            // The link is no longer part of the connection's limit.
            state.FindLimit(number);
            m_seeds.push_back(number);
        }
    }
}

void MaxMin::Leave(int number)
{
    MaxMinState& state = State();
    const MaxMinState::Connection& connection = state.connections[number];
    assert(!connection.running);
    ++state.version;
    for (int h = connection.firstHop; h < connection.EndHop(); ++h)
    {
        MaxMinState::Link& link = state.links[state.hops[h].link];
        --link.joined;
        link.joinedSum -= number;
    }
}

void MaxMin::Start(int number)
{
    MaxMinState& state = State();
    MaxMinState::Connection& connection = state.connections[number];
    assert(!connection.running);
    connection.running = true;
    ++state.running;
    if (connection.aloneAsOf == state.version)
    {
        state.rated[number].rate = connection.limit;
        return;
    }
    for (int h = connection.firstHop; h < connection.EndHop(); ++h)
    {
        if (state.links[state.hops[h].link].joined > 1)
        {
            state.Enter(number, h);
        }
    }
    state.FindLimit(number);
    if (connection.contended == 0)
    {
        connection.aloneAsOf = state.version;
        state.rated[number].rate = connection.limit;
        connection.peak = std::max(connection.peak, connection.limit);
        return;
    }
    double rate = connection.limit;
    int bottleneck = MaxMinState::kNone;
    for (int h = connection.firstHop; h < connection.EndHop(); ++h)
    {
        const MaxMinState::Hop& hop = state.hops[h];
        MaxMinState::Link& link = state.links[hop.link];
        if (hop.place != MaxMinState::kNone && link.running.size() == 1 &&
            rate * hop.share > link.capacity)
        {
            rate = link.capacity / hop.share;
            bottleneck = h;
            link.level = rate;
        }
    }
    if (!FitsIn(number, rate))
    {
        m_seeds.push_back(number);
        return;
    }
    state.rated[number].rate = rate;
    connection.peak = std::max(connection.peak, rate);
    state.SetBottleneck(number, bottleneck);
    Load(number, rate);
}

/// Returns true if every link that others use has room for a connection, so that the others' rates
/// do not change.
bool MaxMin::FitsIn(int number, double rate)
{
    const MaxMinState& state = State();
    const MaxMinState::Connection& connection = state.connections[number];
    for (int h = connection.firstHop; h < connection.EndHop(); ++h)
    {
        const MaxMinState::Hop& hop = state.hops[h];
        const MaxMinState::Link& link = state.links[hop.link];
        const bool unfair = state.IsLenient() && link.bottlenecked > 0 && IsAbove(rate, link.level);
        if (hop.place != MaxMinState::kNone && link.running.size() > 1 &&
            (unfair || link.load + rate * hop.share > link.capacity * (1 + kRateTolerance)))
        {
            return false;
        }
    }
    return true;
}

/// Adds a connection's rate to the loads of the links that it shares with others.
void MaxMin::Load(int number, double rate)
{
    MaxMinState& state = State();
    const MaxMinState::Connection& connection = state.connections[number];
    for (int h = connection.firstHop; h < connection.EndHop(); ++h)
    {
        if (state.hops[h].place != MaxMinState::kNone)
        {
            MaxMinState::Link& link = state.links[state.hops[h].link];
            link.load += rate * state.hops[h].share;
            link.peak = std::max(link.peak, link.load);
        }
    }
}

void MaxMin::Stop(int number)
{
    MaxMinState& state = State();
    MaxMinState::Connection& connection = state.connections[number];
    assert(connection.running);
    --state.running;
    state.SetBottleneck(number, MaxMinState::kNone);
    for (int h = connection.firstHop; connection.contended > 0; ++h)
    {
        const MaxMinState::Hop& hop = state.hops[h];
        if (hop.place == MaxMinState::kNone)
        {
            continue;
        }
        state.Exit(h);
        MaxMinState::Link& link = state.links[hop.link];
        link.load = link.running.empty() ? 0 : link.load - state.rated[number].rate * hop.share;
        if (link.bottlenecked > 0)
        {
            MarkDirty(hop.link);
        }
    }
    connection.running = false;
    state.rated[number].rate = 0;
}

void MaxMin::SetCapacity(int number, double capacity)
{
    assert(capacity >= 0);
    MaxMinState::Link& link = State().links[number];
    if (capacity != link.capacity)
    {
        link.capacity = capacity;
        link.moved = true;
        ++State().version;
        MarkDirty(number);
    }
}

void MaxMin::SetLimit(int number, double limit)
{
    assert(limit > 0);
    MaxMinState& state = State();
    if (limit == state.ownLimits[number])
    {
        return;
    }
    state.ownLimits[number] = limit;
    state.connections[number].aloneAsOf = 0;
    if (state.connections[number].running)
    {
        state.FindLimit(number);
        m_seeds.push_back(number);
    }
}

void MaxMin::MarkDirty(int number)
{
    MaxMinState::Link& link = State().links[number];
    if (!link.dirty)
    {
        link.dirty = true;
        m_dirty.push_back(number);
    }
}

bool MaxMin::Pending() const
{
    return !m_dirty.empty() || !m_seeds.empty();
}

const std::vector<int>& MaxMin::Solve()
{
    const MaxMinState& state = State();
    m_changed.clear();
    for (int link : m_dirty)
    {
        OpenDirty(link);
    }
    m_dirty.clear();
    for (int connection : m_seeds)
    {
        if (state.connections[connection].running &&
            state.rated[connection].progress == MaxMinState::Progress::kKept)
        {
            m_filling.Open(connection);
        }
    }
    m_seeds.clear();
    m_filling.Solve(m_changed);
    SortChanged();
    return m_changed;
}

/// Touches a link that was freed or whose capacity has changed. If it has only one connection, it
/// is this connection's limit.
void MaxMin::OpenDirty(int number)
{
    MaxMinState& state = State();
    MaxMinState::Link& link = state.links[number];
    if (!link.running.empty())
    {
        m_filling.Touch(number);
    }
    if (link.moved && link.joined == 1)
    {
        const auto only = static_cast<int>(link.joinedSum);
        if (state.connections[only].running &&
            state.rated[only].progress == MaxMinState::Progress::kKept)
        {
            state.FindLimit(only);
            m_filling.Open(only);
        }
    }
    link.dirty = false;
    link.moved = false;
}

/// Sorts the connections that changed by limit, and those with the same limit by number.
void MaxMin::SortChanged()
{
    const std::vector<MaxMinState::Connection>& connections = State().connections;
    const auto byLimit = [&](int a, int b)
    {
        const double limitA = connections[a].limit;
        const double limitB = connections[b].limit;
        return limitA != limitB ? limitA < limitB : a < b;
    };
    const auto other = [&](int connection)
    { return connections[connection].limit != connections[m_changed[0]].limit; };
    if (std::any_of(m_changed.begin(), m_changed.end(), other))
    {
        std::sort(m_changed.begin(), m_changed.end(), byLimit);
        return;
    }
    // If many have one limit, they are sorted by setting bits.
    if (m_changed.size() * 64 < connections.size())
    {
        std::sort(m_changed.begin(), m_changed.end());
        return;
    }
    m_marks.resize(connections.size() / 64 + 1);
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

double MaxMin::Rate(int connection) const
{
    return m_filling.State().rated[connection].rate;
}

double MaxMin::PeakRate(int connection) const
{
    return m_filling.State().connections[connection].peak;
}

double MaxMin::PeakLoad(int link) const
{
    return m_filling.State().links[link].peak;
}

} // namespace legacy::fabric

#include "candidates.h"

#include <cassert>

namespace legacy::fabric
{

ClientAvailability::ClientAvailability(const Population& population,
                                       const std::string& common,
                                       uint64_t seed)
    : m_population(population)
{
    const std::shared_ptr<const Availability> shared =
        MakeAvailability(common, seed, "availability");
    for (const Group& group : population.Groups())
    {
        m_byGroup.push_back(group.availability.empty()
                                ? shared
                                : MakeAvailability(group.availability,
                                                   seed,
                                                   "availability of group " + group.name));
    }
}

bool ClientAvailability::Available(int64_t client, TimeNs t) const
{
    const Availability& availability = *m_byGroup[m_population.GroupOf(client)];
    return !availability.DependsOnTime() ||
           availability.Available(client, m_population.LongitudeOf(client), t);
}

TimeNs ClientAvailability::NextChange(int64_t client, TimeNs t) const
{
    const Availability& availability = *m_byGroup[m_population.GroupOf(client)];
    return availability.DependsOnTime()
               ? availability.NextChange(client, m_population.LongitudeOf(client), t)
               : kNever;
}

bool ClientAvailability::Joins(int64_t client, uint64_t choice) const
{
    return m_byGroup[m_population.GroupOf(client)]->Joins(client, choice);
}

bool ClientAvailability::DependsOnTime() const
{
    for (const auto& availability : m_byGroup)
    {
        if (availability->DependsOnTime())
        {
            return true;
        }
    }
    return false;
}

bool ClientAvailability::Draws() const
{
    for (const auto& availability : m_byGroup)
    {
        if (availability->Draws())
        {
            return true;
        }
    }
    return false;
}

SumTree::SumTree(int64_t places) : m_sums(static_cast<size_t>(places) + 1, 0)
{
}

void SumTree::Add(int64_t place, int64_t value)
{
    m_all += value;
    for (int64_t i = place + 1; i < static_cast<int64_t>(m_sums.size()); i += i & -i)
    {
        m_sums[i] += value;
    }
}

int64_t SumTree::Sum() const
{
    return m_all;
}

int64_t SumTree::Before(int64_t place) const
{
    int64_t sum = 0;
    for (int64_t i = place; i > 0; i -= i & -i)
    {
        sum += m_sums[i];
    }
    return sum;
}

int64_t SumTree::Find(int64_t sum) const
{
    assert(sum >= 0 && sum < m_all);
    const auto size = static_cast<int64_t>(m_sums.size());
    int64_t step = 1;
    while (2 * step < size)
    {
        step *= 2;
    }
    int64_t place = 0;
    for (; step > 0; step /= 2)
    {
        if (place + step < size && m_sums[place + step] <= sum)
        {
            place += step;
            sum -= m_sums[place];
        }
    }
    return place;
}

Candidates::Candidates(int64_t clients,
                       const ClientAvailability& availability,
                       std::vector<int64_t> weights)
    : m_availability(availability),
      m_weights(std::move(weights)),
      m_available(static_cast<size_t>(clients), false),
      m_busy(static_cast<size_t>(clients), false),
      m_count(clients),
      m_weight(m_weights.empty() ? 0 : clients),
      m_unavailable(clients)
{
    std::vector<Change> changes;
    for (int64_t client = 0; client < clients; ++client)
    {
        Set(client, availability.Available(client, 0), false);
        const TimeNs next = availability.NextChange(client, 0);
        if (next != kNever)
        {
            changes.emplace_back(next, client);
        }
    }
    m_changes = decltype(m_changes)(std::greater<>(), std::move(changes));
}

void Candidates::Set(int64_t client, bool available, bool busy)
{
    const bool before = m_available[client] && !m_busy[client];
    const bool after = available && !busy;
    m_unavailable +=
        (!available && !busy ? 1 : 0) - (!m_available[client] && !m_busy[client] ? 1 : 0);
    m_available[client] = available;
    m_busy[client] = busy;
    if (before != after)
    {
        m_count.Add(client, after ? 1 : -1);
        if (!m_weights.empty())
        {
            m_weight.Add(client, after ? m_weights[client] : -m_weights[client]);
        }
    }
}

void Candidates::Advance(TimeNs now)
{
    while (!m_changes.empty() && m_changes.top().first <= now)
    {
        const auto [time, client] = m_changes.top();
        m_changes.pop();
        Set(client, !m_available[client], m_busy[client]);
        const TimeNs next = m_availability.NextChange(client, time);
        if (next != kNever)
        {
            m_changes.emplace(next, client);
        }
    }
}

void Candidates::SetBusy(int64_t client, bool busy)
{
    Set(client, m_available[client], busy);
}

int64_t Candidates::Clients() const
{
    return static_cast<int64_t>(m_available.size());
}

int64_t Candidates::Count() const
{
    return m_count.Sum();
}

int64_t Candidates::Unavailable() const
{
    return m_unavailable;
}

int64_t Candidates::At(int64_t rank) const
{
    return m_count.Find(rank);
}

int64_t Candidates::RankOf(int64_t client) const
{
    return m_count.Before(client);
}

int64_t Candidates::Weight() const
{
    return m_weight.Sum();
}

int64_t Candidates::WeightOf(int64_t client) const
{
    return m_weights.empty() ? 1 : m_weights[static_cast<size_t>(client)];
}

int64_t Candidates::AtWeight(int64_t sum) const
{
    return m_weight.Find(sum);
}

bool Candidates::Joins(int64_t client, uint64_t choice) const
{
    return m_availability.Joins(client, choice);
}

bool Candidates::Draws() const
{
    return m_availability.Draws();
}

TimeNs Candidates::NextChange() const
{
    return m_changes.empty() ? kNever : m_changes.top().first;
}

} // namespace legacy::fabric

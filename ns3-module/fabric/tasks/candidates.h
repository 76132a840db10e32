// Candidates are the clients that could get a task now: available, and without one. Changes of
// availability come from a heap, and the k-th candidate from a Fenwick tree (Fenwick, Software:
// Practice and Experience 1994), so each change and each choice costs O(log clients), and a choice
// depends on who the candidates are, not on what happened before.
#pragma once

#include "base/units.h"
#include "fabric/population/availability.h"
#include "fabric/population/population.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

namespace legacy::fabric
{

/// ClientAvailability answers for the clients of a population, whose groups may differ.
class ClientAvailability
{
  public:
    /// Groups without a text of their own get `common`. The population outlives this. Throws Error
    /// on a text that is wrong.
    ClientAvailability(const Population& population, const std::string& common, uint64_t seed);

    bool Available(int64_t client, TimeNs t) const;
    TimeNs NextChange(int64_t client, TimeNs t) const;
    bool Joins(int64_t client, uint64_t choice) const;
    bool DependsOnTime() const;
    bool Draws() const;

  private:
    const Population& m_population;
    std::vector<std::shared_ptr<const Availability>> m_byGroup;
};

/// A SumTree has a number >= 0 for each of its places, and finds places by sums of them.
class SumTree
{
  public:
    explicit SumTree(int64_t places);
    void Add(int64_t place, int64_t value);
    int64_t Sum() const;
    /// Returns the sum of all places below `place`.
    int64_t Before(int64_t place) const;
    /// Returns the first place up to which the sum is above `sum`, which is in [0, Sum()).
    int64_t Find(int64_t sum) const;

  private:
    std::vector<int64_t> m_sums;
    int64_t m_all = 0;
};

/// Candidates follow the clock and the server.
class Candidates
{
  public:
    /// Tasks of `clients` clients are given at times from 0 on. `weights` are kept where not empty;
    /// a client of weight 0 must be busy for ever.
    Candidates(int64_t clients,
               const ClientAvailability& availability,
               std::vector<int64_t> weights = {});

    /// Continues to the time `now`, which does not go back.
    void Advance(TimeNs now);
    /// Says that a client got a task, or has none any more.
    void SetBusy(int64_t client, bool busy);

    int64_t Clients() const;
    int64_t Count() const;
    /// Returns the number of clients without a task that are not available.
    int64_t Unavailable() const;
    /// Returns the candidate with `rank` others before it.
    int64_t At(int64_t rank) const;
    /// Returns the number of candidates below `client`.
    int64_t RankOf(int64_t client) const;
    /// Return the sum of the candidates' weights, and the one at which the cumulated weights pass
    /// `sum`.
    int64_t Weight() const;
    int64_t AtWeight(int64_t sum) const;
    /// Returns a client's weight; 1 where none were given.
    int64_t WeightOf(int64_t client) const;

    /// Returns whether a candidate takes part in choice `choice`.
    bool Joins(int64_t client, uint64_t choice) const;
    /// Returns true where Joins refuses some.
    bool Draws() const;

    /// Returns the time of the next change of any client's availability, after that of Advance;
    /// kNever where none comes.
    TimeNs NextChange() const;

  private:
    using Change = std::pair<TimeNs, int64_t>;

    void Set(int64_t client, bool available, bool busy);

    const ClientAvailability& m_availability;
    std::vector<int64_t> m_weights;
    std::vector<bool> m_available;
    std::vector<bool> m_busy;
    SumTree m_count;
    SumTree m_weight;
    int64_t m_unavailable = 0;
    std::priority_queue<Change, std::vector<Change>, std::greater<>> m_changes;
};

} // namespace legacy::fabric

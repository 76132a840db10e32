#include "selection.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/settings.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <unordered_map>

namespace legacy::fabric
{

namespace
{

constexpr uint64_t kSelectionStream = 0x73656C6563ULL;

class UniformSelection : public Selection
{
  public:
    explicit UniformSelection(uint64_t seed) : m_seed(seed)
    {
    }

    /// Shuffles ranks (Fisher, Yates) as far as they are needed; `moved` has those that have
    /// changed places.
    std::vector<Pick> Select(uint64_t choice, int64_t wanted, const Candidates& from) override
    {
        std::vector<Pick> picks;
        std::unordered_map<int64_t, int64_t> moved;
        const int64_t count = from.Count();
        const auto rankAt = [&](int64_t place)
        {
            const auto found = moved.find(place);
            return found == moved.end() ? place : found->second;
        };
        for (int64_t i = 0; i < count && static_cast<int64_t>(picks.size()) < wanted; ++i)
        {
            const uint64_t hash =
                HashWords({kSelectionStream, m_seed, choice, static_cast<uint64_t>(i)});
            const auto j = i + static_cast<int64_t>(Reduce(hash, static_cast<uint64_t>(count - i)));
            const int64_t rank = rankAt(j);
            moved[j] = rankAt(i);
            const int64_t client = from.At(rank);
            if (from.Joins(client, choice))
            {
                picks.push_back(Pick{static_cast<int>(client), 1});
            }
        }
        return picks;
    }

  private:
    uint64_t m_seed;
};

class WeightedSelection : public Selection
{
  public:
    explicit WeightedSelection(uint64_t seed) : m_seed(seed)
    {
    }

    std::vector<Pick> Select(uint64_t choice, int64_t wanted, const Candidates& from) override
    {
        std::vector<Pick> picks;
        std::unordered_map<int64_t, size_t> known;
        if (from.Weight() == 0 || (from.Draws() && !AnyJoins(choice, from)))
        {
            return picks;
        }
        int64_t drawn = 0;
        for (uint64_t i = 0; drawn < wanted; ++i)
        {
            const uint64_t hash = HashWords({kSelectionStream, m_seed, choice, i});
            const auto sum = static_cast<int64_t>(
                (static_cast<unsigned __int128>(hash) * static_cast<uint64_t>(from.Weight())) >>
                64);
            const int64_t client = from.AtWeight(sum);
            if (!from.Joins(client, choice))
            {
                continue;
            }
            ++drawn;
            const auto [place, fresh] = known.try_emplace(client, picks.size());
            if (fresh)
            {
                picks.push_back(Pick{static_cast<int>(client), 1});
            }
            else
            {
                ++picks[place->second].times;
            }
        }
        return picks;
    }

    bool ReadsWeights() const override
    {
        return true;
    }

  private:
    static bool AnyJoins(uint64_t choice, const Candidates& from)
    {
        for (int64_t rank = 0; rank < from.Count(); ++rank)
        {
            if (from.Joins(from.At(rank), choice))
            {
                return true;
            }
        }
        return false;
    }

    uint64_t m_seed;
};

class RoundRobin : public Selection
{
  public:
    std::vector<Pick> Select(uint64_t choice, int64_t wanted, const Candidates& from) override
    {
        std::vector<Pick> picks;
        const int64_t count = from.Count();
        const int64_t first = from.RankOf(m_next);
        for (int64_t i = 0; i < count && static_cast<int64_t>(picks.size()) < wanted; ++i)
        {
            const int64_t client = from.At((first + i) % count);
            if (from.Joins(client, choice))
            {
                picks.push_back(Pick{static_cast<int>(client), 1});
                m_next = (client + 1) % from.Clients();
            }
        }
        return picks;
    }

  private:
    int64_t m_next = 0; ///< client after the last one that was chosen
};

/// Chooses those with the largest last loss among d drawn candidates.
class PowerOfChoice : public Selection
{
  public:
    /// If `drawn` is 0, twice as many are drawn as are wanted.
    PowerOfChoice(uint64_t seed, int64_t drawn) : m_seed(seed), m_drawn(drawn)
    {
    }

    /// Draws without replacement by the largest of log(u) / weight (Efraimidis, Spirakis,
    /// Information Processing Letters 2006).
    std::vector<Pick> Select(uint64_t choice, int64_t wanted, const Candidates& from) override
    {
        std::vector<std::pair<double, int64_t>> keys;
        for (int64_t rank = 0; rank < from.Count(); ++rank)
        {
            const int64_t client = from.At(rank);
            if (!from.Joins(client, choice))
            {
                continue;
            }
            const double u = UnitInterval(
                HashWords({kSelectionStream, m_seed, choice, static_cast<uint64_t>(client)}));
            keys.emplace_back(-std::log(u) / static_cast<double>(from.WeightOf(client)), client);
        }
        const int64_t drawn = std::max(wanted, m_drawn > 0 ? m_drawn : 2 * wanted);
        std::sort(keys.begin(), keys.end());
        keys.resize(std::min(keys.size(), static_cast<size_t>(drawn)));
        const auto before = [&](const auto& a, const auto& b)
        {
            const double lossA = LossOf(a.second);
            const double lossB = LossOf(b.second);
            return lossA != lossB ? lossA > lossB : a.second < b.second;
        };
        std::sort(keys.begin(), keys.end(), before);
        std::vector<Pick> picks;
        for (const auto& [key, client] : keys)
        {
            if (static_cast<int64_t>(picks.size()) < wanted)
            {
                picks.push_back(Pick{static_cast<int>(client), 1});
            }
        }
        return picks;
    }

    bool ReadsWeights() const override
    {
        return true;
    }
    bool ReadsLosses() const override
    {
        return true;
    }
    void Observe(const TaskFacts& facts) override
    {
        m_losses[facts.client] = facts.loss;
    }
    /// The state is pairs of a client and its loss.
    std::vector<double> State() const override
    {
        std::vector<double> state;
        for (const auto& [client, loss] : m_losses)
        {
            state.push_back(static_cast<double>(client));
            state.push_back(loss);
        }
        return state;
    }
    void SetState(const std::vector<double>& state) override
    {
        m_losses.clear();
        for (size_t i = 0; i + 1 < state.size(); i += 2)
        {
            m_losses[static_cast<int64_t>(state[i])] = state[i + 1];
        }
    }

  private:
    double LossOf(int64_t client) const
    {
        const auto found = m_losses.find(client);
        return found == m_losses.end() ? std::numeric_limits<double>::infinity() : found->second;
    }

    uint64_t m_seed;
    int64_t m_drawn;
    std::map<int64_t, double> m_losses; ///< last loss by client
};

/// Chooses within one class of clients with similar task times.
class Tiers : public Selection
{
  public:
    Tiers(uint64_t seed, int64_t count, const SelectionInfo& info) : m_seed(seed)
    {
        std::vector<std::pair<TimeNs, int64_t>> order;
        for (int64_t client = 0; client < info.clients; ++client)
        {
            order.emplace_back(info.predicted(static_cast<int>(client)), client);
        }
        std::sort(order.begin(), order.end());
        m_tier.resize(order.size());
        for (size_t i = 0; i < order.size(); ++i)
        {
            m_tier[static_cast<size_t>(order[i].second)] =
                static_cast<int64_t>(i) * count / info.clients;
        }
    }

    /// Draws one of the classes that have candidates, and then draws candidates uniformly.
    std::vector<Pick> Select(uint64_t choice, int64_t wanted, const Candidates& from) override
    {
        std::map<int64_t, std::vector<int64_t>> members;
        for (int64_t rank = 0; rank < from.Count(); ++rank)
        {
            const int64_t client = from.At(rank);
            if (from.Joins(client, choice))
            {
                members[m_tier[static_cast<size_t>(client)]].push_back(client);
            }
        }
        std::vector<Pick> picks;
        if (members.empty())
        {
            return picks;
        }
        const uint64_t hash = HashWords({kSelectionStream, m_seed, choice, UINT64_MAX});
        auto drawn = members.begin();
        std::advance(drawn, static_cast<int64_t>(Reduce(hash, members.size())));
        std::vector<int64_t>& clients = drawn->second;
        for (size_t i = 0; i < clients.size() && static_cast<int64_t>(i) < wanted; ++i)
        {
            const uint64_t left = clients.size() - i;
            const uint64_t j = i + Reduce(HashWords({kSelectionStream, m_seed, choice, i}), left);
            std::swap(clients[i], clients[j]);
            picks.push_back(Pick{static_cast<int>(clients[i]), 1});
        }
        return picks;
    }

    bool ReadsTimes() const override
    {
        return true;
    }

  private:
    uint64_t m_seed;
    std::vector<int64_t> m_tier; ///< class of each client
};

std::unique_ptr<Selection> MakeUniform(Settings&, uint64_t seed, const SelectionInfo&)
{
    return std::make_unique<UniformSelection>(seed);
}

std::unique_ptr<Selection> MakeWeighted(Settings&, uint64_t seed, const SelectionInfo&)
{
    return std::make_unique<WeightedSelection>(seed);
}

std::unique_ptr<Selection> MakeRoundRobin(Settings&, uint64_t, const SelectionInfo&)
{
    return std::make_unique<RoundRobin>();
}

std::unique_ptr<Selection>
MakePowerOfChoice(Settings& settings, uint64_t seed, const SelectionInfo&)
{
    return std::make_unique<PowerOfChoice>(seed, settings.Int("d", 0, 1, INT32_MAX));
}

std::unique_ptr<Selection> MakeTiers(Settings& settings, uint64_t seed, const SelectionInfo& info)
{
    const int most = static_cast<int>(std::min<int64_t>(info.clients, 1'000'000));
    const int count = settings.Int("count", std::min(5, std::max(1, most)), 1, std::max(1, most));
    if (!info.predicted)
    {
        throw Error(settings.Where(),
                    settings.Type(),
                    "uniform, weighted, round-robin: nobody predicts times here");
    }
    return std::make_unique<Tiers>(seed, count, info);
}

} // namespace

SelectionRow OortRow(); // in oort-selection.cc

const std::vector<SelectionRow>& SelectionRows()
{
    static const std::vector<SelectionRow> rows = {
        {"uniform", "", "", false, MakeUniform},
        {"weighted", "", "by samples", false, MakeWeighted},
        {"round-robin", "", "", false, MakeRoundRobin},
        {"tiers",
         "[:count=5]",
         "classes of clients by predicted task time; one of them in each round",
         false,
         MakeTiers,
         true},
        {"power-of-choice", "[:d=N]", "large losses", true, MakePowerOfChoice},
        OortRow()};
    return rows;
}

const SelectionRow& FindSelection(const std::string& text, const std::string& option)
{
    const std::string name = text.substr(0, text.find(':'));
    std::string known;
    for (const SelectionRow& row : SelectionRows())
    {
        if (row.name == name)
        {
            return row;
        }
        known += (known.empty() ? "" : ", ") + row.name + row.keys;
    }
    throw Error(option, text, known);
}

std::string DescribeSelections()
{
    std::string all;
    std::string trained;
    for (const SelectionRow& row : SelectionRows())
    {
        std::string& list = row.readsLosses ? trained : all;
        list += (list.empty()      ? ""
                 : row.readsLosses ? " and "
                                   : ", ") +
                row.name + row.keys + (row.help.empty() ? "" : " (" + row.help + ")");
    }
    return all + "; in training also " + trained;
}

std::unique_ptr<Selection> MakeSelection(const std::string& text,
                                         uint64_t seed,
                                         const std::string& option,
                                         const SelectionInfo& info)
{
    const SelectionRow& row = FindSelection(text, option);
    Settings settings = Settings::FromText(text, option);
    std::unique_ptr<Selection> made = row.make(settings, seed, info);
    settings.RejectUnread();
    return made;
}

} // namespace legacy::fabric

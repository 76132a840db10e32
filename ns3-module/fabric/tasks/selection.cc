#include "selection.h"

#include "fabric/base/error.h"
#include "fabric/base/hash.h"

#include <algorithm>
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

    /// Shuffles ranks (Fisher, Yates) as far as they are needed; `moved` has those that changed
    /// their places.
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
    int64_t m_next = 0; ///< client behind the last that was chosen
};

} // namespace

std::unique_ptr<Selection>
MakeSelection(const std::string& text, uint64_t seed, const std::string& option)
{
    if (text == "uniform")
    {
        return std::make_unique<UniformSelection>(seed);
    }
    if (text == "weighted")
    {
        return std::make_unique<WeightedSelection>(seed);
    }
    if (text == "round-robin")
    {
        return std::make_unique<RoundRobin>();
    }
    throw Error(option, text, "uniform, weighted, round-robin");
}

} // namespace legacy::fabric

#include "oort-selection.h"

#include "base/hash.h"

#include <algorithm>
#include <cmath>

namespace legacy::fabric
{

namespace
{

constexpr uint64_t kOortStream = 0x6F6F7274ULL;
constexpr double kClip = 0.9;    ///< quantile at which utilities are clipped
constexpr double kCutOff = 0.95; ///< share of the score of the last of the best
constexpr double kStep = 5;      ///< step of the percentile, in points
constexpr double kAll = 100;     ///< percentile at which times do not count
constexpr double kLeastScore = 1e-9;

/// Returns the value below which the share `part` of the values lies; `values` is not empty.
double QuantileOf(std::vector<double> values, double part)
{
    const auto count = static_cast<double>(values.size());
    const auto at = std::min(values.size() - 1, static_cast<size_t>(count * part));
    std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(at), values.end());
    return values[at];
}

} // namespace

OortSelection::OortSelection(uint64_t seed, const OortOptions& options, const SelectionInfo& info)
    : m_seed(seed),
      m_options(options),
      m_percentile(options.percentile)
{
    for (int64_t client = 0; info.predicted && client < info.clients; ++client)
    {
        m_predicted.push_back(static_cast<double>(info.predicted(static_cast<int>(client))) * 1e-9);
    }
}

OortOptions OortSelection::Read(Settings& settings)
{
    OortOptions options;
    options.explore = settings.Real("explore", options.explore, 0, 1);
    options.decay = settings.Real("decay", options.decay, 0, 1);
    options.least = settings.Real("least", std::min(options.least, options.explore), 0, 1);
    options.percentile = settings.Real("percentile", options.percentile, 0, kAll);
    options.penalty = settings.Real("penalty", options.penalty, 0, 100);
    options.pacer = settings.Int("pacer", static_cast<int>(options.pacer), 0, INT32_MAX);
    return options;
}

bool OortSelection::ReadsWeights() const
{
    return true;
}

bool OortSelection::ReadsLosses() const
{
    return true;
}

bool OortSelection::ReadsSquares() const
{
    return true;
}

bool OortSelection::ReadsTimes() const
{
    return true;
}

double OortSelection::Exploration() const
{
    const double share =
        m_options.explore * std::pow(m_options.decay, static_cast<double>(m_version));
    return std::max(share, m_options.least);
}

double OortSelection::Percentile() const
{
    return m_percentile;
}

/// Returns T; infinity if times do not count.
double OortSelection::PreferredSeconds() const
{
    std::vector<double> seconds = m_predicted;
    for (const auto& [client, known] : m_known)
    {
        if (m_predicted.empty())
        {
            seconds.push_back(known.seconds);
        }
        else
        {
            seconds[static_cast<size_t>(client)] = known.seconds;
        }
    }
    if (m_percentile >= kAll || seconds.empty())
    {
        return HUGE_VAL;
    }
    return QuantileOf(std::move(seconds), m_percentile / kAll);
}

double OortSelection::Penalty(double seconds, double preferred) const
{
    return seconds > preferred ? std::pow(preferred / seconds, m_options.penalty) : 1;
}

OortSelection::Scores OortSelection::ScoresOf(const std::vector<int64_t>& tried,
                                              double preferred) const
{
    Scores scores;
    std::vector<double> utilities;
    for (const int64_t client : tried)
    {
        utilities.push_back(m_known.at(client).utility);
    }
    if (utilities.empty())
    {
        return scores;
    }
    const double clip = QuantileOf(utilities, kClip);
    const double least = *std::min_element(utilities.begin(), utilities.end());
    const double range = clip - least;
    const double now = std::log(static_cast<double>(m_version + 1));
    for (const int64_t client : tried)
    {
        const Known& known = m_known.at(client);
        const double above = std::min(known.utility, clip) - least;
        const double stale = std::sqrt(0.1 * now / static_cast<double>(known.version));
        const double score = (range > 0 ? above / range : 1) + stale;
        scores.emplace_back(score * Penalty(known.seconds, preferred), client);
    }
    return scores;
}

/// Draws clients in proportion to their scores, without replacement: those with the largest
/// log(u) / score (Efraimidis, Spirakis, Information Processing Letters 2006).
void OortSelection::Draw(Scores from,
                         int64_t wanted,
                         uint64_t choice,
                         uint64_t part,
                         std::vector<Pick>& picks)
{
    for (auto& [score, client] : from)
    {
        const double u = UnitInterval(
            HashWords({kOortStream, m_seed, choice, part, static_cast<uint64_t>(client)}));
        score = -std::log(u) / std::max(score, kLeastScore);
    }
    std::sort(from.begin(), from.end());
    for (size_t i = 0; i < from.size() && static_cast<int64_t>(i) < wanted; ++i)
    {
        picks.push_back(Pick{static_cast<int>(from[i].second), 1});
    }
}

std::vector<Pick> OortSelection::Select(uint64_t choice, int64_t wanted, const Candidates& from)
{
    enum Part : uint64_t
    {
        kRounding,
        kTried,
        kFresh
    };
    const double preferred = PreferredSeconds();
    std::vector<int64_t> tried;
    Scores fresh;
    for (int64_t rank = 0; rank < from.Count(); ++rank)
    {
        const int64_t client = from.At(rank);
        if (!from.Joins(client, choice))
        {
            continue;
        }
        if (m_known.count(client) > 0)
        {
            tried.push_back(client);
            continue;
        }
        const double slow =
            m_predicted.empty() ? 1 : Penalty(m_predicted[static_cast<size_t>(client)], preferred);
        fresh.emplace_back(slow * static_cast<double>(from.WeightOf(client)), client);
    }
    const double u = UnitInterval(HashWords({kOortStream, m_seed, choice, kRounding}));
    const double share = (1 - Exploration()) * static_cast<double>(wanted);
    auto exploited = static_cast<int64_t>(std::floor(share + u));
    // If there are too few of one kind, more of the other are taken.
    exploited = std::max(exploited, wanted - static_cast<int64_t>(fresh.size()));
    exploited = std::min(exploited, static_cast<int64_t>(tried.size()));
    std::vector<Pick> picks;
    if (exploited > 0)
    {
        Scores scores = ScoresOf(tried, preferred);
        std::vector<double> best;
        for (const auto& [score, client] : scores)
        {
            best.push_back(-score);
        }
        std::nth_element(best.begin(), best.begin() + exploited - 1, best.end());
        const double enough = kCutOff * -best[static_cast<size_t>(exploited - 1)];
        scores.erase(std::remove_if(scores.begin(),
                                    scores.end(),
                                    [&](const auto& one) { return one.first < enough; }),
                     scores.end());
        Draw(std::move(scores), exploited, choice, kTried, picks);
    }
    Draw(std::move(fresh), wanted - exploited, choice, kFresh, picks);
    return picks;
}

void OortSelection::Observe(const TaskFacts& facts)
{
    const double utility = static_cast<double>(facts.samples) * std::sqrt(facts.squaredLoss);
    m_known[facts.client] = {utility, static_cast<double>(facts.time) * 1e-9, m_version + 1};
    m_sum += utility;
}

void OortSelection::OnVersion(int64_t version)
{
    m_version = version;
    if (m_options.pacer == 0 || version % m_options.pacer != 0)
    {
        return;
    }
    if (m_lastSum >= 0)
    {
        const double change = std::abs(m_sum - m_lastSum);
        if (change <= 0.1 * m_lastSum)
        {
            m_percentile = std::min(kAll, m_percentile + kStep);
        }
        else if (change >= 5 * m_lastSum)
        {
            m_percentile = std::max(kStep, m_percentile - kStep);
        }
    }
    m_lastSum = m_sum;
    m_sum = 0;
}

/// The state is the pacer's numbers, and then four numbers for each client.
std::vector<double> OortSelection::State() const
{
    std::vector<double> state = {static_cast<double>(m_version), m_percentile, m_sum, m_lastSum};
    for (const auto& [client, known] : m_known)
    {
        state.insert(state.end(),
                     {static_cast<double>(client),
                      known.utility,
                      known.seconds,
                      static_cast<double>(known.version)});
    }
    return state;
}

void OortSelection::SetState(const std::vector<double>& state)
{
    constexpr size_t kNumbers = 4;
    m_known.clear();
    if (state.size() < kNumbers)
    {
        return;
    }
    m_version = static_cast<int64_t>(state[0]);
    m_percentile = state[1];
    m_sum = state[2];
    m_lastSum = state[3];
    for (size_t i = kNumbers; i + kNumbers <= state.size(); i += kNumbers)
    {
        m_known[static_cast<int64_t>(state[i])] = {
            state[i + 1], state[i + 2], static_cast<int64_t>(state[i + 3])};
    }
}

SelectionRow OortRow()
{
    return {"oort",
            "[:explore=0.9,decay=0.98,least=0.3,percentile=30,penalty=2,pacer=20]",
            "large losses, short tasks",
            true,
            [](Settings& settings,
               uint64_t seed,
               const SelectionInfo& info) -> std::unique_ptr<Selection>
            { return std::make_unique<OortSelection>(seed, OortSelection::Read(settings), info); }};
}

} // namespace legacy::fabric

#include "straggler.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/settings.h"
#include "straggler-trace.h"

#include <cmath>
#include <functional>
#include <map>

namespace legacy::fabric
{

namespace
{

/// This constant keeps these draws apart from those of other uses of a seed.
constexpr uint64_t kStragglerStream = 0x736C6F77ULL;

/// Returns the `index`-th draw of a worker at a step, uniform in (0, 1).
double Draw(uint64_t seed, uint64_t step, int worker, uint64_t index)
{
    return UnitInterval(
        HashWords({kStragglerStream, seed, step, static_cast<uint64_t>(worker), index}));
}

class None : public StragglerModel
{
  public:
    std::vector<double> Factors(int workers, uint64_t, uint64_t) const override
    {
        return std::vector<double>(workers, 1.0);
    }

    std::string Description() const override
    {
        return "none";
    }

    bool Transient() const override
    {
        return false;
    }
};

/// A Fixed model has the same slow workers in every step.
class Fixed : public StragglerModel
{
  public:
    Fixed(const std::string& text, std::vector<int> slow, int count, double factor)
        : m_text(text),
          m_slow(std::move(slow)),
          m_count(count),
          m_factor(factor)
    {
    }

    std::vector<double> Factors(int workers, uint64_t, uint64_t) const override
    {
        std::vector<double> factors(workers, 1.0);
        if (m_count > workers)
        {
            throw Error("stragglers", m_text, "at most " + std::to_string(workers) + " workers");
        }
        for (int i = 0; i < m_count; ++i)
        {
            factors[workers - 1 - i] = m_factor;
        }
        for (int worker : m_slow)
        {
            if (worker >= workers)
            {
                throw Error("stragglers", m_text, "workers below " + std::to_string(workers));
            }
            factors[worker] = m_factor;
        }
        return factors;
    }

    std::string Description() const override
    {
        return m_text;
    }

    bool Transient() const override
    {
        return false;
    }

  private:
    std::string m_text;
    std::vector<int> m_slow;
    int m_count;
    double m_factor;
};

/// Returns the number of consecutive steps for which a draw holds; kNever: the whole run.
int64_t ParseLasting(Settings& settings)
{
    constexpr int kMost = 1'000'000'000;
    if (settings.Text("lasting", "1") == "run")
    {
        return kNever;
    }
    return settings.Int("lasting", 1, 1, kMost);
}

/// A Drawn model draws factors for each worker and step.
class Drawn : public StragglerModel
{
  public:
    /// A Quantile returns the factor from two independent draws, uniform in (0, 1).
    using Quantile = std::function<double(double first, double second)>;

    Drawn(const std::string& text, int64_t lasting, Quantile quantile)
        : m_text(text),
          m_lasting(static_cast<uint64_t>(lasting)),
          m_quantile(std::move(quantile))
    {
    }

    std::vector<double> Factors(int workers, uint64_t seed, uint64_t step) const override
    {
        const uint64_t key = step / m_lasting;
        std::vector<double> factors(workers);
        for (int w = 0; w < workers; ++w)
        {
            factors[w] = m_quantile(Draw(seed, key, w, 0), Draw(seed, key, w, 1));
        }
        return factors;
    }

    std::string Description() const override
    {
        return m_text;
    }

    bool Transient() const override
    {
        return m_lasting != static_cast<uint64_t>(kNever);
    }

  private:
    std::string m_text;
    uint64_t m_lasting;
    Quantile m_quantile;
};

class Traced : public StragglerModel
{
  public:
    Traced(const std::string& text, int64_t lasting, Settings& settings)
        : m_text(text),
          m_lasting(static_cast<uint64_t>(lasting)),
          m_trace(settings)
    {
    }

    std::vector<double> Factors(int workers, uint64_t, uint64_t step) const override
    {
        return m_trace.Factors(workers, step / m_lasting);
    }

    std::string Description() const override
    {
        return m_text;
    }

    bool Transient() const override
    {
        return m_lasting != static_cast<uint64_t>(kNever) && m_trace.Steps() > 1;
    }

  private:
    std::string m_text;
    uint64_t m_lasting;
    StragglerTrace m_trace;
};

std::unique_ptr<StragglerModel> MakeFixed(const std::string& text, Settings& settings)
{
    constexpr int kMaxWorkers = 1 << 20;
    const double factor = settings.Real("factor", 1.5, 1, 1e6);
    const std::string list = settings.Text("workers", "");
    const bool listed = settings.Has("workers");
    const int count = settings.Int("count", listed ? 0 : 1, 1, kMaxWorkers);
    if (listed && settings.Has("count"))
    {
        throw Error(
            settings.Location("count"), settings.Text("count", ""), "either this or workers");
    }
    std::vector<int> slow;
    if (listed)
    {
        slow = ParseWorkerList(list, settings.Location("workers"));
    }
    return std::make_unique<Fixed>(text, std::move(slow), count, factor);
}

Drawn::Quantile LognormalQuantile(Settings& settings)
{
    const double sigma = settings.Real("sigma", 0.3, 0, 10);
    return [sigma](double first, double second)
    {
        const double radius = std::sqrt(-2 * std::log(first));
        const double normal = radius * std::cos(2 * M_PI * second);
        return std::exp(sigma * normal);
    };
}

Drawn::Quantile ExponentialQuantile(Settings& settings)
{
    const double scale = settings.Real("scale", 0.2, 0, 1e6);
    return [scale](double first, double) { return 1 - scale * std::log(first); };
}

Drawn::Quantile ParetoQuantile(Settings& settings)
{
    const double shape = settings.Real("shape", 2.5, 1, 1000);
    const double scale = settings.Real("scale", 1, 0, 1e6);
    return [shape, scale](double first, double)
    { return 1 + scale * (std::pow(first, -1 / shape) - 1); };
}

Drawn::Quantile SlowQuantile(Settings& settings)
{
    const double probability = settings.Real("probability", 0.1, 0, 1);
    const double factor = settings.Real("factor", 2, 1, 1e6);
    return [probability, factor](double first, double)
    { return first < probability ? factor : 1.0; };
}

using MakeQuantile = Drawn::Quantile (*)(Settings& settings);

const std::map<std::string, MakeQuantile>& Quantiles()
{
    static const std::map<std::string, MakeQuantile> quantiles = {
        {"lognormal", LognormalQuantile},
        {"exponential", ExponentialQuantile},
        {"pareto", ParetoQuantile},
        {"slow", SlowQuantile},
    };
    return quantiles;
}

std::unique_ptr<StragglerModel> MakeByType(const std::string& text, Settings& settings)
{
    const std::string& type = settings.Type();
    if (type == "none")
    {
        return std::make_unique<None>();
    }
    if (type == "fixed")
    {
        return MakeFixed(text, settings);
    }
    if (type == "trace")
    {
        return std::make_unique<Traced>(text, ParseLasting(settings), settings);
    }
    const auto quantile = Quantiles().find(type);
    if (quantile == Quantiles().end())
    {
        throw Error("stragglers",
                    text,
                    "none, fixed:workers=3+7,factor=1.5, fixed:count=2,factor=1.5, "
                    "slow:probability=0.1,factor=2, lognormal:sigma=0.3, exponential:scale=0.2, "
                    "pareto:shape=2.5,scale=1, trace:file=FILE; all but none and fixed with "
                    "lasting=STEPS or lasting=run");
    }
    return std::make_unique<Drawn>(text, ParseLasting(settings), quantile->second(settings));
}

} // namespace

std::unique_ptr<StragglerModel> MakeStragglers(const std::string& text)
{
    Settings settings = Settings::FromText(text, "stragglers");
    std::unique_ptr<StragglerModel> model = MakeByType(text, settings);
    settings.RejectUnread();
    return model;
}

} // namespace legacy::fabric

#include "straggler.h"

#include "error.h"
#include "hash.h"
#include "settings.h"

#include <charconv>
#include <cmath>

namespace legacy::fabric
{

namespace
{

constexpr double kPi = 3.14159265358979323846;
/// Keeps these draws apart from those of other uses of a seed.
constexpr uint64_t kStragglerStream = 0x736C6F77ULL;

/// (0, 1), the `index`-th draw of a worker at a step.
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

/// The same workers are slow in every step.
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

/// exp(sigma Z): median 1, mean exp(sigma^2 / 2).
class Lognormal : public StragglerModel
{
  public:
    Lognormal(const std::string& text, double sigma) : m_text(text), m_sigma(sigma)
    {
    }

    std::vector<double> Factors(int workers, uint64_t seed, uint64_t step) const override
    {
        std::vector<double> factors(workers);
        for (int w = 0; w < workers; ++w)
        {
            const double radius = std::sqrt(-2 * std::log(Draw(seed, step, w, 0)));
            const double normal = radius * std::cos(2 * kPi * Draw(seed, step, w, 1));
            factors[w] = std::exp(m_sigma * normal);
        }
        return factors;
    }

    std::string Description() const override
    {
        return m_text;
    }

    bool Transient() const override
    {
        return true;
    }

  private:
    std::string m_text;
    double m_sigma;
};

/// 1 + scale E, E exponential with mean 1 (Lee et al., IEEE Trans. Inf. Theory 2018).
class ShiftedExponential : public StragglerModel
{
  public:
    ShiftedExponential(const std::string& text, double scale) : m_text(text), m_scale(scale)
    {
    }

    std::vector<double> Factors(int workers, uint64_t seed, uint64_t step) const override
    {
        std::vector<double> factors(workers);
        for (int w = 0; w < workers; ++w)
        {
            factors[w] = 1 - m_scale * std::log(Draw(seed, step, w, 0));
        }
        return factors;
    }

    std::string Description() const override
    {
        return m_text;
    }

    bool Transient() const override
    {
        return true;
    }

  private:
    std::string m_text;
    double m_scale;
};

/// "3+7".
std::vector<int> ParseWorkers(const std::string& text, const std::string& place)
{
    std::vector<int> workers;
    const char* next = text.data();
    const char* end = text.data() + text.size();
    while (true)
    {
        int worker = 0;
        auto [rest, error] = std::from_chars(next, end, worker);
        if (error != std::errc() || worker < 0 || (rest != end && *rest != '+'))
        {
            throw Error(place, text, "numbers of workers joined by '+', such as 3+7");
        }
        workers.push_back(worker);
        if (rest == end)
        {
            return workers;
        }
        next = rest + 1;
    }
}

std::unique_ptr<StragglerModel> MakeFixed(const std::string& text, Settings& settings)
{
    constexpr int kMaxWorkers = 1 << 20;
    const double factor = settings.Real("factor", 1.5, 1, 1e6);
    const std::string list = settings.Text("workers", "");
    const bool listed = settings.Has("workers");
    const int count = settings.Int("count", listed ? 0 : 1, 1, kMaxWorkers);
    if (listed && settings.Has("count"))
    {
        throw Error(settings.Place("count"), settings.Text("count", ""), "either this or workers");
    }
    std::vector<int> slow;
    if (listed)
    {
        slow = ParseWorkers(list, settings.Place("workers"));
    }
    return std::make_unique<Fixed>(text, std::move(slow), count, factor);
}

} // namespace

std::unique_ptr<StragglerModel> MakeStragglers(const std::string& text)
{
    Settings settings = Settings::FromText(text, "stragglers");
    const std::string& type = settings.Type();
    std::unique_ptr<StragglerModel> model;
    if (type == "none")
    {
        model = std::make_unique<None>();
    }
    else if (type == "fixed")
    {
        model = MakeFixed(text, settings);
    }
    else if (type == "lognormal")
    {
        model = std::make_unique<Lognormal>(text, settings.Real("sigma", 0.3, 0, 10));
    }
    else if (type == "exponential")
    {
        model = std::make_unique<ShiftedExponential>(text, settings.Real("scale", 0.2, 0, 1e6));
    }
    else
    {
        throw Error("stragglers",
                    text,
                    "none, fixed:workers=3+7,factor=1.5, fixed:count=2,factor=1.5, "
                    "lognormal:sigma=0.3, exponential:scale=0.2");
    }
    settings.RejectUnread();
    return model;
}

} // namespace legacy::fabric

#include "availability.h"

#include "availability-kinds.h"
#include "base/draws.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/settings.h"

#include <memory>

namespace legacy::fabric
{

namespace
{

/// This constant keeps the draws apart from those of other uses of a seed.
constexpr uint64_t kJoinStream = 0x6A6F696EULL;

class Always : public Availability
{
  public:
    bool Available(int64_t, double, TimeNs) const override
    {
        return true;
    }

    TimeNs NextChange(int64_t, double, TimeNs) const override
    {
        return kNever;
    }

    bool DependsOnTime() const override
    {
        return false;
    }
};

class Bernoulli : public Always
{
  public:
    Bernoulli(uint64_t seed, double chance) : m_seed(seed), m_chance(chance)
    {
    }

    bool Joins(int64_t client, uint64_t choice) const override
    {
        const uint64_t hash =
            HashWords({kJoinStream, m_seed, choice, static_cast<uint64_t>(client)});
        return UnitInterval(hash) < m_chance;
    }

    bool Draws() const override
    {
        return true;
    }

  private:
    uint64_t m_seed;
    double m_chance;
};

std::shared_ptr<const Availability> MakeOfSettings(Settings& settings, uint64_t seed)
{
    const std::string& type = settings.Type();
    if (type == "always")
    {
        return std::make_shared<Always>();
    }
    if (type == "bernoulli")
    {
        if (!settings.Has("p"))
        {
            throw Error(settings.Where(), "bernoulli", "bernoulli:p=CHANCE, from 0 to 1");
        }
        return std::make_shared<Bernoulli>(seed, settings.Real("p", 1, 0, 1));
    }
    if (type == "nightly")
    {
        return MakeNightly(settings, seed);
    }
    if (type == "sessions")
    {
        return MakeSessions(settings, seed);
    }
    if (type == "trace")
    {
        return MakeTracedAvailability(settings);
    }
    throw Error(settings.Where(),
                type,
                "always, bernoulli:p=, nightly[:start=,...], sessions:on=,off=, trace:file=");
}

} // namespace

std::shared_ptr<const Availability>
MakeAvailability(const std::string& text, uint64_t seed, const std::string& option)
{
    Settings settings = Settings::FromText(text, option);
    std::shared_ptr<const Availability> made = MakeOfSettings(settings, seed);
    settings.RejectUnread();
    return made;
}

} // namespace legacy::fabric

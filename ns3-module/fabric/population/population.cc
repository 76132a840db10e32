#include "population.h"

#include "base/error.h"
#include "base/hash.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace legacy::fabric
{

namespace
{

/// This constant keeps these draws apart from those of other uses of a seed.
constexpr uint64_t kPopulationStream = 0x706F70756CULL;

/// These values enter draws, and must never change.
enum Field : uint64_t
{
    kAt = 1,
    kDown = 2,
    kUp = 3,
    kDelay = 4,
    kError = 5,
    kSamples = 6,
    kSlowdown = 7,
    kPriceHour = 8,
    kLongitude = 9,
    kProfile = 10,
    kTrace = 11,
    kTraceOffset = 12,
};

int64_t RateOfDraw(double bps)
{
    return std::clamp<int64_t>(std::llround(bps), 1, kMostRate);
}

/// Rounds a drawn factor to nine digits, which hides the differences between the exponentials of
/// machines.
double RoundedFactor(double value)
{
    return std::round(value * 1e9) / 1e9;
}

int64_t QueueOf(const Group& group, const Port& port)
{
    constexpr double kLeast = 65536;
    if (group.queueTime == 0)
    {
        return group.queueBytes;
    }
    const double bytes =
        static_cast<double>(port.rateBps) / 8 * static_cast<double>(group.queueTime) * 1e-9;
    return std::llround(std::max(kLeast, bytes));
}

} // namespace

Population::Population(std::vector<Group> groups, const ServerSite& server, uint64_t seed)
    : m_groups(std::move(groups)),
      m_server(server),
      m_seed(seed)
{
    int64_t sum = 0;
    for (const Group& group : m_groups)
    {
        m_first.push_back(sum);
        sum += group.count;
        if (sum > INT32_MAX)
        {
            throw Error("population", "more than 2147483647 clients", "at most as many");
        }
    }
    m_first.push_back(sum);
    if (sum == 0)
    {
        throw Error("population", "0 clients", "one or more");
    }
}

int64_t Population::Clients() const
{
    return m_first.back();
}

const std::vector<Group>& Population::Groups() const
{
    return m_groups;
}

const ServerSite& Population::Server() const
{
    return m_server;
}

void Population::SetServer(const ServerSite& server)
{
    m_server = server;
}

void Population::SetRateFactors(double down, double up)
{
    m_downFactor = down;
    m_upFactor = up;
}

void Population::SetLoss(double probability)
{
    m_loss = probability;
}

void Population::SetPriceFactor(double factor)
{
    m_priceFactor = factor;
}

int Population::GroupOf(int64_t client) const
{
    const auto after = std::upper_bound(m_first.begin(), m_first.end() - 1, client);
    return static_cast<int>(after - m_first.begin()) - 1;
}

uint64_t Population::Hash(int64_t client, uint64_t field) const
{
    return HashWords({kPopulationStream, m_seed, static_cast<uint64_t>(client), field});
}

int64_t Population::LineOf(int64_t client, int group) const
{
    const int64_t index = client - m_first[group];
    return client - index % m_groups[group].perLine;
}

Client Population::At(int64_t number) const
{
    Client client;
    client.number = number;
    client.group = GroupOf(number);
    const Group& group = m_groups[client.group];
    const int64_t index = number - m_first[client.group];
    // The line is drawn once for all clients that share it.
    client.line = LineOf(number, client.group);
    const int64_t line = client.line - m_first[client.group];
    const auto ofLine = [&](const DrawnNumber& value, uint64_t field)
    { return value.Draw(Hash(client.line, field), line); };
    const auto ofClient = [&](const DrawnNumber& value, uint64_t field)
    { return value.Draw(Hash(number, field), index); };
    client.region = &group.at.Draw(Hash(client.line, kAt));
    client.profile = &group.profile.Draw(Hash(number, kProfile));
    client.down.rateBps = RateOfDraw(ofLine(group.down, kDown) * m_downFactor);
    client.up.rateBps = RateOfDraw(ofLine(group.up, kUp) * m_upFactor);
    client.delay = std::llround(ofLine(group.delay, kDelay) / 1e3) * 1000;
    const double own = RoundedFactor(ofLine(group.error, kError));
    client.down.errorRate = client.up.errorRate = own + m_loss * (1 - own);
    client.up.usdPerGb = m_priceFactor * group.usdPerGb[0];
    client.down.usdPerGb = m_priceFactor * group.usdPerGb[1];
    client.samples = std::max<int64_t>(1, std::llround(ofClient(group.samples, kSamples)));
    client.slowdown = RoundedFactor(ofClient(group.slowdown, kSlowdown));
    client.usdPerHour = m_priceFactor * RoundedFactor(ofClient(group.priceHour, kPriceHour));
    client.longitude = LongitudeOf(number);
    if (group.trace)
    {
        const DrawnTrace& trace = *group.trace;
        const size_t which = Reduce(Hash(client.line, kTrace), trace.down.size());
        const double when = UnitInterval(Hash(client.line, kTraceOffset));
        const auto drive = [&](Port& port, const Trace& recording, double rates)
        {
            constexpr double kMillisecond = 1e6;
            const auto mean = static_cast<double>(recording.schedule.MeanRate());
            const double factor =
                trace.toMean ? static_cast<double>(port.rateBps) / std::max(1.0, mean) : rates;
            const double offset =
                std::floor(when * static_cast<double>(recording.period) / kMillisecond);
            const LinkSchedule schedule = recording.schedule.Scaled(factor * trace.scale)
                                              .Shifted(static_cast<TimeNs>(offset * kMillisecond));
            port.rateBps = schedule.MaxRate();
            port.schedule = std::make_shared<const LinkSchedule>(schedule);
        };
        if (trace.drivesDown)
        {
            drive(client.down, trace.down[which], m_downFactor);
        }
        if (trace.drivesUp)
        {
            drive(client.up, trace.up[which], m_upFactor);
        }
    }
    client.down.queueBytes = QueueOf(group, client.down);
    client.up.queueBytes = QueueOf(group, client.up);
    return client;
}

double Population::SlowdownOf(int64_t client) const
{
    const int group = GroupOf(client);
    return RoundedFactor(
        m_groups[group].slowdown.Draw(Hash(client, kSlowdown), client - m_first[group]));
}

int64_t Population::SamplesOf(int64_t client) const
{
    const int group = GroupOf(client);
    const double drawn =
        m_groups[group].samples.Draw(Hash(client, kSamples), client - m_first[group]);
    return std::max<int64_t>(1, std::llround(drawn));
}

double Population::UsdPerHourOf(int64_t client) const
{
    const int group = GroupOf(client);
    return m_priceFactor * RoundedFactor(m_groups[group].priceHour.Draw(Hash(client, kPriceHour),
                                                                        client - m_first[group]));
}

const std::string& Population::ProfileOf(int64_t client) const
{
    return m_groups[GroupOf(client)].profile.Draw(Hash(client, kProfile));
}

double Population::LongitudeOf(int64_t client) const
{
    const int number = GroupOf(client);
    const Group& group = m_groups[number];
    const int64_t line = LineOf(client, number);
    if (group.longitudeOfRegion)
    {
        const std::string& region = group.at.Draw(Hash(line, kAt));
        const auto found = std::lower_bound(m_longitudes.begin(),
                                            m_longitudes.end(),
                                            region,
                                            [](const auto& entry, const std::string& name)
                                            { return entry.first < name; });
        return found != m_longitudes.end() && found->first == region ? found->second : 0;
    }
    return RoundedFactor(group.longitude.Draw(Hash(line, kLongitude), line - m_first[number]));
}

void Population::SetRegionLongitude(const std::string& region, double degrees)
{
    m_longitudes.emplace_back(region, degrees);
    std::sort(m_longitudes.begin(), m_longitudes.end());
}

} // namespace legacy::fabric

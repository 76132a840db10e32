// Readers of populations, by the form of a request's text. Internal to population/.
#pragma once

#include "population.h"

#include <string>
#include <utility>
#include <vector>

namespace legacy::fabric
{

// Limits and defaults of what groups have.
inline constexpr int64_t kMostClients = INT32_MAX;
inline constexpr double kMostSlowdown = 1e6;
inline constexpr double kMostUsdPerHour = 1e6;
inline constexpr double kMostSamples = 1e12;
inline constexpr int64_t kBroadbandDown = 100'000'000;
inline constexpr int64_t kBroadbandUp = 20'000'000;
inline constexpr TimeNs kBroadbandDelay = 20'000'000;

/// Reads a file of groups, FILE.yaml.
Population ReadPopulationYaml(const PopulationRequest& request);
/// Makes broadband or phones.
Population MakePopulationPreset(const PopulationRequest& request);

/// Makes the population, with the request's trace for groups without one.
inline Population
WithTrace(std::vector<Group> groups, const ServerSite& server, const PopulationRequest& request)
{
    for (Group& group : groups)
    {
        if (!group.trace)
        {
            group.trace = request.trace;
        }
    }
    return Population(std::move(groups), server, request.seed);
}

} // namespace legacy::fabric

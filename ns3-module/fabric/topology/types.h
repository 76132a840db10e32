// Types are the named topologies, from parameters to sizes and tiers, with defaults that fit the
// hosts needed.
#pragma once

#include "base/settings.h"
#include "builders.h"

#include <cstdint>
#include <string>

namespace legacy::fabric
{

/// A TopologyBuild is what a named topology is made from, and what its makers share.
struct TopologyBuild
{
    static constexpr int kMaxHosts = 65536;
    static constexpr int kMaxLinks = 1 << 22;

    Settings settings;
    int hostsNeeded = 0; ///< hosts that the caller needs; 0: it does not say
    Tier common;         ///< values of a tier where the settings do not say

    /// Returns the number of hosts to make where no size is given.
    int Needed() const;

    /// Returns the tier of the settings "<name>.rate", ".delay" and ".queue".
    Tier TierOf(const std::string& name);
    Tier TierOf(const std::string& name, const Tier& fallback);
    /// Returns that of the links inside a node, which are 8 times as fast as others by default.
    Tier NodeTier();

    /// Reads the setting `key`, an oversubscription: what `down` links of the rate `downBps` bring
    /// in, divided by what the `up` links of `tier` can carry on. It sets the tier's rate where the
    /// setting was given. Throws Error where "<name>.rate" was given as well.
    void Divide(const std::string& key,
                const std::string& name,
                int down,
                int64_t downBps,
                int up,
                Tier& tier);

    /// Throws Error where `hosts`, which follow from the value of `key`, are too few or too many.
    void CheckHosts(int64_t hosts, const std::string& key, const std::string& remedy) const;
    void CheckLinks(int64_t links, const std::string& key) const;
};

/// Makes the type that the settings name. Throws Error with all names on any other.
Topology MakeByType(TopologyBuild& build);

} // namespace legacy::fabric
